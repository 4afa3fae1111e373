import type { EpochMs, JobName, Millis } from '../core/brand';
import type { JobsFile } from '../core/job';
import { resolve } from 'node:path';
import { type ReadCalendars, readCalendars } from './calendars';
import type { DurationLimits } from './check-durations';
import { ConfigError, type ConfigIssue } from './config-error';
import { checkGroups } from './check-groups';
import { checkRequires, warnOfRareRequired } from './check-requires';
import { checkHandlers, type Registry } from './handlers';
import { readJob } from './job';
import { type ReadFile, readJsonFile } from './read-file';
import { type IssueReport, reportOn } from './report';
import { isRecord } from './readers';
import { type FileGroups, type FileNotify, jobSchema, topSchema } from './schema';
import { valueAt } from './value-at';
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

  const { revision, jobs, calendars, notify, groups } = readTop(file, report, (parsed) =>
    readCalendars(parsed, calendarsIn(file), {
      source: typeof source === 'string' ? resolve(options.baseFolder ?? '', source) : undefined,
      readFile: options.readFile,
      report,
      now: options.now,
    }),
  );
  const limits = { ...options, calendars: calendars?.calendars, notify, groups: groups ?? {} };
  const specs = Object.entries(jobs).flatMap(([job, settings]) => readJob(job, settings, report, limits) ?? []);
  checkRequires(jobs, report);
  if (groups !== undefined) checkGroups(jobs, groups, report);
  warnOfRareRequired(specs, report, options.now);
  const { inputs, errors } =
    options.handlers === undefined
      ? { inputs: new Map<JobName, unknown>(), errors: [] }
      : checkHandlers({ revision, jobs: specs }, options.handlers, options.functionTimeoutMs);
  report.addErrors(errors.length, () => errors);
  const { first, count } = report.errors;
  if (count > 0) throw new ConfigError(first, report.warnings, name, { count });
  if (specs.length === 0) report.warning(['jobs'], 'holds no job, so nothing ever runs', 'add one');
  const { inlined = {}, files = [] } = calendars ?? {};
  return { jobsFile: { revision, jobs: specs }, warnings: report.warnings, inputs, calendars: inlined, files };
}

/** Reads the file, if it is one, and reports what is in it twice. */
function startReport(source: string | object, { baseFolder = '', readFile }: LoadOptions) {
  if (typeof source !== 'string') return { file: source, report: reportOn(source) };
  const { value, duplicates, placeAt } = readJsonFile(source, baseFolder, readFile);
  const report = reportOn(value, placeAt);
  report.addErrors(duplicates.length, () => duplicates);
  return { file: value, report };
}

type ParsedCalendars = Parameters<typeof readCalendars>[0];

interface Top {
  readonly revision: number;
  readonly jobs: Readonly<Record<string, unknown>>;
  /** Undefined if the top is wrong: jobs that use a calendar are then not compiled. */
  readonly calendars: ReadCalendars | undefined;
  readonly notify: FileNotify;
  /** Undefined if the top is wrong. */
  readonly groups: FileGroups | undefined;
}

/** The file's top. Its jobs are returned even if the top is wrong, so that they are checked too. */
function readTop(file: unknown, report: IssueReport, read: (parsed: ParsedCalendars) => ReadCalendars): Top {
  const parsed = topSchema.safeParse(file);
  if (!parsed.success) {
    const { issues } = parsed.error;
    const known = Object.keys(topSchema.shape);
    report.addErrors(countOf(issues), () => issuesOf(issues, file, [], known, Object.keys(jobSchema.shape)));
  }
  const jobs = valueAt(file, ['jobs']);
  return {
    revision: parsed.data?.revision ?? 0,
    jobs: isRecord(jobs) ? jobs : {},
    calendars: parsed.data && read(parsed.data.calendars),
    notify: parsed.data?.notify ?? {},
    groups: parsed.data?.groups,
  };
}

/** The calendars as they stand in a file whose top is right. */
function calendarsIn(file: unknown): Readonly<Record<string, readonly unknown[]>> {
  const calendars = valueAt(file, ['calendars']);
  if (!isRecord(calendars)) return {};
  return Object.fromEntries(Object.entries(calendars).map(([name, list]) => [name, Array.isArray(list) ? list : []]));
}
