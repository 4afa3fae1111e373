import type { EpochMs, ETag, LeaseId, Millis } from '../core/brand';
import { untilAnswered } from '../lease/deadline';
import { type Moment, moment } from '../lease/trust';
import type { Coordinator, RunnableJob } from './coordinator';

/** A job by its name alone: the jobs file may lack it. */
export interface NamedJob {
  readonly spec: Pick<RunnableJob['spec'], 'name'>;
}

/** The lease under which a row is written, and the ETag that the write must find. */
export interface Guard<Job extends NamedJob = RunnableJob> {
  readonly job: Job;
  readonly leaseId: LeaseId;
  /**
   * The length with which the lease was acquired, perhaps by an instance with another jobs file. The service renews it
   * for this long.
   */
  readonly leaseMs: Millis;
  /** Of the row that was decided on. */
  readonly etag: ETag;
}

/** A lease that was acquired, perhaps at a repeated call. */
export interface Acquired {
  /** The service's Date of the last call, and when that call was sent. */
  readonly date: EpochMs;
  readonly sent: Moment;
}

/**
 * Acquires a job's lease, unless its row has changed since the decision. The id is ours, so a repeat after a lost answer
 * is a renewal.
 *
 * @returns undefined if another instance was faster
 * @throws StoreError when storage does not answer: the acquisition may have taken effect
 */
export async function acquire(
  coordinator: Coordinator,
  { job, leaseId, leaseMs, etag }: Guard<NamedJob>,
  remaining: () => Millis,
): Promise<Acquired | undefined> {
  const { clock, store } = coordinator;
  let sent = moment(clock);
  const answer = await untilAnswered(coordinator, remaining, (signal) => {
    sent = moment(clock);
    return store.acquire(job.spec.name, { leaseId, leaseMs, ifMatch: etag }, { signal });
  });
  return answer.kind === 'lost' ? undefined : { date: answer.date, sent };
}
