import { type ExcludedBy, actualTime } from '../../core/job';
import type { EpochMs } from '../../core/brand';
import { type Control, currentPause, pauseAt } from '../../core/control';
import { formatDuration } from '../../core/duration';
import { type Guidance, OPEN_GUIDE, REASON_GUIDE, guidanceText } from '../../core/guide';
import { showSpan } from '../../core/show-time';
import type { ItemTable } from '../../core/item-table';
import { runIdOf } from '../../core/key';
import type { Progress } from '../../core/log-entry';
import { waitsFor } from '../../core/requires';
import { oneLine } from '../../core/text';
import { isDue } from '../../core/why';
import type { Explanation } from './explain';
import type { AtWork, ShownRecord } from './runs';

/** Formats an instant for the reader. */
export type ShowTime = (instant: EpochMs) => string;

/** Explains the outcome to people, in one or two sentences. */
export function describe(explanation: Explanation, show: ShowTime): string {
  switch (explanation.outcome) {
    case 'running':
    case 'retrying':
    case 'pending':
    case 'future':
    case 'notDue':
      return describeOpen(explanation, show);
    default: {
      const sentence = describeOutcome(explanation, show) + waitSentences(explanation);
      return explanation.record === null ? `${sentence} The ledger does not have the record yet.` : sentence;
    }
  }
}

/** How far the items of a run have come: `40 of 300 done, 2 failed`. */
export function itemCounts({ planned, succeeded, failed }: ItemTable): string {
  const failures = failed === 0 ? '' : `, ${String(failed)} failed`;
  return `${String(succeeded + failed)} of ${String(planned)} done${failures}`;
}

/** The sentences for a lateness that comes from the limit of a group, or of handlers. */
function waitSentences({ record, job }: Explanation): string {
  const { waitedForGroupMs, waitedForConcurrencyMs } = firstWaits(record);
  const group = job.group === undefined ? 'its group' : `group "${job.group.name}"`;
  return [
    waitedForGroupMs === undefined ? '' : ` It had waited ${showSpan(waitedForGroupMs)} for a place in ${group}.`,
    waitedForConcurrencyMs === undefined
      ? ''
      : ` Its handler had waited ${showSpan(waitedForConcurrencyMs)} for the concurrency limit of its instance.`,
  ].join('');
}

/** How long the first call of the handler waited for its turn, if it did. */
export function firstWaits(
  record: Pick<ShownRecord, 'attempts'> | null,
): Pick<ShownRecord['attempts'][number], 'waitedForGroupMs' | 'waitedForConcurrencyMs'> {
  return record?.attempts.find(({ startedAt }) => startedAt !== null) ?? {};
}

/** The sentence for an outcome that the ledger has, or will have. */
function describeOutcome({ outcome, reason, job, time, state, record }: Explanation, show: ShowTime): string {
  switch (reason) {
    case 'failedOver':
      return outcome === 'failed'
        ? 'The storage failed over during the run, and the outcome is lost.'
        : 'The storage failed over. The due time may have run, so it is not run again.';
    case 'catchUpWindow':
    case 'requirementNotMet':
    case 'groupFull':
      return describeMissed(reason, job);
    case 'paused': {
      const pause = pauseAt(state.control, actualTime(job, time));
      return pause === undefined ? 'The job was paused.' : `The job was paused by ${pause.by}: ${pause.note}.`;
    }
    case 'scheduleChanged':
    case 'notInFile':
      return describeFreshStart(reason, record, show);
    default: {
      const guides: Readonly<Record<string, Guidance>> = REASON_GUIDE;
      const guide = guides[reason];
      return guide === undefined ? `Its outcome is ${outcome}.` : guidanceText(guide);
    }
  }
}

/** The sentence for a due time from before its schedule began to count. */
function describeFreshStart(
  reason: 'scheduleChanged' | 'notInFile',
  record: Pick<ShownRecord, 'scheduledFor' | 'through'> | null,
  show: ShowTime,
): string {
  const isChange = reason === 'scheduleChanged';
  if (record?.through === undefined) {
    return isChange
      ? 'Another schedule was in force. A changed schedule counts from the tick that first sees it.'
      : 'No jobs file had the job. One that comes back counts from the tick that first sees it.';
  }
  const what = isChange ? 'The schedule was changed' : 'No jobs file had the job for a while';
  const [from, to] = [record.scheduledFor, record.through].map((time) => show(Date.parse(time)));
  return `${what}. Undecided due times from ${String(from)} to ${String(to)} were not run.`;
}

