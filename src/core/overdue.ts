import type { EpochMs, Millis } from './brand';
import { type Control, currentPause } from './control';
import { type JobSpec, actualTime } from './job';
import { parseRecordKey } from './key';
import type { Row } from './row';

type AlertedJob = Pick<JobSpec, 'kind' | 'at' | 'timetable' | 'offsetMs' | 'alertAfterMs' | 'enabled'>;

/**
 * For how long the job has been without a success, if that is longer than its `alertAfter`; else undefined. A job that
 * is disabled or paused is never overdue, nor is one that has succeeded after its last due time of all. The end of a
 * pause counts as a success; so does an `@at` job's due time. Decision 024.
 *
 * @param from the job's last success, or the last excuse for having none, or when the job was first seen. An instant
 *   that is too early reports jobs as overdue that are not, never the reverse
 */
export function overdueBy(job: AlertedJob, control: Control, from: EpochMs, now: EpochMs): Millis | undefined {
  if (job.alertAfterMs === undefined || !job.enabled || currentPause(control, now) !== undefined) return undefined;
  const resumed = control.pauses.flatMap(({ until }) => (until === undefined ? [] : [until]));
  const since = Math.max(from, ...resumed);
  const age = now - (job.at === undefined ? since : Math.max(since, actualTime(job, job.at)));
  if (age <= job.alertAfterMs) return undefined;
  return job.kind === 'timed' && isFinished(job, since, now) ? undefined : age;
}

/** Whether nothing is due any more, and nothing was due between `since` and `now`. */
function isFinished({ timetable, offsetMs }: AlertedJob, since: EpochMs, now: EpochMs): boolean {
  const last = timetable.previous(now - offsetMs + 1);
  return timetable.next(now - offsetMs) === undefined && (last === undefined || last + offsetMs <= since);
}

/** The evidence that one ledger record gives of its job's last success. */
export type Mention = { readonly kind: 'succeeded' | 'excused'; readonly at: EpochMs } | undefined;

/**
 * Reads a record's summary. Due times in a pause, or of a disabled job, excuse the job, because no success is expected
 * then.
 *
 * @param summary as a listing of the ledger shows it
 */
export function mentionOf(key: string, summary: Readonly<Record<string, string>>): Mention {
  const { outcome, ended, through } = summary;
  const instant = (text: string | undefined): EpochMs => {
    const parsed = Date.parse(text ?? '');
    return Number.isNaN(parsed) ? (parseRecordKey(key)?.scheduledFor ?? 0) : parsed;
  };
  if (outcome === 'succeeded') return { kind: 'succeeded', at: instant(ended) };
  if (outcome === 'paused' || outcome === 'disabled') return { kind: 'excused', at: instant(through) };
  return undefined;
}

/** The evidence of a job's newest ledger records, as instants; undefined if there is none. */
export interface Mentions {
  readonly succeeded: EpochMs | undefined;
  /** The newest due time in a pause, or while the job was disabled. */
  readonly excused: EpochMs | undefined;
}

/**
 * The instant from which {@link overdueBy} counts.
 *
 * @param before the result of an earlier reading
 */
export function countsFrom(row: Pick<Row, 'lastGoodAt'>, { succeeded, excused }: Mentions, before?: EpochMs): EpochMs {
  return Math.max(row.lastGoodAt, ...[succeeded, excused, before].filter((instant) => instant !== undefined));
}
