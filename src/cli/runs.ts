import type { JobName } from '../core/brand';
import type { LoadedJobs } from '../config/load';
import { openPause } from '../core/control';
import { ForeignMetadataError } from '../core/metadata';
import { ForeignRecordError } from '../core/record';
import { oneLine } from '../core/text';
import type { LeaseStore, Listing } from '../lease/store';
import { currentRun, stateIn } from '../operator/job-state';
import { listRuns } from '../operator/list-runs';
import type { ShownRecord } from '../operator/list-runs';
import { unknownAnywhere } from '../operator/subject';
import type { FileOptions } from './jobs-file';
import { atHand, loadFileIfAny } from './jobs-file';
import { OK, print, printJson, table, warn } from './output';
import { deployment, lastError, lateness, paintOutcome, stretch, took } from './record-text';
import type { StorageOptions } from './storage';
import { openStore } from './storage';
import { isUtc, local, utc } from './time';

export interface RunsOptions extends FileOptions, StorageOptions {
  readonly limit: number;
  readonly json?: boolean | undefined;
}

/** `cronlease runs`: the ledger, newest first. */
export async function runs(job: string | undefined, options: RunsOptions): Promise<number> {
  const file = loadFileIfAny(options);
  const store = openStore(options);
  const listing = await store.list(job === undefined ? {} : { job: job as JobName });
  const jobs = job === undefined ? [...listing.jobs.keys()] : [job as JobName];
  const found = await listRuns(store, jobs, listing, options.limit);
  for (const problem of found.problems) warn(problem);
  if (job !== undefined && found.records.length === 0 && !isKnown(job, listing, file)) {
    const all = await store.list();
    throw unknownAnywhere(job, file && atHand(file, options), { location: store.location, jobs: all.jobs.keys() });
  }
  if (options.json) {
    printJson(found.records);
    return OK;
  }
  if (job !== undefined) await printStanding(store, job as JobName, listing);
  if (found.records.length > 0) print(runsTable(found.records, file));
  else print(job === undefined ? 'The ledger is empty.' : `The ledger has nothing of job "${job}" yet.`);
  return OK;
}

function isKnown(job: string, listing: Listing, file: LoadedJobs | undefined): boolean {
  return listing.jobs.has(job as JobName) || (file?.jobsFile.jobs.some(({ name }) => name === job) ?? false);
}

const HEADING = [
  ...['JOB', 'SCHEDULED FOR', 'LOCAL TIME', 'OUTCOME', 'REASON', 'TRIGGER'],
  ...['ATTEMPTS', 'LATE', 'TOOK', 'BY', ''],
];

function runsTable(records: readonly ShownRecord[], file: LoadedJobs | undefined): string {
  const zones = new Map<string, string>(file?.jobsFile.jobs.map((spec) => [spec.name, spec.timeZone]));
  const zoneOf = ({ job }: ShownRecord): string => zones.get(job) ?? 'UTC';
  const allUtc = records.every((record) => isUtc(zoneOf(record)));
  const heading = HEADING.map((title) => (title === 'LOCAL TIME' && allUtc ? '' : title));
  const [first, ...lines] = table(
    heading,
    records.map((record) => cells(record, zoneOf(record))),
  ).split('\n');
  return [first, ...records.map((record, index) => withError(lines[index] ?? '', record))].join('\n');
}

function cells(record: ShownRecord, timeZone: string): readonly string[] {
  const scheduledFor = Date.parse(record.scheduledFor);
  return [
    record.job,
    utc(scheduledFor),
    isUtc(timeZone) ? '' : local(scheduledFor, timeZone),
    record.outcome,
    record.reason ?? '',
    record.trigger ?? '',
    record.attempts.length === 0 ? '' : String(record.attempts.length),
    lateness(record),
    took(record),
    deployment(record),
    stretch(record),
  ];
}

/** The outcome in its colour, and below it what went wrong. */
function withError(line: string, record: ShownRecord): string {
  const painted = line.replace(`  ${record.outcome}`, `  ${paintOutcome(record.outcome)}`);
  const error = record.outcome === 'succeeded' ? undefined : lastError(record);
  return error === undefined ? painted : `${painted}\n    ${error}`;
}

/** How a job stands now: paused, or at work. The ledger has a run only once it is over, or is tried again. */
async function printStanding(store: LeaseStore, job: JobName, listing: Listing): Promise<void> {
  try {
    const state = stateIn(listing, job);
    const pause = openPause(state.control);
    if (pause !== undefined)
      print(`Paused since ${utc(pause.since)} by ${oneLine(pause.by)}: ${oneLine(pause.note)}\n`);
    const run = await currentRun(store, job, state);
    if (run === undefined || state.row === undefined) return;
    const { phase, attempt, incumbent, notBefore = 0 } = state.row;
    const waits = notBefore === 0 ? 'the next tick' : utc(notBefore);
    const standing = phase === 'retrying' ? `waits for ${waits} after attempt` : 'is at attempt';
    print(`Run ${run} ${standing} ${attempt}${incumbent === undefined ? '' : `, by ${oneLine(incumbent)}`}.\n`);
  } catch (error) {
    if (!(error instanceof ForeignMetadataError || error instanceof ForeignRecordError)) throw error;
    warn(`job "${job}": ${error.message}`);
  }
}
