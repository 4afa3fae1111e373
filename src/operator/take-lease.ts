import type { ETag, JobName, LeaseId, Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import { sleep } from '../core/clock';
import { marginOf } from '../core/job';
import type { Stretch } from '../core/fate';
import type { LedgerRecord } from '../core/record';
import { storeRecord, stretchRecord } from '../core/record';
import type { Row } from '../core/row';
import { encodeRow } from '../core/row';
import { readRecord } from '../coordinator/ledger';
import type { LeaseStore, ListedRow, Metadata, RowStore } from '../lease/store';
import { inParallel } from './in-parallel';
import { OperatorError } from './operator-error';

/** What commands that take leases need. Every call is made once: asked again, such a command finishes what it began. */
export interface Desk<Store extends RowStore = LeaseStore> {
  readonly store: Store;
  readonly clock: Clock;
  /** A new GUID. */
  readonly newId: () => string;
  /** Something takes long: why, and how long. */
  readonly waiting: (why: string, ms: Millis) => void;
}

/** A row that this command holds. */
export interface Holding {
  readonly job: JobName;
  /** For messages. */
  readonly whose: string;
  readonly leaseId: LeaseId;
  etag: ETag;
}

/**
 * Takes the lease of a row that is still what was seen. A broken one is left to its old holder for as long as that may
 * trust it.
 *
 * @param whose for messages
 * @throws OperatorError `LeaseHeld`, `Contended`
 */
export async function takeLease(
  desk: Desk<RowStore>,
  job: JobName,
  seen: ListedRow,
  whose = `job "${job}"`,
): Promise<Holding> {
  const { store, clock } = desk;
  const { least, most } = store.limits.leaseMs;
  if (seen.lease === 'leased') throw leaseHeld(whose, most);
  if (seen.lease === 'broken') {
    // Whatever the jobs file says here, the holder's may say something else.
    const patience = most + marginOf(most);
    desk.waiting(`the lease of ${whose} was broken, and its old holder may trust it`, patience);
    await sleep(clock, patience);
  }
  const leaseId = desk.newId() as LeaseId;
  // The shortest that there is: should the command die, others wait no longer than that.
  const answer = await store.acquire(job, { leaseId, leaseMs: least, ifMatch: seen.etag });
  if (answer.kind === 'lost') throw contended(whose);
  return { job, whose, leaseId, etag: seen.etag };
}

function leaseHeld(whose: string, longestMs: Millis): OperatorError {
  return new OperatorError(
    'LeaseHeld',
    `the lease of ${whose} is held: somebody is at work. A lease that nobody renews ends by itself, within ` +
      `${String(longestMs / 1000)} s: ask ` +
      'again then. If a job\'s holder is stuck, "cronlease unlock" breaks it.',
  );
}

function contended(whose: string): OperatorError {
  return new OperatorError('Contended', `${whose} was changed by others meanwhile: ask again`);
}

/** Throws `OperatorError` `Contended` when the row is not ours any more. */
export async function writeHeld(desk: Desk, holding: Holding, row: Row): Promise<void> {
  await writeMetadata(desk, holding, encodeRow(row));
}

/** As {@link writeHeld}, for a row of another kind. */
export async function writeMetadata(desk: Desk<RowStore>, holding: Holding, metadata: Metadata): Promise<void> {
  const { job, whose, leaseId, etag } = holding;
  const answer = await desk.store.writeRow(job, metadata, { leaseId, ifMatch: etag });
  if (answer.kind === 'refused') throw contended(whose);
  holding.etag = answer.etag;
}

/** Before another write, where the ones before may have taken long. */
export async function renewHeld({ store }: Desk, { job, whose, leaseId }: Holding): Promise<void> {
  if ((await store.renew(job, leaseId)) === 'lost') throw contended(whose);
}

/** Everything is written: the row may be seen as settled. */
export async function letGo({ store }: Desk<RowStore>, { job, leaseId }: Holding): Promise<void> {
  await store.release(job, leaseId);
}

/** What the row owes. A record that exists already stands. */
export async function writeStretches({ store }: Desk, { job }: Holding, stretches: readonly Stretch[]): Promise<void> {
  await inParallel(stretches, (stretch) => {
    const { key, record } = stretchRecord(job, stretch);
    return store.createRecord(job, key, storeRecord(record));
  });
}

/**
 * Ends a run in the ledger, unless it has ended there already.
 *
 * @throws OperatorError `Contended` when somebody else goes on with the run meanwhile, with a higher token
 */
export async function writeEnd(
  { store }: Desk,
  { job, whose }: Holding,
  key: string,
  end: LedgerRecord,
): Promise<void> {
  const created = await store.createRecord(job, key, storeRecord(end));
  while (created.kind === 'exists') {
    const found = await readRecord(store, job, key);
    if (found === undefined || found.record.state === 'final') return;
    // This machine may have slept for longer than its lease.
    if ((found.record.token ?? 0) > (end.token ?? 0)) throw contended(whose);
    if ((await store.replaceRecord(job, key, storeRecord(end), found.etag)).kind === 'replaced') return;
  }
}
