import type { EpochMs, ETag, JobName, LeaseId, Millis, Token } from '../core/brand';
import type { Clock } from '../core/clock';
import { marginOf } from '../core/job';
import { type RecordOf, decodeFields, encodeFields, instantIn, optional, textIn, wholeIn } from '../core/metadata';
import { type Lease, acquire } from '../lease/acquire';
import { CALL_LIMIT_MS, untilAnswered, within } from '../lease/deadline';
import {
  type ListedRow,
  type Metadata,
  type RowStore,
  type StoreError,
  StoreUnavailableError,
  orStoreError,
} from '../lease/store';
import { elapsedSince, moment, Trust } from '../lease/trust';
import type { ElectionSettings } from './options';
import type { Leader } from './leadership';

const ACQUIRE_LIMIT_MS = 5_000;
const GIVE_BACK_LIMIT_MS = 1_000;
/** A container that has been missing for this long is made again: no leader from before trusts its lease any more. */
const MADE_AGAIN_AFTER_MS = 75_000;

export interface World {
  readonly store: RowStore;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly newId: () => string;
}

/** The row as one read showed it. */
export interface Sighting {
  readonly row: ElectionRow;
  readonly etag: ETag;
  readonly free: boolean;
  /** The leader, or one that may still believe that it leads. Until the claim it is the previous one. */
  readonly leader: Leader | undefined;
}

export type Scout = ReturnType<typeof createScout>;

export function createScout(settings: ElectionSettings, { store, clock }: World) {
  const { name, leaseMs } = settings;
  let prepared = false;
  /** When the container was first missed, on the monotonic clock: it was deleted, or the server has lost its data. */
  let missedAt: Millis | undefined;
  /** The highest token seen. If the row is deleted, this process creates it again with this token. */
  let token = 0 as Token;
  let broken: { readonly etag: ETag; readonly since: Millis } | undefined;

  const readIfAny = async (): Promise<Sighting | undefined> => {
    const seen = await within(clock, CALL_LIMIT_MS, (signal) => store.readRow(name, { signal }));
    if (seen === undefined) return undefined;
    const row = decodeElectionRow(seen.metadata);
    token = Math.max(token, row.token) as Token;
    const free = isFree(seen, Math.max(leaseMs, row.leaseMs ?? 0));
    return { row, etag: seen.etag, free, leader: free ? undefined : leaderOf(row) };
  };
  /** A broken lease may be taken after it has been seen broken for as long as the old leader may trust it. */
  const isFree = ({ lease, etag, isEnding = false }: ListedRow, longest: Millis): boolean => {
    if (lease !== 'broken') {
      broken = undefined;
      return lease !== 'leased';
    }
    if (broken?.etag !== etag) broken = { etag, since: clock.monotonic() };
    return !isEnding && clock.monotonic() - broken.since >= longest + marginOf(longest);
  };
  const readOrCreate = async (): Promise<Sighting> => {
    const seen = await readIfAny();
    if (seen !== undefined) return seen;
    const fresh = encodeElectionRow({ token });
    await within(clock, CALL_LIMIT_MS, (signal) => store.createRow(name, fresh, { signal }));
    const made = await readIfAny();
    if (made === undefined)
      throw new StoreUnavailableError(`the row of election "${name}" is missing, although it was just created`);
    return made;
  };
  return {
    /** Reads the row; creates container and row if they are missing. */
    async read(): Promise<Sighting> {
      if (!prepared || (missedAt !== undefined && clock.monotonic() - missedAt >= MADE_AGAIN_AFTER_MS)) {
        await within(clock, CALL_LIMIT_MS, (signal) => store.prepare({ signal }));
        prepared = true;
        missedAt = undefined;
      }
      try {
        const sighting = await readOrCreate();
        missedAt = undefined;
        return sighting;
      } catch (error) {
        if (error instanceof StoreUnavailableError && error.noContainer) missedAt ??= clock.monotonic();
        throw error;
      }
    },
    /** Reads the leader, and creates nothing. */
    leader: async (): Promise<Leader | undefined> => (await readIfAny())?.leader,
  };
}

export function leaderOf({ leader, token, since }: ElectionRow): Leader | undefined {
  return leader === undefined || since === undefined ? undefined : { id: leader, token, since: new Date(since) };
}

