import type { ETag, JobName, Millis } from '../core/brand';
import { runIdOf } from '../core/key';
import { decodeRow } from '../core/row';
import type { Row } from '../core/row';
import type { CallOptions, JobRowStore, ListedRow } from '../lease/store';
import { OperatorError } from './operator-error';

/** A lease that is held, and by whom as far as the row tells. */
export interface HeldLease {
  readonly job: JobName;
  readonly etag: ETag;
  /** The run that the row names: at work, or the last one if its holder has not made its claim. */
  readonly runId: string | undefined;
  readonly holder: string | undefined;
  readonly attempt: number;
  /** When that attempt started. */
  readonly since: number | undefined;
}

/**
 * Looks at the lease that is to be broken.
 *
 * @throws OperatorError `CannotBreak` where the store has no broken leases, `NotHeld`, `Unseen`; `ForeignMetadataError` when the row is not cronlease's
 */
export async function heldLease(store: JobRowStore, job: JobName, options?: CallOptions): Promise<HeldLease> {
  if (store.breakLease === undefined) throw cannotBreak(store);
  const found = await store.readRow(job, options);
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
 * Breaks a lease that was looked at, for what remains of it: never at once, since its holder may trust it that long.
 *
 * @returns how long it goes on
 * @throws OperatorError `NotHeld` when it has been let go, or the row changed, meanwhile
 */
export async function unlockJob(
  store: JobRowStore,
  { job, etag }: HeldLease,
  options?: CallOptions,
): Promise<{ readonly leftMs: Millis }> {
  if (store.breakLease === undefined) throw cannotBreak(store);
  const answer = await store.breakLease(job, etag, options);
  if (answer.kind === 'broken') return { leftMs: answer.leftMs };
  throw new OperatorError(
    'NotHeld',
    `nothing was broken: the lease of job "${job}" was let go, or another claim was made, while this command ran`,
  );
}

function cannotBreak({ location, limits }: JobRowStore): OperatorError {
  return new OperatorError(
    'CannotBreak',
    `nobody can break a lease in ${location}. Stop the instance that holds it: the lease ends by itself, within ` +
      `${String(limits.leaseMs.most / 1000)} s`,
  );
}

function notHeld(job: JobName, { lease, isEnding }: ListedRow, row: Row): OperatorError {
  const isWaiting = row.phase === 'retrying' || row.phase === 'fanning';
  const how = {
    leased: '',
    available: isWaiting ? 'it is free, and its run waits for its next attempt' : 'it is free',
    expired: 'it has run out, and the next tick takes the job over if its run is not over',
    broken: isEnding
      ? 'it is being broken already'
      : 'it is broken already: a tick takes it once it has seen it so for a lease and its margin',
  }[lease];
  return new OperatorError('NotHeld', `there is nothing to break: the lease of job "${job}" is not held, ${how}`);
}
