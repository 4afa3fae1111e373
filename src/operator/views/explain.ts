import { newestSucceeded } from '../../coordinator/ledger';
import type { EpochMs, JobName } from '../../core/brand';
import { ForeignGroupError, inOrder, readGroup } from '../../core/group';
import { type JobSpec, actualTime } from '../../core/job';
import { recordKey, invertedTime, runIdOf } from '../../core/key';
import { ForeignRecordError, isUncounted } from '../../core/record';
import { NOTHING_KNOWN, type RequiredJob, type RequiredJobs, requiredSince, requirementOf } from '../../core/requires';
import type { Row } from '../../core/row';
import { type WhyAnswer, explain, isDue } from '../../core/why';
import type { LeaseStore } from '../../lease/store';
import { type JobState, currentRun, readState, asideState } from '../job-state';
import { manualRecordAt, recordAt, recordOf, recordOver, recordsIn } from './find-record';
import { type ShownRecord, shown, type AtWork, readAtWork, completed, runsIn } from './runs';
import { inParallel } from '../../core/in-parallel';

const PAGE = 500;

export interface Explanation extends WhyAnswer, AtWork {
  readonly job: JobSpec;
  readonly time: EpochMs;
  /** The record of this time, or of the stretch of due times that contains it. */
  readonly record: ShownRecord | null;
  /** The rest of the job's state, for people. */
  readonly state: JobState;
  /** The required jobs that an undecided due time waits for, and until when. */
  readonly waitsFor?: { readonly jobs: readonly JobName[]; readonly until: EpochMs };
  /** Of a run that waits for a place in its group. */
  readonly inGroup?: PlaceInGroup;
  /** Reasons to doubt the answer. */
  readonly warnings: readonly string[];
}

/** Explains the past or expected outcome of a nominal time of a job, whose file has this revision. */
export async function explainTime(
  store: LeaseStore,
  job: JobSpec,
  revision: number,
  time: EpochMs,
): Promise<Explanation> {
  // Reads the row first, and then whether its run is over. A record written meanwhile is then found in the ledger.
  const state = await readState(store, job.name);
  const { row, lease, control, now } = state;
  const runEnded = await hasRunEnded(store, job, state);
  const { found, older } = await findRecord(store, job, time, state);
  const required = found === undefined ? await readRequired(store, job, { time, now }) : NOTHING_KNOWN;
  const question = { job, revision, time, found, seenBefore: older, row, lease, runEnded, control, required, now };
  const answer = explain(question);
  const place = answer.reason === 'attemptRunning' ? await placeInGroup(store, job, row) : undefined;
  const inGroup = typeof place === 'string' ? undefined : place;
  const run = answer.reason === 'fanningOut' ? row?.run : undefined;
  const atWork = run && (await readAtWork(store, { job: job.name, ...run }));
  // A job that was first seen after the oldest kept records were written has lost none of its records.
  const isUnseen = answer.reason === 'recordGone' && !(await wasSeen(store, job, state));
  const record = found && (await completed(store, shown(found.record, found.key, row, lease), found.key));
  return {
    ...(isUnseen ? { ...answer, reason: 'beforeFirstSeen' as const } : answer),
    job,
    time,
    record: record ?? null,
    state,
    warnings: [...warningsOf(job, revision, row), ...(typeof place === 'string' ? [place] : [])],
    ...atWork,
    ...(inGroup === undefined ? {} : { reason: 'waitsForGroup' as const, inGroup }),
    ...(answer.reason === 'waitsForRequired' ? awaited(job, required, { time, now }) : {}),
  };
}

/** Whether no run is in progress. A run whose record cannot be read counts as over. */
async function hasRunEnded(store: LeaseStore, { name }: JobSpec, state: JobState): Promise<boolean> {
  try {
    return (await currentRun(store, name, state)) === undefined;
  } catch (error) {
    if (!(error instanceof ForeignRecordError)) throw error;
    return true;
  }
}

