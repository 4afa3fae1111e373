import type { EpochMs, JobName, Millis } from '../core/brand';
import { formatDuration } from '../core/duration';
import { FLEET } from '../core/fleet';
import { given } from '../core/given';
import { type JobGroup, type JobSpec, NOTICE_TOPICS, type NotifySettings } from '../core/job';
import { LAYOUT } from '../core/layout';
import { clockChanges, clockNote } from '../core/schedule/clock-changes';
import { type CompiledSchedule, compileSchedule } from '../core/schedule/compile';
import { onNominalTimes, type Span, type Window, excludedSpans, spanOf } from '../core/schedule/window';
import { scheduleHash } from '../core/schedule/hash';
import { spreadOffset } from '../core/schedule/spread';
import { ScheduleError } from '../core/schedule/schedule-error';
import { type Calendars, type UsedCalendar, excludedTimes, ownWindows } from './calendars';
import { type DurationLimits, checkDurations, requireWithinOf, timeoutOf } from './check-durations';
import { checkCall } from './check-call';
import { checkInput } from './check-input';
import { warnOfGaps, warnOfNoEffect } from './check-effect';
import type { CheckedJob } from './checked-job';
import type { Path, IssueReport } from './config-error';
import type { HandledJob } from './handlers';
import { isObject } from '../core/metadata';
import { ALL_JOBS, isJobName } from './readers';
import { type FileGroups, type FileNotify, type JobSettings, jobRemainder, jobSchema } from './schema';
import { oneOf } from './suggest';
import { countOf, issuesOf } from './zod-issues';

const YEAR_MS: Millis = 365 * 86_400_000;

export interface JobLimits extends DurationLimits {
  /** The current time, to warn of due times in the past. Undefined: unknown, and not checked. */
  readonly now?: EpochMs | undefined;
  /** Whether to warn of changes of clocks too. */
  readonly clockChanges?: boolean;
  readonly calendars: Calendars;
  readonly notify: FileNotify;
  readonly groups: FileGroups;
}

interface ReadJob {
  /** Undefined: it has an error. */
  readonly spec?: JobSpec | undefined;
  /** Undefined: the settings that concern its handler have an error. */
  readonly handled?: HandledJob | undefined;
}

/** Names that no job can have, though they look like those of jobs. */
const TAKEN: ReadonlyMap<string, { readonly why: string; readonly other: string }> = new Map([
  [ALL_JOBS, { why: 'the command line reads as all jobs', other: 'all-orders' }],
  [FLEET, { why: 'is reserved: cronlease keeps the commands for deployments under it', other: 'fleet' }],
  [LAYOUT, { why: 'is reserved: cronlease keeps the list of storage accounts under it', other: 'layout' }],
]);

export function readJob(name: string, raw: unknown, report: IssueReport, limits: JobLimits): ReadJob {
  const errorsBefore = report.errors.count;
  const path = ['jobs', name];
  const isNamed = isJobName(name);
  if (!isNamed)
    report.error(
      path,
      'has a name that no job can have',
      `must be 1 to 63 characters of a-z 0-9 -, such as "${asJobName(name)}"`,
    );
  const taken = TAKEN.get(name);
  if (taken !== undefined) {
    report.error(path, `has a name that ${taken.why}`, `give it another name, such as "${taken.other}"`);
  }
  if (!isObject(raw)) {
    report.error(path, 'is not an object', 'must be an object of settings: {"schedule": "0 3 * * *"}');
    return {};
  }
  const job = readSettings(path, raw, report);
  const offsetMs = isNamed ? offsetOf(name, job) : 0;
  const used = calendarsOf(job, limits.calendars);
  const compiled = used && compile(job, offsetMs, used);
  if (compiled !== undefined) {
    warnOfGaps(job, compiled.timetable);
    if (limits.now !== undefined) {
      warnOfPast(job, compiled, limits.now);
      if (limits.clockChanges === true) warnOfClockChanges(job, compiled, limits.now);
    }
  }
  checkDurations(job, limits);
  checkInput(job);
  checkCall(job);
  warnOfNoEffect(job);
  if (!isNamed) return {};
  const handled = handledOf(name, job);
  if (compiled === undefined || used === undefined || report.errors.count > errorsBefore) return { handled };
  const { notify, groups } = limits;
  return { spec: specOf(name, job.settings, { compiled, offsetMs, notify, groups, calendars: used }), handled };
}

function handledOf(name: JobName, { settings, wrong }: CheckedJob): HandledJob | undefined {
  if (['handler', 'call', 'input', 'schedule', 'grace'].some((key) => wrong.has(key))) return undefined;
  const { handler = name, call, input, schedule, grace } = settings;
  const kind = schedule?.kind === 'always' ? 'always' : 'timed';
  return { name, handler, input, kind, graceMs: grace, ...given({ call }) };
}

