import type { EpochMs } from '../../core/brand';
import { type Control, currentPause } from '../../core/control';
import { isPattern, selects } from '../../core/job-pattern';
import { showSpan } from '../../core/show-time';
import type { LeaseStore } from '../../lease/store';
import type { Paused, PausedMany } from '../../manage/schema/actions';
import type { Acting } from '../../operator/audit';
import * as operations from '../../operator/operations/pause';
import { OperatorError, type OperatorProblem } from '../../operator/operator-error';
import { type Subject, unknownAnywhere } from '../../operator/subject';
import { type JobEntry, listJobs } from '../../operator/views/list-jobs';
import type { Options } from '../commands/command';
import { fileAtHand, jobsTagged } from '../jobs-file';
import { answer, NO, OK, print, printError, printJson, say, UsageError } from '../output';
import { openStore } from '../storage';
import { plannedEnd, type ShowTime, timesOf } from '../time';
import { reasonOf, type Target, targetOf } from './operate';
import { actingOn, afterwards, confirmYes } from './person';

export async function pause(jobs: readonly string[], options: Options): Promise<number> {
  const note = reasonOf(options, 'pause');
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
          ...tellStill(subject.name, await afterwards(() => operations.stillRuns(store, subject)), show),
        ].join('\n');
      },
    },
  );
}

/** The lines about a run that was claimed before its job was paused. */
export function tellStill(job: string, still: operations.StillRuns | undefined, show: ShowTime): readonly string[] {
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

export function resume(jobs: readonly string[], options: Options): Promise<number> {
  return actOnJobs(jobs, options, {
    verb: 'Resume',
    isDone: (control, now) => currentPause(control, now) === undefined,
    done: { code: 'NotPaused', state: 'not paused' },
    one: operations.resume,
    many: operations.resumeMany,
    async text({ store, subject }, pause) {
      const [since = 0, until = 0] = [pause.since, pause.until ?? ''].map(Date.parse);
      const skipped = await tellSkipped(store, subject, { since, until }, timesOf(options));
      return `Resumed ${subject.name} after ${showSpan(until - since)}. ${skipped}`;
    },
  });
}

const NAMED = 3;

async function tellSkipped(
  store: LeaseStore,
  { name, spec }: Subject,
  pause: { readonly since: EpochMs; readonly until: EpochMs },
  show: ShowTime,
): Promise<string> {
  const skipped = spec && (await afterwards(() => operations.timesNotRun(store, name, spec, pause, NAMED)));
  if (skipped === undefined) return 'Due times of the pause are recorded as paused.';
  const { first, count, isMore } = skipped;
  if (count === 0) return 'No due time was skipped.';
  const named = first.map(show).join(', ');
  const number = `${isMore ? 'more than ' : ''}${count.toLocaleString('en-US')} due ${count === 1 ? 'time' : 'times'}`;
  return `Skipped ${number}, recorded as paused: ${named}${count > NAMED ? ', …' : ''}`;
}

interface Action {
  readonly verb: 'Pause' | 'Resume';
  /** Whether there is nothing to do for a job with this control, at this time of the storage service. */
  isDone(control: Control, now: EpochMs): boolean;
  /** What is then to be reported of it. */
  readonly done: { readonly code: OperatorProblem; readonly state: string };
  one(acting: Acting, subject: Subject): Promise<Paused>;
  many(acting: Acting, chosen: operations.Chosen): Promise<PausedMany>;
  text(target: Target, pause: Paused['pause']): Promise<string>;
}

/**
 * Acts on one job, or on all that a tag, patterns or several names select, after a question that lists them. A refusal
 * for one of several does not stop the others.
 */
async function actOnJobs(jobs: readonly string[], options: Options, action: Action): Promise<number> {
  if ((jobs.length === 0) === (options.tag === undefined)) {
    throw new UsageError('name one job or several, or use --tag, but not both');
  }
  const [only = ''] = jobs;
  if (jobs.length === 1 && !isPattern(only)) {
    const target = await targetOf(only, options);
    const done = await action.one(await actingOn(target.store, options.note), target.subject);
    const text = options.json === true ? '' : await action.text(target, done.pause);
    return answer(options, shape(done), () => text);
  }
  const store = openStore(options);
  const { chosen, missing } = await choose(store, jobs, options);
  const todo = chosen.filter(({ state }) => state === undefined || !action.isDone(state.control, state.now));
  if (todo.length > 0) {
    if (options.yes !== true) say(`${question(action, todo, chosen)}\n`);
    const count = todo.length === 1 ? 'this job' : `these ${todo.length} jobs`;
    await confirmYes(`${action.verb} ${count}? Type yes to confirm: `, options.yes === true);
  }
  const choice = { names: jobs, tag: options.tag };
  const acted = await action.many(await actingOn(store, options.note), { jobs: chosen, choice, missing });
  return tell(store, { chosen, ...acted }, options, action);
}

async function choose(store: LeaseStore, jobs: readonly string[], options: Options) {
  const file = fileAtHand(options);
  const tagged = jobsTagged(options)?.map(({ name }) => name);
  const { jobs: listed, missing } = await listJobs(store, file?.jobs ?? []);
  const known = listed.filter(({ spec, isForgotten }) => spec !== undefined || !isForgotten);
  const wanted = tagged ?? jobs;
  const unknown = tagged === undefined ? jobs.find((job) => !known.some(({ name }) => selects(job, name))) : undefined;
  if (unknown !== undefined) {
    throw unknownAnywhere(unknown, file, { location: store.location, jobs: known.map(({ name }) => name) });
  }
  return { missing, chosen: known.filter(({ name }) => wanted.some((job) => selects(job, name))) };
}

function question({ verb, done }: Action, todo: readonly JobEntry[], chosen: readonly JobEntry[]): string {
  const others = chosen.filter((entry) => !todo.includes(entry));
  return [
    `${verb}:`,
    ...todo.map(({ name }) => `  ${name}`),
    ...(others.length === 0 ? [] : [`Left as they are (${done.state}):`, ...others.map(({ name }) => `  ${name}`)]),
  ].join('\n');
}

/** Tells what became of the jobs. Those for which there was nothing to do are not trouble, unless it is all of them. */
async function tell(
  store: LeaseStore,
  { chosen, done, refused }: PausedMany & { readonly chosen: readonly JobEntry[] },
  options: Options,
  { done: { code, state }, text }: Action,
): Promise<number> {
  const trouble = refused.filter((one) => one.code !== code);
  if (done.length === 0 && trouble.length === 0) throw new OperatorError(code, `${jobList(chosen)}: ${state}`);
  for (const { problem } of trouble) printError(problem);
  if (options.json) printJson(done.map(shape));
  else {
    for (const { job, pause } of done) {
      const subject = chosen.find(({ name }) => name === job);
      if (subject !== undefined) print(await text({ store, subject }, pause));
    }
  }
  return trouble.length === 0 ? OK : NO;
}

function shape({ job, pause: { by, note, since, until } }: Paused): object {
  return { job, by, note, since, until };
}

function jobList(entries: readonly JobEntry[]): string {
  const names = entries.map(({ name }) => `"${name}"`);
  return `${names.length === 1 ? 'job' : 'jobs'} ${names.join(', ')}`;
}
