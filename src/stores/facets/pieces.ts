import type { PieceStore } from '../../lease/store';
import { bodyOf, dateOf, type Entries, type FacetKeys } from '../port';

/** A piece's id is its run's key and its name: neither key nor name has a slash. */
export function piecesIn<Keys>(entries: Entries<Keys>, { pieces }: Pick<FacetKeys<Keys>, 'pieces'>): PieceStore {
  return {
    async createPiece(job, key, name, { body, summary: metadata }, options) {
      const id = `${key}/${name}`;
      const question = { what: `create piece ${id} of ${job}`, kind: 'write', keys: pieces(job), id, options } as const;
      const etag = await entries.put({ ...question, condition: 'absent', metadata, body });
      return etag === undefined ? 'exists' : 'created';
    },
    async readPiece(job, key, name, options) {
      const id = `${key}/${name}`;
      const what = `read piece ${id} of ${job}`;
      const { head, body } = await entries.get({ what, kind: 'read', keys: pieces(job), id, options });
      return head && bodyOf(`piece "${id}" of job "${job}"`, body);
    },
    async touchPiece(job, key, name, metadata, options) {
      const id = `${key}/${name}`;
      const question = {
        what: `touch piece ${id} of ${job}`,
        kind: 'metadata',
        keys: pieces(job),
        id,
        options,
      } as const;
      const etag = await entries.put({ ...question, condition: 'there', metadata });
      return etag === undefined ? 'gone' : 'touched';
    },
    async listPieces(job, { key, prefix: names = '', ...request }, options) {
      const question = { what: `list pieces of ${job}`, kind: 'listing', keys: pieces(job), options } as const;
      const prefix = key === undefined ? '' : `${key}/${names}`;
      const { now, items, continuation } = await entries.page({ ...question, ...request, prefix });
      const found = items.map(({ id, metadata, writtenMs }) => {
        const [run = '', name = ''] = id.split('/');
        return { key: run, name, summary: metadata, writtenAt: dateOf(writtenMs), date: dateOf(now) };
      });
      return { pieces: found, continuation };
    },
    async deletePiece(job, key, name, options) {
      const id = `${key}/${name}`;
      await entries.remove({ what: `delete piece ${id} of ${job}`, kind: 'delete', keys: pieces(job), id, options });
    },
  };
}
