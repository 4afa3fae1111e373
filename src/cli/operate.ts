import { randomInt } from 'node:crypto';
import { userInfo } from 'node:os';
import type { LoadedJobs } from '../config/load';
import type { JobName } from '../core/brand';
import { formatDuration } from '../core/duration';
import type { LeaseStore } from '../lease/store';
import { cancelRun } from '../operator/cancel';
import type { Subject } from '../operator/change-control';
import { isForgotten } from '../operator/job-state';
import { pauseJob, resumeJob } from '../operator/pause';
import { requestRun } from '../operator/request';
import { UsageError } from './cli-error';
import type { FileOptions } from './jobs-file';
import { jobIn, loadFile, loadFileIfAny, unknownAnywhere } from './jobs-file';
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
  const { store, subject } = await subjectOf(job, options);
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
  const { store, subject } = await subjectOf(job, options);
  const { by, since } = await pauseJob(store, subject, { by: options.by ?? userName(), note });
  if (options.json) printJson({ job, by, note, since: iso(since), until: null });
  else print(`Paused ${job} since ${utc(since)}. What runs goes on; nothing new is claimed but requests.`);
  return OK;
}

/** `cronlease resume`: ends the pause. */
export async function resume(job: string, options: OperateOptions): Promise<number> {
  const { store, subject } = await subjectOf(job, options);
  const { by, note, since, until } = await resumeJob(store, subject);
  if (options.json) printJson({ job, by, note, since: iso(since), until: iso(until) });
  else print(`Resumed ${job} after ${formatDuration(until - since)}. Due times of the pause are recorded as paused.`);
  return OK;
}

/** The job, if the jobs file or the store knows it: an operator may have no file at hand. */
async function subjectOf(
  job: string,
  options: OperateOptions,
): Promise<{ readonly store: LeaseStore; readonly subject: Subject }> {
  const name = job as JobName;
  const file = loadFileIfAny(options);
  const store = openStore(options);
  const spec = file?.jobsFile.jobs.find((candidate) => candidate.name === name);
  if (spec === undefined) {
    await assertKnown(store, name, file, options);
  }
  return { store, subject: { name, spec } };
}

/** Enough that two requests of one job never share it. */
function shortId(): string {
  return randomInt(36 ** 8)
    .toString(36)
    .padStart(8, '0');
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container the user may have no name.
    return 'unknown';
  }
}

/** That the store has the job, and nobody forgot it. Throws `CliError` `UnknownJob`. */
export async function assertKnown(
  store: LeaseStore,
  name: JobName,
  file: LoadedJobs | undefined,
  options: FileOptions,
): Promise<void> {
  const listing = await store.list();
  const known = [...listing.jobs.keys()].filter((job) => !isForgotten(listing, job));
  if (!known.includes(name)) throw unknownAnywhere(name, file, options, { location: store.location, jobs: known });
}

function iso(instant: number): string {
  return new Date(instant).toISOString();
}
