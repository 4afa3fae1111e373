import type { ETag, JobName, Millis } from '../../core/brand';
import { runIdOf } from '../../core/key';
import { type Row, decodeRow } from '../../core/row';
import type { JobRowStore, ListedRow } from '../../lease/store';
import { OperatorError } from '../operator-error';

export interface HeldLease {
  readonly job: JobName;
  readonly etag: ETag;
  /** The row's run: the one in progress, or the last one if the holder has not claimed yet. */
  readonly runId: string | undefined;
  readonly holder: string | undefined;
  readonly attempt: number;
  readonly since: number | undefined;
}

/**
 * Reads the lease before it is broken. Throws `OperatorError` `CannotBreak` if the store's leases cannot be broken,
 * `NotHeld`, `Unseen`; `ForeignMetadataError` if cronlease did not write the row.
 */
export async function heldLease(store: JobRowStore, job: JobName): Promise<HeldLease> {
  if (store.breakLease === undefined) throw cannotBreak(store);
  const found = await store.readRow(job);
  if (found === undefined) {
    throw new OperatorError('Unseen', `job "${job}" has no lease: no coordinator has seen it yet`);
  }
  const row = decodeRow(found.metadata);
  if (found.lease !== 'leased') throw notHeld(job, found, row);
  return {
    job,
    etag: found.etag,
    runId: row.run && runIdOf(job, row.run.key),
    holder: row.incumbent,
    attempt: row.attempt,
    since: row.started,
  };
}

/**
 * Breaks a lease that was read before. It ends after its remaining time, never at once, because its holder may trust it
 * that long. Returns the remaining time of the lease. Throws `OperatorError` `NotHeld` if the lease was released, or
 * the row changed, meanwhile.
 */
export async function unlockJob(store: JobRowStore, { job, etag }: HeldLease): Promise<{ readonly leftMs: Millis }> {
  if (store.breakLease === undefined) throw cannotBreak(store);
  const answer = await store.breakLease(job, etag);
  if (answer.kind === 'broken') return { leftMs: answer.leftMs };
  throw new OperatorError(
    'NotHeld',
    `nothing was broken: the lease of job "${job}" was released, or another claim was made, while this command ran`,
  );
}

function cannotBreak({ location, limits }: JobRowStore): OperatorError {
  return new OperatorError(
    'CannotBreak',
    `leases in ${location} cannot be broken. Stop the instance that holds the lease. The lease expires within ` +
      `${String(limits.leaseMs.most / 1000)} s`,
  );
}

function notHeld(job: JobName, { lease, isEnding }: ListedRow, row: Row): OperatorError {
  const isWaiting = row.phase === 'retrying' || row.phase === 'fanning';
  const how = {
    leased: '',
    available: isWaiting ? 'it is free, and its run waits for its next attempt' : 'it is free',
    expired: 'it has expired, and the next tick takes over the run if that is not over',
    broken: isEnding
      ? 'it is already being broken'
      : 'it is already broken: a tick takes it after it has seen it broken for the length of a lease and its margin',
  }[lease];
  return new OperatorError('NotHeld', `there is nothing to break: the lease of job "${job}" is not held; ${how}`);
}
