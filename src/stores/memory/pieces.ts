import type { JobName } from '../../core/brand';
import type { ListedPiece, PieceStore } from '../../lease/store';
import { dateOf, heed, limited, type State, store } from './state';

export function piecesOf(state: State): PieceStore {
  type Pieces = Map<string, Omit<ListedPiece, 'date'> & { readonly body: string }>;
  const ofJob = (job: JobName): Pieces => {
    const pieces: Pieces = state.pieces.get(job) ?? new Map();
    state.pieces.set(job, pieces);
    return pieces;
  };
  return {
    async createPiece(job, key, name, { body, summary }, options) {
      heed(options);
      const { metadata } = store(state, summary);
      const pieces = ofJob(job);
      const id = `${key}/${name}`;
      if (pieces.has(id)) return 'exists';
      pieces.set(id, { key, name, body, summary: metadata, writtenAt: dateOf(state.clock) });
      return 'created';
    },
    async readPiece(job, key, name, options) {
      heed(options);
      const body = ofJob(job).get(`${key}/${name}`)?.body;
      return body === undefined ? undefined : limited(`${key}/${name}`, body);
    },
    async touchPiece(job, key, name, options) {
      heed(options);
      const pieces = ofJob(job);
      const id = `${key}/${name}`;
      const piece = pieces.get(id);
      if (piece === undefined) return 'gone';
      pieces.set(id, { ...piece, summary: {}, writtenAt: dateOf(state.clock) });
      return 'touched';
    },
    async listPieces(job, { key, prefix = '', limit, continuation = '' }, options) {
      heed(options);
      const from = key === undefined ? '' : `${key}/${prefix}`;
      const found = [...ofJob(job)]
        .filter(([id]) => id.startsWith(from) && id > continuation)
        .sort(([a], [b]) => (a < b ? -1 : 1));
      const page = found.slice(0, limit);
      return {
        pieces: page.map(([, { key: run, name, summary, writtenAt }]) => {
          return { key: run, name, summary, writtenAt, date: dateOf(state.clock) };
        }),
        continuation: page.length < found.length ? page.at(-1)?.[0] : undefined,
      };
    },
    async deletePiece(job, key, name, options) {
      heed(options);
      ofJob(job).delete(`${key}/${name}`);
    },
  };
}
