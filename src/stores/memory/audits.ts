import type { AuditStore } from '../../lease/store';
import { heed, type State, store } from './state';

export function auditsOf(state: State): AuditStore {
  const { audits } = state;
  return {
    async writeAudit(key, metadata, ifMatch, options) {
      heed(options);
      const stored = store(state, metadata);
      if (audits.get(key)?.etag !== ifMatch) return { kind: 'refused' };
      audits.set(key, stored);
      return { kind: 'written', etag: stored.etag };
    },
    async listAudits({ limit, continuation = '' }, options) {
      heed(options);
      const found = [...audits].filter(([key]) => key > continuation).sort(([a], [b]) => (a < b ? -1 : 1));
      const page = found.slice(0, limit);
      return {
        audits: page.map(([key, { metadata }]) => ({ key, metadata })),
        continuation: page.length < found.length ? page.at(-1)?.[0] : undefined,
      };
    },
  };
}
