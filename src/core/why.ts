import type { EpochMs } from './brand';
import { type Control, currentPause, pauseAt, pendingManualRuns } from './control';
import type { Outcome, Reason, Standing, StandingReason, Stretch } from './outcome';
import { type OutcomeView, verdictOn } from './decide/verdict';
import { type JobSpec, actualTime } from './job';
import { parseRecordKey, recordKey, runIdOf } from './key';
import { type LedgerRecord, isUncounted } from './record';
import type { RequiredJobs } from './requires';
import { type Row, firstCursor, isOutcomeUnknown, mayRecordBeGone, newRow, standstillAt } from './row';

/** Everything known about one instant of one job. */
export interface Question {
  readonly job: JobSpec;
  /** The revision of the file that holds `job`. */
  readonly revision: number;
  /** Nominal. */
  readonly time: EpochMs;
  /** The record of this time, or of the stretch of due times that contains it. */
  readonly found: { readonly key: string; readonly record: LedgerRecord } | undefined;
  /** Whether the ledger has a record of an older due time. */
  readonly seenBefore: boolean;
  /** Undefined: no coordinator has seen the job yet. */
  readonly row: Row | undefined;
  readonly lease: 'available' | 'held' | 'expired';
  /** Whether the row's run is over. Also true if the row names none. */
  readonly runEnded: boolean;
  readonly control: Control;
  /** The knowledge of the jobs that it requires. */
  readonly required?: RequiredJobs | undefined;
  /** The storage service's time when all this was read. */
  readonly now: EpochMs;
}

export interface WhyAnswer {
  /** Whether it is, or was, a due time. */
  readonly due: boolean;
  readonly outcome: Standing;
  readonly reason: StandingReason;
}

/** The past outcome of an instant by the ledger, or the one that the next decision will give it. */
export function explain(question: Question): WhyAnswer {
  const { job, time, found, now } = question;
  if (found !== undefined) return fromRecord(question, found.key, found.record);

  const due = isDue(job, time);
  // A forgotten job counts as new.
  const row = question.row?.forgotten === undefined ? (question.row ?? unseenRow(question)) : unseenRow(question);
  const { run } = row;
  const isRun = run !== undefined && (due ? run.key === recordKey(time) : run.scheduledFor === time);
  if (isRun && isLost(question, row)) return { due: isDueKey(run.key), outcome: 'failed', reason: 'outcomeUnknown' };
  if (isRun && !question.runEnded) {
    return { due: isDueKey(run.key), ...standingOf(question, row) };
  }
  const owed = row.owed.find((stretch) => covers(stretch, due, time));
  if (owed !== undefined) return { due: owed.request === undefined, outcome: owed.outcome, reason: owed.reason };
  if (!due) return notDue(question, row);
  if (time <= row.cursor) return { due, outcome: 'notDue', reason: whyUnrecorded(question) };
  if (actualTime(job, time) > now) return { due, outcome: 'future', reason: outlook(question) };
  return { due, ...undecided(question, row) };
}

/** Whether the row's run, which has no record, will be settled with an unknown outcome. */
function isLost({ job, lease, now }: Question, row: Row): boolean {
  if (lease !== 'expired') return false;
  return isOutcomeUnknown(row) || (row.phase === 'running' && mayRecordBeGone(row, job.keepMs, now));
}

/** Whether an instant is one of the job's nominal due times. */
export function isDue(job: JobSpec, time: EpochMs): boolean {
  return job.timetable.next(time - 1) === time;
}

/** The outcome that people see. An open record shows the state of its run. */
export function outcomeOf(
  record: LedgerRecord,
  key: string,
  row: Row | undefined,
  lease?: Question['lease'],
): Extract<Standing, Outcome | 'running' | 'retrying'> {
  if (record.outcome !== null) return record.outcome;
  return row?.run?.key === key && isWaiting(row, lease) ? 'retrying' : 'running';
}

/** Whether no attempt of the row's run is running: a run whose lease has ended is never shown as running. */
export function isWaiting({ phase }: Pick<Row, 'phase'>, lease: Question['lease'] | undefined): boolean {
  return phase === 'retrying' || (phase === 'running' && lease === 'expired');
}

function fromRecord(question: Question, key: string, record: LedgerRecord): WhyAnswer {
  const { row, job, time } = question;
  // It is not known which instants of a replaced schedule were due.
  const due = isUncounted(record) ? isDue(job, time) : isDueKey(key);
  if (record.outcome !== null) return { due, outcome: record.outcome, reason: record.reason ?? 'completed' };
  if (row?.run?.key === key) return { due, ...standingOf(question, row) };
  return { due, outcome: 'retrying', reason: 'takeOverDue' };
}

function isDueKey(key: string): boolean {
  return parseRecordKey(key)?.request === undefined;
}

/** The row that a tick would create now. */
function unseenRow({ job, revision, now }: Question): Row {
  return newRow(firstCursor(job, now), revision, job.scheduleHash);
}

