import type { GroupStore, LedgerStore, RequestStore } from '../../lease/store';
import { bodyOf, type Entries, type FacetKeys, ifSeen } from '../port';

export function ledgerIn<Keys>(entries: Entries<Keys>, { records }: Pick<FacetKeys<Keys>, 'records'>): LedgerStore {
  return {
    async createRecord(job, key, { body, summary: metadata }, options) {
      const question = { what: `create record ${key} of ${job}`, kind: 'write', keys: records(job), options } as const;
      const etag = await entries.put({ ...question, id: key, condition: 'absent', metadata, body });
      return etag === undefined ? { kind: 'exists' } : { kind: 'created', etag };
    },
    async replaceRecord(job, key, { body, summary: metadata }, ifMatch, options) {
      const question = { what: `replace record ${key} of ${job}`, kind: 'write', keys: records(job), options } as const;
      const etag = await entries.put({ ...question, id: key, condition: ifSeen(ifMatch), metadata, body });
      return etag === undefined ? { kind: 'refused' } : { kind: 'replaced', etag };
    },
    async readRecord(job, key, options) {
      const what = `read record ${key} of ${job}`;
      const { head, body } = await entries.get({ what, kind: 'read', keys: records(job), id: key, options });
      return head && { body: bodyOf(`ledger record "${key}" of job "${job}"`, body), etag: head.etag };
    },
    async listRecords(job, request, options) {
      const question = { what: `list records of ${job}`, kind: 'listing', keys: records(job), options } as const;
      const { items, continuation } = await entries.page({ ...question, ...request });
      return { records: items.map(({ id, etag, metadata }) => ({ key: id, etag, summary: metadata })), continuation };
    },
  };
}

export function requestsIn<Keys>(
  entries: Entries<Keys>,
  { requests: keys }: Pick<FacetKeys<Keys>, 'requests'>,
): RequestStore {
  return {
    async createRequest(id, body, options) {
      const question = { what: `keep the input of request ${id}`, kind: 'write', keys, id, options } as const;
      const etag = await entries.put({ ...question, condition: 'absent', metadata: {}, body });
      return etag === undefined ? 'exists' : 'created';
    },
    async readRequest(id, options) {
      const what = `read the input of request ${id}`;
      const { head, body } = await entries.get({ what, kind: 'read', keys, id, options });
      return head && bodyOf(`the input of request "${id}"`, body);
    },
  };
}

export function groupsIn<Keys>(entries: Entries<Keys>, { groups: keys }: Pick<FacetKeys<Keys>, 'groups'>): GroupStore {
  return {
    async readGroup(group, options) {
      const what = `read group ${group}`;
      const { head, body } = await entries.get({ what, kind: 'read', keys, id: group, options });
      return head && { body: bodyOf(`group "${group}"`, body), etag: head.etag };
    },
    async writeGroup(group, body, ifMatch, options) {
      const question = { what: `write group ${group}`, kind: 'write', keys, id: group, options } as const;
      const etag = await entries.put({ ...question, condition: ifSeen(ifMatch), metadata: {}, body });
      return etag === undefined ? { kind: 'refused' } : { kind: 'written', etag };
    },
  };
}
