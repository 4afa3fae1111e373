import type { EpochMs } from '../core/brand';
import type { Control } from '../core/control';
import type { LeaseStore } from '../lease/store';
import { type JobEntry, listJobs } from '../operator/list-jobs';
import { OperatorError, type OperatorProblem } from '../operator/operator-error';
import { orRefusal } from '../operator/refusal';
import { unknownAnywhere } from '../operator/subject';
import { UsageError } from './cli-error';
import { confirmYes } from './confirm';
import { fileAtHand, jobsWithTag, loadFile } from './jobs-file';
import { type OperateOptions, type Target, targetOf } from './operate';
import { NO, OK, print, printError, printJson, say } from './output';
import { choiceInWords, isPattern, selects } from '../operator/select-jobs';
import { openStore } from './storage';

/** The options of a command that may act on several jobs. */
export interface ManyOptions extends OperateOptions {
  readonly tag?: string | undefined;
  readonly yes?: boolean | undefined;
}

/** What a command does with each of its jobs. */
export interface Action {
  readonly verb: 'Pause' | 'Resume';
  /** Whether there is nothing to do for a job with this control, at this time of the storage service. */
  isDone(control: Control, now: EpochMs): boolean;
  /** What is then to be reported of it. */
  readonly done: { readonly code: OperatorProblem; readonly state: string };
  act(target: Target): Promise<{ readonly json: object; readonly text: string }>;
  /**
   * What follows for several jobs, once something was done with one of them at least.
   *
   * @param jobs which jobs, as the person chose them
   */
  finish(store: LeaseStore, jobs: string): Promise<void>;
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
    const { json, text } = await action.act(await targetOf(only, options));
    if (options.json) printJson(json);
    else print(text);
    return OK;
  }
  const store = openStore(options);
  const chosen = await choose(store, jobs, options);
  const todo = chosen.filter(({ state }) => state === undefined || !action.isDone(state.control, state.now));
  const { code, state } = action.done;
  if (todo.length === 0) throw new OperatorError(code, `${jobList(chosen)}: ${state}`);
  if (options.yes !== true) say(`${question(action, todo, chosen)}\n`);
  const count = todo.length === 1 ? 'this job' : `these ${todo.length} jobs`;
  await confirmYes(`${action.verb} ${count}? Type yes to confirm: `, options.yes === true);
  const { code: end, isAnyDone } = await actOnEach(store, todo, options, action);
  if (isAnyDone) await action.finish(store, choiceInWords({ names: jobs, tag: options.tag }));
  return end;
}

async function choose(store: LeaseStore, jobs: readonly string[], options: ManyOptions): Promise<readonly JobEntry[]> {
  const file = fileAtHand(options);
  const tagged = options.tag === undefined ? undefined : jobsWithTag(loadFile(options), options.tag, options);
  const listed = (await listJobs(store, file?.jobs ?? [])).jobs;
  const known = listed.filter(({ spec, isForgotten }) => spec !== undefined || !isForgotten);
  if (tagged !== undefined) return known.filter(({ name }) => tagged.some((spec) => spec.name === name));
  const unknown = jobs.find((job) => !known.some(({ name }) => selects(job, name)));
  if (unknown !== undefined) {
    throw unknownAnywhere(unknown, file, { location: store.location, jobs: known.map(({ name }) => name) });
  }
  return known.filter(({ name }) => jobs.some((job) => selects(job, name)));
}

function question({ verb, done }: Action, todo: readonly JobEntry[], chosen: readonly JobEntry[]): string {
  const others = chosen.filter((entry) => !todo.includes(entry));
  return [
    `${verb}:`,
    ...todo.map(({ name }) => `  ${name}`),
    ...(others.length === 0
      ? []
      : [`Left as they are, since ${done.state}:`, ...others.map(({ name }) => `  ${name}`)]),
  ].join('\n');
}

async function actOnEach(
  store: LeaseStore,
  entries: readonly JobEntry[],
  options: ManyOptions,
  { act }: Action,
): Promise<{ readonly code: number; readonly isAnyDone: boolean }> {
  const done: object[] = [];
  let code = OK;
  for (const { name, spec } of entries) {
    const result = await orRefusal(() => act({ store, subject: { name, spec } }));
    if ('kind' in result) {
      printError(result.problem);
      code = NO;
    } else {
      done.push(result.json);
      if (!options.json) print(result.text);
    }
  }
  if (options.json) printJson(done);
  return { code, isAnyDone: done.length > 0 };
}

function jobList(entries: readonly JobEntry[]): string {
  const names = entries.map(({ name }) => `"${name}"`);
  return `${names.length === 1 ? 'job' : 'jobs'} ${names.join(', ')}`;
}