/** Those that a run in its group waits for. */
export interface PlaceInGroup {
  /** The jobs that have the places. */
  readonly running: readonly JobName[];
  /** How many others wait, and go before it. */
  readonly ahead: number;
}

/** The run's place in the queue of its group, or the reason why it is not known. Undefined: the run does not wait. */
export async function placeInGroup(
  store: LeaseStore,
  { name, group }: Pick<JobSpec, 'name' | 'group'>,
  row: Row | undefined,
): Promise<PlaceInGroup | string | undefined> {
  if (group === undefined) return undefined;
  try {
    const found = await (store.home?.(name) ?? store).readGroup(group.name);
    if (found === undefined) return undefined;
    const { running, waiting } = readGroup(group.name, found.body);
    const ahead = inOrder(waiting).findIndex(({ job, token }) => job === name && token === row?.token);
    return ahead < 0 ? undefined : { running: running.map(({ job }) => job), ahead };
  } catch (error) {
    if (error instanceof ForeignGroupError || error instanceof ForeignRecordError) return error.message;
    throw error;
  }
}

/** The jobs that a due time requires, from their ledgers, if it has come. */
async function readRequired(
  store: LeaseStore,
  job: JobSpec,
  { time, now }: { readonly time: EpochMs; readonly now: EpochMs },
): Promise<RequiredJobs> {
  if (job.requires.length === 0 || actualTime(job, time) > now || !isDue(job, time)) return NOTHING_KNOWN;
  const since = requiredSince(job, time);
  const known = job.requires.map(async (name): Promise<[JobName, RequiredJob]> => {
    const succeeded = await newestSucceeded(store, name, since, (call) => call());
    return [name, { succeeded, readTo: since, readAt: now, isStale: false, isBusy: false }];
  });
  return new Map(await Promise.all(known));
}

function awaited(
  job: JobSpec,
  required: RequiredJobs,
  { time, now }: { readonly time: EpochMs; readonly now: EpochMs },
): Pick<Explanation, 'waitsFor'> {
  const requirement = requirementOf(job, required, time, now);
  return requirement.kind === 'waits' ? { waitsFor: { jobs: requirement.jobs, until: requirement.until } } : {};
}

/** The outcome of a manual run. Its job may also be due at the same time, and that due time has its own outcome. */
export async function explainManualRun(
  store: LeaseStore,
  job: JobSpec,
  revision: number,
  { time, id }: { readonly time: EpochMs; readonly id: string },
): Promise<Pick<Explanation, 'outcome' | 'reason' | 'record'>> {
  const found = await recordOf(store, job.name, recordKey(time, id));
  if (found?.record.state === 'final') {
    const { outcome, reason } = found.record;
    return {
      outcome: outcome ?? 'pending',
      reason: reason ?? 'requested',
      record: shown(found.record, found.key, undefined),
    };
  }
  const answer = await explainTime(store, job, revision, time);
  return answer.due ? { outcome: 'pending', reason: 'requested', record: null } : answer;
}

/** Whether the job had been seen by the oldest due time whose record is kept. True if that is unknown. */
async function wasSeen(
  store: LeaseStore,
  { name, timetable, keepMs }: JobSpec,
  { row, now }: JobState,
): Promise<boolean> {
  if (row === undefined) return false;
  const oldest = timetable.next(now - keepMs);
  if (oldest === undefined || oldest > row.cursor) return true;
  if ((await recordAt(store, name, oldest)) !== undefined) return true;
  return (await recordOver(store, name, oldest)).older;
}

