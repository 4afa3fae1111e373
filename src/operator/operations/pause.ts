import type { EpochMs, JobName, Millis } from '../../core/brand';
import { type Control, type Pause, currentPause } from '../../core/control';
import { READS_CONTROL_AGAIN_MS, READ_CONTROL_MS } from '../../core/early-claim';
import { inParallel } from '../../core/in-parallel';
import { isoOf, isoOrNull } from '../../core/iso';
import { type JobSpec, actualTime, nextDue } from '../../core/job';
import { isPattern } from '../../core/job-pattern';
import { recordKey, runIdOf } from '../../core/key';
import { UNRUN_OUTCOMES } from '../../core/outcome';
import type { Row } from '../../core/row';
import type { LeaseStore, MissingAccount } from '../../lease/store';
import type { Paused, PausedMany } from '../../manage/schema/actions';
import type { Pause as ShownPause } from '../../manage/schema/jobs';
import { type Acting, operate } from '../audit';
import { changeControl, checkEnd, checkNote } from '../change-control';
import { currentRun, readState } from '../job-state';
import { OperatorError, orRefusal } from '../operator-error';
import type { Subject } from '../subject';
import { placeInGroup } from '../views/explain';
import { recordOf } from '../views/find-record';
import { endMaintenance, isPlanned, startMaintenance } from './fleet';

/** The most due times that are counted. */
const COUNTED = 10_000;
/** The most names in {@link choiceInWords}. */
const NAMED = 5;

export interface PauseTerms {
  /** Default: the actor. */
  readonly by?: string | undefined;
  /** When the pause ends by itself, as read in a job's time zone. */
  readonly untilIn: (timeZone: string) => EpochMs | undefined;
}

export function shownPause({ by, note, since, until }: Pause): ShownPause {
  return { by, note, since: isoOf(since), until: isoOrNull(until) };
}

/**
 * Pauses a job from now on, by the storage service's clock. A run that is already claimed continues, unless it was claimed
 * early: {@link stillRuns}. Throws `OperatorError` `AlreadyPaused`, `NoteTooLong`, `PastEnd`, `EndTooLate`,
 * `ControlFull`.
 */
export function pause(acting: Acting, subject: Subject, terms: PauseTerms): Promise<Paused> {
  return operate(acting, 'pause', subject.name, () => {
    const until = terms.untilIn(subject.spec?.timeZone ?? 'UTC');
    const who = whoOf(acting, terms);
    checkNote(who);
    return changeControl(acting, subject, ({ control, now }) => {
      const open = currentPause(control, now);
      if (open !== undefined) {
        const since = `since ${new Date(open.since).toISOString()} by ${open.by}: ${open.note}`;
        throw new OperatorError('AlreadyPaused', `job "${subject.name}" is paused already, ${since}`);
      }
      checkEnd('pause', until, now);
      const made: Pause = { ...who, since: now, until };
      const after = shownPause(made);
      const result = { answer: { job: subject.name, pause: after }, after };
      return { control: { ...control, pauses: [...control.pauses, made] }, result };
    });
  });
}

/** Ends a job's pause now, by the storage service's clock. Throws `OperatorError` `NotPaused`. */
export function resume(acting: Acting, subject: Subject): Promise<Paused> {
  return operate(acting, 'resume', subject.name, () =>
    changeControl(acting, subject, ({ control, now }) => {
      const open = currentPause(control, now);
      if (open === undefined) throw new OperatorError('NotPaused', `job "${subject.name}" is not paused`);
      const before = shownPause({ ...open, until: undefined });
      const after = shownPause({ ...open, until: Math.max(now, open.since) });
      const result = { answer: { job: subject.name, pause: after }, before, after };
      return { control: endPauses(control, now), result };
    }),
  );
}

interface Choice {
  readonly names: readonly string[];
  readonly tag?: string | undefined;
}

/** Which jobs an operator chose, the same words for the same choice: the end of planned work finds its beginning by it. */
function choiceInWords({ names, tag }: Choice): string {
  if (tag !== undefined) return `tag ${tag}`;
  const sorted = [...new Set(names)].sort();
  if (sorted.length <= NAMED) return sorted.join(', ');
  return `${sorted.slice(0, NAMED).join(', ')} and ${String(sorted.length - NAMED)} more`;
}

