import type { GroupStore, LedgerStore, RequestStore } from '../../lease/store';
import { checkBody } from '../limits';
import { type Entries, ifSeen } from './entries';
import type { Paths } from './paths';

export function ledgerIn(entries: Entries, { records }: Paths): LedgerStore {
  return {
    async createRecord(job, key, { body, summary: metadata }, options) {
      const question = {
        what: `create record ${key} of ${job}`,
        kind: 'write',
        folder: records(job),
        options,
      } as const;
      const etag = await entries.put({ ...question, id: key, condition: 'absent', metadata, body });
      return etag === undefined ? { kind: 'exists' } : { kind: 'created', etag };
    },
    async replaceRecord(job, key, { body, summary: metadata }, ifMatch, options) {
      const question = {
        what: `replace record ${key} of ${job}`,
        kind: 'write',
        folder: records(job),
        options,
      } as const;
      const etag = await entries.put({ ...question, id: key, condition: ifSeen(ifMatch), metadata, body });
      return etag === undefined ? { kind: 'refused' } : { kind: 'replaced', etag };
    },
    async readRecord(job, key, options) {
      const what = `read record ${key} of ${job}`;
      const { head, body } = await entries.get({ what, kind: 'read', folder: records(job), id: key, options });
      return head && { body: checkBody(`ledger record "${key}" of job "${job}"`, body), etag: head.etag };
    },
    async listRecords(job, request, options) {
      const question = { what: `list records of ${job}`, kind: 'listing', folder: records(job), options } as const;
      const { items, continuation } = await entries.page({ ...question, ...request });
      return { records: items.map(({ id, etag, metadata }) => ({ key: id, etag, summary: metadata })), continuation };
    },
  };
}

export function requestsIn(entries: Entries, { requests: folder }: Paths): RequestStore {
  return {
    async createRequest(id, body, options) {
      const question = { what: `keep the input of request ${id}`, kind: 'write', folder, id, options } as const;
      const etag = await entries.put({ ...question, condition: 'absent', metadata: {}, body });
      return etag === undefined ? 'exists' : 'created';
    },
    async readRequest(id, options) {
      const what = `read the input of request ${id}`;
      const { head, body } = await entries.get({ what, kind: 'read', folder, id, options });
      return head && checkBody(`the input of request "${id}"`, body);
    },
  };
}

export function groupsIn(entries: Entries, { groups: folder }: Paths): GroupStore {
  return {
    async readGroup(group, options) {
      const what = `read group ${group}`;
      const { head, body } = await entries.get({ what, kind: 'read', folder, id: group, options });
      return head && { body: checkBody(`group "${group}"`, body), etag: head.etag };
    },
    async writeGroup(group, body, ifMatch, options) {
      const question = { what: `write group ${group}`, kind: 'write', folder, id: group, options } as const;
      const etag = await entries.put({ ...question, condition: ifSeen(ifMatch), metadata: {}, body });
      return etag === undefined ? { kind: 'refused' } : { kind: 'written', etag };
    },
  };
}
