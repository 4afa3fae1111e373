import type { OneRun } from '../../manage/schema/runs';
import type { JobName, EpochMs } from '../../core/brand';
import type { AttemptOutcome, Outcome } from '../../core/outcome';
import {
  type AttemptRecord,
  ForeignRecordError,
  type LedgerRecord,
  attemptHistory,
  openRecord,
} from '../../core/record';
import { ForeignMetadataError, ifReadable } from '../../core/metadata';
import { type Row, decodeRow } from '../../core/row';
import { outcomeOf } from '../../core/why';
import { readRecord, readUnlessForeign } from '../../coordinator/ledger';
import type { LedgerStore, Listing, LogStore, PieceStore, LeaseStore } from '../../lease/store';
import { inParallel } from '../../core/in-parallel';
import { type JobState, asideState, currentRun, stateIn } from '../job-state';
import { byText } from '../../core/text';
import { allPieces } from '../../lease/pages';
import { ranBefore, recordsIn } from './find-record';
import { given } from '../../core/given';
import { itemTableAtWork } from '../../core/item-table';
import { orchestrationIn } from '../../core/orchestration';
import { type ListedRun, FAILED_OUTCOMES } from './run-pages';
import { pendingManualRuns } from '../../core/control';
import { recordKey, runIdOf, parseRecordKey } from '../../core/key';
import { firstLine } from '../../core/recorded-error';
import { isDeepStrictEqual } from 'node:util';
import type { JobSpec } from '../../core/job';
import { type Redact, redactJson } from '../../core/redact';
import { lossError, lossNote, readLoss } from '../../core/past-attempt';

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

/** The newest records of these jobs, which the listing contains: at most `limit`. */
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
  const records = await inParallel(newest, (listed) => readShown(store, listed, listing, problems));
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
function isOverlappedBy(
  { job, scheduledFor }: Pick<LedgerRecord, 'job' | 'scheduledFor'>,
  run: Pick<LedgerRecord, 'job' | 'trigger' | 'endedAt' | 'scheduledFor'>,
): boolean {
  if (run.job !== job || run.trigger === null || run.scheduledFor >= scheduledFor) return false;
  return run.endedAt === null || Date.parse(run.endedAt) + CLOCKS_DIFFER_MS >= Date.parse(scheduledFor);
}

const CLOCKS_DIFFER_MS = 2_000;

async function newestKeys(store: LedgerStore, job: JobName, limit: number): Promise<readonly string[]> {
  const keys: string[] = [];
  for await (const { key } of recordsIn(store, job, { limit: Math.min(PAGE, limit) })) {
    keys.push(key);
    if (keys.length >= limit) break;
  }
  return keys;
}

/**
 * @param listing contains the job
 * @param problems receives why a record cannot be read, which is then undefined
 */
