import type { RequestStore } from '../../lease/store';
import { checkBody } from '../limits';
import type { Blobs } from './blobs';
import { requestName } from './layout';

export function requestsIn(blobs: Blobs): RequestStore {
  return {
    async createRequest(id, body, options) {
      const what = `write the input of request ${id}`;
      const blobName = requestName(id);
      const etag = await blobs.put({ what, blobName, body, metadata: {}, ifMatch: undefined, options });
      return etag === undefined ? 'exists' : 'created';
    },
    async readRequest(id, options) {
      const answer = await blobs.get(`the input of request ${id}`, requestName(id), options);
      return answer.kind === 'yes' ? checkBody(`the input of request "${id}"`, answer.value.body) : undefined;
    },
  };
}
