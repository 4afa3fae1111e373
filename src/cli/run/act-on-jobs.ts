import type { EpochMs } from '../../core/brand';
import type { Control } from '../../core/control';
import type { LeaseStore } from '../../lease/store';
import type { Paused, PausedMany } from '../../manage/schema/actions';
import type { Acting } from '../../operator/audit';
import type { Chosen } from '../../operator/operations/pause';
import { OperatorError, type OperatorProblem } from '../../operator/operator-error';
import { isPattern, selects } from '../../core/job-pattern';
import { type Subject, unknownAnywhere } from '../../operator/subject';
import { type JobEntry, listJobs } from '../../operator/views/list-jobs';
import { UsageError } from '../cli-error';
import { fileAtHand, jobsWithTag, loadFile } from '../jobs-file';
import { NO, OK, print, printError, printJson, say } from '../output';
import { openStore } from '../storage';
import { confirmYes } from './confirm';
import { type ReasonedOptions, type Target, targetOf } from './operate';
import { actingOn } from './person';

/** The options of a command that may act on several jobs. */
export interface ManyOptions extends ReasonedOptions {
  readonly tag?: string | undefined;
  readonly yes?: boolean | undefined;
}

export interface Action {
  readonly verb: 'Pause' | 'Resume';
  /** Whether there is nothing to do for a job with this control, at this time of the storage service. */
  isDone(control: Control, now: EpochMs): boolean;
  /** What is then to be reported of it. */
  readonly done: { readonly code: OperatorProblem; readonly state: string };
  one(acting: Acting, subject: Subject): Promise<Paused>;
  many(acting: Acting, chosen: Chosen): Promise<PausedMany>;
  text(target: Target, pause: Paused['pause']): Promise<string>;
}

/**
 * Acts on one job, or on all that a tag, patterns or several names select, after a question that lists them. A refusal
 * for one of several does not stop the others.
 */
export async function actOnJobs(jobs: readonly string[], options: ManyOptions, action: Action): Promise<number> {
  if ((jobs.length === 0) === (options.tag === undefined)) {
    throw new UsageError('name one job or several, or use --tag, but not both');
  }
  const [only = ''] = jobs;
  if (jobs.length === 1 && !isPattern(only)) {
    const target = await targetOf(only, options);
    const done = await action.one(await actingOn(target.store, options.note), target.subject);
    if (options.json) printJson(shape(done));
    else print(await action.text(target, done.pause));
    return OK;
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

type Choice = Pick<Chosen, 'missing'> & { readonly chosen: readonly JobEntry[] };

async function choose(store: LeaseStore, jobs: readonly string[], options: ManyOptions): Promise<Choice> {
  const file = fileAtHand(options);
  const tagged = options.tag === undefined ? undefined : jobsWithTag(loadFile(options), options.tag, options);
  const { jobs: listed, missing } = await listJobs(store, file?.jobs ?? []);
  const known = listed.filter(({ spec, isForgotten }) => spec !== undefined || !isForgotten);
  if (tagged !== undefined) {
    return { missing, chosen: known.filter(({ name }) => tagged.some((spec) => spec.name === name)) };
  }
  const unknown = jobs.find((job) => !known.some(({ name }) => selects(job, name)));
  if (unknown !== undefined) {
    throw unknownAnywhere(unknown, file, { location: store.location, jobs: known.map(({ name }) => name) });
  }
  return { missing, chosen: known.filter(({ name }) => jobs.some((job) => selects(job, name))) };
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
  options: ManyOptions,
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
