import { showSpan } from '../core/show-time';
import type { LeaseStore } from '../lease/store';
import { cancelRun } from '../operator/cancel';
import { OperatorError } from '../operator/operator-error';
import type { StillRuns } from '../operator/pause';
import { pauseJob, resumeJob, stillRuns } from '../operator/pause';
import { requestRun, shortId } from '../operator/request';
import type { Subject } from '../operator/subject';
import { subjectOf } from '../operator/subject';
import { UsageError } from './cli-error';
import type { FileOptions } from './jobs-file';
import { fileAtHand, jobIn, jobsWithTag, loadFile } from './jobs-file';
import { NO, OK, print, printError, printJson, warn } from './output';
import { userName } from './person';
import type { StorageOptions } from './storage';
import { openStore, withinSweep } from './storage';
import type { ShowTime, TimeOptions } from './time';
import { timesOf } from './time';

export interface OperateOptions extends FileOptions, StorageOptions, TimeOptions {
  readonly json?: boolean | undefined;
}

/** The options of a command that may act on several jobs. */
export interface ManyOptions extends OperateOptions {
  readonly tag?: string | undefined;
}

/** `cronlease run`: asks for a run now. */
export async function run(job: string, options: OperateOptions): Promise<number> {
  const spec = jobIn(loadFile(options), job, options);
  const { runId, requestedAt, ahead, seen, paused } = await requestRun(openStore(options), spec, {
    id: shortId(),
    origin: { actor: userName(), channel: 'shell' },
  });
  if (!seen) warn(`no deployment has seen job "${job}" yet: the request waits for the first one that has it`);
  if (options.json) {
    printJson({ job, runId, requestedAt: iso(requestedAt) });
    return OK;
  }
  const when =
    ahead === 0
      ? `It starts ${withinSweep(options)}`
      : `${ahead} ${ahead === 1 ? 'request comes' : 'requests come'} before it`;
  const all = paused ? ', although the job is paused' : spec.enabled ? '' : ', although the job is disabled';
  const show = timesOf(options);
  print(`Requested run ${runId}.\n${when}${all}. To follow it:\n  cronlease why ${job} ${show(requestedAt)}`);
  return OK;
}

/** `cronlease cancel`: asks for the end of the run that is in progress. */
export async function cancel(job: string, options: OperateOptions): Promise<number> {
  const { store, subject } = await targetOf(job, options);
  const { runId, requestedAt, endedBy } = await cancelRun(store, subject);
  if (options.json) {
    printJson({ job, runId, requestedAt: iso(requestedAt) });
    return OK;
  }
  const leaseMs = subject.spec?.leaseMs;
  const third = leaseMs === undefined ? 'a third of its lease' : showSpan(leaseMs / 3);
  const how =
    endedBy === 'holder'
      ? `its instance ends it at the next renewal of its lease, within ${third}`
      : 'no attempt runs now, and the next tick ends it';
  print(`Asked for the end of run ${runId}: ${how}.`);
  return OK;
}

export interface PauseOptions extends ManyOptions {
  readonly note: string;
  readonly by?: string | undefined;
}

/** `cronlease pause`: starts nothing new from now on. */
export async function pause(job: string | undefined, options: PauseOptions): Promise<number> {
  const note = options.note.trim();
  if (note === '') throw new UsageError('--note is empty: give the reason of the pause');
  const show = timesOf(options);
  return forEach(job, options, async ({ store, subject }) => {
    const { name } = subject;
    const { by, since } = await pauseJob(store, subject, { by: options.by ?? userName(), note });
    const still = await stillRuns(store, subject);
    return {
      json: { job: name, by, note, since: iso(since), until: null },
      text: [
        `Paused ${name} since ${show(since)}. Only requests ("cronlease run") start from now on.`,
        ...tellStill(name, still, show),
      ].join('\n'),
    };
  });
}

function tellStill(job: string, still: StillRuns | undefined, show: ShowTime): readonly string[] {
  if (still === undefined) return [];
  const { runId, deployment, startsAt, how } = still;
  if (runId === undefined) return ['A due time is being claimed at this moment, and may still run.'];
  const where = deployment === undefined ? '' : ` on ${deployment}`;
  switch (how) {
    case 'claimed':
      return [`Run ${runId} was claimed before the pause: it starts${where} at ${show(startsAt)}.`];
    case 'running':
      return [`Run ${runId} is running${where}, and continues. To end it: cronlease cancel ${job}`];
    case 'waiting':
      return [`Run ${runId} has begun, and its next attempt follows. To end it: cronlease cancel ${job}`];
  }
}

/** `cronlease resume`: ends the pause. */
export function resume(job: string | undefined, options: ManyOptions): Promise<number> {
  return forEach(job, options, async ({ store, subject }) => {
    const { name } = subject;
    const { by, note, since, until } = await resumeJob(store, subject);
    return {
      json: { job: name, by, note, since: iso(since), until: iso(until) },
      text: `Resumed ${name} after ${showSpan(until - since)}. Due times of the pause are recorded as paused.`,
    };
  });
}

interface Target {
  readonly store: LeaseStore;
  readonly subject: Subject;
}

/** Acts on one job, or on all jobs with a tag; a refusal for one job does not stop the others. */
async function forEach(
  job: string | undefined,
  options: ManyOptions,
  act: (target: Target) => Promise<{ readonly json: object; readonly text: string }>,
): Promise<number> {
  if ((job === undefined) === (options.tag === undefined)) {
    throw new UsageError('name one job, or several with --tag, but not both');
  }
  if (job !== undefined) {
    const { json, text } = await act(await targetOf(job, options));
    if (options.json) printJson(json);
    else print(text);
    return OK;
  }
  const specs = jobsWithTag(loadFile(options), options.tag ?? '', options);
  const store = openStore(options);
  const done: object[] = [];
  let code = OK;
  for (const spec of specs) {
    try {
      const { json, text } = await act({ store, subject: { name: spec.name, spec } });
      done.push(json);
      if (!options.json) print(text);
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      printError(error.message);
      code = NO;
    }
  }
  if (options.json) printJson(done);
  return code;
}

/** The job and its store. */
async function targetOf(job: string, options: OperateOptions): Promise<Target> {
  const file = fileAtHand(options);
  const store = openStore(options);
  return { store, subject: await subjectOf(store, job, file) };
}

function iso(instant: number): string {
  return new Date(instant).toISOString();
}
