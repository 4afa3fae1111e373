import type { JobName } from '../../core/brand';
import { type AttemptRecord, ForeignRecordError, attemptHistory, openRecord } from '../../core/record';
import { ForeignMetadataError } from '../../core/metadata';
import type { Row } from '../../core/row';
import { readRecord } from '../../coordinator/ledger';
import type { LeaseStore, Listing } from '../../lease/store';
import { inParallel } from '../../core/in-parallel';
import { type JobState, asideState, currentRun, stateIn } from '../job-state';
import { readShown, type Runs, shown, type ShownAttempt, type ShownRecord, withOverlappedRuns } from './list-runs';
import type { ListedRun } from './run-pages';

/**
 * The runs in progress, newest first, each with its running attempt, and the back-filled ones that wait while due times
 * go first. The ledger has a record of a run only after its end or from its second attempt on; the others are read from
 * their rows.
 *
 * @param listing contains the jobs in question
 */
export async function runsNow(
  store: LeaseStore,
  jobs: readonly JobName[],
  listing: Listing,
): Promise<readonly ShownRecord[]> {
  const own = await runsBy(store, jobs, (job) => stateIn(listing, job));
  const aside = await runsBy(store, jobs, (job) => asideState(stateIn(listing, job)));
  return [...own, ...aside].toSorted(newestFirst);
}

/** As {@link runsNow}, with states that were read before. */
export async function runsBy(
  store: LeaseStore,
  jobs: readonly JobName[],
  stateOf: (job: JobName) => JobState,
): Promise<readonly ShownRecord[]> {
  const found = await inParallel(jobs, async (job) => {
    try {
      return await runNow(store, job, stateOf(job));
    } catch (error) {
      // `listRuns` reports this problem.
      if (error instanceof ForeignMetadataError || error instanceof ForeignRecordError) return undefined;
      throw error;
    }
  });
  return found.filter((record) => record !== undefined).toSorted(newestFirst);
}

function newestFirst(a: ShownRecord, b: ShownRecord): number {
  return b.scheduledFor.localeCompare(a.scheduledFor);
}

async function runNow(store: LeaseStore, job: JobName, state: JobState): Promise<ShownRecord | undefined> {
  const { row } = state;
  if (row?.run === undefined) return undefined;
  const { key } = row.run;
  const runId = await currentRun(store, job, state);
  if (runId === undefined) return undefined;
  const known = await readRecord(store, job, key);
  if (known?.record.state === 'final') return undefined;
  const past = attemptHistory(row.past, known?.record.attempts ?? []);
  const record = known?.record ?? { ...openRecord({ name: job, offsetMs: 0 }, row, past), latenessMs: null };
  const current = attemptNow(row, state);
  const attempts = [
    ...past.filter(({ attempt }) => attempt !== current?.attempt),
    ...(current === undefined ? [] : [current]),
  ];
  return {
    ...shown(record, key, row, state.lease),
    startedAt: record.startedAt ?? current?.startedAt ?? null,
    attempts,
  };
}

/** The row's attempt, while it runs or waits for its due time. */
function attemptNow(row: Row, { lease, now }: JobState): ShownAttempt | undefined {
  if (row.phase !== 'running') return undefined;
  const common: Omit<AttemptRecord, 'outcome' | 'startedAt'> = {
    attempt: row.attempt,
    token: row.token,
    deployment: row.incumbent ?? 'unknown',
    endedAt: null,
    error: null,
  };
  if (lease === 'expired') return { ...common, startedAt: null, outcome: 'holderLost' };
  const started = row.started === undefined || row.started > now ? null : new Date(row.started).toISOString();
  return { ...common, startedAt: started, outcome: 'running' };
}

/**
 * The records of runs that a page has listed, with their attempts, in the same order. A run in progress is read from
 * its row too.
 *
 * @param listing contains the jobs of the runs
 */
export async function recordsOf(store: LeaseStore, runs: readonly ListedRun[], listing: Listing): Promise<Runs> {
  const busy = runs.filter(({ outcome }) => outcome === 'running' || outcome === 'retrying');
  const jobs = [...new Set(busy.map(({ job }) => job))];
  const now = new Map((await runsNow(store, jobs, listing)).map((record) => [record.runId, record]));
  const problems: string[] = [];
  const records = await inParallel(
    runs,
    async (run) => now.get(run.runId) ?? readShown(store, run, { listing, problems }),
  );
  return { records: withOverlappedRuns(records.filter((record) => record !== undefined)), problems };
}