/** The state of the row's run, which is not over. */
function standingOf({ job, control, lease, now }: Question, row: Row): Omit<WhyAnswer, 'due'> {
  const cancelled = row.run !== undefined && control.cancel === runIdOf(job.name, row.run.key);
  if (row.phase === 'retrying') {
    return {
      outcome: 'retrying',
      reason: cancelled ? 'cancelRequested' : row.notBefore === 0 ? 'resumeDue' : 'backOff',
    };
  }
  if (isWaiting(row, lease)) return { outcome: 'retrying', reason: cancelled ? 'cancelRequested' : 'takeOverDue' };
  if (cancelled) return { outcome: 'running', reason: 'cancelRequested' };
  if (row.phase === 'fanning') return { outcome: 'running', reason: 'fanningOut' };
  return { outcome: 'running', reason: (row.started ?? 0) > now ? 'claimed' : 'attemptRunning' };
}

function covers({ from, through, request }: Stretch, due: boolean, time: EpochMs): boolean {
  if (request !== undefined) return !due && from === time;
  return from === time || through === time || (due && from < time && time < through);
}

/** An instant that is not a due time. A person may have requested a run at it. */
function notDue({ job, time, control, now }: Question, row: Row): WhyAnswer {
  const request = pendingManualRuns(control, row.manualTaken).find((candidate) => candidate.time === time);
  if (request !== undefined) {
    const isOld = now - request.time > job.catchUpWindowMs;
    return isOld
      ? { due: false, outcome: 'expired', reason: 'catchUpWindow' }
      : { due: false, outcome: 'pending', reason: 'requested' };
  }
  const isExcluded = job.excluded !== undefined && job.excluded.scheduled.next(time - 1) === time;
  const timed = isExcluded ? 'excluded' : 'notInSchedule';
  const reasons = { timed, manual: 'manualOnly', always: 'leaderJob' } as const;
  return { due: false, outcome: 'notDue', reason: reasons[job.kind] };
}

/** The reason for a decided due time without a record. */
function whyUnrecorded({ job, time, now, seenBefore }: Question): StandingReason {
  if (seenBefore) return 'otherSchedule';
  return now - time > job.keepMs ? 'recordGone' : 'beforeFirstSeen';
}

/** The reason that a future due time shows. */
function outlook({ job, control, time }: Question): StandingReason {
  if (!job.enabled) return 'disabled';
  return pauseAt(control, actualTime(job, time)) === undefined ? 'notYetDue' : 'paused';
}

/** The reasons of the lines that come before the one about the last run. */
const DECIDED_BY_TIME: ReadonlySet<Reason> = new Set<Reason>(['paused', 'catchUpWindow', 'requirementNotMet']);

/** A due time that has passed and is undecided. */
function undecided(question: Question, row: Row): Omit<WhyAnswer, 'due'> {
  const { job, revision, time, control, required, now, runEnded } = question;
  const isOther = job.scheduleHash !== row.scheduleHash;
  if (row.leftSince !== undefined && !(isOther && revision < row.revision)) {
    return { outcome: 'disabled', reason: 'notInFile' };
  }
  if (isOther && revision > row.revision) return { outcome: 'disabled', reason: 'scheduleChanged' };
  const view: OutcomeView = { job, row, control, required, now, limit: now, lookAheadMs: 0 };
  const verdict = verdictOn(view, time);
  if (verdict.kind === 'suspended') return { outcome: verdict.outcome, reason: verdict.outcome };
  if (verdict.kind === 'unrun' && DECIDED_BY_TIME.has(verdict.reason)) {
    return { outcome: verdict.outcome, reason: verdict.reason };
  }
  if (verdict.kind === 'waits' || verdict.kind === 'unread') return { outcome: 'pending', reason: 'waitsForRequired' };
  // The rest depends on when the run ends, and on the older due times, which are decided first.
  if (!runEnded) return { outcome: 'pending', reason: behindRun(question, row) };
  if (runsBefore(view, time)) return { outcome: 'pending', reason: 'waitsForOlder' };
  if (verdict.kind === 'unrun') return { outcome: verdict.outcome, reason: verdict.reason };
  if (currentPause(control, now) !== undefined) return { outcome: 'pending', reason: 'paused' };
  if (verdict.queued) return { outcome: 'pending', reason: 'queued' };
  return { outcome: 'pending', reason: verdict.trigger === 'catchUp' ? 'catchUp' : 'claimDue' };
}

/** The expected reason of a due time that passes during the row's run. */
function behindRun({ job, time, now }: Question, row: Row): StandingReason {
  const at = actualTime(job, time);
  if ((row.run?.since ?? 0) > at || standstillAt(row, at) !== undefined) return 'waitsForRun';
  const isBackfill = row.run?.trigger === 'backfill';
  if (job.overlap === 'skip' && !isBackfill) return 'overlapSkip';
  const newer = job.timetable.next(time);
  if (newer === undefined || actualTime(job, newer) > now) return 'queued';
  if (!isBackfill) return 'overlapNewer';
  return job.catchUp === 'all' ? 'waitsForRun' : 'catchUpLatest';
}

/** Whether an older undecided due time will run. Later ones are then decided after that run. */
function runsBefore(view: OutcomeView, time: EpochMs): boolean {
  const { job, row, now } = view;
  // Older due times have expired.
  let at = Math.max(row.cursor, now - job.catchUpWindowMs - job.offsetMs - 1);
  for (;;) {
    const next = job.timetable.next(at);
    if (next === undefined || next >= time) return false;
    if (verdictOn(view, next).kind === 'run') return true;
    at = next;
  }
}
