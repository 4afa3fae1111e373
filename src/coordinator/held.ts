import type { EpochMs, ETag, LeaseId, Millis } from '../core/brand';
import { runIdOf } from '../core/key';
import { sameMetadata } from '../core/metadata';
import type { Row } from '../core/row';
import { encodeRow } from '../core/row';
import { untilAnswered } from '../lease/deadline';
import type { Moment, Trust } from '../lease/trust';
import { moment } from '../lease/trust';
import type { Coordinator, RunnableJob } from './coordinator';

/** A monotonic clock may run this much too fast. */
export const CLOCK_RATE_ERROR = 0.01;

/** A claimed row: the attempt writes it under its lease. */
export interface Held {
  readonly job: RunnableJob;
  readonly leaseId: LeaseId;
  /** As it was acquired: the instance that did so may have another jobs file. The service renews it for this long. */
  readonly leaseMs: Millis;
  readonly trust: Trust;
  /** The service's Date of its first write under this lease, and when that was answered, on the monotonic clock. */
  readonly claimed: { readonly date: EpochMs; readonly monotonic: Millis };
  /** As it was written last. */
  row: Row;
  etag: ETag;
}

/** What every event about a run says of it. */
export function describeRun(held: Held): {
  job: Held['job']['spec']['name'];
  scheduledFor?: EpochMs;
  runId?: string;
  token: number;
  attempt: number;
} {
  const { run, token, attempt } = held.row;
  const { name } = held.job.spec;
  return {
    job: name,
    ...(run === undefined ? {} : { scheduledFor: run.scheduledFor, runId: runIdOf(name, run.key) }),
    token,
    attempt,
  };
}

export type RowWrite =
  | {
      readonly kind: 'written';
      readonly etag: ETag;
      /** A service's Date, and when the call that brought it was sent. */
      readonly date: EpochMs;
      readonly sent: Moment;
      /** The write's own answer was lost, and the row read back. */
      readonly answerLost: boolean;
    }
  | { readonly kind: 'refused' };

/**
 * Writes a row under its lease. A lost answer is asked again; where that is refused, the row is read back and
 * compared, since it may be our own write that is in the way.
 */
export async function writeRow(
  coordinator: Coordinator,
  guard: { readonly job: RunnableJob; readonly leaseId: LeaseId; readonly etag: ETag },
  row: Row,
  remaining: () => Millis,
): Promise<RowWrite> {
  const { store, clock, serviceTime } = coordinator;
  const { name } = guard.job.spec;
  const metadata = encodeRow(row);
  let calls = 0;
  let sent = moment(clock);
  const answer = await untilAnswered(coordinator, remaining, (signal) => {
    calls += 1;
    sent = moment(clock);
    return store.writeRow(name, metadata, { leaseId: guard.leaseId, ifMatch: guard.etag }, { signal });
  });
  if (answer.kind === 'written') {
    serviceTime.observe(answer.date, sent);
    return { ...answer, sent, answerLost: calls > 1 };
  }
  if (calls === 1) return { kind: 'refused' };
  const listing = await untilAnswered(coordinator, remaining, (signal) => {
    sent = moment(clock);
    return store.list({ job: name, signal });
  });
  const seen = listing.jobs.get(name)?.row;
  if (seen === undefined || !sameMetadata(seen.metadata, metadata)) return { kind: 'refused' };
  return { kind: 'written', etag: seen.etag, date: listing.date, sent, answerLost: true };
}
