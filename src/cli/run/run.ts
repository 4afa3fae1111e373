import type { LoadedJobs } from '../../config/load';
import { sleep } from '../../core/clock';
import type { JobSpec } from '../../core/job';
import { parseRecordKey, parseRunId } from '../../core/key';
import { type LeaseStore, StoreUnavailableError } from '../../lease/store';
import type { Requested } from '../../manage/schema/actions';
import type { Acting } from '../../operator/audit';
import * as operations from '../../operator/operations/run';
import { explainManualRun, type Explanation } from '../../operator/views/explain';
import { systemClock } from '../../system-clock';
import { UsageError } from '../cli-error';
import { jobIn, loadFile } from '../jobs-file';
import { OK, print, printJson, UNSUCCESSFUL, warn } from '../output';
import { followLog } from '../show/logs';
import { lastError, paintOutcome, took } from '../show/record-text';
import { openStore, withinSweep } from '../storage';
import { parseTime, timeIn, timesOf } from '../time';
import type { ReasonedOptions } from './operate';
import { actingOn } from './person';

export interface RunOptions extends ReasonedOptions {
  readonly input?: string | undefined;
  readonly wait?: boolean | undefined;
  readonly follow?: boolean | undefined;
}

export async function run(job: string, options: RunOptions): Promise<number> {
  const input = readInput(options.input);
  return request(job, options, (acting, { spec }) => operations.run(acting, spec, { input }));
}

export async function rerun(job: string, text: string, options: RunOptions): Promise<number> {
  const input = readInput(options.input);
  const moment = parseTime(text, 'TIME');
  return request(job, options, (acting, { spec, revision }) =>
    operations.rerun(acting, spec, { time: timeIn(moment, spec.timeZone), revision, input }),
  );
}

function readInput(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new UsageError(`--input is not JSON (${problem}): use '{"day": "2026-01-31"}', in single quotes`);
  }
}

/** A job with the revision of its file. */
interface Wanted {
  readonly spec: JobSpec;
  readonly revision: number;
}

async function request(
  job: string,
  options: RunOptions,
  ask: (acting: Acting, wanted: Wanted) => Promise<Requested>,
): Promise<number> {
  const file: LoadedJobs = loadFile(options);
  const wanted: Wanted = { spec: jobIn(file, job, options), revision: file.jobsFile.revision };
  const store = openStore(options);
  const requested = await ask(await actingOn(store, options.note), wanted);
  const { runId, requestedAt, seen } = requested;
  if (!seen) warn(`no deployment has seen job "${job}" yet: the manual run waits for the first one that has it`);
  const waits = options.wait === true || options.follow === true;
  if (options.json !== true) print(requestedText(requested, wanted.spec, waits, options));
  const key = parseRunId(runId)?.key;
  if (!waits || key === undefined) {
    if (options.json) printJson({ job, runId, requestedAt });
    return OK;
  }
  if (options.follow === true) {
    await followLog(store, wanted.spec, { key, runId, isOver: false }, { local: options.local, utc: options.utc });
  }
  const { outcome, reason, record } = await untilOver(store, wanted, key);
  if (options.json) printJson({ job, runId, requestedAt, outcome, reason, record });
  else print(endText(runId, { outcome, reason, record }));
  return outcome === 'succeeded' ? OK : UNSUCCESSFUL;
}

function requestedText(
  { runId, requestedAt, ahead, paused }: Requested,
  { name, enabled }: JobSpec,
  waits: boolean,
  options: RunOptions,
): string {
  const when =
    ahead === 0
      ? `It starts ${withinSweep(options)}`
      : `${ahead} ${ahead === 1 ? 'manual run comes' : 'manual runs come'} before it`;
  const all = paused ? ', although the job is paused' : enabled ? '' : ', although the job is disabled';
  const hint = waits ? '' : ` To follow it:\n  cronlease why ${name} ${timesOf(options)(Date.parse(requestedAt))}`;
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
  key: string,
): Promise<Pick<Explanation, 'outcome' | 'reason' | 'record'>> {
  const { scheduledFor: time = 0, request: id = '' } = parseRecordKey(key) ?? {};
  let isTroubled = false;
  for (;;) {
    try {
      const found = await explainManualRun(store, spec, revision, { time, id });
      if (!OPEN.has(found.outcome)) return found;
      isTroubled = false;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      if (!isTroubled) warn(`${error.message} It is called again until it answers.`);
      isTroubled = true;
    }
    await sleep(systemClock, isTroubled ? POLL_AFTER_TROUBLE_MS : POLL_MS);
  }
}

function endText(
  runId: string,
  { outcome, reason, record }: Pick<Explanation, 'outcome' | 'reason' | 'record'>,
): string {
  const error = record === null || outcome === 'succeeded' ? undefined : lastError(record);
  const time = record === null ? '' : took(record);
  const details = [reason === 'completed' ? '' : reason, time === '' ? '' : `took ${time}`].filter(
    (part) => part !== '',
  );
  const line = `Run ${runId} ${paintOutcome(outcome)}${details.length === 0 ? '' : ` (${details.join(', ')})`}.`;
  return error === undefined ? line : `${line}\n    ${error}`;
}
