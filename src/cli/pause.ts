import type { EpochMs } from '../core/brand';
import { type Pause, currentPause } from '../core/control';
import { showSpan } from '../core/show-time';
import { endMaintenance, startMaintenance } from '../operator/fleet';
import { passedOver } from '../operator/passed-over';
import { type StillRuns, pauseJob, resumeJob, stillRuns } from '../operator/pause';
import type { Subject } from '../operator/subject';
import { type ManyOptions, actOnJobs } from './act-on-jobs';
import { UsageError } from './cli-error';
import { userName } from './person';
import { recordedChange } from './recorded';
import { type ShowTime, plannedEnd, timesOf } from './time';

export interface PauseOptions extends ManyOptions {
  readonly note: string;
  readonly by?: string | undefined;
  /** A time, or how long from now. */
  readonly until?: string | undefined;
}

export interface ResumeOptions extends ManyOptions {
  readonly note?: string | undefined;
}

/** `cronlease pause`: starts nothing new from now on. */
export async function pause(jobs: readonly string[], options: PauseOptions): Promise<number> {
  const note = options.note.trim();
  if (note === '') throw new UsageError('--note is empty: give the reason of the pause');
  const by = options.by ?? userName();
  const untilIn = plannedEnd(options.until, Date.now());
  const show = timesOf(options);
  return actOnJobs(jobs, options, {
    verb: 'Pause',
    isDone: (control, now) => currentPause(control, now) !== undefined,
    done: { code: 'AlreadyPaused', state: 'paused already' },
    async act({ store, subject }) {
      const { name } = subject;
      const what = { action: 'pause', target: name, note } as const;
      const until = untilIn(subject.spec?.timeZone ?? 'UTC');
      const { since } = await recordedChange(store, what, async () => {
        const result = await pauseJob(store, subject, { by, note, until });
        return { result, after: shown(result) };
      });
      const still = await stillRuns(store, subject);
      return {
        json: { job: name, by, note, since: iso(since), until: until === undefined ? null : iso(until) },
        text: [
          `Paused ${name} since ${show(since)}${until === undefined ? '' : `, until ${show(until)}`}. Only requests ("cronlease run") start from now on.`,
          ...tellStill(name, still, show),
        ].join('\n'),
      };
    },
    async finish(store, chosen) {
      await startMaintenance(store, { by, note, until: untilIn('UTC'), jobs: chosen });
    },
  });
}

/** The lines about a run that was claimed before its job was paused. */
export function tellStill(job: string, still: StillRuns | undefined, show: ShowTime): readonly string[] {
  if (still === undefined) return [];
  const { runId, deployment, startsAt, how } = still;
  if (runId === undefined) return ['A due time is being claimed at this moment, and may still run.'];
  const where = deployment === undefined ? '' : ` on ${deployment}`;
  switch (how) {
    case 'claimed':
      return [`Run ${runId} was claimed before the pause: it starts${where} at ${show(startsAt)}.`];
    case 'claimedEarly':
      return [`Run ${runId} was claimed before the pause, and does not start: its due time is recorded as paused.`];
    case 'reading':
      return [`Run ${runId} was claimed before the pause, and may still start${where} at ${show(startsAt)}.`];
    case 'running':
      return [`Run ${runId} is running${where}, and continues. To end it: cronlease cancel ${job}`];
    case 'waiting':
      return [`Run ${runId} has begun, and its next attempt follows. To end it: cronlease cancel ${job}`];
  }
}

/** `cronlease resume`: ends the pause. */
export function resume(jobs: readonly string[], options: ResumeOptions): Promise<number> {
  return actOnJobs(jobs, options, {
    verb: 'Resume',
    isDone: (control, now) => currentPause(control, now) === undefined,
    done: { code: 'NotPaused', state: 'not paused' },
    async act({ store, subject }) {
      const { name } = subject;
      const what = { action: 'resume', target: name, note: options.note } as const;
      const { by, note, since, until } = await recordedChange(store, what, async () => {
        const result = await resumeJob(store, subject);
        return { result, before: shown({ ...result, until: undefined }), after: shown(result) };
      });
      return {
        json: { job: name, by, note, since: iso(since), until: iso(until) },
        text: [
          `Resumed ${name} after ${showSpan(until - since)}.`,
          ...tellPassed(subject, { since, until }, timesOf(options)),
        ].join(' '),
      };
    },
    async finish(store, chosen) {
      await endMaintenance(store, chosen);
    },
  });
}

/** How many due times of a pause are named. */
const NAMED = 3;

function tellPassed(
  { spec }: Subject,
  pause: { readonly since: EpochMs; readonly until: EpochMs },
  show: ShowTime,
): readonly string[] {
  if (spec === undefined) return ['Due times of the pause are recorded as paused.'];
  const { first, count, isMore } = passedOver(spec, pause, NAMED);
  if (count === 0) return ['Nothing was due meanwhile.'];
  const named = first.map(show).join(', ');
  const number = `${isMore ? 'more than ' : ''}${count.toLocaleString('en-US')} due ${count === 1 ? 'time' : 'times'}`;
  return [`It passed over ${number}, recorded as paused: ${named}${count > NAMED ? ', …' : ''}`];
}

/** A pause as its record has it. */
function shown({ by, note, since, until }: Pause): object {
  return { by, note, since: iso(since), until: until === undefined ? null : iso(until) };
}

function iso(instant: number): string {
  return new Date(instant).toISOString();
}
