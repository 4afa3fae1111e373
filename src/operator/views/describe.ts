import { type ExcludedBy, actualTime } from '../../core/job';
import { currentPause, pauseAt } from '../../core/control';
import { formatDuration } from '../../core/duration';
import { type Guidance, OPEN_GUIDE, REASON_GUIDE, guidanceText } from '../../core/guide';
import type { EpochMs } from '../../core/brand';
import type { OpenStanding, Standing } from '../../core/outcome';
import { showSpan } from '../../core/show-time';
import type { ItemTable } from '../../core/item-table';
import { runIdOf } from '../../core/key';
import type { Progress } from '../../core/log-entry';
import { waitsFor } from '../../core/requires';
import { oneLine } from '../../core/text';
import { isDue } from '../../core/why';
import type { Explanation } from './explain';
import type { ShownRecord } from './runs';

/** Formats an instant for the reader. */
export type ShowTime = (instant: EpochMs) => string;

type Sentence = (explanation: Explanation, show: ShowTime) => string;
type Sentences = Readonly<Partial<Record<Explanation['reason'], Sentence>>>;

/** Explains the outcome to people, in one or two sentences. */
export function describe(explanation: Explanation, show: ShowTime): string {
  const { outcome, reason, record } = explanation;
  if (isOpen(outcome)) return (OPEN[reason] ?? notDue)(explanation, show);
  const sentence = (ENDED[reason] ?? byGuide)(explanation, show) + waitSentences(explanation);
  return record === null ? `${sentence} The ledger does not have the record yet.` : sentence;
}

function isOpen(outcome: Standing): outcome is OpenStanding {
  return ['running', 'retrying', 'pending', 'future', 'notDue'].includes(outcome);
}

/** For an outcome that the ledger has, or will have. */
const ENDED: Sentences = {
  failedOver: ({ outcome }) =>
    outcome === 'failed'
      ? 'The storage failed over during the run, and the outcome is lost.'
      : 'The storage failed over. The due time may have run, so it is not run again.',
  catchUpWindow: ({ job }) => `It was not run within "catchUpWindow" (${formatDuration(job.catchUpWindowMs)}).`,
  requirementNotMet: ({ job: { requires, requireWithinMs } }) =>
    `A job that it requires (${requires.join(', ')}) had not succeeded within "requireWithin" (${formatDuration(requireWithinMs)}).`,
  groupFull: ({ job: { group } }) => {
    const full =
      group === undefined
        ? 'As many runs of its group as "maxParallel" allows were'
        : `${others(group.maxParallel)} of group "${group.name}" ${group.maxParallel === 1 ? 'was' : 'were'}`;
    return `${full} at work until the due time was too old to run.`;
  },
  paused: ({ job, time, state }) => {
    const pause = pauseAt(state.control, actualTime(job, time));
    return pause === undefined ? 'The job was paused.' : `The job was paused by ${pause.by}: ${pause.note}.`;
  },
  scheduleChanged: ({ record }, show) =>
    record?.through === undefined
      ? 'Another schedule was in force. A changed schedule counts from the tick that first sees it.'
      : `The schedule was changed. ${undecided(record.scheduledFor, record.through, show)}`,
  notInFile: ({ record }, show) =>
    record?.through === undefined
      ? 'No jobs file had the job. One that comes back counts from the tick that first sees it.'
      : `No jobs file had the job for a while. ${undecided(record.scheduledFor, record.through, show)}`,
};

function undecided(from: string, through: string, show: ShowTime): string {
  return `Undecided due times from ${show(Date.parse(from))} to ${show(Date.parse(through))} were not run.`;
}

function byGuide({ outcome, reason }: Explanation): string {
  const guides: Readonly<Record<string, Guidance>> = REASON_GUIDE;
  const guide = guides[reason];
  return guide === undefined ? `Its outcome is ${outcome}.` : guidanceText(guide);
}

function others(runs: number): string {
  return runs === 1 ? '1 other run' : `${String(runs)} other runs`;
}

/** For a lateness that comes from the limit of a group, or of handlers. */
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

