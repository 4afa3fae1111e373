import type { EpochMs, JobName } from '../../core/brand';
import type { Pause } from '../../core/control';
import { inParallel } from '../../core/in-parallel';
import { isoOf, isoOrNull } from '../../core/iso';
import { type Acting, type Recorded, operate } from '../audit';
import { endMaintenance, startMaintenance } from './fleet';
import { pauseJob, resumeJob } from '../pause';
import { orRefusal } from '../refusal';
import { choiceInWords } from '../select-jobs';
import type { Subject } from '../subject';

/** A pause as answers and audit entries have it. */
export interface ShownPause extends Pick<Pause, 'by' | 'note'> {
  readonly since: string;
  readonly until: string | null;
}

export type PausedJob = Recorded<{ readonly job: JobName; readonly pause: ShownPause }>;

export interface PauseTerms {
  /** Default: the actor. */
  readonly by?: string | undefined;
  /** When the pause ends by itself, as read in a job's time zone. */
  readonly untilIn: (timeZone: string) => EpochMs | undefined;
}

export function shownPause({ by, note, since, until }: Pause): ShownPause {
  return { by, note, since: isoOf(since), until: isoOrNull(until) };
}

/** Pauses a job: see `pauseJob`. */
export function pause(acting: Acting, subject: Subject, terms: PauseTerms): Promise<PausedJob> {
  return operate(acting, 'pause', subject.name, async () => {
    const until = terms.untilIn(subject.spec?.timeZone ?? 'UTC');
    const made = shownPause(await pauseJob(acting.store, subject, { ...whoOf(acting, terms), until }, acting));
    return { answer: { job: subject.name, pause: made }, after: made };
  });
}

/** Ends the pause of a job: see `resumeJob`. */
export function resume(acting: Acting, subject: Subject): Promise<PausedJob> {
  return operate(acting, 'resume', subject.name, async () => {
    const ended = await resumeJob(acting.store, subject, acting);
    const after = shownPause(ended);
    return { answer: { job: subject.name, pause: after }, before: shownPause({ ...ended, until: undefined }), after };
  });
}

/** The jobs of an operation on several, and how they were chosen. */
export interface Chosen {
  readonly jobs: readonly Subject[];
  readonly choice: Parameters<typeof choiceInWords>[0];
}

export interface PausedMany {
  readonly done: readonly PausedJob[];
  readonly refused: readonly { readonly job: JobName; readonly code: string; readonly problem: string }[];
}

/** Pauses several jobs, and shows that to everybody as planned work if at least one of them was paused. */
export async function pauseMany(acting: Acting, { jobs, choice }: Chosen, terms: PauseTerms): Promise<PausedMany> {
  const paused = await forEachJob(jobs, (subject) => pause(acting, subject, terms));
  if (paused.done.length > 0) {
    const work = { ...whoOf(acting, terms), until: terms.untilIn('UTC'), jobs: choiceInWords(choice) };
    await startMaintenance(acting.store, work, acting);
  }
  return paused;
}

/**
 * Resumes several jobs, and ends their planned work, even if its last job was resumed before.
 *
 * @param work the `jobs` of the planned work. Default: those of the choice
 */
export async function resumeMany(acting: Acting, { jobs, choice }: Chosen, work?: string): Promise<PausedMany> {
  const resumed = await forEachJob(jobs, (subject) => resume(acting, subject));
  await endMaintenance(acting.store, work ?? choiceInWords(choice), acting);
  return resumed;
}

function whoOf({ origin: { actor, note = '' } }: Acting, { by = actor }: PauseTerms): Pick<Pause, 'by' | 'note'> {
  return { by, note };
}

/** Acts on the jobs, several at a time. A refusal about one of them stops none of the others. */
async function forEachJob(
  jobs: readonly Subject[],
  act: (subject: Subject) => Promise<PausedJob>,
): Promise<PausedMany> {
  const ends = await inParallel(new Set(jobs), async (subject) => ({
    job: subject.name,
    end: await orRefusal(() => act(subject)),
  }));
  return {
    done: ends.flatMap(({ end }) => ('kind' in end ? [] : [end])),
    refused: ends.flatMap(({ job, end }) => ('kind' in end ? [{ job, code: end.code, problem: end.problem }] : [])),
  };
}