async function findRecord(
  store: LeaseStore,
  job: JobSpec,
  time: EpochMs,
  { row, now }: JobState,
): Promise<Awaited<ReturnType<typeof recordOver>>> {
  const exact = await recordAt(store, job.name, time);
  if (exact !== undefined) return { found: exact, older: true };
  // An undecided due time has no record, and the row's own run is in no stretch.
  const decided = time <= (row?.cursor ?? now) && row?.run?.key !== recordKey(time);
  if (isDue(job, time)) {
    return decided ? recordOver(store, job.name, time) : { found: undefined, older: false };
  }
  const manual = await manualRecordAt(store, job.name, time);
  if (manual !== undefined || !decided) return { found: manual, older: false };
  // It may have been due by an older schedule. The stretch that was recorded at the change then contains it.
  const { found } = await recordOver(store, job.name, time);
  return { found: found !== undefined && isUncounted(found.record) ? found : undefined, older: false };
}

function warningsOf(job: JobSpec, revision: number, row: Row | undefined): readonly string[] {
  if (row === undefined || row.scheduleHash === job.scheduleHash || revision > row.revision) return [];
  const file = `this file, with revision ${revision}, has another schedule for job "${job.name}"`;
  return revision < row.revision
    ? [`${file} than revision ${row.revision}, which the job follows: use the newer file`]
    : [`${file} than the one first seen with this revision: raise "revision" with each change`];
}

/** Explains an instant of a job that is not in `file`, by only row and ledger: its schedule is not known. */
export async function explainLeft(store: LeaseStore, job: JobSpec, time: EpochMs, file: string): Promise<Explanation> {
  const { name } = job;
  // Of any revision: the schedule of the row is certainly another one.
  const found = await explainTime(store, job, Infinity, time);
  const goesOn = found.outcome === 'retrying' || found.reason === 'requested';
  const warning = `job "${name}" is not in ${file}: no deployment with this file runs it, or continues its run`;
  const remedy = goesOn
    ? `. End it with "cronlease cancel ${name}", or remove the job with "cronlease forget ${name}"`
    : '';
  const reason = found.outcome === 'notDue' ? 'notInFile' : found.reason;
  return { ...found, reason, warnings: [...found.warnings, warning + remedy] };
}

/**
 * The runs of an explained due time in back-fills, the oldest first: their records lie beside the one of the answer. An
 * instant that is not decided yet has none, and costs no call. Any other costs one listing, and a read for each run.
 */
export async function backfilledRuns(
  store: LeaseStore,
  { job, time, state, record }: Pick<Explanation, 'job' | 'time' | 'state' | 'record'>,
): Promise<readonly ShownRecord[]> {
  const { row, lease } = state;
  // Keys begin in 1970.
  if (row === undefined || time > row.cursor || time < 0) return [];
  const keys: string[] = [];
  const request = { prefix: `${invertedTime(time)}-m-`, limit: PAGE };
  for await (const { key, summary } of recordsIn(store, job.name, request)) {
    if (summary['trigger'] === 'backfill') keys.push(key);
  }
  // The ledger may have no record of a run that is not over. The row has it.
  const states = rowsOf(row, state, time).map((its) => [job.name, { ...state, row: its }] as const);
  const unended = await runsIn(store, states);
  const rest = keys.filter((key) => unended.every(({ runId }) => runId !== runIdOf(job.name, key)));
  const found = await inParallel(rest, async (key) => {
    const known = await recordOf(store, job.name, key);
    return known && shown(known.record, key, row, lease);
  });
  return [...found, ...unended]
    .filter((one) => one !== undefined)
    .filter(({ runId }) => runId !== record?.runId)
    .toSorted((a, b) => (a.claimedAt ?? '').localeCompare(b.claimedAt ?? ''));
}

/** The row as far as it has back-filled runs of this time: one in progress, and one that waits while due times go first. */
function rowsOf(row: Row, state: JobState, time: EpochMs): readonly Row[] {
  const { run } = row;
  const current = run?.trigger === 'backfill' && run.scheduledFor === time ? [row] : [];
  const aside = asideState(state).row;
  return aside?.run?.scheduledFor === time ? [...current, aside] : current;
}