/** The jobs of an operation on several, and how they were chosen. */
export interface Chosen {
  readonly jobs: readonly Subject[];
  readonly choice: Choice;
  /** The accounts that did not answer: a pattern may select jobs of them that are in no file. */
  readonly missing: readonly MissingAccount[];
}

/** Pauses several jobs, and shows that to all as planned work if at least one of them was paused. */
export async function pauseMany(acting: Acting, chosen: Chosen, terms: PauseTerms): Promise<PausedMany> {
  const paused = await forEachJob(chosen, (subject) => pause(acting, subject, terms));
  if (paused.done.length === 0) return paused;
  const work = { ...whoOf(acting, terms), until: lastEnd(paused.done), jobs: choiceInWords(chosen.choice) };
  return withWork(paused, work.jobs, () => startMaintenance(acting.store, work));
}

/** Resumes several jobs, and ends planned work, even if its last job runs already: `work`, or else the choice. */
export async function resumeMany(acting: Acting, chosen: Chosen, work?: string): Promise<PausedMany> {
  const resumed = await forEachJob(chosen, (subject) => resume(acting, subject));
  const words = work ?? choiceInWords(chosen.choice);
  return withWork(resumed, words, () => endWork(acting, words));
}

/** Planned work that cannot be written stands beside the jobs: an error would hide what became of them. */
async function withWork(acted: PausedMany, work: string, write: () => Promise<unknown>): Promise<PausedMany> {
  if (acted.done.length + acted.refused.length === 0) {
    await write();
    return acted;
  }
  const end = await orRefusal(async () => {
    await write();
    return undefined;
  });
  if (end === undefined) return acted;
  const problem = `the planned work of ${work} could not be written: ${end.problem}`;
  return { ...acted, refused: [...acted.refused, { job: work, code: end.code, problem }] };
}

/** When the last of these pauses ends, each of which ends by the clocks of its job. Undefined: one has no end. */
function lastEnd(done: readonly Paused[]): EpochMs | undefined {
  const last = Math.max(...done.map(({ pause: { until } }) => (until === null ? Infinity : Date.parse(until))));
  return last === Infinity ? undefined : last;
}

/** Has its own entry: it may be work that others began, and perhaps no job was resumed. */
async function endWork(acting: Acting, work: string): Promise<void> {
  if (!(await isPlanned(acting.store, work))) return;
  await operate(acting, 'maintenance', work, async () => {
    const ended = await endMaintenance(acting.store, work);
    const before = ended.map(({ since, until, ...who }) => ({ ...who, since: isoOf(since), until: isoOrNull(until) }));
    return { answer: {}, before, after: [] };
  });
}

function whoOf({ origin: { actor, note = '' } }: Acting, { by = actor }: PauseTerms): Pick<Pause, 'by' | 'note'> {
  return { by, note };
}

/** Acts on the jobs, several at a time. A refusal about one of them stops none of the others. */
async function forEachJob(
  { jobs, choice, missing }: Chosen,
  act: (subject: Subject) => Promise<Paused>,
): Promise<PausedMany> {
  const ends = await inParallel(new Set(jobs), async (subject) => ({
    job: subject.name,
    end: await orRefusal(() => act(subject)),
  }));
  return {
    done: ends.flatMap(({ end }) => ('kind' in end ? [] : [end])),
    refused: [
      ...ends.flatMap(({ job, end }) => ('kind' in end ? [{ job, code: end.code, problem: end.problem }] : [])),
      ...(choice.names.some(isPattern) ? missing : []).map(({ location: job, reason }) => {
        const problem = `${reason}: its jobs that are not in the jobs file are left as they are`;
        return { job, code: 'StoreUnavailable', problem };
      }),
    ],
  };
}

interface SkippedTimes {
  /** The oldest of them, nominal. */
  readonly first: readonly EpochMs[];
  readonly count: number;
  /** There are more than were counted. */
  readonly isMore: boolean;
}

/**
 * The due times of a job in a pause: the first `atMost`, and how many there are. None of them runs, even if the last
 * run kept it waiting.
 */
