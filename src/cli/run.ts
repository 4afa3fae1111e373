import type { LoadedJobs } from '../config/load';
import type { EpochMs } from '../core/brand';
import { sleep } from '../core/clock';
import type { JobSpec } from '../core/job';
import { recordKey } from '../core/key';
import { type LeaseStore, StoreUnavailableError } from '../lease/store';
import { type Explanation, explainRequest } from '../operator/explain';
import { type RequestedRun, requestRun, shortId } from '../operator/request';
import { rerun as requestRerun } from '../operator/rerun';
import { systemClock } from '../system-clock';
import { UsageError } from './cli-error';
import { jobIn, loadFile } from './jobs-file';
import { followLog } from './logs';
import type { ReasonedOptions } from './operate';
import { OK, print, printJson, UNSUCCESSFUL, warn } from './output';
import { shellOrigin } from './person';
import { recordedChange } from './recorded';
import { lastError, paintOutcome, took } from './record-text';
import { openStore, withinSweep } from './storage';
import { parseTime, timeIn, timesOf } from './time';

export interface RunOptions extends ReasonedOptions {
  readonly input?: string | undefined;
  readonly wait?: boolean | undefined;
  readonly follow?: boolean | undefined;
}

/** `cronlease run`: asks for a run now. */
export async function run(job: string, options: RunOptions): Promise<number> {
  const input = readInput(options.input);
  return request(job, 'run', options, async (store, { spec }, id) =>
    requestRun(store, spec, { id, origin: await shellOrigin(options.note), input }),
  );
}

/** `cronlease rerun`: runs an earlier due time again. */
export async function rerun(job: string, text: string, options: RunOptions): Promise<number> {
  const input = readInput(options.input);
  const moment = parseTime(text, 'TIME');
  return request(job, 'rerun', options, async (store, { spec, revision }, id) => {
    const time = timeIn(moment, spec.timeZone);
    return requestRerun(store, spec, revision, { time, id, origin: await shellOrigin(options.note), input });
  });
}

function readInput(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new UsageError(`--input is not JSON (${problem}): write it as '{"day": "2026-01-31"}', in single quotes`);
  }
}

/** A job with the revision of its file. */
interface Wanted {
  readonly spec: JobSpec;
  readonly revision: number;
}

async function request(
  job: string,
  action: 'run' | 'rerun',
  options: RunOptions,
  ask: (store: LeaseStore, wanted: Wanted, id: string) => Promise<RequestedRun>,
): Promise<number> {
  const file: LoadedJobs = loadFile(options);
  const wanted: Wanted = { spec: jobIn(file, job, options), revision: file.jobsFile.revision };
  const store = openStore(options);
  const id = shortId();
  const requested = await recordedChange(store, { action, target: wanted.spec.name, note: options.note }, async () => {
    const result = await ask(store, wanted, id);
    return { result, after: { runId: result.runId } };
  });
  const { runId, requestedAt, seen } = requested;
  if (!seen) warn(`no deployment has seen job "${job}" yet: the request waits for the first one that has it`);
  const waits = options.wait === true || options.follow === true;
  if (options.json !== true) print(requestedText(requested, wanted.spec, waits, options));
  if (!waits) {
    if (options.json) printJson({ job, runId, requestedAt: iso(requestedAt) });
    return OK;
  }
  if (options.follow === true) {
    await followLog(
      store,
      wanted.spec,
      { key: recordKey(requestedAt, id), runId, isOver: false },
      withoutJson(options),
    );
  }
  const { fate, reason, record } = await untilOver(store, wanted, requestedAt, id);
  if (options.json) printJson({ job, runId, requestedAt: iso(requestedAt), outcome: fate, reason, record });
  else print(endText(runId, { fate, reason, record }));
  return fate === 'succeeded' ? OK : UNSUCCESSFUL;
}

/** The entries of a log are no part of the one document that the command prints. */
function withoutJson({ local, utc }: RunOptions): Pick<RunOptions, 'local' | 'utc'> {
  return { local, utc };
}

function requestedText(
  { runId, requestedAt, ahead, paused }: RequestedRun,
  { name, enabled }: JobSpec,
  waits: boolean,
  options: RunOptions,
): string {
  const when =
    ahead === 0
      ? `It starts ${withinSweep(options)}`
      : `${ahead} ${ahead === 1 ? 'request comes' : 'requests come'} before it`;
  const all = paused ? ', although the job is paused' : enabled ? '' : ', although the job is disabled';
  const hint = waits ? '' : ` To follow it:\n  cronlease why ${name} ${timesOf(options)(requestedAt)}`;
  return `Requested run ${runId}.\n${when}${all}.${hint}`;
}

/** The run is looked at this often. */
const POLL_MS = 2_000;
const POLL_AFTER_TROUBLE_MS = 5_000;
const OPEN: ReadonlySet<string> = new Set(['pending', 'running', 'retrying']);

/** Waits until the requested run is over, also while storage does not answer. */
async function untilOver(
  store: LeaseStore,
  { spec, revision }: Wanted,
  requestedAt: EpochMs,
  id: string,
): Promise<Pick<Explanation, 'fate' | 'reason' | 'record'>> {
  let isTroubled = false;
  for (;;) {
    try {
      const found = await explainRequest(store, spec, revision, { time: requestedAt, id });
      if (!OPEN.has(found.fate)) return found;
      isTroubled = false;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      if (!isTroubled) warn(`${error.message} It is asked again until it answers.`);
      isTroubled = true;
    }
    await sleep(systemClock, isTroubled ? POLL_AFTER_TROUBLE_MS : POLL_MS);
  }
}

function endText(runId: string, { fate, reason, record }: Pick<Explanation, 'fate' | 'reason' | 'record'>): string {
  const error = record === null || fate === 'succeeded' ? undefined : lastError(record);
  const time = record === null ? '' : took(record);
  const details = [reason === 'completed' ? '' : reason, time === '' ? '' : `took ${time}`].filter(
    (part) => part !== '',
  );
  const line = `Run ${runId} ${paintOutcome(fate)}${details.length === 0 ? '' : ` (${details.join(', ')})`}.`;
  return error === undefined ? line : `${line}\n    ${error}`;
}

function iso(instant: EpochMs): string {
  return new Date(instant).toISOString();
}
