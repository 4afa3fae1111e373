import { given } from '../../core/given';
import type { EpochMs } from '../../core/brand';
import { isoOf } from '../../core/iso';
import { parseRecordKey, parseRunId, recordKey, runIdOf } from '../../core/key';
import { type JobSpec, INPUT_BYTES } from '../../core/job';
import type { Requested } from '../../manage/schema/actions';
import { type Acting, operate } from '../audit';
import { type Named, once, type RequestedRun, shortId } from './once';
import { type ManualRun, currentPause, pendingManualRuns } from '../../core/control';
import { type Asked, type Origin, boundedOrigin } from '../../core/origin';
import type { LeaseStore } from '../../lease/store';
import { changeControl, type Changing } from '../change-control';
import { type JobState, currentRun, asideRunId } from '../job-state';
import { OperatorError } from '../operator-error';
import { type Explanation, explainTime } from '../views/explain';
import { recordOf } from '../views/find-record';
import { shown } from '../views/runs';
import { inexactInteger } from '../../core/inexact';

export interface RunTerms {
  /** In the place of the job's own input, or of the input of the earlier run. */
  readonly input?: unknown;
  /** The caller's name for the request, which is then made once, however often it is sent. */
  readonly idempotencyKey?: string | undefined;
}

export interface RerunTerms extends RunTerms {
  /** The due time of the earlier run, or the time of its request. */
  readonly time: EpochMs;
  /** The earlier run. Default: the one that is found by `time`. */
  readonly runId?: string | undefined;
  /** Of the jobs file. */
  readonly revision: number;
}

export function run(acting: Acting, spec: JobSpec, { input, idempotencyKey }: RunTerms): Promise<Requested> {
  const { origin } = acting;
  return operate(acting, 'run', spec.name, async () => {
    const content = ['run', { input, note: origin.note }];
    const made = await named(acting, spec, { idempotencyKey, content }, (name) =>
      requestRun(acting, spec, { ...name, origin, input }),
    );
    return { answer: requested(spec, made), after: asked(made, input) };
  });
}

export function rerun(acting: Acting, spec: JobSpec, terms: RerunTerms): Promise<Requested> {
  const { origin } = acting;
  const { time, revision, input, idempotencyKey } = terms;
  return operate(acting, 'rerun', spec.name, async () => {
    let { runId } = terms;
    const earlier = parseRecordKey(parseRunId(runId ?? '')?.key ?? '');
    const content = ['rerun', runId ?? time, { input, note: origin.note }];
    const made = await named(acting, spec, { idempotencyKey, content }, async ({ id, time: requestedAt }) => {
      const { of, ...request } = await requestRerun(acting, spec, revision, {
        time,
        request: earlier?.request,
        id,
        requestedAt,
        origin,
        input,
      });
      runId ??= of;
      return request;
    });
    return { answer: requested(spec, made), before: { runId }, after: asked(made, input) };
  });
}

function named(
  acting: Acting,
  spec: JobSpec,
  { idempotencyKey, content }: Pick<RunTerms, 'idempotencyKey'> & { readonly content: readonly unknown[] },
  request: (named: Partial<Named> & Pick<Named, 'id'>) => Promise<RequestedRun>,
): Promise<RequestedRun> {
  if (idempotencyKey === undefined) return request({ id: shortId() });
  const { channel, identity, actor } = acting.origin;
  const key = {
    name: JSON.stringify([channel, identity ?? actor, idempotencyKey]),
    content: JSON.stringify([spec.name, ...content]),
  };
  return once(acting.store, spec, key, request);
}

function requested({ name: job }: JobSpec, { requestedAt, ...made }: RequestedRun): Omit<Requested, 'recorded'> {
  return { ...made, job, requestedAt: isoOf(requestedAt) };
}

function asked({ runId }: RequestedRun, input: unknown): object {
  return { runId, ...given({ input }) };
}

/** How many manual runs of a job may wait. They share the control's metadata with pauses. */
export const WAITING_MANUAL_RUNS = 50;

