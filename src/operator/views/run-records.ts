import type { CallOptions, LeaseStore, Listing } from '../../lease/store';
import { inParallel } from '../../core/in-parallel';
import { readShown, type Runs, withOverlappedRuns } from './list-runs';
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
  const records = await inParallel(
    runs,
    async (run) => now.get(run.runId) ?? readShown(store, run, { listing, problems, options }),
  );
  return { records: withOverlappedRuns(records.filter((record) => record !== undefined)), problems };
}
