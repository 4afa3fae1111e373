import type { NoticeStore } from '../../lease/store';
import { heed, limited, type State, store } from './state';

export function noticesOf(state: State): NoticeStore {
  const { notices } = state;
  return {
    async createNotice(id, { body, metadata }, options) {
      heed(options);
      const stored = store(state, metadata);
      if (notices.has(id)) return { kind: 'exists' };
      notices.set(id, { ...stored, body });
      return { kind: 'created', etag: stored.etag };
    },
    async readNotice(id, options) {
      heed(options);
      const body = notices.get(id)?.body;
      return body === undefined ? undefined : limited(`notices/${id}`, body);
    },
    async writeNotice(id, metadata, ifMatch, options) {
      heed(options);
      const stored = store(state, metadata);
      const before = notices.get(id);
      if (before?.etag !== ifMatch) return { kind: 'refused' };
      notices.set(id, { ...stored, body: before.body });
      return { kind: 'written', etag: stored.etag };
    },
    async deleteNotice(id, options) {
      heed(options);
      notices.delete(id);
    },
    async listNotices({ limit, continuation = '' }, options) {
      heed(options);
      const found = [...notices].filter(([id]) => id > continuation).sort(([a], [b]) => (a < b ? -1 : 1));
      const page = found.slice(0, limit);
      return {
        notices: page.map(([id, { etag, metadata }]) => ({ id, etag, metadata })),
        continuation: page.length < found.length ? page.at(-1)?.[0] : undefined,
      };
    },
  };
}
