import type { EpochMs } from '../core/brand';
import type { Control } from '../core/control';
import { openPause, pauseAt } from '../core/control';
import { formatDuration } from '../core/duration';
import { actualTime } from '../core/job';
import { runIdOf } from '../core/key';
import { isDue } from '../core/why';
import type { Explanation } from './explain';

/** An instant as its reader likes it. */
export type ShowTime = (instant: EpochMs) => string;

/** One or two sentences that say why, for people. */
export function describe(explanation: Explanation, show: ShowTime): string {
  switch (explanation.fate) {
    case 'running':
    case 'retrying':
    case 'pending':
    case 'future':
    case 'notDue':
      return describeOpen(explanation, show);
    default: {
      const sentence = describeFate(explanation, show);
      return explanation.record === null ? `${sentence} The ledger does not have it yet.` : sentence;
    }
  }
}

/** What the ledger says, or is about to say. */
function describeFate({ fate, reason, job, time, state, record }: Explanation, show: ShowTime): string {
  switch (reason) {
    case 'completed':
      return 'The handler returned.';
    case 'termEnded':
      return 'The term came to its end and handed over to the next one.';
    case 'handlerError':
      return 'The handler threw in its last attempt.';
    case 'nonRetryable':
      return 'The handler threw a NonRetryableError, so it was not tried again.';
    case 'invalidResult':
      return 'The handler returned what the ledger cannot hold.';
    case 'holderLost':
      return 'Its attempts were used up by instances that died or lost their lease.';
    case 'failedOver':
      return fate === 'failed'
        ? 'The storage account failed over while it ran, and how it ended is lost.'
        : 'The storage account failed over, and whether it ran is lost: it is not run again.';
    case 'outcomeUnknown':
      return 'Nobody can tell whether it ran to its end: its record was deleted by retention, or cannot be read. It is not run again.';
    case 'timeout':
      return 'Its last attempt took longer than "timeout".';
    case 'stallAfter':
      return 'Its last attempt reported no progress for longer than "stallAfter".';
    case 'instanceStopped':
      return 'The instance that ran it was shut down.';
    case 'leaseLost':
      return 'Its lease could not be kept.';
    case 'cancelRequested':
      return 'An operator cancelled the run.';
    case 'overlapCancel':
      return 'It gave way to a newer due time or request, since "overlap" is "cancel".';
    case 'overlapSkip':
      return 'The last run was still going on, and "overlap" is "skip".';
    case 'overlapNewer':
      return 'A newer due time came while the last run was still going on, and only the newest is run.';
    case 'catchUpLatest':
      return 'It was missed, and by the time it was seen a newer due time had passed: "catchUp" is "latest".';
    case 'catchUpWindow':
      return `It was not run within "catchUpWindow" (${formatDuration(job.catchUpWindowMs)}).`;
    case 'catchUpNone':
      return 'It was missed, and "catchUp" is "none".';
    case 'paused': {
      const pause = pauseAt(state.control, actualTime(job, time));
      return pause === undefined ? 'The job was paused.' : `The job was paused by ${pause.by}: ${pause.note}.`;
    }
    case 'disabled':
      return 'The job is disabled in the jobs file.';
    case 'scheduleChanged':
      return record?.through === undefined
        ? 'The schedule was not yet this one: a changed schedule counts from when it was first seen.'
        : `The schedule was changed. Nothing that was due and not yet decided between ${show(Date.parse(record.scheduledFor))} and ${show(Date.parse(record.through))} was run.`;
    default:
      return `It is ${fate}.`;
  }
}

/** Who paused the job, and when, as the end of a clause. */
function pausedBy(control: Control, show: ShowTime): string {
  const pause = openPause(control);
  return pause === undefined ? '' : ` by ${pause.by} (${pause.note}) since ${show(pause.since)}`;
}

