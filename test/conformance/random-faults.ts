import type { EpochMs } from '../../src/core/brand';
import type { LeaseStore } from '../../src/lease/store';

/** Ways in which memory could be wrong without anyone noticing. */
export function faultsOf(now: () => EpochMs): Readonly<Record<string, (store: LeaseStore) => Partial<LeaseStore>>> {
  return {
    'an acquisition looks at no ETag': (store) => ({
      acquire: async (job, request) => {
        const row = await store.readRow(job);
        return store.acquire(job, { ...request, ifMatch: row?.etag ?? request.ifMatch });
      },
    }),
    'a row that was not written says that it was': (store) => ({
      writeRow: async (job, metadata, guard) => {
        const answer = await store.writeRow(job, metadata, guard);
        return answer.kind === 'refused' ? { kind: 'written', etag: guard.ifMatch, date: now() } : answer;
      },
    }),
    'an expired lease cannot be renewed': (store) => ({
      renew: async (job, leaseId) =>
        (await store.readRow(job))?.lease === 'expired' ? 'lost' : store.renew(job, leaseId),
    }),
    'anybody may release': (store) => ({
      release: async (job, leaseId) => {
        await store.release(job, leaseId);
        return 'released';
      },
    }),
    'a lease ends too early': (store) => ({
      acquire: (job, request) => store.acquire(job, { ...request, leaseMs: request.leaseMs - 1000 }),
    }),
    'a listing of one job shows another’s': (store) => ({ list: () => store.list() }),
    'a page is the last one': (store) => ({
      listRecords: async (...request) => ({ ...(await store.listRecords(...request)), continuation: undefined }),
    }),
    'text is appended wherever a log ends': (store) => ({
      appendLog: async (job, key, name, { text }) => {
        const before = await store.readLog(job, key, name, { from: 0, limit: Infinity });
        return store.appendLog(job, key, name, { text, at: before?.length ?? 0 });
      },
    }),
    'a record is replaced whatever its ETag': (store) => ({
      replaceRecord: async (job, key, record, ifMatch) => {
        const found = await store.readRecord(job, key);
        return store.replaceRecord(job, key, record, found?.etag ?? ifMatch);
      },
    }),
  };
}