async function readShown(
  store: LedgerStore,
  { job, key }: { readonly job: JobName; readonly key: string },
  listing: Listing,
  problems: string[],
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

function rowOf(listing: Listing, job: JobName): Row | undefined {
  const row = listing.jobs.get(job)?.row;
  return row && decodeRow(row.metadata);
}

/** For an overlapped due time, adds the run that was in progress, by a search of the ledger. */
async function withOverlappedRun(store: LeaseStore, record: ShownRecord): Promise<ShownRecord> {
  if (record.outcome !== 'overlapped') return record;
  const ran = await ranBefore(store, record.job as JobName, Date.parse(record.scheduledFor));
  return ran !== undefined && isOverlappedBy(record, ran.record)
    ? { ...record, overlappedRunId: ran.record.runId }
    : record;
}

/** More than any note has. */
const NOTE_BYTES = 100;

/**
 * Adds what the holders of lost attempts have noted since. A final record is never written again, and a holder whose event
 * loop was blocked notes that only once its successor has the run. Reads nothing for other runs.
 */
async function withNotedLosses(store: LogStore, record: ShownRecord, key: string): Promise<ShownRecord> {
  const attempts = await inParallel(record.attempts, async (attempt) => {
    if (attempt.outcome !== 'holderLost' || attempt.error !== null) return attempt;
    const loss = readLoss(await noteOf(store, record.job as JobName, key, attempt.token));
    return loss === undefined ? attempt : { ...attempt, error: lossError(loss) };
  });
  return { ...record, attempts };
}

async function noteOf(store: LogStore, job: JobName, key: string, token: number): Promise<string | undefined> {
  try {
    return await store.readLog(job, key, lossNote(token), { from: 0, limit: NOTE_BYTES });
  } catch (error) {
    // Something else wrote it.
    if (error instanceof ForeignRecordError) return undefined;
    throw error;
  }
}

/** Adds to a record what only other places have, if its outcome and its attempts call for it. */
export async function completed(store: LeaseStore, record: ShownRecord, key: string): Promise<ShownRecord> {
  return withOverlappedRun(store, await withNotedLosses(store, record, key));
}

/** A plan has 10,000 items at most. */
const PIECES_A_PAGE = 5_000;

/** What is at work for a run between its attempts: its items, or its orchestration. */
export type AtWork = Pick<ShownRecord, 'items' | 'orchestration' | 'progress'>;

/** What is at work for a run, from its pieces: mostly one listing. */
export async function readAtWork(
  store: PieceStore,
  run: { readonly job: JobName; readonly key: string; readonly scheduledFor: EpochMs },
): Promise<AtWork> {
  const request = { key: run.key, limit: PIECES_A_PAGE };
  const pieces = await allPieces((next) => store.listPieces(run.job, { ...request, ...next }));
  return { ...given({ items: itemTableAtWork(pieces) }), ...orchestrationIn(pieces, run) };
}

/** Adds to a run in progress what is at work for it. Reads nothing for runs that have left nothing to others. */
export async function withAtWork(store: PieceStore, record: ShownRecord, key: string): Promise<ShownRecord> {
  const isOpen = record.outcome === 'running' || record.outcome === 'retrying';
  if (!isOpen || !record.attempts.some(({ outcome }) => outcome === 'planned')) return record;
  const run = { job: record.job as JobName, key, scheduledFor: Date.parse(record.scheduledFor) };
  return { ...record, ...(await readAtWork(store, run)) };
}

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
  const readable = jobs.flatMap((job) => {
    const state = ifReadable(() => stateIn(listing, job));
    return state === undefined ? [] : [[job, state] as const, [job, asideState(state)] as const];
  });
  return runsIn(store, readable);
}

