import { ForeignMetadataError } from '../../core/metadata';
import { ForeignRecordError } from '../../core/record';
import { readRecord } from '../../coordinator/ledger';
import type { CallOptions, LeaseStore, Listing } from '../../lease/store';
import { inParallel } from '../../core/in-parallel';
import { rowOf, type Runs, type ShownRecord, shown, withOverlappedRuns } from './list-runs';
import type { ListedRun } from './run-pages';
import { runsNow } from './runs-now';

/**
 * The records of runs that a page has listed, with their attempts, in the same order. A run in progress is read from
 * its row too.
 *
 * @param listing contains the jobs of the runs
 */
export async function recordsOf(
  store: LeaseStore,
  runs: readonly ListedRun[],
  listing: Listing,
  options?: CallOptions,
): Promise<Runs> {
  const busy = runs.filter(({ outcome }) => outcome === 'running' || outcome === 'retrying');
  const jobs = [...new Set(busy.map(({ job }) => job))];
  const now = new Map((await runsNow(store, jobs, listing, options)).map((record) => [record.runId, record]));
  const problems: string[] = [];
  const records = await inParallel(runs, async ({ job, key, runId }): Promise<ShownRecord | undefined> => {
    const current = now.get(runId);
    if (current !== undefined) return current;
    try {
      const found = await readRecord(store, job, key, options);
      if (found === undefined) return undefined;
      return shown(found.record, key, found.record.state === 'open' ? rowOf(listing, job) : undefined);
    } catch (error) {
      if (!(error instanceof ForeignRecordError || error instanceof ForeignMetadataError)) throw error;
      problems.push(`job "${job}": ${error.message}`);
      return undefined;
    }
  });
  return { records: withOverlappedRuns(records.filter((record) => record !== undefined)), problems };
}
