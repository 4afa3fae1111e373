import type { GroupStore } from '../../lease/store';
import { checkBody } from '../limits';
import type { Blobs } from './blobs';
import { groupName } from './layout';

export function groupsIn(blobs: Blobs): GroupStore {
  return {
    async readGroup(group, options) {
      const what = `group "${group}"`;
      const answer = await blobs.get(what, groupName(group), options);
      if (answer.kind === 'no') return undefined;
      return { body: checkBody(what, answer.value.body), etag: answer.value.etag };
    },
    async writeGroup(group, body, ifMatch, options) {
      const what = `write group ${group}`;
      const etag = await blobs.put({ what, blobName: groupName(group), body, metadata: {}, ifMatch, options });
      return etag === undefined ? { kind: 'refused' } : { kind: 'written', etag };
    },
  };
}