/** As {@link runsNow}, in states that were read before. An unreadable record is left out, and `listRuns` reports it. */
export async function runsIn(
  store: LeaseStore,
  states: readonly (readonly [job: JobName, state: JobState])[],
): Promise<readonly ShownRecord[]> {
  const found = await inParallel(states, async ([job, state]) => {
    try {
      return await runNow(store, job, state);
    } catch (error) {
      if (error instanceof ForeignRecordError) return undefined;
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
  const earlier = past.filter(({ attempt }) => attempt !== current?.attempt);
  return {
    ...shown(record, key, row, state.lease),
    startedAt: record.startedAt ?? current?.startedAt ?? null,
    attempts: current === undefined ? earlier : [...earlier, current],
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

/** The records of a page's runs, in their order. A run in progress is read from its row in the listing, too. */
export async function recordsOf(store: LeaseStore, runs: readonly ListedRun[], listing: Listing): Promise<Runs> {
  const busy = runs.filter(({ outcome }) => outcome === 'running' || outcome === 'retrying');
  const jobs = [...new Set(busy.map(({ job }) => job))];
  const now = new Map((await runsNow(store, jobs, listing)).map((record) => [record.runId, record]));
  const problems: string[] = [];
  const records = await inParallel(runs, async (run) => now.get(run.runId) ?? readShown(store, run, listing, problems));
  return { records: withOverlappedRuns(records.filter((record) => record !== undefined)), problems };
}

/**
 * One run with its attempts: its record, or for a run in progress also its row. Undefined: there is neither.
 *
 * @param listing contains the job
 * @throws ForeignRecordError if cronlease did not write the record
 */
export async function showRun(
  store: LeaseStore,
  job: JobName,
  key: string,
  listing: Listing,
): Promise<ShownRecord | undefined> {
  const found = await readRecord(store, job, key);
  if (found?.record.state === 'final') return completed(store, shown(found.record, key, undefined), key);
  const running = await runsNow(store, [job], listing);
  const row = ifReadable(() => rowOf(listing, job));
  const seen = running.find(({ runId }) => runId === runIdOf(job, key)) ?? (found && shown(found.record, key, row));
  return seen && completed(store, await withAtWork(store, seen, key), key);
}

/** As {@link showRun}, by one more call, for a run that may be requested and not taken since the last sweep. */
export async function showRequestedRun(
  store: LeaseStore,
  job: JobName,
  key: string,
): Promise<{ readonly record: ShownRecord | undefined; readonly isRequested: boolean }> {
  const listing = await store.list({ job });
  const record = await showRun(store, job, key, listing);
  return { record, isRequested: record === undefined && isPending(listing, job, key) };
}

function isPending(listing: Listing, job: JobName, key: string): boolean {
  const state = ifReadable(() => stateIn(listing, job));
  if (state === undefined) return false;
  const pending = pendingManualRuns(state.control, state.row?.manualTaken ?? 0);
  return pending.some(({ time, id }) => recordKey(time, id) === key);
}

/** Of a page, the newest failures have their errors read. */
const READ_AT_MOST = 100;
/** A record that is final never changes, so whoever looks again costs no read. */
const KEPT = 2_000;

/** Errors that were read, by run: one for each process that lists runs. */
export type KeptErrors = Map<string, string | undefined>;

/**
 * The error of the last attempt on one line, with the cause that lies deepest. Undefined: it has none.
 *
 * @param most characters
 */
export function errorLine(
  { outcome, attempts }: { readonly outcome: string | null; readonly attempts: ShownRecord['attempts'] },
  most?: number,
): string | undefined {
  const error = attempts.at(-1)?.error ?? undefined;
  return error === undefined || outcome === 'succeeded' ? undefined : firstLine(error, most);
}

/** The first lines of the errors of the failed runs of a page, by run. */
export async function errorLines(
  store: LeaseStore,
  runs: readonly ListedRun[],
  kept: KeptErrors,
): Promise<ReadonlyMap<string, string | undefined>> {
  const failed = runs.filter(({ outcome }) => FAILED_OUTCOMES.some((one) => one === outcome)).slice(0, READ_AT_MOST);
  const read = await inParallel(failed, async ({ job, key, runId }) => {
    if (!kept.has(runId)) kept.set(runId, await readError(store, job, key));
    return [runId, kept.get(runId)] as const;
  });
  for (const oldest of [...kept.keys()].slice(0, Math.max(0, kept.size - KEPT))) kept.delete(oldest);
  return new Map(read);
}

/** Undefined also for a record that cannot be read: its own page says what is wrong with it. */
async function readError(store: LeaseStore, job: JobName, key: string): Promise<string | undefined> {
  const found = await readUnlessForeign(store, job, key);
  return found === undefined || found === 'foreign' ? undefined : errorLine(found.record);
}

export type ShownInput = NonNullable<OneRun['input']>;

interface Wanted {
  readonly job: JobName;
  readonly key: string;
  /** Of the file at hand. Undefined: it does not have the job. */
  readonly spec: Pick<JobSpec, 'input'> | undefined;
  readonly redact: Redact | undefined;
}

/** The input of a run. Only that of a manual run takes a call. Undefined: none, or it can no longer be read. */
export async function inputOfRun(
  store: LeaseStore,
  { job, key, spec, redact }: Wanted,
): Promise<ShownInput | undefined> {
  const id = parseRecordKey(key)?.request;
  const own = id === undefined ? undefined : await ownInput(store, job, id);
  const inFile = spec?.input;
  const hide = (value: unknown): unknown => (redact === undefined ? value : redactJson(value, redact));
  const show = (value: unknown): Pick<ShownInput, 'value' | 'isRedacted'> => {
    const shown = hide(value);
    return { value: shown, isRedacted: !isDeepStrictEqual(shown, value) };
  };
  if (own === undefined) return inFile === undefined ? undefined : { ...show(inFile), from: 'jobsFile' };
  const differs = inFile !== undefined && !isDeepStrictEqual(own, inFile);
  return { ...show(own), from: 'manualRun', ...(differs ? { inFile: hide(inFile) } : {}) };
}

async function ownInput(store: LeaseStore, job: JobName, id: string): Promise<unknown> {
  try {
    const body = await (store.home?.(job) ?? store).readRequest(id);
    return body === undefined ? undefined : (JSON.parse(body) as unknown);
  } catch (error) {
    // Something other than cronlease wrote it: the run's own error says so.
    if (error instanceof SyntaxError || error instanceof ForeignRecordError) return undefined;
    throw error;
  }
}