function asJobName(name: string): string {
  return (
    name
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .slice(0, 63)
      .replace(/^-|-$/g, '') || 'nightly-report'
  );
}

function readSettings(path: Path, raw: Readonly<Record<string, unknown>>, report: IssueReport): CheckedJob {
  const given = new Set(Object.keys(raw).filter((key) => raw[key] !== undefined));
  const parsed = jobSchema.safeParse(raw);
  if (parsed.success) return { path, settings: parsed.data, given, wrong: new Set(), report };
  const { issues } = parsed.error;
  report.addErrors(countOf(issues), () => issuesOf(issues, raw, path, Object.keys(jobSchema.shape)));
  const wrong = new Set(issues.map((issue) => String(issue.path[0])));
  const right = Object.entries(raw).filter(([key]) => Object.hasOwn(jobSchema.shape, key) && !wrong.has(key));
  return { path, settings: jobRemainder.parse(Object.fromEntries(right)), given, wrong, report };
}

/** The calendars that a job excepts; undefined if one is missing or wrong. */
function calendarsOf(
  { path, settings, wrong, report }: CheckedJob,
  calendars: Calendars,
): readonly UsedCalendar[] | undefined {
  if (wrong.has('except')) return [];
  let isRight = true;
  const used = settings.except.flatMap((entry, index): readonly UsedCalendar[] => {
    if (!('calendar' in entry)) return [];
    const calendar = calendars.get(entry.calendar);
    if (calendar !== undefined) return [{ name: entry.calendar, calendar, index }];
    isRight = false;
    if (calendars.has(entry.calendar)) return [];
    const remedy = oneOf(entry.calendar, [...calendars.keys()], 'declare it in "calendars" of the file');
    report.error([...path, 'except', index, 'calendar'], 'is not a calendar of this file', remedy);
    return [];
  });
  return isRight ? used : undefined;
}

/** The job's due times, if all settings that affect them are right. */
function compile(
  { path, settings, wrong, report }: CheckedJob,
  offsetMs: Millis,
  calendars: readonly UsedCalendar[],
): CompiledSchedule | undefined {
  const { schedule, timeZone, dst, between, except } = settings;
  let isRight = ['schedule', 'timeZone', 'dst', 'between', 'except'].every((key) => !wrong.has(key));
  const attempt = <Value>(at: Path, make: () => Value): Value | undefined => {
    try {
      return make();
    } catch (error) {
      if (!(error instanceof ScheduleError)) throw error;
      report.error([...path, ...at], error.message, error.remedy);
      isRight = false;
      return undefined;
    }
  };
  const span = (window: Window, ...at: (string | number)[]): Span | undefined =>
    wrong.has('timeZone') ? undefined : attempt(at, () => spanOf(window, timeZone));

  const allowed = between === undefined ? undefined : span(between, 'between');
  const excepted = except.flatMap((entry, index) => ('calendar' in entry ? [] : (span(entry, 'except', index) ?? [])));
  const days = wrong.has('timeZone')
    ? []
    : calendars.flatMap(
        ({ calendar, index }) => attempt(['except', index], () => calendar.exclusionsIn(timeZone)) ?? [],
      );
  if (schedule?.kind === 'cron') {
    for (const { message, remedy } of schedule.warnings) report.warning([...path, 'schedule'], message, remedy);
  }
  if (!isRight || schedule === undefined) return undefined;
  const excluded = excludedSpans(allowed, excepted, offsetMs);
  const nominal = days.map((exclusion) => onNominalTimes(exclusion, offsetMs));
  return attempt(['schedule'], () => compileSchedule(schedule, timeZone, dst, excluded, nominal));
}

/** From nominal to actual due times. */
function offsetOf(name: JobName, { settings: { schedule, spread }, wrong }: CheckedJob): Millis {
  const hasDueTimes = schedule !== undefined && schedule.kind !== 'always' && schedule.kind !== 'manual';
  return hasDueTimes && !wrong.has('spread') ? spreadOffset(name, spread) : 0;
}

interface Compiled {
  readonly compiled: CompiledSchedule;
  readonly offsetMs: Millis;
  readonly calendars: readonly UsedCalendar[];
  readonly notify: FileNotify;
  readonly groups: FileGroups;
}