export interface WantedRun {
  /** Lowercase letters and digits, unlike that of any other manual run of the job: {@link shortId}. */
  readonly id: string;
  /** The time of the manual run. Default: the storage service's. */
  readonly time?: EpochMs | undefined;
  readonly origin?: Origin | undefined;
  /** The due time of an earlier run, which the handler is to see as its own. */
  readonly rerunOf?: EpochMs | undefined;
  readonly input?: unknown;
}

/**
 * Requests a run now. The schedule does not move; a paused or disabled job runs too. Throws `OperatorError` `RunGoesOn`
 * if overlap is `skip` and a run is in progress (nothing is written); `LeaderJob`; `TooManyManualRuns`;
 * `InputTooLarge`, `InexactInput`.
 */
export async function requestRun(
  changing: Changing,
  spec: JobSpec,
  { id, time, origin, rerunOf, input }: WantedRun,
): Promise<RequestedRun> {
  const { store } = changing;
  const { name } = spec;
  if (spec.kind === 'always') {
    const message = `job "${name}" is a leader job (@always): it runs all the time, and takes no manual runs`;
    throw new OperatorError('LeaderJob', message);
  }
  const body = input === undefined ? undefined : bodyOf(spec, input);
  // Before the request: an unused input does no harm.
  if (body !== undefined) await (store.home?.(name) ?? store).createRequest(id, body);
  const asked: Asked = {
    ...(origin === undefined ? {} : { origin: boundedOrigin(origin) }),
    ...given({ rerunOf }),
    ...(body === undefined ? {} : { hasInput: true }),
  };
  return changeControl(changing, { name, spec }, async (state) => {
    const { control, row } = state;
    const waiting = pendingManualRuns(control, row?.manualTaken ?? 0);
    const result = ({ number, time }: ManualRun): RequestedRun => ({
      runId: runIdOf(name, recordKey(time, id)),
      requestedAt: time,
      ahead: waiting.filter((other) => other.number < number).length,
      seen: row !== undefined,
      paused: currentPause(control, state.now) !== undefined,
    });
    // An earlier call that reported a refusal has written it.
    const own = control.manualRuns.find((request) => request.id === id);
    if (own !== undefined) return { control: undefined, result: result(own) };
    if (spec.overlap === 'skip') await refuseOverlap(store, spec, state);
    if (waiting.length >= WAITING_MANUAL_RUNS) {
      const message = `job "${name}" has ${waiting.length} manual runs waiting, which is the limit: wait until some have run`;
      throw new OperatorError('TooManyManualRuns', message);
    }
    const request: ManualRun = { number: nextNumber(state), id, time: time ?? freeTime(state), ...asked };
    return { control: { ...control, manualRuns: [...control.manualRuns, request] }, result: result(request) };
  });
}

function bodyOf({ name }: JobSpec, input: unknown): string {
  const inexact = inexactInteger(input);
  if (inexact !== undefined) {
    const message =
      `the input for job "${name}" has an integer beyond 2^53 at ${['$', ...inexact.path].join('.')}, which JavaScript ` +
      `reads as ${String(inexact.value)}: put it in double quotes, as text`;
    throw new OperatorError('InexactInput', message);
  }
  const body = JSON.stringify(input);
  const bytes = Buffer.byteLength(body);
  if (bytes <= INPUT_BYTES) return body;
  const message =
    `the input for job "${name}" has ${String(bytes)} bytes of JSON, and ${String(INPUT_BYTES)} are allowed: ` +
    'store it elsewhere, such as in a blob, and give its name';
  throw new OperatorError('InputTooLarge', message);
}

async function refuseOverlap(store: LeaseStore, { name }: JobSpec, state: JobState): Promise<void> {
  // A manual run waits for a back-filled run, whatever `overlap` is.
  if (state.row?.run?.trigger === 'backfill') return;
  const run = await currentRun(store, name, state);
  if (run === undefined && state.lease !== 'held') return;
  const what = run === undefined ? 'is being claimed or released at this moment' : `has run ${run} in progress`;
  const message = `job "${name}" ${what}, and its overlap is "skip": wait until the run is over, or cancel it`;
  throw new OperatorError('RunGoesOn', message);
}

