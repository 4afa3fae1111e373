import type { ETag } from '../../../src/core/brand';
import type { CallOptions, LeaseBreaking, LeaseStore, Retention } from '../../../src/lease/store';
import { JOB, LEASE_MS, newLeaseId } from './support';
import { keepOf } from '../../support/keep';

type Method = Exclude<
  keyof LeaseStore,
  'location' | 'limits' | 'home' | 'accounts' | keyof LeaseBreaking | keyof Retention
>;
type Call = (store: LeaseStore, options?: CallOptions) => Promise<unknown>;

/** One call of each method that every store has, with arguments that are in order. */
export const CALLS: { readonly [M in Method]: Call } = {
  prepare: (store, options) => store.prepare(options),
  list: (store, options) => store.list(options),
  createRow: (store, options) => store.createRow(JOB, { token: '9' }, options),
  readRow: (store, options) => store.readRow(JOB, options),
  acquire: (store, options) =>
    store.acquire(JOB, { leaseId: newLeaseId(), leaseMs: LEASE_MS, ifMatch: '"0x1"' as ETag }, options),
  renew: (store, options) => store.renew(JOB, newLeaseId(), options),
  writeRow: (store, options) =>
    store.writeRow(JOB, { token: '9' }, { leaseId: newLeaseId(), ifMatch: '"0x1"' as ETag }, options),
  release: (store, options) => store.release(JOB, newLeaseId(), options),
  readControl: (store, options) => store.readControl(JOB, options),
  writeControl: (store, options) => store.writeControl(JOB, { by: 'ann' }, undefined, options),
  removeControl: (store, options) => store.removeControl(JOB, '"0x1"' as ETag, options),
  writePresence: (store, options) => store.writePresence('east', { hub: 'one' }, undefined, options),
  listPresences: (store, options) => store.listPresences(options),
  createRecord: (store, options) => store.createRecord(JOB, '1-s', { body: '{}', summary: {} }, options),
  replaceRecord: (store, options) =>
    store.replaceRecord(JOB, '1-s', { body: '{}', summary: {} }, '"0x1"' as ETag, options),
  readRecord: (store, options) => store.readRecord(JOB, '1-s', options),
  listRecords: (store, options) => store.listRecords(JOB, { limit: 10 }, options),
  createLog: (store, options) => store.createLog(JOB, '1-s', '1', options),
  appendLog: (store, options) => store.appendLog(JOB, '1-s', '1', { text: 'said\n', at: 0 }, options),
  readLog: (store, options) => store.readLog(JOB, '1-s', '1', { from: 0, limit: 10 }, options),
  listLogs: (store, options) => store.listLogs(JOB, '1-s', { limit: 10 }, options),
  createPiece: (store, options) => store.createPiece(JOB, '1-s', 'plan', { body: '[]', summary: {} }, options),
  createRequest: (store, options) => store.createRequest('r', '{}', options),
  readRequest: (store, options) => store.readRequest('r', options),
  readPiece: (store, options) => store.readPiece(JOB, '1-s', 'plan', options),
  listPieces: (store, options) => store.listPieces(JOB, { limit: 10 }, options),
  touchPiece: (store, options) => store.touchPiece(JOB, 'k', 'plan', {}, options),
  writeAudit: (store, options) => store.writeAudit('1-a', { by: 'ann' }, undefined, options),
  listAudits: (store, options) => store.listAudits({ limit: 10 }, options),
  createNotice: (store, options) => store.createNotice('a_failed_1', { body: '{}', metadata: {} }, options),
  readNotice: (store, options) => store.readNotice('a_failed_1', options),
  writeNotice: (store, options) => store.writeNotice('a_failed_1', { state: 'done' }, '"0x1"' as ETag, options),
  deleteNotice: (store, options) => store.deleteNotice('a_failed_1', options),
  listNotices: (store, options) => store.listNotices({ limit: 10 }, options),
  readGroup: (store, options) => store.readGroup('db', options),
  writeGroup: (store, options) => store.writeGroup('db', '{}', undefined, options),
  deletePiece: (store, options) => store.deletePiece(JOB, '1-s', 'plan', options),
};

/** As {@link CALLS}, with what only some stores have. */
export function callsOf({ breakLease, purge }: LeaseStore): Readonly<Record<string, Call>> {
  return {
    ...CALLS,
    ...(breakLease && {
      breakLease: async (store, options) => store.breakLease?.(JOB, '"0x1"' as ETag, options),
    }),
    ...(purge && { purge: async (store, options) => store.purge?.(keepOf(new Map([[JOB, 1_000]])), options) }),
  };
}