function specOf(
  name: JobName,
  settings: JobSettings,
  { compiled, offsetMs, calendars, notify, groups }: Compiled,
): JobSpec | undefined {
  const { schedule, timeZone, enabled, retry } = settings;
  const { kind, at, timetable, scheduled } = compiled;
  if (schedule === undefined) return undefined;
  return {
    name,
    schedule: schedule.text,
    kind,
    ...given({ at }),
    timeZone: timeZone.name,
    timetable,
    ...(scheduled && { excluded: excludedTimes(scheduled, settings, offsetMs, calendars) }),
    offsetMs,
    catchUp: settings.catchUp,
    catchUpWindowMs: settings.catchUpWindow,
    overlap: settings.overlap,
    requires: settings.requires.filter(isJobName),
    requireWithinMs: requireWithinOf(settings),
    group: groupOf(settings.group, groups),
    priority: settings.priority,
    timeoutMs: timeoutOf(settings),
    stallAfterMs: settings.stallAfter,
    graceMs: settings.grace,
    retry: {
      attempts: retry.attempts,
      backoffMs: retry.backoff,
      factor: retry.factor,
      maxBackoffMs: retry.maxBackoff,
      jitter: retry.jitter,
    },
    leaseMs: settings.lease,
    pauseAfterFailures: settings.pauseAfterFailures,
    alertAfterMs: settings.alertAfter,
    notify: notifyOf(settings.notify, notify),
    ping: settings.ping,
    keepMs: settings.keep,
    logs: settings.logs,
    input: settings.input,
    handler: settings.handler ?? name,
    ...given({ call: settings.call }),
    description: settings.description,
    tags: settings.tags,
    enabled,
    scheduleHash: hashOf(schedule, settings, calendars),
  };
}

function hashOf(
  schedule: NonNullable<JobSettings['schedule']>,
  { timeZone, dst, between, spread, enabled, except }: JobSettings,
  calendars: Compiled['calendars'],
): string {
  return scheduleHash({
    schedule,
    timeZone: timeZone.name,
    dst,
    between,
    spread,
    enabled,
    except: [...ownWindows(except), ...calendars.flatMap(({ calendar }) => calendar.windows)],
    yearly: calendars.flatMap(({ calendar }) => calendar.yearly),
  });
}

function groupOf(name: string | undefined, groups: FileGroups): JobGroup | undefined {
  const group = name !== undefined && Object.hasOwn(groups, name) ? groups[name] : undefined;
  return name === undefined || group === undefined ? undefined : { name, maxParallel: group.maxParallel };
}

/**
 * Warns of due times that the clocks skip or show twice within a year, unless the author has set `dst`. A schedule that
 * follows elapsed time skips none.
 */
function warnOfClockChanges(
  { path, settings: { schedule, timeZone, enabled }, given, report }: CheckedJob,
  { kind, timetable }: CompiledSchedule,
  now: EpochMs,
): void {
  if (schedule?.kind !== 'cron' || schedule.elapsed || !enabled || given.has('dst')) return;
  const job = { schedule: schedule.text, kind, timeZone: timeZone.name, timetable };
  const changes = clockChanges(job, now, now + YEAR_MS);
  if (changes.length === 0) return;
  report.warning(
    [...path, 'schedule'],
    changes.map((change) => `on ${change.wall.slice(0, 10)} ${clockNote(change)}`).join('; '),
    'set "dst" to choose, such as {"gap": "forward", "overlap": "first"}, or use another time',
  );
}

/** Warns of a job that has no further due time, or whose only one is too old to run. */
function warnOfPast({ path, settings, wrong, report }: CheckedJob, compiled: CompiledSchedule, now: EpochMs): void {
  const { kind, at, timetable } = compiled;
  if (kind !== 'timed' || timetable.next(now) !== undefined) return;
  if (at !== undefined && timetable.next(at - 1) === at) {
    // A missed due time still runs within its window.
    if (wrong.has('catchUpWindow') || now - at <= settings.catchUpWindow) return;
    report.warning(
      [...path, 'schedule'],
      `is in the past by more than catchUpWindow (${formatDuration(settings.catchUpWindow)}): it never runs`,
      'use a later time, or remove the job',
    );
    return;
  }
  const { between } = settings;
  if (between?.to !== undefined && timetable.previous(now) !== undefined) {
    const problem = 'is in the past: the job is never due again';
    report.warning([...path, 'between', 'to'], problem, 'use a later time, or remove the job');
  }
}

/** The job's own members before the file's. Undefined: no notices are sent. */
function notifyOf(own: JobSettings['notify'], file: FileNotify): NotifySettings | undefined {
  if (own === false) return undefined;
  const { to, on = NOTICE_TOPICS, after = 1, remind } = { ...file, ...own };
  return to === undefined ? undefined : { to: [...new Set(to)], on, after, remindMs: remind };
}
