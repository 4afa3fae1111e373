import type { EpochMs, JobName, Token } from '../../core/brand';
import { pendingManualRuns } from '../../core/control';
import { beforeEnd } from '../../core/notice';
import { attemptHistory, finalRecord, unknownRecord } from '../../core/record';
import {
  PAST_ATTEMPTS,
  type Row,
  asideRow,
  forgottenRow,
  isOutcomeUnknown,
  lostAttempt,
  mayRecordBeGone,
} from '../../core/row';
import { failuresAfter } from '../../core/run';
import { inParallel } from '../../core/in-parallel';
import { asideRunId, currentRun, stateIn } from '../job-state';
import { type LeftNotice, leftNotice, missingNotices } from './left-notices';
import {
  type LeaseTaker,
  type Holding,
  contended,
  letGo,
  takeLease,
  writeEnd,
  writeHeld,
  writeStretches,
} from './take-lease';
import { OperatorError } from '../operator-error';
import { pagesOf } from '../../lease/pages';

const PIECES = 500;
/** If so many writers in a row were faster, something is wrong. */
const ATTEMPTS = 10;

export interface ForgetRequest {
  readonly job: JobName;
  /** The revision of the jobs file without the job. Older files do not bring the job back. */
  readonly revision: number;
  /** End a run in progress as cancelled. */
  readonly endRun: boolean;
}

export interface Forgotten {
  /** The time by the storage service's clock. */
  readonly forgottenAt: EpochMs;
  readonly already: boolean;
  readonly endedRun: string | undefined;
  /** Notices that a dead holder has left. They are not sent: no file names the receivers of the job any more. */
  readonly dropped: readonly LeftNotice[];
}

/**
 * Forgets a job that was deleted from the jobs file. Its row keeps token and cursor, with the time of the deletion; its
 * control is removed; its ledger stays. Repeated, the command finishes what was interrupted. Decision 100. Throws
 * `OperatorError` `Unseen`, `LeaseHeld`, `RunGoesOn`, `Contended`.
 */
export async function forgetJob(desk: LeaseTaker, { job, revision, endRun }: ForgetRequest): Promise<Forgotten> {
  const listing = await desk.store.list({ job });
  const seen = listing.jobs.get(job)?.row;
  const state = stateIn(listing, job);
  const { row } = state;
  if (seen === undefined || row === undefined) {
    if (state.controlEtag === undefined) {
      throw new OperatorError('Unseen', `storage contains nothing of job "${job}": no coordinator has seen it`);
    }
    await removeControl(desk, job);
    return { forgottenAt: state.now, already: false, endedRun: undefined, dropped: [] };
  }
  if (row.forgotten !== undefined) {
    await removeRemains(desk, job);
    return { forgottenAt: row.forgotten, already: true, endedRun: undefined, dropped: [] };
  }
  const current = seen.lease === 'leased' ? undefined : await currentRun(desk.store, job, state);
  const open = current ?? asideRunId(job, row);
  if (open !== undefined && !endRun) throw unfinished(job, open);

  const holding = await takeLease(desk, job, seen);
  // A run with an unknown outcome is over, but its writer may have died before its record.
  const isUnended = current !== undefined || (isOutcomeUnknown(row) && state.lease === 'expired');
  const ended = isUnended ? await endRunOf(desk, holding, row, state.now) : row;
  const last = await endAside(desk, holding, ended, state.now);
  await writeStretches(desk, holding, row.owed);
  // A run that ends as cancelled calls for no notice. Those of an available row exist, or were deleted since.
  const telling = state.lease === 'available' ? [] : row.telling;
  const owed = telling.filter(({ of }) => current === undefined || of !== row.run?.key);
  const missing = await missingNotices(desk.store, job, owed, state.control);
  const dropped = missing.map((one) => leftNotice(job, one));
  const numbers = pendingManualRuns(state.control, row.manualTaken).map(({ number }) => number);
  const manualTaken = Math.max(row.manualTaken, ...numbers);
  const kept = { ...last, manualTaken, revision: Math.max(row.revision, revision) };
  await writeHeld(desk, holding, forgottenRow(kept, state.now));
  // If this machine slept, the job may be back in a file and at work. Asked again, the command finishes or refuses.
  if (!(await letGo(desk, holding))) throw contended(holding.whose);
  await removeRemains(desk, job);
  return { forgottenAt: state.now, already: false, endedRun: open, dropped };
}

