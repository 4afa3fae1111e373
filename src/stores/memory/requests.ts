import type { RequestStore } from '../../lease/store';
import { heed, limited, type State } from './state';

export function requestsOf({ requests }: State): RequestStore {
  return {
    async createRequest(id, body, options) {
      heed(options);
      if (requests.has(id)) return 'exists';
      requests.set(id, body);
      return 'created';
    },
    async readRequest(id, options) {
      heed(options);
      const body = requests.get(id);
      return body === undefined ? undefined : limited(`the input of request "${id}"`, body);
    },
  };
}
