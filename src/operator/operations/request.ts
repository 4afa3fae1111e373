import { given } from '../../core/given';
import { randomInt } from 'node:crypto';
import type { EpochMs } from '../../core/brand';
import { type ManualRun, currentPause, pendingManualRuns } from '../../core/control';
import { INPUT_BYTES, type JobSpec } from '../../core/job';
import { recordKey, runIdOf } from '../../core/key';
import { type Asked, type Origin, boundedOrigin } from '../../core/origin';
import type { CallOptions, LeaseStore } from '../../lease/store';
import { type ChangeOptions, changeControl } from '../change-control';
import { type JobState, currentRun } from '../job-state';
import { inexactInteger } from '../../core/metadata';
import { OperatorError } from '../operator-error';

/** How many manual runs of a job may wait. They share the control's metadata with pauses. */
export const WAITING_MANUAL_RUNS = 50;

export interface RequestedRun {
  /** The id that the run will have. */
  readonly runId: string;
  /** Its `scheduledFor`: the storage service's time. */
  readonly requestedAt: number;
  /** How many manual runs were waiting before it. */
  readonly ahead: number;
  /** False: no coordinator has seen the job yet, and the manual run waits until one does. */
  readonly seen: boolean;
  /** A pause does not hold a manual run back. */
  readonly paused: boolean;
}

/** Makes a manual run id, long enough that two manual runs of one job never share it. */
export function shortId(): string {
  return randomInt(36 ** 8)
    .toString(36)
    .padStart(8, '0');
}

export interface WantedRun {
  /** Lowercase letters and digits, unlike that of any other manual run of the job: {@link shortId}. */
  readonly id: string;
  /** The time of the manual run. Default: the storage service's. */
  readonly time?: EpochMs | undefined;
  readonly origin?: Origin | undefined;
  /** The due time of an earlier run, which the handler is to see as its own. */
  readonly rerunOf?: EpochMs | undefined;
  /** JSON, in the place of the job's own input. */
  readonly input?: unknown;
}

/**
 * Requests a run now. The schedule does not move; a paused or disabled job runs too.
 *
 * @throws OperatorError `RunGoesOn` if overlap is `skip` and a run is in progress (nothing is written); `LeaderJob`;
 *   `TooManyManualRuns`; `InputTooLarge`, `InexactInput`
 */
export async function requestRun(
  store: LeaseStore,
  spec: JobSpec,
  { id, time, origin, rerunOf, input }: WantedRun,
  options?: ChangeOptions,
): Promise<RequestedRun> {
  const { name } = spec;
  if (spec.kind === 'always') {
    const message = `job "${name}" is a leader job (@always): it runs all the time, and takes no manual runs`;
    throw new OperatorError('LeaderJob', message);
  }
  const body = input === undefined ? undefined : bodyOf(spec, input);
  // Before the request: an unused input does no harm.
  if (body !== undefined) await (store.home?.(name) ?? store).createRequest(id, body, options);
  const asked: Asked = {
    ...(origin === undefined ? {} : { origin: boundedOrigin(origin) }),
    ...given({ rerunOf }),
    ...(body === undefined ? {} : { hasInput: true }),
  };
  return changeControl(store, { name, spec }, options, async (state) => {
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
    if (spec.overlap === 'skip') await refuseOverlap(store, spec, state, options);
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

async function refuseOverlap(
  store: LeaseStore,
  { name }: JobSpec,
  state: JobState,
  options: CallOptions | undefined,
): Promise<void> {
  // A manual run waits for a back-filled run, whatever `overlap` is.
  if (state.row?.run?.trigger === 'backfill') return;
  const run = await currentRun(store, name, state, options);
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
