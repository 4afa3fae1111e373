import { userInfo } from 'node:os';
import { formatDuration } from '../core/duration';
import type { LeaseStore } from '../lease/store';
import { cancelRun } from '../operator/cancel';
import { pauseJob, resumeJob } from '../operator/pause';
import { requestRun, shortId } from '../operator/request';
import type { Subject } from '../operator/subject';
import { subjectOf } from '../operator/subject';
import { UsageError } from './cli-error';
import type { FileOptions } from './jobs-file';
import { jobIn, loadFile, fileAtHand } from './jobs-file';
import { OK, print, printJson, warn } from './output';
import type { StorageOptions } from './storage';
import { openStore } from './storage';
import { utc } from './time';

export interface OperateOptions extends FileOptions, StorageOptions {
  readonly json?: boolean | undefined;
}

/** `cronlease run`: asks for a run now. */
export async function run(job: string, options: OperateOptions): Promise<number> {
  const spec = jobIn(loadFile(options), job, options);
  const { runId, requestedAt, ahead, seen, paused } = await requestRun(openStore(options), spec, shortId());
  if (!seen) warn(`no coordinator has seen job "${job}" yet: the request waits until one does`);
  if (options.json) {
    printJson({ job, runId, requestedAt: iso(requestedAt) });
    return OK;
  }
  const when =
    ahead === 0
      ? 'It starts when a tick next lists the jobs, within a minute unless set otherwise, and finds this one free'
      : `${ahead} requests are before it`;
  const all = paused
    ? '; the pause does not hold it back'
    : spec.enabled
      ? ''
      : '; it runs although the job is disabled';
  print(`Requested run ${runId}.\n${when}${all}. To follow it:\n  cronlease why ${job} ${utc(requestedAt)}`);
  return OK;
}

/** `cronlease cancel`: asks for the end of the run that goes on. */
export async function cancel(job: string, options: OperateOptions): Promise<number> {
  const { store, subject } = await targetOf(job, options);
  const { runId, requestedAt, endedBy } = await cancelRun(store, subject);
  if (options.json) {
    printJson({ job, runId, requestedAt: iso(requestedAt) });
    return OK;
  }
  const leaseMs = subject.spec?.leaseMs;
  const third = leaseMs === undefined ? '' : ` (${formatDuration(leaseMs / 3)})`;
  const holder = `its holder ends it at its next renewal, at most a third of the lease from now${third}`;
  const how = endedBy === 'holder' ? holder : 'no attempt goes on, and the next tick ends it';
  print(`Asked for the end of run ${runId}: ${how}.`);
  return OK;
}

export interface PauseOptions extends OperateOptions {
  readonly note: string;
  readonly by?: string | undefined;
}

/** `cronlease pause`: nothing new is claimed from now on. */
export async function pause(job: string, options: PauseOptions): Promise<number> {
  const note = options.note.trim();
  if (note === '') throw new UsageError('--note is empty: say why the job is paused');
  const { store, subject } = await targetOf(job, options);
  const { by, since } = await pauseJob(store, subject, { by: options.by ?? userName(), note });
  if (options.json) printJson({ job, by, note, since: iso(since), until: null });
  else print(`Paused ${job} since ${utc(since)}. What runs goes on; nothing new is claimed but requests.`);
  return OK;
}

/** `cronlease resume`: ends the pause. */
export async function resume(job: string, options: OperateOptions): Promise<number> {
  const { store, subject } = await targetOf(job, options);
  const { by, note, since, until } = await resumeJob(store, subject);
  if (options.json) printJson({ job, by, note, since: iso(since), until: iso(until) });
  else print(`Resumed ${job} after ${formatDuration(until - since)}. Due times of the pause are recorded as paused.`);
  return OK;
}

/** The job and the store that has it, or will have it. */
async function targetOf(
  job: string,
  options: OperateOptions,
): Promise<{ readonly store: LeaseStore; readonly subject: Subject }> {
  const file = fileAtHand(options);
  const store = openStore(options);
  return { store, subject: await subjectOf(store, job, file) };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container the user may have no name.
    return 'unknown';
  }
}

function iso(instant: number): string {
  return new Date(instant).toISOString();
}
