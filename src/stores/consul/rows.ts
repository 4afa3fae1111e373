import type { EpochMs, ETag, JobName, Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import type { LeaseBreaking, ListedRow, Metadata, RowStore } from '../../lease/store';
import { listedLease, mayAcquire, mayRenew, mayWrite, type SeenLease } from '../lease-automaton';
import { checkMetadata, leaseSeconds } from '../limits';
import { type RowCalls, type RowChange, etagOf } from '../port';
import { type Ask, type Calls, type Dated, DISTURBED, untilUndisturbed } from './ask';
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

/** What a call changes of a row that it has seen. There was no other write of the lease in between. */
interface Plan {
  /** Whether the row, too, must be as it was seen. */
  readonly checksRow: boolean;
  readonly metadata?: Metadata;
  readonly held?: LeaseData | undefined;
  /** Whether a new session of the lease's length takes the lock over, or whether the lock is given back. */
  readonly lock?: 'renewed' | 'givenBack';
}

interface RowFolder {
  readonly ask: Ask;
  readonly clock: Clock;
  /** What the keys begin with: those of jobs, or of elections. */
  readonly folder: string;
}

export function rowCalls(place: RowFolder): RowCalls {
  return { ...readAndWrite(place), ...leases(place), ...breaking(place) };
}

function readAndWrite(place: RowFolder): Pick<RowStore, 'createRow' | 'readRow' | 'writeRow'> {
  const { ask, clock, folder } = place;
  return {
    async createRow(job, metadata, options) {
      checkMetadata(metadata);
      const { row, lease } = rowKeys(folder, job);
      const question = { what: `create the row of ${job}`, kind: 'write', options } as const;
      return ask({ ...question, isNothing: (answer) => answer === 'exists' }, async (calls) => {
        const { found } = await calls.transact(create(row, JSON.stringify(metadata)), create(lease, '{}'));
        return found === undefined ? 'exists' : 'created';
      });
    },
    async readRow(job, options) {
      const question = { what: `read the row of ${job}`, kind: 'read', options } as const;
      return ask({ ...question, isNothing: (row) => row === undefined }, async (calls) => {
        const seen = await look(calls, folder, job);
        return seen && listed(seen);
      });
    },
    /**
     * The guard of a claim: this index, under this lease, whose session has not ended. A process that did not make the
     * session cannot tell how long that lasts, and so puts its own in its place.
     */
    async writeRow(job, metadata, { leaseId, ifMatch }, options) {
      checkMetadata(metadata);
      const question = { what: `write the row of ${job}`, kind: 'metadata', job, options } as const;
      const done = await change(place, question, (seen) => {
        const { row, lease, held } = seen;
        const { session } = lease;
        if (session === undefined || !mayWrite(leaseIn(seen), leaseId) || etagOf(String(row.index)) !== ifMatch)
          return undefined;
        const isOurs = held.isBroken === true || leftOf(clock, session) !== undefined;
        return { checksRow: true, metadata, ...(!isOurs && { held, lock: 'renewed' }) };
      });
      if (done === undefined) return { kind: 'refused' };
      const { date, row, session } = done;
      return { kind: 'written', etag: etagOf(String(row.index)), date, leftMs: leftIn(clock, session) };
    },
  };
}

function leases(place: RowFolder): Pick<RowStore, 'acquire' | 'renew' | 'release'> {
  return {
    async acquire(job, { leaseId: id, leaseMs, ifMatch }, options) {
      const seconds = leaseSeconds(leaseMs);
      const question = { what: `acquire the lease of ${job}`, kind: 'acquire', job, options } as const;
      const done = await change(place, question, (seen) => {
        if (!mayAcquire(leaseIn(seen), id) || etagOf(String(seen.row.index)) !== ifMatch) return undefined;
        return { checksRow: true, held: { id, seconds }, lock: 'renewed' };
      });
      return done === undefined ? { kind: 'lost' } : { kind: 'acquired', date: done.date };
    },
    /**
     * By a new session, on which the cluster agrees. Consul's own renewal of a session is answered only by the leader,
     * and by one that does not know yet that another leads.
     */
    async renew(job, leaseId, options) {
      const question = { what: `renew the lease of ${job}`, kind: 'renew', job, options } as const;
      const done = await change(place, question, (seen) =>
        mayRenew(leaseIn(seen), leaseId) ? { checksRow: false, held: seen.held, lock: 'renewed' } : undefined,
      );
      return done === undefined ? 'lost' : 'renewed';
    },
    async release(job, leaseId, options) {
      const ifMatch = options?.ifMatch;
      const question = { what: `release the lease of ${job}`, kind: 'release', job, options } as const;
      const done = await change(place, question, ({ row, held }) => {
        if (held.id !== leaseId || (ifMatch !== undefined && etagOf(String(row.index)) !== ifMatch)) return undefined;
        return { checksRow: ifMatch !== undefined, held: {}, lock: 'givenBack' };
      });
      return done === undefined ? 'lost' : 'released';
    },
  };
}

/** The lock stays until its session ends, and no other session takes it over. */
function breaking(place: RowFolder): Required<LeaseBreaking> {
  return {
    async breakLease(job, ifMatch, options) {
      const question = { what: `break the lease of ${job}`, kind: 'break', job, options } as const;
      let left = 0;
      const done = await change(place, question, ({ row, lease: { session }, held }) => {
        if (held.id === undefined || etagOf(String(row.index)) !== ifMatch) return undefined;
        left = session === undefined ? 0 : (leftOf(place.clock, session) ?? (held.seconds ?? 0) * 1000);
        return { checksRow: true, held: { ...held, isBroken: true } };
      });
      return done === undefined ? { kind: 'lost' } : { kind: 'broken', leftMs: Math.round(left / 1000) * 1000 };
    },
  };
}

interface Done {
  readonly date: EpochMs;
  readonly row: KeyValue;
  /** Which holds the lock now. */
  readonly session: string | undefined;
}

/**
 * The guard of a row: looks at it, decides, and writes if neither the row nor its lease was written in between; else
 * looks again. The end of a session counts as a write of what it has locked.
 *
 * @param decide undefined: nothing is done
 */
function change(
  { ask, folder }: RowFolder,
  { job, ...question }: RowChange,
  decide: (seen: SeenRow) => Plan | undefined,
): Promise<Done | undefined> {
  return ask({ ...question, isNothing: (answer) => answer === undefined }, (calls) =>
    untilUndisturbed(async () => {
      const seen = await look(calls, folder, job);
      const plan = seen && decide(seen);
      if (seen === undefined || plan === undefined) return undefined;
      const renewed = plan.lock === 'renewed' ? await calls.session(plan.held?.seconds ?? 0) : undefined;
      const held = renewed === undefined ? plan.held : { ...plan.held, at: await calls.now() };
      const { date, found } = await calls.transact(...operationsOf(seen, { ...plan, held }, renewed));
      if (found === undefined) return DISTURBED;
      const row = found.findLast(({ key }) => key === seen.row.key) ?? seen.row;
      return { date, row, session: renewed ?? seen.lease.session };
    }),
  );
}

function operationsOf({ row, lease }: SeenRow, plan: Plan, renewed: string | undefined): readonly Operation[] {
  const { key, session } = lease;
  const checks = [hasIndex(lease), ...(plan.checksRow ? [hasIndex(row)] : [])];
  const written = plan.metadata === undefined ? [] : [set(row.key, JSON.stringify(plan.metadata))];
  if (plan.held === undefined) return [...checks, ...written];
  const value = JSON.stringify(plan.held);
  const freed = session === undefined ? [] : [unlock(key, value, session)];
  if (renewed !== undefined) return [...checks, ...freed, lock(key, value, renewed), ...written];
  const isFreed = plan.lock === 'givenBack' && session !== undefined;
  return [...checks, ...(isFreed ? freed : [set(key, value)]), ...written];
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
    etag: etagOf(String(row.index)),
    ...listedLease({ ...lease, isBroken }),
    metadata: JSON.parse(row.value) as Metadata,
  };
}

/** A date is cut to whole seconds. */
const DATE_CUT_MS = 1_000;

/** An ETag is the index of the last write. Another text fits nothing: no index is 0 but that of a key that is absent. */
export function indexOf(etag: ETag): number {
  return Number(/^"([1-9]\d{0,14})"$/.exec(etag)?.[1] ?? Number.MAX_SAFE_INTEGER);
}
