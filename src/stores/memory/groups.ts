import type { GroupStore } from '../../lease/store';
import { heed, limited, type State, store } from './state';

export function groupsOf(state: State): GroupStore {
  const { groups } = state;
  return {
    async readGroup(group, options) {
      heed(options);
      const found = groups.get(group);
      return found && { body: limited(`group "${group}"`, found.body), etag: found.etag };
    },
    async writeGroup(group, body, ifMatch, options) {
      heed(options);
      if (groups.get(group)?.etag !== ifMatch) return { kind: 'refused' };
      const { etag } = store(state, {});
      groups.set(group, { body, etag });
      return { kind: 'written', etag };
    },
  };
}
