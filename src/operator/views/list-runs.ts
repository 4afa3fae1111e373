import type { JobName } from '../../core/brand';
import type { AttemptOutcome, Outcome } from '../../core/outcome';
import { type AttemptRecord, ForeignRecordError, type LedgerRecord } from '../../core/record';
import { ForeignMetadataError } from '../../core/metadata';
import { type Row, decodeRow } from '../../core/row';
import { outcomeOf } from '../../core/why';
import { readRecord } from '../../coordinator/ledger';
import type { LedgerStore, Listing } from '../../lease/store';
import { inParallel } from '../../core/in-parallel';
import type { JobState } from '../job-state';
import { byText } from '../../core/text';
import { pagesOf } from '../pages';

/** An attempt of a ledger record, or the one that is running. */
export type ShownAttempt = Omit<AttemptRecord, 'outcome'> & { readonly outcome: AttemptOutcome | 'running' };

/** A ledger record for people, without its log. An open one shows the state of its run. */
export interface ShownRecord extends Omit<LedgerRecord, 'outcome' | 'attempts' | 'log'> {
  readonly outcome: Outcome | 'running' | 'retrying';
  readonly attempts: readonly ShownAttempt[];
  /** For an overlapped due time: the run that was in progress at that time, if known. */
  readonly overlappedRunId?: string;
}

export interface Runs {
  /** Newest first. */
  readonly records: readonly ShownRecord[];
  /** The records that could not be read, with reasons. `records` has the others. */
  readonly problems: readonly string[];
}

const PAGE = 500;

export function shown(record: LedgerRecord, key: string, row: Row | undefined, lease?: JobState['lease']): ShownRecord {
  const { log: _, ...rest } = record;
  return { ...rest, outcome: outcomeOf(record, key, row, lease) };
}

/**
 * The newest ledger records of one job, or of all jobs in the listing.
 *
 * @param listing contains the jobs in question
 * @param limit the most records to return
 */
export async function listRuns(
  store: LedgerStore,
  jobs: readonly JobName[],
  listing: Listing,
  limit: number,
): Promise<Runs> {
  const problems: string[] = [];
  const keys = await inParallel(jobs, async (job) =>
    (await newestKeys(store, job, limit)).map((key) => ({ job, key })),
  );
  const newest = keys
    .flat()
    .sort((a, b) => (a.key === b.key ? byText(a.job, b.job) : byText(a.key, b.key)))
    .slice(0, limit);
  const records = await inParallel(newest, (listed) => readShown(store, listed, { listing, problems }));
  return { records: records.filter((record) => record !== undefined), problems };
}

/** Adds to each overlapped due time the run that was in progress, if the list has that run too. */
export function withOverlappedRuns(records: readonly ShownRecord[]): readonly ShownRecord[] {
  return records.map((record) => {
    if (record.outcome !== 'overlapped') return record;
    const run = records.find((other) => isOverlappedBy(record, other));
    return run === undefined ? record : { ...record, overlappedRunId: run.runId };
  });
}

/** Whether a run was in progress at a due time. The compared times may come from different machines. */
export function isOverlappedBy(
  { job, scheduledFor }: Pick<LedgerRecord, 'job' | 'scheduledFor'>,
  run: Pick<LedgerRecord, 'job' | 'trigger' | 'endedAt' | 'scheduledFor'>,
): boolean {
  if (run.job !== job || run.trigger === null || run.scheduledFor >= scheduledFor) return false;
  return run.endedAt === null || Date.parse(run.endedAt) + CLOCKS_DIFFER_MS >= Date.parse(scheduledFor);
}

const CLOCKS_DIFFER_MS = 2_000;

async function newestKeys(store: LedgerStore, job: JobName, limit: number): Promise<readonly string[]> {
  const keys: string[] = [];
  const list = (from: object) => store.listRecords(job, { ...from, limit: Math.min(PAGE, limit - keys.length) });
  for await (const { records } of pagesOf(list)) {
    keys.push(...records.map(({ key }) => key));
    if (keys.length >= limit) break;
  }
  return keys;
}

interface Reading {
  /** It contains the job. */
  readonly listing: Listing;
  /** Receives why a record cannot be read, which is then undefined. */
  readonly problems: string[];
}

export async function readShown(
  store: LedgerStore,
  { job, key }: { readonly job: JobName; readonly key: string },
  { listing, problems }: Reading,
): Promise<ShownRecord | undefined> {
  try {
    const found = await readRecord(store, job, key);
    return found && shown(found.record, key, found.record.state === 'open' ? rowOf(listing, job) : undefined);
  } catch (error) {
    if (!(error instanceof ForeignRecordError || error instanceof ForeignMetadataError)) throw error;
    problems.push(`job "${job}": ${error.message}`);
    return undefined;
  }
}

/** The row of a job in a listing that contains it. */
export function rowOf(listing: Listing, job: JobName): Row | undefined {
  const row = listing.jobs.get(job)?.row;
  return row && decodeRow(row.metadata);
}