/** The sentence for a due time that could not run in time. */
function describeMissed(reason: 'catchUpWindow' | 'requirementNotMet' | 'groupFull', job: Explanation['job']): string {
  switch (reason) {
    case 'catchUpWindow':
      return `It was not run within "catchUpWindow" (${formatDuration(job.catchUpWindowMs)}).`;
    case 'requirementNotMet':
      return `A job that it requires (${job.requires.join(', ')}) had not succeeded within "requireWithin" (${formatDuration(job.requireWithinMs)}).`;
    case 'groupFull':
      return `${fullGroup(job.group)} at work until the due time was too old to run.`;
  }
}

function fullGroup(group: Explanation['job']['group']): string {
  if (group === undefined) return 'As many runs of its group as "maxParallel" allows were';
  const { name, maxParallel } = group;
  return `${countOf(maxParallel)} of group "${name}" ${maxParallel === 1 ? 'was' : 'were'}`;
}

function countOf(runs: number): string {
  return runs === 1 ? '1 other run' : `${String(runs)} other runs`;
}

/** The sentence for a run that waits for a place in its group. */
function groupSentence({ inGroup, job }: Explanation): string {
  const { name = '', maxParallel = 0 } = job.group ?? {};
  const { running = [], ahead = 0 } = inGroup ?? {};
  const others = ahead === 0 ? '' : ` ${countOf(ahead)} ${ahead === 1 ? 'waits' : 'wait'} before it.`;
  return `It waits for a place in group "${name}", which runs ${String(maxParallel)} at once: ${running.join(', ')}.${others}`;
}

/** The person who paused the job, and the time, as the end of a clause. */
function pausedBy(control: Control, now: EpochMs, show: ShowTime): string {
  const pause = currentPause(control, now);
  return pause === undefined ? '' : ` by ${pause.by} (${pause.note}) since ${show(pause.since)}`;
}

/** The sentence for an instant that has no outcome yet, or never will. */
function describeOpen(explanation: Explanation, show: ShowTime): string {
  const { reason, job, time, state } = explanation;
  const { row, control, now } = state;
  const current = row?.run === undefined ? 'the current run' : `run ${runIdOf(job.name, row.run.key)}`;
  switch (reason) {
    case 'attemptRunning':
      return `Attempt ${row?.attempt ?? 1} has been running${by(row?.incumbent)} since ${show(row?.started ?? now)}.`;
    case 'waitsForGroup':
      return groupSentence(explanation);
    case 'claimed':
      return `It is claimed${by(row?.incumbent)}. The handler starts at ${show(row?.started ?? now)}.`;
    case 'fanningOut':
      return describeAtWork(explanation);
    case 'takeOverDue':
      return `The instance that ran attempt ${row?.attempt ?? 1} died or lost its lease: the next tick takes the run over.`;
    case 'backOff':
      return `Attempt ${row?.attempt ?? 1} has ended; the next one starts at ${show(row?.notBefore ?? now)}.`;
    case 'resumeDue':
      return `The instance that ran attempt ${row?.attempt ?? 1} was shut down: the next tick resumes the run.`;
    case 'cancelRequested':
      return 'An operator cancelled the run. It ends at the next renewal of its lease, or at the next tick.';
    case 'claimDue':
      return `It has been due for ${formatDuration(now - actualTime(job, time))}, and the next tick claims it. If it stays unclaimed, no instance is ticking, or none may claim this job.`;
    case 'catchUp':
      return `It was missed, and the next tick runs it: "catchUp" is "${job.catchUp}".`;
    case 'queued':
    case 'overlapSkip':
    case 'overlapNewer':
    case 'waitsForRun':
    case 'waitsForOlder':
      return describeTurn(reason, job, current);
    case 'waitsForRequired':
      return waitingSentence(explanation, show);
    case 'paused':
      return explanation.outcome === 'future'
        ? `It is in the future, and the job is paused${pausedBy(control, now, show)}. Unless the job is resumed before then, this due time will not run.`
        : `The job is paused${pausedBy(control, now, show)}. This due time is decided when the job is resumed.`;
    case 'disabled':
      return 'It is in the future, and will not run: the job is disabled in the jobs file.';
    case 'notYetDue':
      return `It is due in ${formatDuration(actualTime(job, time) - now)}.${requiresSentence(explanation)}`;
    case 'requested':
    case 'manualOnly':
    case 'leaderJob':
    case 'otherSchedule':
      return guidanceText(OPEN_GUIDE[reason]);
    case 'beforeFirstSeen':
      return row === undefined
        ? 'No deployment has seen the job yet. Due times before it is first seen never run.'
        : guidanceText(OPEN_GUIDE.beforeFirstSeen);
    case 'recordGone':
      return `The schedule contains it, but ledger records are kept for ${formatDuration(job.keepMs)}, and this one would be older. Its outcome is no longer known.`;
    default:
      return describeNotDue(explanation, show);
  }
}