/** For an instant that has no outcome yet, or never will. */
const OPEN: Sentences = {
  attemptRunning: ({ state: { row, now } }, show) =>
    `Attempt ${row?.attempt ?? 1} has been running${on(row?.incumbent)} since ${show(row?.started ?? now)}.`,
  waitsForGroup: ({ inGroup, job }) => {
    const { name = '', maxParallel = 0 } = job.group ?? {};
    const { running = [], ahead = 0 } = inGroup ?? {};
    const before = ahead === 0 ? '' : ` ${others(ahead)} ${ahead === 1 ? 'waits' : 'wait'} before it.`;
    return `It waits for a place in group "${name}", which runs ${String(maxParallel)} at once: ${running.join(', ')}.${before}`;
  },
  claimed: ({ state: { row, now } }, show) =>
    `It is claimed${on(row?.incumbent)}. The handler starts at ${show(row?.started ?? now)}.`,
  fanningOut: ({ items, orchestration, progress }) => {
    const said = progress === undefined ? '' : `: ${progressText(progress)}`;
    if (orchestration !== undefined) return `Its orchestration ${orchestration} is running${said}.`;
    return items === undefined ? guidanceText(OPEN_GUIDE.fanningOut) : `Its items are running: ${itemCounts(items)}.`;
  },
  takeOverDue: ({ state: { row } }) =>
    `The instance that ran attempt ${row?.attempt ?? 1} died or lost its lease: the next tick takes the run over.`,
  backOff: ({ state: { row, now } }, show) =>
    `Attempt ${row?.attempt ?? 1} has ended; the next one starts at ${show(row?.notBefore ?? now)}.`,
  resumeDue: ({ state: { row } }) =>
    `The instance that ran attempt ${row?.attempt ?? 1} was shut down: the next tick resumes the run.`,
  cancelRequested: () =>
    'An operator cancelled the run. It ends at the next renewal of its lease, or at the next tick.',
  claimDue: ({ job, time, state: { now } }) =>
    `It has been due for ${formatDuration(now - actualTime(job, time))}, and the next tick claims it. If it stays unclaimed, no instance is ticking, or none may claim this job.`,
  catchUp: ({ job }) => `It was missed, and the next tick runs it: "catchUp" is "${job.catchUp}".`,
  queued: (explanation) =>
    `It passed during ${currentRun(explanation)}, and runs right after it: "overlap" is "${explanation.job.overlap}".`,
  overlapSkip: (explanation) =>
    `It passed during ${currentRun(explanation)}, which is still in progress. It will not run, because "overlap" is "skip".`,
  overlapNewer: (explanation) =>
    `It passed during ${currentRun(explanation)}, which is still in progress, and so did a newer due time: only the newest one will run.`,
  waitsForRun: (explanation) => `It is decided when ${currentRun(explanation)} is over.`,
  waitsForOlder: () => 'An older due time runs first. This one is decided after that run.',
  waitsForRequired: ({ job, time, waitsFor }, show) => {
    const { jobs = job.requires, until = actualTime(job, time) + job.requireWithinMs } = waitsFor ?? {};
    const since = job.timetable.previous(time);
    const after = since === undefined ? '' : ` for a due time after ${show(since)}`;
    return `It waits until ${jobs.join(' and ')} ${jobs.length === 1 ? 'has' : 'have'} succeeded${after}. If that takes until ${show(until)}, it expires: see "requires".`;
  },
  paused: ({ outcome, state: { control, now } }, show) => {
    const pause = currentPause(control, now);
    const by = pause === undefined ? '' : ` by ${pause.by} (${pause.note}) since ${show(pause.since)}`;
    return outcome === 'future'
      ? `It is in the future, and the job is paused${by}. Unless the job is resumed before then, this due time will not run.`
      : `The job is paused${by}. This due time is decided when the job is resumed.`;
  },
  disabled: () => 'It is in the future, and will not run: the job is disabled in the jobs file.',
  notYetDue: ({ job, time, state: { now } }) => {
    const waits = waitsFor(job);
    return `It is due in ${formatDuration(actualTime(job, time) - now)}.${waits === undefined ? '' : ` Then it ${waits}.`}`;
  },
  requested: () => guidanceText(OPEN_GUIDE.requested),
  manualOnly: () => guidanceText(OPEN_GUIDE.manualOnly),
  leaderJob: () => guidanceText(OPEN_GUIDE.leaderJob),
  otherSchedule: () => guidanceText(OPEN_GUIDE.otherSchedule),
  notInFile: () => guidanceText(OPEN_GUIDE.notInFile),
  beforeFirstSeen: ({ state: { row } }) =>
    row === undefined
      ? 'No deployment has seen the job yet. Due times before it is first seen never run.'
      : guidanceText(OPEN_GUIDE.beforeFirstSeen),
  recordGone: ({ job }) =>
    `The schedule contains it, but ledger records are kept for ${formatDuration(job.keepMs)}, and this one would be older. Its outcome is no longer known.`,
};

function on(deployment: string | undefined): string {
  return deployment === undefined ? '' : ` on ${deployment}`;
}

function currentRun({ job, state: { row } }: Explanation): string {
  return row?.run === undefined ? 'the current run' : `run ${runIdOf(job.name, row.run.key)}`;
}

/** How far the items of a run have come: `40 of 300 done, 2 failed`. */
export function itemCounts({ planned, succeeded, failed }: ItemTable): string {
  const failures = failed === 0 ? '' : `, ${String(failed)} failed`;
  return `${String(succeeded + failed)} of ${String(planned)} done${failures}`;
}

/** How far a run is, in words: `40 %  step 2`. */
export function progressText({ note = '', fraction }: Progress): string {
  const percent = fraction === undefined ? '' : `${String(Math.floor(fraction * 100))} %`;
  return [percent, oneLine(note)].filter((part) => part !== '').join('  ');
}

function notDue({ job, time, reason }: Explanation, show: ShowTime): string {
  const nominal = time - job.offsetMs;
  if (job.offsetMs > 0 && isDue(job, nominal)) {
    const spread = formatDuration(job.offsetMs);
    return `The schedule does not contain it. The due time ${show(nominal)} starts then, ${spread} later by "spread": ask for that due time.`;
  }
  const instants = [job.timetable.previous(time), job.timetable.next(time)];
  const nearest = instants.filter((instant) => instant !== undefined).map(show);
  const excluded = reason === 'excluded' ? job.excluded?.by(time) : undefined;
  const what = excluded === undefined ? 'The schedule does not contain it' : excludedSentence(excluded);
  const separator = excluded === undefined ? ': the' : '. The';
  return `${what}${nearest.length === 0 ? '' : `${separator} nearest due times are ${nearest.join(' and ')}`}.`;
}

function excludedSentence({ setting, calendar, entry }: ExcludedBy): string {
  const where = calendar === null ? `"${setting}" of the job` : `the calendar "${calendar}"`;
  return `The schedule contains it, and ${where} excludes it: ${entry}`;
}
