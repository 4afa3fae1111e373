import type { EpochMs, JobName } from './brand';
import { type JobSpec, actualTime } from './job';
import { formatDuration } from './duration';
import { decodeRecent, keyOf } from './recent';

/** The knowledge of one required job. If it is old, a due time only waits for longer: a success stays one. */
export interface RequiredJob {
  /** The newest of its due times that is known to have succeeded. */
  readonly succeeded: EpochMs | undefined;
  /** Its ledger was read from the newest record down to this due time. `Infinity`: not read. */
  readonly readTo: EpochMs;
  /** The Date of a listing that came before that reading. */
  readonly readAt: EpochMs;
  /** Its row has changed since. */
  readonly isStale: boolean;
  /** An instance holds its row, or its items run: it may succeed at any moment. */
  readonly isBusy: boolean;
}

export type RequiredJobs = ReadonlyMap<JobName, RequiredJob>;

export const NOTHING_KNOWN: RequiredJobs = new Map();

/** Whether the jobs that a job requires let one of its due times run. */
export type Requirement =
  | { readonly kind: 'met' }
  /** Not known before the ledgers of these jobs are read down to `since`. */
  | { readonly kind: 'unread'; readonly jobs: readonly JobName[]; readonly since: EpochMs }
  /** These jobs have not succeeded yet. `isBusy`: one of them may do so at any moment. */
  | { readonly kind: 'waits'; readonly jobs: readonly JobName[]; readonly until: EpochMs; readonly isBusy: boolean }
  | { readonly kind: 'missed'; readonly jobs: readonly JobName[] };

type Requiring = Pick<JobSpec, 'requires' | 'requireWithinMs' | 'timetable' | 'offsetMs'>;

/** A listing's Date is cut to whole seconds. */
const DATE_RESOLUTION_MS = 1_000;

/**
 * Judges one due time. A run of a required job counts if its own due time is later than this job's previous one,
 * however late it ended: where both jobs are due at midnight, yesterday's run of the required job does not count today.
 *
 * @param scheduledFor nominal
 * @param now limited by the listing's Date
 */
export function requirementOf(
  job: Requiring,
  required: RequiredJobs,
  scheduledFor: EpochMs,
  now: EpochMs,
): Requirement {
  if (job.requires.length === 0) return { kind: 'met' };
  const since = requiredSince(job, scheduledFor);
  const jobs = job.requires.filter((name) => (required.get(name)?.succeeded ?? -Infinity) <= since);
  if (jobs.length === 0) return { kind: 'met' };
  const until = actualTime(job, scheduledFor) + job.requireWithinMs;
  const isOver = now >= until;
  const isUnread = (name: JobName): boolean => {
    const known = required.get(name);
    if (known === undefined || known.isStale || known.readTo > since) return true;
    // A success may have been recorded after the reading, and in time.
    return isOver && known.readAt + DATE_RESOLUTION_MS < until;
  };
  const unread = jobs.filter(isUnread);
  if (unread.length > 0) return { kind: 'unread', jobs: unread, since };
  if (isOver) return { kind: 'missed', jobs };
  return { kind: 'waits', jobs, until, isBusy: jobs.some((name) => required.get(name)?.isBusy === true) };
}

/**
 * The newest due time that a row remembers as a success: retention may have deleted its record. Only an entry with a
 * duration comes from the run's end or from its record, and that of a run in progress may change. Decision 076.
 */
export function rememberedSuccess(
  metadata: Readonly<Record<string, string>>,
  lease: string | undefined,
): EpochMs | undefined {
  const isOver = metadata['phase'] === 'settled' || (metadata['phase'] === 'running' && lease === 'available');
  const newest = decodeRecent(metadata['recent']).findLast(
    (entry) =>
      entry.kind === 'run' &&
      entry.outcome === 'succeeded' &&
      entry.durationMs !== undefined &&
      // A manual run may repeat an earlier due time.
      entry.request === undefined &&
      (isOver || keyOf(entry) !== metadata['run']),
  );
  return newest?.scheduledFor;
}

/** A phrase about the due times of a job that requires others; undefined: it requires none. */
export function waitsFor({
  requires,
  requireWithinMs,
}: Pick<JobSpec, 'requires' | 'requireWithinMs'>): string | undefined {
  if (requires.length === 0) return undefined;
  return `waits up to ${formatDuration(requireWithinMs)} for a success of ${requires.join(', ')}`;
}

/** The job's previous due time: a success of a required job must be due after it. The first due time has none. */
export function requiredSince({ timetable }: Pick<JobSpec, 'timetable'>, scheduledFor: EpochMs): EpochMs {
  return timetable.previous(scheduledFor) ?? -Infinity;
}
