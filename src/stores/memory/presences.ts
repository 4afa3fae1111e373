import type { PresenceStore } from '../../lease/store';
import { dateOf, heed, type State, store } from './state';

export function presencesOf(state: State): PresenceStore {
  const { clock, presences } = state;
  return {
    async writePresence(deployment, metadata, ifMatch, options) {
      heed(options);
      const stored = store(state, metadata);
      if (ifMatch !== undefined && presences.get(deployment)?.etag !== ifMatch) return { kind: 'refused' };
      presences.set(deployment, stored);
      return { kind: 'written', etag: stored.etag };
    },
    async listPresences(options) {
      heed(options);
      return { date: dateOf(clock), presences: new Map(presences) };
    },
  };
}