export function skippedTimes(
  spec: Pick<JobSpec, 'timetable' | 'offsetMs'>,
  { since, until }: Pick<Pause, 'since'> & { readonly until: EpochMs },
  atMost: number,
): SkippedTimes {
  const first: EpochMs[] = [];
  let count = 0;
  const before: Millis = since - spec.offsetMs - 1;
  let due = nextDue(spec, before, until);
  while (due !== undefined && actualTime(spec, due) < until && count < COUNTED) {
    count += 1;
    if (first.length < atMost) first.push(due);
    due = nextDue(spec, due, until);
  }
  return { first, count, isMore: due !== undefined && actualTime(spec, due) < until };
}

/** As {@link skippedTimes}, without the due time that was claimed before the pause and ran in it. */
export async function timesNotRun(
  store: LeaseStore,
  name: JobName,
  spec: JobSpec,
  pause: Parameters<typeof skippedTimes>[1],
  atMost: number,
): Promise<SkippedTimes> {
  const skipped = skippedTimes(spec, pause, atMost + 1);
  const [due] = skipped.first;
  if (due === undefined || !(await isRun(store, name, recordKey(due)))) {
    return { ...skipped, first: skipped.first.slice(0, atMost) };
  }
  return { ...skipped, first: skipped.first.slice(1), count: skipped.count - 1 };
}

async function isRun(store: LeaseStore, name: JobName, key: string): Promise<boolean> {
  const found = await recordOf(store, name, key);
  if (found !== undefined) return !UNRUN_OUTCOMES.some((outcome) => outcome === found.record.outcome);
  return (await currentRun(store, name, await readState(store, name))) === runIdOf(name, key);
}

export interface StillRuns {
  /** Undefined: a due time is being claimed at this moment, and its run has no id yet. */
  readonly runId: string | undefined;
  readonly deployment: string | undefined;
  /** When its attempt starts; 0 if unknown. */
  readonly startsAt: number;
  /**
   * `claimed`: it waits for its due time. `claimedEarly`: it waits for that, or for a place in its group, and reads the
   * pause before its handler starts.
   * `reading`: it reads its control at about this moment, and may miss the pause. `running`: an attempt is running.
   * `waiting`: it waits for its next attempt.
   */
  readonly how: 'claimed' | 'claimedEarly' | 'reading' | 'running' | 'waiting';
}

/** The run of a paused job that the pause does not stop, because it was claimed before. */
export async function stillRuns(store: LeaseStore, { name, spec }: Subject): Promise<StillRuns | undefined> {
  const state = await readState(store, name);
  const { row, lease, now } = state;
  const runId = await currentRun(store, name, state);
  if (runId === undefined) {
    return lease === 'held' ? { runId, deployment: undefined, startsAt: 0, how: 'claimed' } : undefined;
  }
  const { phase, started = 0, claimedAt = started, notBefore = 0, incumbent } = row ?? { phase: 'idle' };
  if (phase !== 'running') return { runId, deployment: incumbent, startsAt: notBefore, how: 'waiting' };
  const claim = { runId, deployment: incumbent, startsAt: started };
  if (started <= now) {
    const waits = isHeldBack(row) && typeof (await placeInGroup(store, { name, group: spec?.group }, row)) === 'object';
    return { ...claim, how: !waits ? 'running' : now - started > READS_CONTROL_AFTER_MS ? 'claimedEarly' : 'reading' };
  }
  return { ...claim, how: beforeDue(started - claimedAt, started - now) };
}

/** A run that has waited in its group for longer than this reads the pause before its handler starts. */
const READS_CONTROL_AFTER_MS: Millis = 6_000;

/** Whether a pause holds the row's run back if its handler has not started: see `waits.ts`. */
function isHeldBack(row: Row | undefined): boolean {
  return row?.run !== undefined && row.run.trigger !== 'manual' && row.past.length === 0;
}

/** How early the control is read depends on how many jobs the claiming process has, which is not known here. */
function beforeDue(claimedAheadMs: Millis, leftMs: Millis): StillRuns['how'] {
  if (leftMs > READS_CONTROL_AGAIN_MS) return 'claimedEarly';
  const readsAgain = claimedAheadMs > READS_CONTROL_AGAIN_MS;
  return readsAgain && leftMs > READ_CONTROL_MS ? 'reading' : 'claimed';
}

/** A pause that ends as it begins holds nothing back. Its end still excuses a job from `alertAfter`. */
function endPauses(control: Control, now: number): Control {
  const pauses = control.pauses.map(({ until = now, ...pause }) => ({
    ...pause,
    until: Math.max(pause.since, Math.min(until, now)),
  }));
  return { ...control, pauses };
}