/** What has no fate yet, or never will. */
function describeOpen(explanation: Explanation, show: ShowTime): string {
  const { reason, job, time, state } = explanation;
  const { row, control, now } = state;
  const current = row?.run === undefined ? 'the current run' : `run ${runIdOf(job.name, row.run.key)}`;
  switch (reason) {
    case 'attemptRunning':
      return `Attempt ${row?.attempt ?? 1} goes on${by(row?.incumbent)}, since ${show(row?.started ?? now)}.`;
    case 'claimed':
      return `It is claimed${by(row?.incumbent)}, and the handler waits for ${show(row?.started ?? now)}.`;
    case 'fanningOut':
      return 'Its items are running.';
    case 'takeOverDue':
      return `The instance that ran attempt ${row?.attempt ?? 1} is gone: the next tick takes the run over.`;
    case 'backOff':
      return `Attempt ${row?.attempt ?? 1} has ended; the next one starts at ${show(row?.notBefore ?? now)}.`;
    case 'resumeDue':
      return `The instance that ran attempt ${row?.attempt ?? 1} was shut down: the next tick resumes the run.`;
    case 'cancelRequested':
      return 'An operator has asked for its end: it comes with the next renewal of the lease, or the next tick.';
    case 'claimDue':
      return `It has been due for ${formatDuration(now - actualTime(job, time))}, and the next tick claims it. If that does not happen, no instance is ticking, or none may claim this job.`;
    case 'catchUp':
      return `It was missed, and the next tick runs it: "catchUp" is "${job.catchUp}".`;
    case 'queued':
      return `It came while ${current} was going on, and runs right after it: "overlap" is "${job.overlap}".`;
    case 'overlapSkip':
      return `It came while ${current} was going on, which it still is; "overlap" is "skip", so it is not going to run.`;
    case 'overlapNewer':
      return `It came while ${current} was going on, which it still is, and so did a newer one: only the newest runs.`;
    case 'waitsForRun':
      return `It is decided when ${current} is over, which began after it.`;
    case 'waitsForOlder':
      return 'An older due time runs first; this one is decided after that.';
    case 'requested':
      return 'It was asked for, and runs as soon as a tick has listed the job and finds it free.';
    case 'paused':
      return explanation.fate === 'future'
        ? `It is yet to come. The job is paused${pausedBy(control, show)}: unless it is resumed before, this one will not run.`
        : `It is decided when the job is resumed, which is paused${pausedBy(control, show)}.`;
    case 'disabled':
      return 'It is yet to come, and will not run: the job is disabled in the jobs file.';
    case 'notYetDue':
      return `It is yet to come, in ${formatDuration(actualTime(job, time) - now)}.`;
    case 'manualOnly':
      return 'The job runs on request only (@manual), and nobody asked for a run at this time.';
    case 'leaderJob':
      return 'A leader job (@always) has terms, no due times, and no term began at this time.';
    case 'beforeFirstSeen':
      return row === undefined
        ? 'No coordinator has seen the job yet, and one that sees it for the first time runs nothing of before.'
        : 'The schedule has it, but no coordinator had seen the job by then: it owes nothing of before.';
    case 'recordGone':
      return `The schedule has it, but it is older than ledger records are kept (${formatDuration(job.keepMs)}): what became of it is not known any more.`;
    case 'otherSchedule':
      return 'The schedule has it, but was another one when its time came: the ledger has nothing of it.';
    default:
      return describeNotDue(explanation, show);
  }
}

function describeNotDue({ job, time }: Explanation, show: ShowTime): string {
  const nominal = time - job.offsetMs;
  if (job.offsetMs > 0 && isDue(job, nominal)) {
    const spread = formatDuration(job.offsetMs);
    return `The schedule does not have it: it is when ${show(nominal)} really starts, ${spread} later by "spread". Ask for that one.`;
  }
  const before = job.timetable.previous(time);
  const after = job.timetable.next(time);
  const nearest = [before, after].filter((instant) => instant !== undefined).map(show);
  return `The schedule does not have it${nearest.length === 0 ? '' : `: the nearest due times are ${nearest.join(' and ')}`}.`;
}

function by(deployment: string | undefined): string {
  return deployment === undefined ? '' : ` on ${deployment}`;
}
