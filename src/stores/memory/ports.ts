import type { JobName } from '../../core/brand';
import type { ListedRow } from '../../lease/store';
import type { ListedRows } from '../facets/rows';
import { type Change, guardedRows, listedLease, type SeenLease } from '../lease-automaton';
import { BODY_BYTES, STORE_LIMITS } from '../limits';
import { type Condition, dateOf, type Entries, type Logs, pageOf, type Rows } from '../port';
import { breakLease, type Entry, type Folder, folderOf, heed, NO_LEASE, type Row, type State, written } from './state';

export function entriesIn(state: State): Entries<Folder> {
  const { clock } = state;
  return {
    async put({ keys: folder, id, condition, metadata, body, options }) {
      heed(options);
      const head = { ...written(state, metadata), writtenMs: clock.now() };
      const before = folder.get(id);
      if (!holds(before, condition)) return undefined;
      folder.set(id, { ...head, body: body ?? before?.body ?? '' });
      return head.etag;
    },
    async get({ keys: folder, id, options }) {
      heed(options);
      const head = folder.get(id);
      const isOurs = head !== undefined && Buffer.byteLength(head.body) <= BODY_BYTES;
      return { now: clock.now(), head, body: isOurs ? head.body : undefined };
    },
    async page({ keys: folder, prefix = '', limit, continuation = '', options }) {
      heed(options);
      return { now: clock.now(), ...pageOf(entriesAfter(folder, prefix, continuation), limit) };
    },
    async all({ keys: folder, options }) {
      heed(options);
      return { now: clock.now(), found: folder };
    },
    async remove({ keys: folder, id, ifMatch, options }) {
      heed(options);
      return holds(folder.get(id), ifMatch === undefined ? 'there' : { version: ifMatch }) && folder.delete(id);
    },
  };
}

function holds(entry: Entry | undefined, condition: Condition): boolean {
  switch (condition) {
    case 'absent':
      return entry === undefined;
    case 'there':
      return entry !== undefined;
    case 'any':
      return true;
    default:
      return entry?.etag === condition.version;
  }
}

/** A log is an entry whose body grows. */
export function logsOf(state: State): Logs<Folder> {
  const textOf = (body: string) => ({ ...written(state, {}), writtenMs: state.clock.now(), body });
  return {
    async create({ keys: folder, id, options }) {
      heed(options);
      if (folder.has(id)) return false;
      folder.set(id, textOf(''));
      return true;
    },
    async append({ keys: folder, id, text, at, options }) {
      heed(options);
      const before = folder.get(id)?.body;
      if (before?.length !== at) return false;
      folder.set(id, textOf(before + text));
      return true;
    },
    async read({ keys: folder, id, from, limit, options }) {
      heed(options);
      return folder.get(id)?.body.slice(from, from + limit);
    },
    async page({ keys: folder, prefix, limit, continuation = '', options }) {
      heed(options);
      const { items, ...page } = pageOf(entriesAfter(folder, prefix, continuation), limit);
      return { items: items.map(({ id, body }) => ({ id, bytes: body.length })), ...page };
    },
  };
}

function entriesAfter(
  folder: Folder,
  prefix: string,
  continuation: string,
): readonly (Entry & { readonly id: string })[] {
  const found = [...folder].filter(([id]) => id.startsWith(prefix) && id > continuation);
  return found.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([id, head]) => ({ id, ...head }));
}

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
