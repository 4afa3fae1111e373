import type { EpochMs } from '../../core/brand';
import { currentPause } from '../../core/control';
import { showSpan } from '../../core/show-time';
import type { LeaseStore } from '../../lease/store';
import * as operations from '../../operator/operations/pause';
import { type StillRuns, stillRuns, timesNotRun } from '../../operator/operations/pause';
import type { Subject } from '../../operator/subject';
import { UsageError } from '../cli-error';
import { plannedEnd, type ShowTime, timesOf } from '../time';
import { actOnJobs, type ManyOptions } from './act-on-jobs';
import { afterwards } from './afterwards';

export interface PauseOptions extends ManyOptions {
  readonly note: string;
  readonly by?: string | undefined;
  /** A time, or how long from now. */
  readonly until?: string | undefined;
}

export async function pause(jobs: readonly string[], options: PauseOptions): Promise<number> {
  const note = options.note.trim();
  if (note === '') throw new UsageError('--note is empty: give the reason of the pause');
  const terms = { by: options.by, untilIn: plannedEnd(options.until, Date.now()) };
  const show = timesOf(options);
  return actOnJobs(
    jobs,
    { ...options, note },
    {
      verb: 'Pause',
      isDone: (control, now) => currentPause(control, now) !== undefined,
      done: { code: 'AlreadyPaused', state: 'paused already' },
      one: (acting, subject) => operations.pause(acting, subject, terms),
      many: (acting, chosen) => operations.pauseMany(acting, chosen, terms),
      async text({ store, subject }, { since, until }) {
        const end = until === null ? '' : `, until ${show(Date.parse(until))}`;
        return [
          `Paused ${subject.name} at ${show(Date.parse(since))}${end}. Only manual runs ("cronlease run") start from now on.`,
          ...tellStill(subject.name, await afterwards(() => stillRuns(store, subject)), show),
        ].join('\n');
      },
    },
  );
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

export function resume(jobs: readonly string[], options: ManyOptions): Promise<number> {
  return actOnJobs(jobs, options, {
    verb: 'Resume',
    isDone: (control, now) => currentPause(control, now) === undefined,
    done: { code: 'NotPaused', state: 'not paused' },
    one: operations.resume,
    many: (acting, chosen) => operations.resumeMany(acting, chosen),
    async text({ store, subject }, pause) {
      const [since = 0, until = 0] = [pause.since, pause.until ?? ''].map(Date.parse);
      const skipped = await tellSkipped(store, subject, { since, until }, timesOf(options));
      return `Resumed ${subject.name} after ${showSpan(until - since)}. ${skipped}`;
    },
  });
}

/** How many due times of a pause are named. */
const NAMED = 3;

async function tellSkipped(
  store: LeaseStore,
  { name, spec }: Subject,
  pause: { readonly since: EpochMs; readonly until: EpochMs },
  show: ShowTime,
): Promise<string> {
  const skipped = spec && (await afterwards(() => timesNotRun(store, name, spec, pause, NAMED)));
  if (skipped === undefined) return 'Due times of the pause are recorded as paused.';
  const { first, count, isMore } = skipped;
  if (count === 0) return 'No due time was skipped.';
  const named = first.map(show).join(', ');
  const number = `${isMore ? 'more than ' : ''}${count.toLocaleString('en-US')} due ${count === 1 ? 'time' : 'times'}`;
  return `Skipped ${number}, recorded as paused: ${named}${count > NAMED ? ', …' : ''}`;
}