/** Numbers only grow, even after earlier manual runs are gone. Decision 001. */
function nextNumber({ control, row }: JobState): number {
  return Math.max(row?.manualTaken ?? 0, ...control.manualRuns.map((request) => request.number)) + 1;
}

/** The service's time has a resolution of 1 s, and two manual runs in one second must not share a time. */
function freeTime({ control, row, now }: JobState): number {
  const last = row?.run?.trigger === 'manual' ? row.run.scheduledFor : 0;
  return Math.max(now, last + 1, ...control.manualRuns.map((request) => request.time + 1));
}

export interface Rerun extends Pick<WantedRun, 'id' | 'origin' | 'input'> {
  /** The time of the manual run. Default: the storage service's. */
  readonly requestedAt?: EpochMs | undefined;
  /** Its due time, or the time of its manual run. */
  readonly time: EpochMs;
  /** The id of its manual run: a due time may have the same time. Default: whichever is found by `time`. */
  readonly request?: string | undefined;
}

/**
 * Runs an earlier due time again, whatever became of it: a manual run whose handler sees that time as its own. The new
 * run has its own record. Without an `input`, a run that had its own is repeated with it. Decision 102.
 *
 * @param revision of the jobs file that `spec` is from
 * @returns the manual run, and in `of` the earlier run
 * @throws OperatorError `NotDue`, `FutureTime`; `RunGoesOn` if that run is not over; `InputUnreadable`; and as
 *   `requestRun`
 */
export async function requestRerun(
  changing: Changing,
  spec: JobSpec,
  revision: number,
  { time, request, id, requestedAt, origin, input }: Rerun,
): Promise<RequestedRun & { readonly of: string }> {
  const { store } = changing;
  const found = await runOf(store, await explainTime(store, spec, revision, time), request);
  refuse(found);
  const rerunOf = found.record?.rerunOf === undefined ? time : Date.parse(found.record.rerunOf);
  const former = input === undefined ? await formerInput(store, found) : input;
  const wanted = { id, time: requestedAt, origin, rerunOf, input: former };
  const of = found.record?.runId ?? runIdOf(spec.name, recordKey(time));
  return { ...(await requestRun(changing, spec, wanted)), of };
}

/** The same for the run of a request, if there is one: the time may have another run, which is over. */
async function runOf(store: LeaseStore, atTime: Explanation, request: string | undefined): Promise<Explanation> {
  if (request === undefined) return atTime;
  const { job, time, state } = atTime;
  const { name } = job;
  const key = recordKey(time, request);
  const { record } = (await recordOf(store, name, key)) ?? {};
  if (record?.state === 'final') {
    return { ...atTime, outcome: record.outcome ?? 'failed', record: shown(record, key, undefined) };
  }
  const unended = [asideRunId(name, state.row), await currentRun(store, name, state)];
  return unended.includes(runIdOf(name, key)) ? { ...atTime, outcome: 'running' } : atTime;
}

function refuse({ job, time, outcome, due, record }: Explanation): void {
  const at = new Date(time).toISOString();
  switch (outcome) {
    case 'future':
      throw new OperatorError('FutureTime', `job "${job.name}" is due at ${at}, which is ahead: it runs then`);
    case 'running':
    case 'retrying':
    case 'pending':
      throw new OperatorError(
        'RunGoesOn',
        `the run of job "${job.name}" for ${at} is not over: wait until it is, or cancel it`,
      );
    case 'notDue':
      if (due || record !== null) return;
      throw new OperatorError('NotDue', `job "${job.name}" has no due time and no run at ${at}`);
    default:
  }
}

/** The input that the earlier run's own request had, if it is still there. */
async function formerInput(store: LeaseStore, { record, job }: Explanation): Promise<unknown> {
  const [, request] = /-m-([0-9a-z]+)$/.exec(record?.runId.slice(job.name.length) ?? '') ?? [];
  const body = request === undefined ? undefined : await (store.home?.(job.name) ?? store).readRequest(request);
  if (body === undefined) return undefined;
  try {
    return JSON.parse(body) as unknown;
  } catch (cause) {
    const message = `the input of run ${record?.runId ?? ''} was changed by something other than cronlease: give an input`;
    throw new OperatorError('InputUnreadable', message, { cause });
  }
}
