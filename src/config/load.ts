import { resolve } from 'node:path';
import type * as z from 'zod';
import type { EpochMs, JobName, Millis } from '../core/brand';
import type { JobsFile, JobSpec } from '../core/job';
import type { CallSurroundings } from '../core/call';
import { checkCallHere } from './check-call';
import { type ReadCalendars, readCalendars } from './calendars';
import type { DurationLimits } from './check-durations';
import { checkRequires, warnOfRareRequired } from './check-requires';
import { ConfigError, type ConfigIssue, valueAt, type IssueReport, reportOn } from './config-error';
import { type Registry, checkHandlers } from './handlers';
import { readJob } from './job';
import { type ReadFile, readJsonFile } from './json';
import { isObject } from '../core/metadata';
import { jobSchema, topRemainder, topSchema } from './schema';
import { oneOf } from './suggest';
import { countOf, issuesOf } from './zod-issues';

export interface LoadOptions {
  /** The folder of a relative path. Default: the current folder. */
  readonly baseFolder?: string;
  /** Reads the files in place of the file system. */
  readonly readFile?: ReadFile;
  /** host.json's functionTimeout, if known. An attempt and its grace must fit into it. */
  readonly functionTimeoutMs?: Millis | undefined;
  /** The lengths that the store's leases may have, if known. */
  readonly leaseMs?: DurationLimits['leaseMs'];
  /** The current time, to warn of due times in the past. Undefined: not checked. */
  readonly now?: EpochMs | undefined;
  /** Whether to warn of changes of clocks too: that takes a look at a year of each schedule. */
  readonly clockChanges?: boolean;
  /** The registry of handlers, if the jobs will run here. Each job needs a handler that accepts its input. */
  readonly handlers?: Registry;
  /** The jobs will run with handlers that are not known here: a job may be an orchestration. */
  readonly handlersUnknown?: boolean;
  /** What calls need of this app, if the jobs will run here. Called only if the file has a call. */
  readonly calls?: () => CallSurroundings;
}

export interface LoadedJobs {
  readonly jobsFile: JobsFile;
  /** Valid settings that may be mistakes. */
  readonly warnings: readonly ConfigIssue[];
  /** By job: the input for its handler. Empty if `handlers` is undefined. */
  readonly inputs: ReadonlyMap<JobName, unknown>;
  /** The calendars of the file, with the entries of iCalendar files in place of their names. */
  readonly calendars: ReadCalendars['inlined'];
  /** The iCalendar files that were read. */
  readonly files: readonly string[];
}

/**
 * Reads and checks all jobs, and their handlers if given.
 *
 * @param source a path of a file such as `jobs.json`, or an object of its shape
 * @throws ConfigError with the first hundred errors and their total number. One invalid job makes the whole file
 *   invalid.
 */
export function loadJobs(source: string | object, options: LoadOptions = {}): LoadedJobs {
  const name = typeof source === 'string' ? source : 'the jobs object';
  const { report, file } = startReport(source, options);

  const { revision, calendars: right, notify, groups } = readTop(file, report);
  const { calendars, inlined, files } = readCalendars(right, recordIn(file, 'calendars'), {
    source: typeof source === 'string' ? resolve(options.baseFolder ?? '', source) : undefined,
    readFile: options.readFile,
    report,
    now: options.now,
  });
  const jobs = recordIn(file, 'jobs');
  const limits = { ...options, calendars, notify, groups };
  const read = Object.entries(jobs).map(([job, settings]) =>
    readJob(job, settings, report, { ...limits, isOrchestration: mayOutlastHost(job, settings, options) }),
  );
  const specs = read.flatMap(({ spec }) => spec ?? []);
  checkRequires(jobs, report);
  checkGroups(jobs, Object.keys(recordIn(file, 'groups')), report);
  warnOfRareRequired(specs, report, options.now);
  const handled = read.flatMap((job) => job.handled ?? []);
  const { inputs, errors } =
    options.handlers === undefined
      ? { inputs: new Map<JobName, unknown>(), errors: [] }
      : checkHandlers(handled, options.handlers, options.functionTimeoutMs);
  report.addErrors(errors.length, () => errors);
  const surroundings = handled.some(({ call }) => call !== undefined) ? options.calls?.() : undefined;
  for (const { name: job, call } of handled) {
    if (call !== undefined && surroundings !== undefined) checkCallHere(call, job, surroundings, report);
  }
  const { first, count } = report.errors;
  if (count > 0) throw new ConfigError(first, report.warnings, name, { count });
  if (specs.length === 0) report.warning(['jobs'], 'contains no job, so nothing ever runs', 'add one');
  return { jobsFile: { revision, jobs: specs }, warnings: report.warnings, inputs, calendars: inlined, files };
}

