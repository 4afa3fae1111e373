import type { JobName } from '../../core/brand';
import type { ListedRow } from '../../lease/store';
import type { ListedRows } from '../facets/rows';
import { type Change, guardedRows, listedLease, type SeenLease } from '../lease-automaton';
import { STORE_LIMITS } from '../limits';
import { dateOf, type Rows } from '../port';
import { breakLease, folderOf, heed, NO_LEASE, type Row, type State, written } from './state';

export function rowsOf(state: State): Rows {
  const { clock, rows } = state;
  return {
    async create({ job, options }, metadata) {
      heed(options);
      if (rows.has(job)) return undefined;
      const row = { ...written(state, metadata), lease: NO_LEASE };
      rows.set(job, row);
      return row.etag;
    },
    async read({ job, options }) {
      heed(options);
      const row = rows.get(job);
      return row && listed(state, row);
    },
    ...guardedRows(async ({ job, options }, decide) => {
      heed(options);
      const row = rows.get(job);
      const change = row && decide({ etag: row.etag, lease: leaseOf(state, row) });
      if (row === undefined || change === undefined) return undefined;
      const changed = changedBy(state, row, change);
      rows.set(job, changed);
      const left = { leftMs: Math.max(0, changed.lease.until - clock.monotonic()) };
      return { etag: changed.etag, date: dateOf(clock.now()), ...(change.kind === 'break' && left) };
    }),
  };
}

function changedBy(state: State, row: Row, change: Change): Row {
  const { lease } = row;
  const now = state.clock.monotonic();
  switch (change.kind) {
    case 'write':
      return { ...written(state, change.metadata), lease };
    case 'acquire': {
      const { id: holder, leaseMs } = change;
      return { ...row, lease: { holder, isBroken: false, leaseMs, until: now + leaseMs } };
    }
    case 'renew':
      return { ...row, lease: { ...lease, until: now + lease.leaseMs } };
    case 'release':
      return { ...row, lease: NO_LEASE };
    case 'break':
      return { ...row, lease: breakLease(lease, STORE_LIMITS.leaseMs.most, now) };
  }
}

export function listJobs(state: State, only: JobName | undefined): ListedRows {
  const of = <Value>(map: ReadonlyMap<string, Value>): readonly (readonly [string, Value])[] =>
    [...map].filter(([name]) => only === undefined || name === only);
  return {
    date: state.clock.now(),
    rows: new Map(of(state.rows).map(([name, row]) => [name, listed(state, row)])),
    controls: new Map(of(folderOf(state, 'controls'))),
  };
}

function listed(state: State, row: Row): ListedRow {
  return { etag: row.etag, ...listedLease(leaseOf(state, row)), metadata: row.metadata };
}

function leaseOf({ clock }: State, { lease: { holder, isBroken, until } }: Row): SeenLease {
  return { holder, isBroken, isOver: clock.monotonic() >= until };
}
