import { createHash, randomInt } from 'node:crypto';
import type { EpochMs, JobName } from '../../core/brand';
import { currentPause, pendingManualRuns } from '../../core/control';
import type { JobSpec } from '../../core/job';
import { recordKey, runIdOf } from '../../core/key';
import { isInstant, isObject, parsedJson } from '../../core/metadata';
import { readRecord } from '../../coordinator/ledger';
import type { LeaseStore } from '../../lease/store';
import { type JobState, readState } from '../job-state';
import { OperatorError } from '../operator-error';
import type { Requested } from '../../manage/schema/actions';

/** A caller's name for a request, so that it can be sent again after a lost answer. */
export interface OnceKey {
  /** The caller and the caller's key: no other caller's key is the same. */
  readonly name: string;
  /** The whole request, to recognize another one with the same key. */
  readonly content: string;
}

export interface Named {
  readonly id: string;
  readonly time: EpochMs;
}

/** A request that was made. Its time is the run's `scheduledFor`, by the storage service's clock. */
export type RequestedRun = Omit<Requested, 'job' | 'recorded' | 'requestedAt'> & { readonly requestedAt: EpochMs };

/** Makes a manual run id, long enough that two manual runs of one job never share it. */
export function shortId(): string {
  return randomInt(36 ** 8)
    .toString(36)
    .padStart(8, '0');
}

/**
 * Makes the request of a key once, however often it is sent. The first call notes the time of the request, which
 * decides, together with the key, the id of its run. A request that was refused until its time is old is noted again:
 * at its first time, it would expire. Decision 105.
 *
 * @param request makes the request; it may find that it was made already
 * @throws OperatorError `KeyReused` if the key named another request before
 */
export async function once(
  store: LeaseStore,
  { name, catchUpWindowMs }: Pick<JobSpec, 'name' | 'catchUpWindowMs'>,
  key: OnceKey,
  request: (named: Named) => Promise<RequestedRun>,
): Promise<RequestedRun> {
  const id = hash(key.name).slice(0, ID_LENGTH);
  const content = hash(key.content);
  const home = store.home?.(name) ?? store;
  const state = await readState(store, name);
  for (let turn = 0; ; turn += 1) {
    const { time, isFirst } = await note(home, noteOf(id, turn), content, timeOf(state.now, id));
    const made = isFirst ? undefined : await madeBefore(store, name, { id, time }, state);
    if (made !== undefined) return made;
    if (isFirst || state.now - time < catchUpWindowMs / 2) return request({ id, time });
  }
}

/** The run, if an earlier call has made the request: it waits, is the row's own, or is over. */
async function madeBefore(
  store: LeaseStore,
  name: JobName,
  { id, time }: Named,
  { row, control, now }: JobState,
): Promise<RequestedRun | undefined> {
  const key = recordKey(time, id);
  // A call that names the version of the control would find that of the first one.
  const ahead = pendingManualRuns(control, row?.manualTaken ?? 0).findIndex(
    (one) => recordKey(one.time, one.id) === key,
  );
  const isMade = ahead >= 0 || row?.run?.key === key || (await readRecord(store, name, key)) !== undefined;
  if (!isMade) return undefined;
  return {
    runId: runIdOf(name, key),
    requestedAt: time,
    ahead: Math.max(0, ahead),
    seen: ahead < 0 || row !== undefined,
    paused: currentPause(control, now) !== undefined,
  };
}

const ID_LENGTH = 20;

/** Whether this is the id of a request with a key: other ids are shorter. */
export function isKeyed(id: string): boolean {
  return id.length === ID_LENGTH;
}

/** Under which id the note of a key lies, by the id of its request, and how often it was noted before. */
export function noteOf(id: string, turn: number): string {
  return turn === 0 ? `once${id}` : `once${id}x${String(turn)}`;
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
): Promise<{ readonly time: EpochMs; readonly isFirst: boolean }> {
  if ((await store.createRequest(id, JSON.stringify({ content, time: now }))) === 'created') {
    return { time: now, isFirst: true };
  }
  const body = await store.readRequest(id);
  const known = body === undefined ? undefined : parsedJson(body);
  if (!isObject(known) || known['content'] !== content || !isInstant(known['time'])) {
    throw new OperatorError('KeyReused', 'the key has named another request before');
  }
  return { time: known['time'], isFirst: false };
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
