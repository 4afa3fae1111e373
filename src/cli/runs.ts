import type { JobName } from '../core/brand';
import type { LoadedJobs } from '../config/load';
import { currentPause } from '../core/control';
import type { JobSpec } from '../core/job';
import { ForeignMetadataError } from '../core/metadata';
import { oneLine } from '../core/text';
import type { Listing } from '../lease/store';
import { stateIn } from '../operator/job-state';
import { listRuns, withOverlappedRuns } from '../operator/list-runs';
import type { ShownRecord } from '../operator/list-runs';
import { runsNow } from '../operator/runs-now';
import { unknownAnywhere } from '../operator/subject';
import { UsageError } from './cli-error';
import type { FileOptions } from './jobs-file';
import { atHand, jobsWithTag, loadFile, loadFileIfAny } from './jobs-file';
import { OK, print, printJson, table, warn } from './output';
import { attemptsMade, deployment, lastError, lateness, paintOutcome, stretch, took } from './record-text';
import type { StorageOptions } from './storage';
import { openStore } from './storage';
import type { ShowTime, TimeOptions } from './time';
import { timesOf } from './time';

export interface RunsOptions extends FileOptions, StorageOptions, TimeOptions {
  readonly limit: number;
  readonly tag?: string | undefined;
  readonly json?: boolean | undefined;
}

/** `cronlease runs`: the runs in progress, and the ledger, newest first. */
export async function runs(job: string | undefined, options: RunsOptions): Promise<number> {
  const file = loadFileIfAny(options);
  const tagged = options.tag === undefined ? undefined : jobsWithTag(loadFile(options), options.tag, options);
  if (job !== undefined && tagged !== undefined) throw new UsageError('JOB and --tag both name jobs: leave one out');
  const store = openStore(options);
  const listing = await store.list(job === undefined ? {} : { job: job as JobName });
  const jobs = job === undefined ? [...listing.jobs.keys()].filter(isIn(tagged)) : [job as JobName];
  const [running, found] = await Promise.all([
    runsNow(store, jobs, listing),
    listRuns(store, jobs, listing, options.limit),
  ]);
  for (const problem of found.problems) warn(problem);
  const ids = new Set(running.map(({ runId }) => runId));
  const ledger = found.records.filter(({ runId }) => !ids.has(runId));
  const records = withOverlappedRuns([...running, ...ledger].slice(0, options.limit));
  if (job !== undefined && records.length === 0 && !isKnown(job, listing, file)) {
    const all = await store.list();
    throw unknownAnywhere(job, file && atHand(file, options), { location: store.location, jobs: all.jobs.keys() });
  }
  if (options.json) {
    printJson(records);
    return OK;
  }
  const show = timesOf(options);
  if (job !== undefined) printPause(job as JobName, listing, show);
  if (records.length > 0) print(runsTable(records, show));
  else print(job === undefined ? 'Nothing has run yet.' : `Job "${job}" has not run yet.`);
  return OK;
}

function isIn(specs: readonly JobSpec[] | undefined): (job: JobName) => boolean {
  return (job) => specs === undefined || specs.some(({ name }) => name === job);
}

function isKnown(job: string, listing: Listing, file: LoadedJobs | undefined): boolean {
  return listing.jobs.has(job as JobName) || (file?.jobsFile.jobs.some(({ name }) => name === job) ?? false);
}

const HEADING = ['JOB', 'DUE', 'OUTCOME', 'LATE', 'TOOK', 'BY', ''];

function runsTable(records: readonly ShownRecord[], show: ShowTime): string {
  const [first, ...lines] = table(
    HEADING,
    records.map((record) => cells(record, show)),
  ).split('\n');
  return [first, ...records.map((record, index) => withError(lines[index] ?? '', record))].join('\n');
}

function cells(record: ShownRecord, show: ShowTime): readonly string[] {
  return [
    record.job,
    show(Date.parse(record.scheduledFor)),
    record.outcome,
    lateness(record),
    took(record),
    deployment(record),
    notes(record, show),
  ];
}

/** Anything unusual about the run. */
function notes(record: ShownRecord, show: ShowTime): string {
  const { reason, trigger, overlappedRunId } = record;
  const attempts = attemptsMade(record);
  return [
    reason === null || reason === 'completed' ? '' : reason,
    trigger === null || trigger === 'schedule' ? '' : trigger,
    attempts > 1 ? `attempt ${attempts}` : '',
    stretch(record, show),
    overlappedRunId === undefined ? '' : `during ${overlappedRunId}`,
  ]
    .filter((note) => note !== '')
    .join(', ');
}

/** The line with its outcome in colour, and below it the error. */
function withError(line: string, record: ShownRecord): string {
  const painted = line.replace(`  ${record.outcome}`, `  ${paintOutcome(record.outcome)}`);
  const error = record.outcome === 'succeeded' ? undefined : lastError(record);
  return error === undefined ? painted : `${painted}\n    ${error}`;
}

function printPause(job: JobName, listing: Listing, show: ShowTime): void {
  try {
    const { control, now } = stateIn(listing, job);
    const pause = currentPause(control, now);
    if (pause === undefined) return;
    print(`Paused since ${show(pause.since)} by ${oneLine(pause.by)}: ${oneLine(pause.note)}\n`);
  } catch (error) {
    if (!(error instanceof ForeignMetadataError)) throw error;
    warn(`job "${job}": ${error.message}`);
  }
}
