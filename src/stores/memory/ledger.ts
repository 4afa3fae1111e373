import type { ETag, JobName } from '../../core/brand';
import type { LedgerStore, StoredRecord } from '../../lease/store';
import { heed, type Ledgered, limited, type State, store } from './state';

export function ledgerOf(state: State): LedgerStore {
  const recordsOf = (job: JobName): Map<string, Ledgered> => {
    const ledger = state.ledgers.get(job) ?? new Map<string, Ledgered>();
    state.ledgers.set(job, ledger);
    return ledger;
  };
  const put = (job: JobName, key: string, record: StoredRecord, ifMatch: ETag | undefined): ETag | undefined => {
    const stored = store(state, record.summary);
    const ledger = recordsOf(job);
    if (ledger.get(key)?.etag !== ifMatch) return undefined;
    ledger.set(key, { ...stored, body: record.body });
    return stored.etag;
  };
  return {
    async createRecord(job, key, record, options) {
      heed(options);
      const etag = put(job, key, record, undefined);
      return etag === undefined ? { kind: 'exists' } : { kind: 'created', etag };
    },
    async replaceRecord(job, key, record, ifMatch, options) {
      heed(options);
      const etag = put(job, key, record, ifMatch);
      return etag === undefined ? { kind: 'refused' } : { kind: 'replaced', etag };
    },
    async readRecord(job, key, options) {
      heed(options);
      const found = recordsOf(job).get(key);
      return found && { body: limited(`ledger record "${key}" of job "${job}"`, found.body), etag: found.etag };
    },
    async listRecords(job, { prefix = '', limit, continuation = '' }, options) {
      heed(options);
      const found = [...recordsOf(job)]
        .filter(([key]) => key.startsWith(prefix) && key > continuation)
        .sort(([a], [b]) => (a < b ? -1 : 1));
      const page = found.slice(0, limit);
      return {
        records: page.map(([key, { etag, metadata }]) => ({ key, etag, summary: metadata })),
        continuation: page.length < found.length ? page.at(-1)?.[0] : undefined,
      };
    },
  };
}