/** The sentence for a run that has been left to others. */
function describeAtWork({ items, orchestration, progress }: AtWork): string {
  const said = progress === undefined ? '' : `: ${progressText(progress)}`;
  if (orchestration !== undefined) return `Its orchestration ${orchestration} is running${said}.`;
  return items === undefined ? guidanceText(OPEN_GUIDE.fanningOut) : `Its items are running: ${itemCounts(items)}.`;
}

/** How far a run is, in words: `40 %  step 2`. */
export function progressText({ note = '', fraction }: Progress): string {
  const percent = fraction === undefined ? '' : `${String(Math.floor(fraction * 100))} %`;
  return [percent, oneLine(note)].filter((part) => part !== '').join('  ');
}

/** The sentence for a due time that waits for other jobs. */
function waitingSentence({ job, time, waitsFor }: Explanation, show: ShowTime): string {
  const { jobs = job.requires, until = actualTime(job, time) + job.requireWithinMs } = waitsFor ?? {};
  const since = job.timetable.previous(time);
  const after = since === undefined ? '' : ` for a due time after ${show(since)}`;
  return `It waits until ${jobs.join(' and ')} ${jobs.length === 1 ? 'has' : 'have'} succeeded${after}. If that takes until ${show(until)}, it expires: see "requires".`;
}

function requiresSentence({ job }: Explanation): string {
  const words = waitsFor(job);
  return words === undefined ? '' : ` Then it ${words}.`;
}

/** The sentence for a due time that is behind a run. */
function describeTurn(
  reason: 'queued' | 'overlapSkip' | 'overlapNewer' | 'waitsForRun' | 'waitsForOlder',
  job: Explanation['job'],
  current: string,
): string {
  switch (reason) {
    case 'queued':
      return `It passed during ${current}, and runs right after it: "overlap" is "${job.overlap}".`;
    case 'overlapSkip':
      return `It passed during ${current}, which is still in progress. It will not run, because "overlap" is "skip".`;
    case 'overlapNewer':
      return `It passed during ${current}, which is still in progress, and so did a newer due time: only the newest one will run.`;
    case 'waitsForRun':
      return `It is decided when ${current} is over.`;
    case 'waitsForOlder':
      return 'An older due time runs first. This one is decided after that run.';
  }
}

function describeNotDue({ job, time, reason }: Explanation, show: ShowTime): string {
  if (reason === 'notInFile') return guidanceText(OPEN_GUIDE.notInFile);
  const nominal = time - job.offsetMs;
  if (job.offsetMs > 0 && isDue(job, nominal)) {
    const spread = formatDuration(job.offsetMs);
    return `The schedule does not contain it. The due time ${show(nominal)} starts then, ${spread} later by "spread": ask for that due time.`;
  }
  const before = job.timetable.previous(time);
  const after = job.timetable.next(time);
  const nearest = [before, after].filter((instant) => instant !== undefined).map(show);
  const excluded = reason === 'excluded' ? job.excluded?.by(time) : undefined;
  const what = excluded === undefined ? 'The schedule does not contain it' : excludedSentence(excluded);
  const separator = excluded === undefined ? ': the' : '. The';
  return `${what}${nearest.length === 0 ? '' : `${separator} nearest due times are ${nearest.join(' and ')}`}.`;
}

function excludedSentence({ setting, calendar, entry }: ExcludedBy): string {
  const where = calendar === null ? `"${setting}" of the job` : `the calendar "${calendar}"`;
  return `The schedule contains it, and ${where} excludes it: ${entry}`;
}

function by(deployment: string | undefined): string {
  return deployment === undefined ? '' : ` on ${deployment}`;
}
