import type { ContainerClient } from '@azure/storage-blob';
import type { ControlStore } from '../../lease/store';
import type { Ask } from './ask';
import type { Blobs } from './blobs';
import { NO } from './errors';
import { partName } from './layout';

export function controlsIn(container: ContainerClient, ask: Ask, blobs: Blobs): ControlStore {
  return {
    async readControl(job, options) {
      const answer = await blobs.get(`control of ${job}`, partName(job, 'control'), options);
      if (answer.kind === 'no') return { control: undefined, date: answer.date };
      const { etag, metadata } = answer.value;
      return { control: { etag, metadata }, date: answer.date };
    },
    async writeControl(job, metadata, ifMatch, options) {
      const what = `write control of ${job}`;
      const etag = await blobs.put({ what, blobName: partName(job, 'control'), body: '', metadata, ifMatch, options });
      return etag === undefined ? 'refused' : 'written';
    },
    async removeControl(job, ifMatch, options) {
      const { kind } = await ask({
        what: `remove the control of ${job}`,
        no: NO.replace,
        options,
        send: (abortSignal) =>
          container.getBlobClient(partName(job, 'control')).delete({ conditions: { ifMatch }, abortSignal }),
      });
      return kind === 'yes' ? 'removed' : 'refused';
    },
  };
}
