import type { JobRowStore, ListedRow } from '../../lease/store';
import { listingOf } from '../facets/facets';
import { listedLease, mayWrite } from '../lease-automaton';
import { leaseSeconds, STORE_LIMITS } from '../limits';
import { dateOf, type JobRowCalls, type RowCalls } from '../port';
import { acquire, breakLease, NO_LEASE, renew, seenAt } from './lease';
import { type Folder, heed, type Row, type State, written } from './state';

export function rowsOf(state: State, controls: Folder): JobRowCalls {
  return { ...listing(state, controls), ...leases(state) };
}

function listing({ clock, rows }: State, controls: Folder): Pick<JobRowStore, 'list' | 'readRow'> {
  const listedRow = ({ etag, metadata, lease }: Row): ListedRow => ({
    etag,
    ...listedLease(seenAt(clock.monotonic(), lease)),
    metadata,
  });
  return {
    async list(options) {
      heed(options);
      const only = options?.job;
      const of = <Value>(map: ReadonlyMap<string, Value>): readonly (readonly [string, Value])[] =>
        [...map].filter(([name]) => only === undefined || name === only);
      const listed = of(rows).map(([name, row]) => [name, listedRow(row)] as const);
      return listingOf(dateOf(clock.now()), new Map(listed), new Map(of(controls)), only);
    },
    async readRow(job, options) {
      heed(options);
      const row = rows.get(job);
      return row && listedRow(row);
    },
  };
}

function leases(state: State): Omit<RowCalls, 'readRow'> {
  const { clock, rows } = state;
  return {
    async createRow(job, metadata, options) {
      heed(options);
      const stored = written(state, metadata);
      if (rows.has(job)) return 'exists';
      rows.set(job, { ...stored, lease: NO_LEASE });
      return 'created';
    },
    async acquire(job, { leaseId, leaseMs, ifMatch }, options) {
      heed(options);
      const duration = leaseSeconds(leaseMs) * 1000;
      const row = rows.get(job);
      if (row === undefined || row.etag !== ifMatch) return { kind: 'lost' };
      const lease = acquire(row.lease, leaseId, duration, clock.monotonic());
      if (lease === undefined) return { kind: 'lost' };
      rows.set(job, { ...row, lease });
      return { kind: 'acquired', date: dateOf(clock.now()) };
    },
    async renew(job, leaseId, options) {
      heed(options);
      const row = rows.get(job);
      const lease = row && renew(row.lease, leaseId, clock.monotonic());
      if (row === undefined || lease === undefined) return 'lost';
      rows.set(job, { ...row, lease });
      return 'renewed';
    },
    async writeRow(job, metadata, { leaseId, ifMatch }, options) {
      heed(options);
      const stored = written(state, metadata);
      const row = rows.get(job);
      if (row === undefined || row.etag !== ifMatch || !mayWrite(seenAt(clock.monotonic(), row.lease), leaseId)) {
        return { kind: 'refused' };
      }
      rows.set(job, { ...stored, lease: row.lease });
      return { kind: 'written', etag: stored.etag, date: dateOf(clock.now()) };
    },
    async release(job, leaseId, options) {
      heed(options);
      const row = rows.get(job);
      if (row === undefined || row.lease.holder !== leaseId) return 'lost';
      if (options?.ifMatch !== undefined && row.etag !== options.ifMatch) return 'lost';
      rows.set(job, { ...row, lease: NO_LEASE });
      return 'released';
    },
    async breakLease(job, ifMatch, options) {
      heed(options);
      const row = rows.get(job);
      if (row === undefined || row.etag !== ifMatch || row.lease.holder === undefined) return { kind: 'lost' };
      const now = clock.monotonic();
      const lease = breakLease(row.lease, STORE_LIMITS.leaseMs.most, now);
      rows.set(job, { ...row, lease });
      // The service rounds the answer to whole seconds.
      return { kind: 'broken', leftMs: Math.round(Math.max(0, lease.until - now) / 1000) * 1000 };
    },
  };
}
