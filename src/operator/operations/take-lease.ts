import type { ETag, JobName, LeaseId, Millis } from '../../core/brand';
import { type Clock, sleep } from '../../core/clock';
import { marginOf } from '../../core/job';
import type { Stretch } from '../../core/outcome';
import { type LedgerRecord, storeRecord, stretchRecord } from '../../core/record';
import { type Row, encodeRow } from '../../core/row';
import { readRecord } from '../../coordinator/ledger';
import type { LeaseStore, ListedRow, Metadata, RowStore } from '../../lease/store';
import { inParallel } from '../../core/in-parallel';
import { OperatorError } from '../operator-error';

/** For commands that take leases. Each call is made once; repeated, such a command finishes what it began. */
export interface LeaseTaker<Store extends RowStore = LeaseStore> {
  readonly store: Store;
  readonly clock: Clock;
  /** A new GUID. */
  readonly newId: () => string;
  /** Reports a long wait, with its reason and length. */
  readonly waiting: (why: string, ms: Millis) => void;
}

export interface Holding {
  readonly job: JobName;
  /** For messages. */
  readonly whose: string;
  readonly leaseId: LeaseId;
  etag: ETag;
}

/**
 * Takes the lease of a row that has not changed since it was read. A broken lease is left to its old holder for as long
 * as that may trust it.
 *
 * @param whose for messages
 * @throws OperatorError `LeaseHeld`, `Contended`
 */
export async function takeLease(
  desk: LeaseTaker<RowStore>,
  job: JobName,
  seen: ListedRow,
  whose = `job "${job}"`,
): Promise<Holding> {
  const { store, clock } = desk;
  const { least, most } = store.limits.leaseMs;
  if (seen.lease === 'leased') throw leaseHeld(whose, most);
  if (seen.lease === 'broken') {
    // Uses the longest lease, because the holder's jobs file may have another length than this one.
    const patience = most + marginOf(most);
    desk.waiting(`the lease of ${whose} was broken, and its old holder may trust it`, patience);
    await sleep(clock, patience);
  }
  const leaseId = desk.newId() as LeaseId;
  // Uses the shortest lease, so that others do not wait longer if this command dies.
  const answer = await store.acquire(job, { leaseId, leaseMs: least, ifMatch: seen.etag });
  if (answer.kind === 'lost') throw contended(whose);
  return { job, whose, leaseId, etag: seen.etag };
}

function leaseHeld(whose: string, longestMs: Millis): OperatorError {
  return new OperatorError(
    'LeaseHeld',
    `the lease of ${whose} is held, because an instance is working on it. A lease that is not renewed expires within ` +
      `${String(longestMs / 1000)} s: try again then. If a job's holder is stuck, break the lease with "cronlease unlock".`,
  );
}

/** Others have changed what this command was about to change. */
export function contended(whose: string): OperatorError {
  return new OperatorError('Contended', `${whose} was changed by others meanwhile: try again`);
}

/** Writes the row. Throws `OperatorError` `Contended` if the row is no longer ours. */
export async function writeHeld(desk: LeaseTaker, holding: Holding, row: Row): Promise<void> {
  await writeMetadata(desk, holding, encodeRow(row));
}

/** Like {@link writeHeld}, for a row of another kind. */
export async function writeMetadata(desk: LeaseTaker<RowStore>, holding: Holding, metadata: Metadata): Promise<void> {
  const { job, whose, leaseId, etag } = holding;
  const answer = await desk.store.writeRow(job, metadata, { leaseId, ifMatch: etag });
  if (answer.kind === 'refused') throw contended(whose);
  holding.etag = answer.etag;
}

/** Renews the lease before another write, if the writes before may have taken long. */
export async function renewHeld({ store }: LeaseTaker, { job, whose, leaseId }: Holding): Promise<void> {
  if ((await store.renew(job, leaseId)) === 'lost') throw contended(whose);
}

/**
 * Releases the lease, once everything is written: readers take the row for settled. Returns whether it was still held.
 * Otherwise another instance may have the row.
 */
export async function letGo({ store }: LeaseTaker<RowStore>, { job, leaseId, etag }: Holding): Promise<boolean> {
  return (await store.release(job, leaseId, { ifMatch: etag })) === 'released';
}

/** Writes the records that the row owes. An existing record is kept. */
export async function writeStretches(
  { store }: LeaseTaker,
  { job }: Pick<Holding, 'job'>,
  stretches: readonly Stretch[],
): Promise<void> {
  await inParallel(stretches, (stretch) => {
    const { key, record } = stretchRecord(job, stretch);
    return store.createRecord(job, key, storeRecord(record));
  });
}

/** Ends a run in the ledger, unless it has ended. Throws `OperatorError` `Contended` if a later attempt was written. */
export async function writeEnd(
  { store }: LeaseTaker,
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
