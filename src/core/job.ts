import type { EpochMs, JobName, Millis } from './brand';
import type { CallSpec } from './call';

/** The largest input of a manual run, in bytes of JSON. */
export const INPUT_BYTES = 32 * 1024;

/** The due times of one schedule: nominal instants in order, without beginning or end. */
export interface Timetable {
  /** The first due time strictly after `instant`; undefined if there is none within 5 years. */
  next(instant: EpochMs): EpochMs | undefined;
  /** The last due time strictly before `instant`; undefined if there is none within 5 years or since 1970. */
  previous(instant: EpochMs): EpochMs | undefined;
}

/**
 * The source of due times. `timed`: the timetable (cron, `@every`, `@at`). `always`: none, terms follow one another.
 * `manual`: none, the job runs on request. Decision 012.
 */
export type ScheduleKind = 'timed' | 'always' | 'manual';

/** The entry of a setting that keeps a time of the schedule from being due. */
export interface ExcludedBy {
  readonly setting: 'between' | 'except';
  /** Null: the job's own entry. */
  readonly calendar: string | null;
  /** The entry for people, with its name: `Christmas Day (2026-12-25)`. */
  readonly entry: string;
}

/** The times of a schedule that are not due. */
export interface ExcludedTimes {
  /** The due times, and the excluded ones too. */
  readonly scheduled: Timetable;
  /** Undefined: nothing excludes the time. */
  by(time: EpochMs): ExcludedBy | undefined;
}

/** A group of jobs, as the jobs file has it. */
export interface JobGroup {
  readonly name: string;
  /** How many runs of the group may be at work at once. */
  readonly maxParallel: number;
}

export interface Retry {
  /** Attempts in all, the first included. */
  readonly attempts: number;
  readonly backoffMs: Millis;
  readonly factor: number;
  readonly maxBackoffMs: Millis;
  readonly jitter: 'full' | 'none';
}

/** One job of `jobs.json`, checked, with every default filled in. */
export interface JobSpec {
  readonly name: JobName;
  /** The schedule as written in the file. */
  readonly schedule: string;
  readonly kind: ScheduleKind;
  /** The instant of an `@at` schedule. */
  readonly at?: EpochMs;
  readonly timeZone: string;
  /** Nominal due times; empty for `always` and `manual`. A disabled job has them too. */
  readonly timetable: Timetable;
  /** Of a job with `between` or `except`. Nominal, as the timetable. */
  readonly excluded?: ExcludedTimes;
  /** A fixed offset inside `spread`, from a hash of the name: actual time = nominal time + offset. */
  readonly offsetMs: Millis;
  readonly catchUp: 'latest' | 'all' | 'none';
  readonly catchUpWindowMs: Millis;
  readonly overlap: 'skip' | 'queue' | 'cancel';
  /** A due time waits until each of these has succeeded since this job's previous due time. */
  readonly requires: readonly JobName[];
  /** How long it waits for them, from its actual time on; 0: it requires none. */
  readonly requireWithinMs: Millis;
  /** Undefined: it may run beside any others. */
  readonly group: JobGroup | undefined;
  /** 0 to 9; 9 goes first. It orders what is due together, and does not decide when a job is due. */
  readonly priority: number;
  /** Undefined for `@always` without its own timeout. */
  readonly timeoutMs: Millis | undefined;
  readonly stallAfterMs: Millis | undefined;
  readonly graceMs: Millis;
  readonly retry: Retry;
  readonly leaseMs: Millis;
  readonly pauseAfterFailures: number | undefined;
  readonly alertAfterMs: Millis | undefined;
  /** Undefined: no notices are sent of the job. */
  readonly notify: NotifySettings | undefined;
  /** The name of the address that is called when the job starts, succeeds and fails. */
  readonly ping: string | undefined;
  readonly keepMs: Millis;
  readonly logs: 'keep' | 'host' | 'none';
  /** The file's value, before the handler's own schema reads it. */
  readonly input: unknown;
  /** Name in the registry of handlers. */
  readonly handler: string;
  /** The request that takes the place of a handler. */
  readonly call?: CallSpec;
  readonly description: string | undefined;
  readonly tags: readonly string[];
  readonly enabled: boolean;
  /** Hash of schedule, zone, dst, between, except with its calendars, spread and enabled, compared with the row's. */
  readonly scheduleHash: string;
}

/** The file `jobs.json` as a whole. */
export interface JobsFile {
  /** The version of the file. A deployment with a lower one never claims a job whose schedule differs. */
  readonly revision: number;
  readonly jobs: readonly JobSpec[];
}

/** Less than the 5 years that a timetable looks ahead. */
const SEARCH_MS = 4 * 365 * 86_400_000;

/** The first due time after an instant that may lie years back: looks further until it reaches `by`. Decision 007. */
export function nextDue({ timetable }: Pick<JobSpec, 'timetable'>, after: EpochMs, by: EpochMs): EpochMs | undefined {
  for (let from = after; ; from += SEARCH_MS) {
    const due = timetable.next(from);
    if (due !== undefined || from + SEARCH_MS > by) return due;
  }
}

/** The actual time of a due time: its nominal time plus the job's offset. Decision 005. */
export function actualTime(spec: Pick<JobSpec, 'offsetMs'>, scheduledFor: EpochMs): EpochMs {
  return scheduledFor + spec.offsetMs;
}

/** A leader job's term ends this long before the host would end it. */
export const TERM_RESERVE_MS: Millis = 30_000;

/** The service cuts a Date to whole seconds, and one of its machines may be up to 0.9 s behind another. */
export const DATE_BEHIND_MS: Millis = 2_000;

/** The margin before the end of a lease: 2 s or a tenth of the lease, whichever is more. */
export function marginOf(leaseMs: Millis): Millis {
  return Math.max(2000, leaseMs / 10);
}

export const NOTICE_TOPICS = ['failure', 'recovery', 'overdue', 'unreadable', 'pause'] as const;

/** What a person wants to be told of a job. `overdue` and `unreadable` include the end of it. */
export type NoticeTopic = (typeof NOTICE_TOPICS)[number];

/** The `notify` of one job, with every default filled in. */
export interface NotifySettings {
  /** Names of receivers, whose addresses are in the app settings. */
  readonly to: readonly string[];
  readonly on: readonly NoticeTopic[];
  /** How many runs in a row must have failed. */
  readonly after: number;
  /** How often a failure, or an overdue job, is repeated while it lasts. Undefined: never. */
  readonly remindMs: Millis | undefined;
}
