import type { ETag, LeaseId } from '../../core/brand';
import type { Row } from '../../core/row';
import { acquire } from '../../lease/acquire';
import { Trust } from '../../lease/trust';
import type { Coordinator, Report, RunnableJob } from '../coordinator';
import { holdRow } from '../held';

/** A decision that gives due times their outcomes and runs nothing. */
export interface Decided {
  /** Undefined: the lease is acquired and left to expire, so that a run that seemed over continues. */
  readonly row: Row | undefined;
  /** The ETag of the row that the decision was made on. */
  readonly etag: ETag;
  readonly leaseId: LeaseId;
}

/**
 * Carries out the decision in the order of a claim: acquire, row, records, release.
 *
 * @returns false if another instance was faster
 */
export async function writeDecided(
  coordinator: Coordinator,
  job: RunnableJob,
  { row, etag, leaseId }: Decided,
  report: Report,
): Promise<boolean> {
  const { leaseMs } = job.spec;
  // Nothing renews this lease, so the tick stops after half of it.
  const trust = Trust.unrenewed(coordinator.clock, leaseMs);
  const remaining = (): number => trust.remaining();
  const guard = { job, leaseId, leaseMs, etag };
  if ((await acquire(coordinator, job.spec.name, guard, remaining)) === undefined) return false;
  if (row === undefined) return false;
  const written = await holdRow(coordinator, report, guard, { row, remaining, trustFrom: () => trust });
  if (written === undefined) return false;
  await written.held.finishDecided();
  return true;
}
