import type { JobName } from '../core/brand';
import type { Fate } from '../core/fate';
import type { LedgerRecord } from '../core/record';
import { ForeignRecordError } from '../core/record';
import { ForeignMetadataError } from '../core/metadata';
import type { Row } from '../core/row';
import { decodeRow } from '../core/row';
import { outcomeOf } from '../core/why';
import { readRecord } from '../coordinator/ledger';
import type { CallOptions, LedgerStore, Listing } from '../lease/store';
import { inParallel } from './in-parallel';

/** A ledger record as people see it: an open one tells how its run stands. */
export interface ShownRecord extends Omit<LedgerRecord, 'outcome'> {
  readonly outcome: Fate | 'running' | 'retrying';
}

export interface Runs {
  /** Newest first. */
  readonly records: readonly ShownRecord[];
  /** What could not be read, and why. The others are there. */
  readonly problems: readonly string[];
}

const PAGE = 500;

export function shown(record: LedgerRecord, key: string, row: Row | undefined): ShownRecord {
  return { ...record, outcome: outcomeOf(record, key, row) };
}

/**
 * The newest ledger records of one job, or of all that the store knows.
 *
 * @param listing of the jobs in question
 * @param limit how many records at most
 */
export async function listRuns(
  store: LedgerStore,
  jobs: readonly JobName[],
  listing: Listing,
  limit: number,
  options?: CallOptions,
): Promise<Runs> {
  const problems: string[] = [];
  const keys = await inParallel(jobs, async (job) =>
    (await newestKeys(store, job, limit, options)).map((key) => ({ job, key })),
  );
  const newest = keys
    .flat()
    .sort((a, b) => (a.key === b.key ? compare(a.job, b.job) : compare(a.key, b.key)))
    .slice(0, limit);
  const records = await inParallel(newest, async ({ job, key }) => {
    try {
      const found = await readRecord(store, job, key, options);
      return found && shown(found.record, key, found.record.state === 'open' ? rowOf(listing, job) : undefined);
    } catch (error) {
      if (!(error instanceof ForeignRecordError || error instanceof ForeignMetadataError)) throw error;
      problems.push(`job "${job}": ${error.message}`);
      return undefined;
    }
  });
  return { records: records.filter((record) => record !== undefined), problems };
}

async function newestKeys(
  store: LedgerStore,
  job: JobName,
  limit: number,
  options: CallOptions | undefined,
): Promise<readonly string[]> {
  const keys: string[] = [];
  let continuation: string | undefined;
  do {
    const request = { limit: Math.min(PAGE, limit - keys.length) };
    const page = await store.listRecords(
      job,
      continuation === undefined ? request : { ...request, continuation },
      options,
    );
    keys.push(...page.records.map(({ key }) => key));
    continuation = page.continuation;
  } while (continuation !== undefined && keys.length < limit);
  return keys;
}

function rowOf(listing: Listing, job: JobName): Row | undefined {
  const row = listing.jobs.get(job)?.row;
  return row && decodeRow(row.metadata);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
