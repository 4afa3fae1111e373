import type { ETag, LeaseId, Millis } from '../../core/brand';
import { isOutcomeUnknown } from '../../core/row';
import type { Row } from '../../core/row';
import { untilAnswered } from '../../lease/deadline';
import { moment, Trust } from '../../lease/trust';
import type { Coordinator, Report, RunnableJob } from '../coordinator';
import { writeRow } from '../held';
import type { Held } from '../held';
import { writeOutcomeUnknown, writeOwedOf } from '../settle';

/** A decision by which due times get their fates and nothing runs. */
export interface Decided {
  readonly row: Row;
  /** Of the row that was decided on. */
  readonly etag: ETag;
  readonly leaseId: LeaseId;
}

/**
 * Carries the decision out in the order of a claim: acquire, row, records, release.
 *
 * @returns false when another instance was faster
 */
export async function writeDecided(
  coordinator: Coordinator,
  job: RunnableJob,
  { row, etag, leaseId }: Decided,
  report: Report,
): Promise<boolean> {
  const { clock, store } = coordinator;
  const { name, leaseMs } = job.spec;
  const sent = moment(clock);
  const trust = new Trust(clock, sent, leaseMs / 2);
  const remaining = (): Millis => trust.remaining();
  const acquired = await untilAnswered(coordinator, remaining, (signal) =>
    store.acquire(name, { leaseId, leaseMs, ifMatch: etag }, { signal }),
  );
  if (acquired.kind === 'lost') return false;
  const written = await writeRow(coordinator, { job, leaseId, etag }, row, remaining);
  if (written.kind === 'refused') return false;
  const claimed = { date: written.date, monotonic: clock.monotonic() };
  const held: Held = { job, leaseId, leaseMs, trust, claimed, row, etag: written.etag };
  if (isOutcomeUnknown(row)) await writeOutcomeUnknown(coordinator, held, report);
  await writeOwedOf(coordinator, held, report);
  await untilAnswered(coordinator, remaining, (signal) => store.release(name, leaseId, { signal }));
  return true;
}