function mayOutlastHost(
  job: string,
  settings: unknown,
  { handlers, handlersUnknown = false }: LoadOptions,
): DurationLimits['isOrchestration'] {
  if (valueAt(settings, ['call']) !== undefined) return false;
  if (handlers === undefined) return handlersUnknown ? 'unknown' : false;
  const name = valueAt(settings, ['handler']) ?? job;
  const handler = typeof name === 'string' && Object.hasOwn(handlers, name) ? handlers[name] : undefined;
  return handler?.orchestrator !== undefined;
}

/** Reads the file, if it is one, and reports what is in it twice. */
function startReport(source: string | object, { baseFolder = '', readFile }: LoadOptions) {
  if (typeof source !== 'string') return { file: source, report: reportOn(source) };
  const { value, duplicates, placeAt } = readJsonFile(source, baseFolder, readFile);
  const report = reportOn(value, placeAt);
  report.addErrors(duplicates.length, () => duplicates);
  return { file: value, report };
}

/** What is right of the file's top. What is wrong is reported, and a wrong calendar or group leaves the others. */
function readTop(file: unknown, report: IssueReport): z.output<typeof topRemainder> {
  const parsed = topSchema.safeParse(file);
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  const known = Object.keys(topSchema.shape);
  report.addErrors(countOf(issues), () => issuesOf(issues, file, [], known, Object.keys(jobSchema.shape)));
  const right: Record<string, unknown> = isObject(file) ? { ...file } : {};
  for (const {
    path: [member = '', entry],
  } of issues) {
    const whole = right[String(member)];
    if (entry !== undefined && isObject(whole) && (member === 'calendars' || member === 'groups')) {
      right[member] = Object.fromEntries(Object.entries(whole).filter(([name]) => name !== entry));
    } else if (member !== '') right[String(member)] = undefined;
  }
  return topRemainder.parse(right);
}

/** The entries of a member as they stand in the file. */
function recordIn(file: unknown, member: string): Readonly<Record<string, unknown>> {
  const value = valueAt(file, [member]);
  return isObject(value) ? value : {};
}

/**
 * Checks the group of each job of the file, and that each group has a job.
 *
 * @param groups those of the file, whether or not their settings are right
 */
function checkGroups(jobs: Readonly<Record<string, unknown>>, groups: readonly string[], report: IssueReport): void {
  const used = new Set<string>();
  for (const [name, job] of Object.entries(jobs)) {
    if (!isObject(job) || typeof job['group'] !== 'string') continue;
    const { group, schedule } = job;
    const place = ['jobs', name, 'group'];
    used.add(group);
    if (!groups.includes(group)) {
      const remedy = oneOf(group, groups, `declare it in "groups" of the file: {"${group}": {"maxParallel": 3}}`);
      report.error(place, 'is not a group of this file', remedy);
    }
    if (typeof schedule === 'string' && schedule.trim() === '@always') {
      report.error(
        place,
        'cannot be used: @always is a leader job, whose terms would occupy a place in the group all the time',
        'leave it out',
      );
    }
  }
  for (const group of groups) {
    if (used.has(group)) continue;
    report.warning(['groups', group], 'is the group of no job', `set "group": "${group}" in a job, or remove it`);
  }
}

/** In place of the settings of a job that the jobs file no longer has: its schedule is not known, so nothing is due. */
export function leftJob(name: JobName): JobSpec {
  const [spec] = loadJobs({ jobs: { [name]: { schedule: '@manual' } } }).jobsFile.jobs;
  if (spec === undefined) throw new Error(`job "${name}" has no settings`);
  return spec;
}
