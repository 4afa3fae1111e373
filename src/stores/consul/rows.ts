import type { EpochMs, ETag, JobName, Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import type { ListedRow, Metadata } from '../../lease/store';
import { type Change, DISTURBED, guardedRows, listedLease, type SeenLease } from '../lease-automaton';
import { type Rows, etagOf } from '../port';
import { type Ask, type Calls, type Dated, untilUndisturbed } from './ask';
import { rowKeys } from './keys';
import { leftOf } from './sessions';
import { create, hasIndex, type KeyValue, lock, type Operation, set, tree, unlock } from './wire';

/**
 * A row's key has its metadata, and the index of its last write is the row's version. The key below it has its lease,
 * and is locked by a session for as long as the lease lasts. So neither an acquisition nor the end of a lease changes the
 * row's version.
 */
interface LeaseData {
  /** Left out if the lease is not held. */
  readonly id?: string;
  readonly seconds?: number;
  /** When it was acquired or renewed last, by the agents' time. */
  readonly at?: EpochMs;
  readonly isBroken?: true;
}

/** A row with its lease as of one instant. */
interface SeenRow {
  readonly date: EpochMs;
  readonly row: KeyValue;
  readonly lease: KeyValue;
  readonly held: LeaseData;
}

interface RowFolder {
  readonly ask: Ask;
  readonly clock: Clock;
  /** What the keys begin with: those of jobs, or of elections. */
  readonly folder: string;
}

export function rowsIn({ ask, clock, folder }: RowFolder): Rows {
  return {
    create: ({ job, ...question }, metadata) =>
      ask(question, async (calls) => {
        const { row, lease } = rowKeys(folder, job);
        const { found } = await calls.transact(create(row, JSON.stringify(metadata)), create(lease, '{}'));
        const created = found?.find(({ key }) => key === row);
        return created && etagAt(created);
      }),
    read: ({ job, ...question }) =>
      ask(question, async (calls) => {
        const seen = await look(calls, folder, job);
        return seen && listed(seen);
      }),
    /**
     * Looks at the row, decides, and writes if neither the row nor its lease was written in between; else looks again.
     * The end of a session counts as a write of what it has locked.
     */
    ...guardedRows(({ job, ...question }, decide) =>
      ask(question, (calls) =>
        untilUndisturbed(async () => {
          const seen = await look(calls, folder, job);
          const change = seen && decide({ etag: etagAt(seen.row), lease: leaseIn(seen) });
          if (seen === undefined || change === undefined) return undefined;
          const plan = planOf(seen, change, clock);
          const session = plan.lock === 'renewed' ? await calls.session(plan.held?.seconds ?? 0) : undefined;
          const held = session === undefined ? plan.held : { ...plan.held, at: await calls.now() };
          const operations = operationsOf(seen, { ...plan, held }, { session, checksRow: change.checksRow });
          const { date, found } = await calls.transact(...operations);
          if (found === undefined) return DISTURBED;
          const row = found.findLast(({ key }) => key === seen.row.key) ?? seen.row;
          const leftMs =
            change.kind === 'break' ? leftAtBreak(seen, clock) : leftIn(clock, session ?? seen.lease.session);
          return { etag: etagAt(row), date, leftMs };
        }),
      ),
    ),
  };
}

interface Plan {
  readonly metadata?: Metadata;
  readonly held?: LeaseData | undefined;
  /** Whether a new session of the lease's length takes the lock over, or whether the lock is given back. */
  readonly lock?: 'renewed' | 'givenBack';
}

function planOf({ lease: { session }, held }: SeenRow, change: Change, clock: Clock): Plan {
  switch (change.kind) {
    case 'write': {
      // The guard of a claim: this index, under a session that has not ended. A process that did not make the session
      // cannot tell how long it lasts, and so puts its own in its place.
      const isKnown = session !== undefined && leftOf(clock, session) !== undefined;
      const isKept = held.isBroken === true || isKnown;
      return { metadata: change.metadata, ...(!isKept && { held, lock: 'renewed' }) };
    }
    case 'acquire':
      return { held: { id: change.id, seconds: change.leaseMs / 1000 }, lock: 'renewed' };
    case 'renew':
      // By a new session, on which the cluster agrees. Consul's own renewal of a session is answered only by the leader,
      // and by one that does not know yet that another leads.
      return { held, lock: 'renewed' };
    case 'release':
      return { held: {}, lock: 'givenBack' };
    case 'break':
      // The lock stays until its session ends, and no other session takes it over.
      return { held: { ...held, isBroken: true } };
  }
}

function operationsOf(
  { row, lease }: SeenRow,
  plan: Plan,
  { session: renewed, checksRow }: { readonly session: string | undefined; readonly checksRow: boolean },
): readonly Operation[] {
  const { key, session } = lease;
  const checks = [hasIndex(lease), ...(checksRow ? [hasIndex(row)] : [])];
  const written = plan.metadata === undefined ? [] : [set(row.key, JSON.stringify(plan.metadata))];
  if (plan.held === undefined) return [...checks, ...written];
  const value = JSON.stringify(plan.held);
  const freed = session === undefined ? [] : [unlock(key, value, session)];
  if (renewed !== undefined) return [...checks, ...freed, lock(key, value, renewed), ...written];
  const isFreed = plan.lock === 'givenBack' && session !== undefined;
  return [...checks, ...(isFreed ? freed : [set(key, value)]), ...written];
}

function leftAtBreak({ lease: { session }, held }: SeenRow, clock: Clock): Millis {
  return session === undefined ? 0 : (leftOf(clock, session) ?? (held.seconds ?? 0) * 1000);
}

/** Undefined: there is no such row. */
async function look(calls: Calls, folder: string, job: JobName): Promise<SeenRow | undefined> {
  const keys = rowKeys(folder, job);
  const { date, found = [] } = await calls.transact(tree(keys.row));
  const [row, lease] = [keys.row, keys.lease].map((name) => found.find(({ key }) => key === name));
  return row && lease && { date, row, lease, held: JSON.parse(lease.value) as LeaseData };
}

/** The rows in an answer, by their names. */
export function rowsAmong(folder: string, { date, found = [] }: Dated): ReadonlyMap<JobName, ListedRow> {
  const byKey = new Map(found.map((kv) => [kv.key, kv]));
  const rows = new Map<JobName, ListedRow>();
  for (const row of found) {
    const name = row.key.slice(folder.length, -1) as JobName;
    const lease = row.key.startsWith(folder) ? byKey.get(rowKeys(folder, name).lease) : undefined;
    if (lease !== undefined) rows.set(name, listed({ date, row, lease, held: JSON.parse(lease.value) as LeaseData }));
  }
  return rows;
}

/** How long a lease lasts at least, as far as this process can tell. */
export function leftIn(clock: Clock, session: string | undefined): Millis {
  return session === undefined ? 0 : (leftOf(clock, session) ?? 0);
}

function leaseIn({ lease: { session }, held: { id, isBroken } }: SeenRow): SeenLease {
  return { holder: id, isBroken: isBroken === true, isOver: session === undefined };
}

/**
 * A session that has ended before its time was ended early: its holder may still trust, as with a lease that was
 * broken.
 */
function listed(seen: SeenRow): ListedRow {
  const { date, row, held } = seen;
  const { seconds = 0, at = 0 } = held;
  const lease = leaseIn(seen);
  const hasLasted = date + DATE_CUT_MS >= at + seconds * 1000;
  const isBroken = lease.isBroken || (lease.isOver && !hasLasted);
  return {
    etag: etagAt(row),
    ...listedLease({ ...lease, isBroken }),
    metadata: JSON.parse(row.value) as Metadata,
  };
}

function etagAt({ index }: KeyValue): ETag {
  return etagOf(String(index));
}

/** A date is cut to whole seconds. */
const DATE_CUT_MS = 1_000;

/** An ETag is the index of the last write. Another text fits nothing: no index is 0 but that of a key that is absent. */
export function indexOf(etag: ETag): number {
  return Number(/^"([1-9]\d{0,14})"$/.exec(etag)?.[1] ?? Number.MAX_SAFE_INTEGER);
}
