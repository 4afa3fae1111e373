import type { JobSpec } from '../../core/job';
import { parseRecordKey, parseRunId } from '../../core/key';
import type { Requested } from '../../manage/schema/actions';
import type { Acting } from '../../operator/audit';
import * as operations from '../../operator/operations/run';
import { explainManualRun, type Explanation } from '../../operator/views/explain';
import type { Options } from '../commands/command';
import { jobIn, loadFile } from '../jobs-file';
import { answer, OK, print, printJson, UNSUCCESSFUL, UsageError, warn } from '../output';
import { followLog, untilOver } from '../show/logs';
import { lastError, paintOutcome, took } from '../show/record-text';
import { openStore, withinSweep } from '../storage';
import { parseTime, timesOf } from '../time';
import { actingOn } from './person';

interface RunOptions extends Options {
  readonly input?: string;
  readonly wait?: boolean;
  readonly follow?: boolean;
}

export async function run(job: string, options: RunOptions): Promise<number> {
  const input = readInput(options.input);
  return request(job, options, (acting, spec) => operations.run(acting, spec, { input }));
}

export async function rerun(job: string, text: string, options: RunOptions): Promise<number> {
  const input = readInput(options.input);
  const timeIn = parseTime(text, 'TIME');
  return request(job, options, (acting, spec, revision) =>
    operations.rerun(acting, spec, { time: timeIn(spec.timeZone), revision, input }),
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

async function request(
  job: string,
  options: RunOptions,
  ask: (acting: Acting, spec: JobSpec, revision: number) => Promise<Requested>,
): Promise<number> {
  const file = loadFile(options);
  const { revision } = file.jobsFile;
  const spec = jobIn(file, job, options);
  const store = openStore(options);
  const requested = await ask(await actingOn(store, options.note), spec, revision);
  const { runId, requestedAt, seen } = requested;
  if (!seen) warn(`no deployment has seen job "${job}" yet: the manual run waits for the first one that has it`);
  const waits = options.wait === true || options.follow === true;
  if (options.json !== true) print(requestedText(requested, spec, waits, options));
  const key = parseRunId(runId)?.key;
  if (!waits || key === undefined) {
    if (options.json) printJson({ job, runId, requestedAt });
    return OK;
  }
  if (options.follow === true) {
    await followLog(store, spec, { key, runId, isOver: false }, { local: options.local, utc: options.utc });
  }
  const { scheduledFor: time = 0, request: id = '' } = parseRecordKey(key) ?? {};
  const { outcome, reason, record } = await untilOver(async () => {
    const found = await explainManualRun(store, spec, revision, { time, id });
    return OPEN.has(found.outcome) ? undefined : found;
  });
  answer(options, { job, runId, requestedAt, outcome, reason, record }, () =>
    endText(runId, { outcome, reason, record }),
  );
  return outcome === 'succeeded' ? OK : UNSUCCESSFUL;
}

const OPEN: ReadonlySet<string> = new Set(['pending', 'running', 'retrying']);

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

function endText(
  runId: string,
  { outcome, reason, record }: Pick<Explanation, 'outcome' | 'reason' | 'record'>,
): string {
  const error = record === null || outcome === 'succeeded' ? undefined : lastError(record);
  const time = record === null ? '' : took(record);
  const details = [reason === 'completed' ? '' : reason, time && `took ${time}`].filter((part) => part !== '');
  const line = `Run ${runId} ${paintOutcome(outcome)}${details.length === 0 ? '' : ` (${details.join(', ')})`}.`;
  return error === undefined ? line : `${line}\n    ${error}`;
}