/** A term that this instance won: the row names it, under its lease. */
export interface Won {
  readonly leader: Leader;
  readonly leaseId: LeaseId;
  /** Of the row with the claim. */
  readonly etag: ETag;
  readonly trust: Trust;
}

/** Acquires the lease of an unchanged row, and claims under it. Undefined: others were faster, or it is stopping. */
export async function claim(
  settings: ElectionSettings,
  world: World,
  { row, etag }: Sighting,
  stopping: AbortSignal,
): Promise<Won | undefined> {
  const { clock } = world;
  const { name, leaseMs } = settings;
  const lease = { leaseId: world.newId() as LeaseId, leaseMs, etag };
  const started = moment(clock);
  try {
    const remaining = (): Millis => (stopping.aborted ? 0 : ACQUIRE_LIMIT_MS - elapsedSince(clock, started));
    const acquired = await acquire(world, name, lease, remaining);
    if (acquired === undefined) return undefined;
    if (!stopping.aborted) {
      const trust = Trust.inLease(clock, acquired.sent, leaseMs);
      const claimed = await writeClaim(settings, world, { ...lease, row, acquiredAt: acquired.date }, trust);
      if (claimed === undefined) return undefined;
      return { ...claimed, leaseId: lease.leaseId, trust };
    }
  } catch (error) {
    await release(world, name, lease, GIVE_BACK_LIMIT_MS);
    throw error;
  }
  await release(world, name, lease, GIVE_BACK_LIMIT_MS);
  return undefined;
}

/** Makes this instance the leader. It raises the token, and makes every other candidate's ETag stale. */
async function writeClaim(
  settings: ElectionSettings,
  world: World,
  { row, etag, leaseId, acquiredAt }: Lease & { row: ElectionRow; acquiredAt: EpochMs },
  trust: Trust,
): Promise<Pick<Won, 'leader' | 'etag'> | undefined> {
  const { store } = world;
  const { name, leaseMs, id } = settings;
  const token = (row.token + 1) as Token;
  const term = world.newId();
  const metadata = encodeElectionRow({ token, leader: id, since: acquiredAt, term, leaseMs: Math.ceil(leaseMs) });
  const remaining = (): Millis => trust.remaining();
  const written = await untilAnswered(world, remaining, (signal) =>
    store.writeRow(name, metadata, { leaseId, ifMatch: etag }, { signal }),
  );
  const leader = { id, token, since: new Date(acquiredAt) };
  if (written.kind === 'refused') {
    // Our own write may be the reason for the refusal: its answer was lost, and it was sent again, here or by the SDK.
    const seen = await untilAnswered(world, remaining, (signal) => store.readRow(name, { signal }));
    if (seen === undefined || decodeElectionRow(seen.metadata).term !== term) return undefined;
    return { leader, etag: seen.etag };
  }
  return { leader, etag: written.etag };
}

/** Releases a lease of a row with this ETag. If that fails, it expires. Returns the error of storage, if any. */
export async function release(
  { store, clock }: World,
  name: JobName,
  { leaseId, etag }: Pick<Lease, 'leaseId' | 'etag'>,
  limitMs: Millis,
): Promise<StoreError | undefined> {
  const released = within(clock, limitMs, (signal) => store.release(name, leaseId, { ifMatch: etag, signal }));
  return orStoreError(released.then(() => undefined));
}

const ELECTION = {
  token: wholeIn<Token>('token'),
  /** The leader of the last term; undefined before the first term. */
  leader: optional(textIn('leader')),
  /** The service's Date of the acquisition at the start of the last term. */
  since: optional(instantIn('since')),
  /** The id of the last term. A candidate whose answer was lost recognises its own write by it. */
  term: optional(textIn('term')),
  /** The length of the last leader's lease, for candidates with another length. */
  leaseMs: optional(wholeIn('lease')),
};

/** An election's row: the metadata of `elections/<name>/lease`, which only the lease holder writes. */
export type ElectionRow = Partial<RecordOf<typeof ELECTION>> & { readonly token: Token };

export function encodeElectionRow(row: ElectionRow): Metadata {
  return encodeFields<ElectionRow>(ELECTION, row);
}

/** @throws ForeignMetadataError if something else has written the row */
export function decodeElectionRow(metadata: Metadata): ElectionRow {
  return decodeFields<ElectionRow>(ELECTION, metadata);
}