function unfinished(job: JobName, run: string): OperatorError {
  return new OperatorError(
    'RunGoesOn',
    `run ${run} of job "${job}" is not over, and no deployment with this file continues it. Wait until a deployment ` +
      'that still has the job ends it, or use --end-run, which records it as cancelled',
  );
}

/**
 * Ends the run like a claim would: the token grows, and the row is written before the record. The row returned shows
 * what the run leaves behind: until when due times overlapped with it, and the failures before it. If retention may
 * have deleted the record of how the run ended, that is unknown, as for the ticks.
 */
export async function endRunOf(desk: LeaseTaker, holding: Holding, row: Row, now: EpochMs): Promise<Row> {
  const { run } = row;
  if (run === undefined) return row;
  if (isOutcomeUnknown(row) || (row.phase === 'running' && mayRecordBeGone(row, Infinity, now))) {
    const unknown: Row = { ...row, phase: 'idle' };
    await writeHeld(desk, holding, unknown);
    await writeEnd(desk, holding, run.key, unknownRecord({ name: holding.job, offsetMs: 0 }, unknown));
    return unknown;
  }
  const past = row.phase === 'running' ? [...row.past, lostAttempt(row)].slice(-PAST_ATTEMPTS) : row.past;
  const ending: Row = {
    ...row,
    ...failuresAfter(beforeEnd(row), 'cancelled'),
    // A dead holder may have counted its end as a failure, or as a success.
    telling: row.telling.filter(({ of }) => of !== run.key),
    busyUntil: now,
    token: (row.token + 1) as Token,
    execution: desk.newId(),
    phase: 'running',
    attempt: row.attempt + 1,
    past,
    notBefore: undefined,
  };
  await writeHeld(desk, holding, ending);
  const end = { outcome: 'cancelled', reason: 'cancelRequested', at: now } as const;
  const record = finalRecord({ name: holding.job, offsetMs: 0 }, ending, attemptHistory(past, []), end);
  await writeEnd(desk, holding, run.key, record);
  return ending;
}

/** Ends the back-filled run that waits while due times go first, if there is one, as if it were the row's own. */
export async function endAside(desk: LeaseTaker, holding: Holding, row: Row, now: EpochMs): Promise<Row> {
  const waiting = asideRow(row);
  return waiting === undefined ? row : endRunOf(desk, holding, waiting, now);
}

/** Removes what a forgotten job leaves beside its row and its ledger. */
async function removeRemains(desk: LeaseTaker, job: JobName): Promise<void> {
  await removePieces(desk, job);
  await removeControl(desk, job);
}

/**
 * The job may be back in a file and at work, if this machine sleeps or others are faster. What was read before its row
 * is still found forgotten belongs to the time before, and no later run has the same key: it may be removed.
 */
async function assertStillGone({ store }: LeaseTaker, job: JobName): Promise<void> {
  const row = await store.readRow(job);
  if (row !== undefined && row.metadata['forgotten'] === undefined) throw contended(`job "${job}"`);
}

/** Repeats the removal, because operators may write the control until it is gone. */
async function removeControl(desk: LeaseTaker, job: JobName): Promise<void> {
  const { store } = desk;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const { control } = await store.readControl(job);
    if (control === undefined) return;
    await assertStillGone(desk, job);
    if ((await store.removeControl(job, control.etag)) === 'removed') return;
  }
  const message = `the control record of job "${job}" keeps changing, because others write it: try again`;
  throw new OperatorError('Contended', message);
}

async function removePieces(desk: LeaseTaker, job: JobName): Promise<void> {
  const { store } = desk;
  for await (const { pieces } of pagesOf((from) => store.listPieces(job, { limit: PIECES, ...from }))) {
    if (pieces.length > 0) await assertStillGone(desk, job);
    await inParallel(pieces, ({ key, name }) => store.deletePiece(job, key, name));
  }
}
