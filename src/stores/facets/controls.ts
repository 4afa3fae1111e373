import type { ControlStore } from '../../lease/store';
import { dateOf, type Entries, type FacetKeys, ifSeen } from '../port';

export function controlsIn<Keys>(
  entries: Entries<Keys>,
  { controls: keys }: Pick<FacetKeys<Keys>, 'controls'>,
): ControlStore {
  return {
    async readControl(job, options) {
      const what = `read the control of ${job}`;
      const { now, head } = await entries.get({ what, kind: 'read', keys, id: job, options });
      return { control: head && { etag: head.etag, metadata: head.metadata }, date: dateOf(now) };
    },
    async writeControl(job, metadata, ifMatch, options) {
      const question = { what: `write the control of ${job}`, kind: 'write', keys, id: job, options } as const;
      const etag = await entries.put({ ...question, condition: ifSeen(ifMatch), metadata });
      return etag === undefined ? 'refused' : 'written';
    },
    async removeControl(job, ifMatch, options) {
      const question = { what: `remove the control of ${job}`, kind: 'delete', keys, id: job, options } as const;
      return (await entries.remove({ ...question, ifMatch })) ? 'removed' : 'refused';
    },
  };
}
