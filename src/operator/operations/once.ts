import { createHash } from 'node:crypto';
import type { EpochMs } from '../../core/brand';
import { currentPause, pendingManualRuns } from '../../core/control';
import type { JobSpec } from '../../core/job';
import { recordKey, runIdOf } from '../../core/key';
import { isInstant, isObject } from '../../core/metadata';
import { readRecord } from '../../coordinator/ledger';
import type { CallOptions, LeaseStore } from '../../lease/store';
import { readState } from '../job-state';
import { OperatorError } from '../operator-error';
import type { RequestedRun, WantedRun } from './request';

/** A caller's name for a request, so that it can be sent again after a lost answer. */
export interface OnceKey {
  /** The caller and the caller's key: no other caller's key is the same. */
  readonly name: string;
  /** The whole request, to recognize another one with the same key. */
  readonly content: string;
}

/** The id and the time of the request that a key names. */
export type Named = Required<Pick<WantedRun, 'id' | 'time'>>;

/**
 * Makes the request of a key once, however often it is sent. The first call notes the time of the request, which
 * decides, together with the key, the id of its run. Decision 105.
 *
 * @param request makes the request; it may find that it was made already
 * @throws OperatorError `KeyReused` if the key named another request before
 */
export async function once(
  store: LeaseStore,
  { name }: Pick<JobSpec, 'name'>,
  key: OnceKey,
  request: (named: Named) => Promise<RequestedRun>,
  options?: CallOptions,
): Promise<RequestedRun> {
  const id = hash(key.name).slice(0, ID_LENGTH);
  const state = await readState(store, name, options);
  const { time, isFirst } = await note(
    store.home?.(name) ?? store,
    noteOf(id),
    hash(key.content),
    timeOf(state.now, id),
    options,
  );
  const run = recordKey(time, id);
  const waiting = pendingManualRuns(state.control, state.row?.manualTaken ?? 0);
  // A call that names the version of the control would find that of the first one.
  const ahead = waiting.findIndex((one) => recordKey(one.time, one.id) === run);
  const isMade =
    !isFirst &&
    (ahead >= 0 || state.row?.run?.key === run || (await readRecord(store, name, run, options)) !== undefined);
  if (!isMade) return request({ id, time });
  const paused = currentPause(state.control, state.now) !== undefined;
  const seen = ahead < 0 || state.row !== undefined;
  return { runId: runIdOf(name, run), requestedAt: time, ahead: Math.max(0, ahead), seen, paused };
}

/** Ids of requests without a key are shorter. */
const ID_LENGTH = 20;

/** Under which ids there may be something of a manual run with this id: its input, and the note of its key. */
export function requestsOf(id: string): readonly string[] {
  return id.length === ID_LENGTH ? [id, noteOf(id)] : [id];
}

function noteOf(id: string): string {
  return `once${id}`;
}

/** The service's time has a resolution of 1 s: requests of one second get different times. */
function timeOf(now: EpochMs, id: string): EpochMs {
  return now + (Number.parseInt(id.slice(0, 6), 16) % 1000);
}

async function note(
  store: LeaseStore,
  id: string,
  content: string,
  now: EpochMs,
  options: CallOptions | undefined,
): Promise<{ readonly time: EpochMs; readonly isFirst: boolean }> {
  if ((await store.createRequest(id, JSON.stringify({ content, time: now }), options)) === 'created') {
    return { time: now, isFirst: true };
  }
  const body = await store.readRequest(id, options);
  const known: unknown = body === undefined ? undefined : parse(body);
  if (!isObject(known) || known['content'] !== content || !isInstant(known['time'])) {
    throw new OperatorError('KeyReused', 'the key has named another request before');
  }
  return { time: known['time'], isFirst: false };
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
