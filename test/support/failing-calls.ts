import { RestError } from '@azure/storage-blob';
import type { StoreError } from '../../src/lease/store';
import { failure } from '../../src/stores/azure-blob/ask';

/** What an answer of blob storage means: the status or the error code of its connection. */
export const ANSWERS = [
  ['400', 'StoreUnavailable'],
  ['401', 'StoreDenied'],
  ['403', 'StoreDenied'],
  ['404', 'StoreUnavailable'],
  ['408', 'StoreUnavailable'],
  ['409', 'StoreUnavailable'],
  ['412', 'StoreUnavailable'],
  ['429', 'StoreUnavailable'],
  ['500', 'StoreUnavailable'],
  ['502', 'StoreUnavailable'],
  ['503', 'StoreUnavailable'],
  ['504', 'StoreUnavailable'],
  ['ECONNREFUSED', 'StoreUnavailable'],
  ['ECONNRESET', 'StoreUnavailable'],
  ['ENOTFOUND', 'StoreUnavailable'],
  ['ETIMEDOUT', 'StoreUnavailable'],
  ['EPIPE', 'StoreUnavailable'],
] as const;

/** What the adapter makes of an answer without a code of the service. */
export function errorOf(answer: string): StoreError {
  const isStatus = /^\d+$/.test(answer);
  const error = isStatus
    ? new RestError('planned by a test', { statusCode: Number(answer) })
    : Object.assign(new Error(`connect ${answer}`), { code: answer });
  return failure(error, 'a call');
}

/** The calls of a run, in their order. A listing also shows the control before the handler. */
export const CALLS = ['list', 'acquire', 'writeRow', 'renew', 'createRecord', 'release'] as const;

/** What becomes of each if it gets no answer or is refused: in words, for the page that shows what the test plays. */
export const CALL_FAILS: Readonly<Record<(typeof CALLS)[number], readonly [call: string, then: string]>> = {
  list: ['listing of a tick', 'tried again until the next tick; the instance is `unhealthy`, with the reason'],
  acquire: ['acquisition', 'tried again until little of the lease is left; then another tick claims the due time'],
  writeRow: ['claim', 'tried again until little of the lease is left; then another tick claims the due time'],
  renew: [
    'renewal',
    'tried again until trust ends; then the handler is aborted with `leaseLost`, and the event has `storageRefused`',
  ],
  createRecord: [
    "the run's record",
    'tried again until trust ends; then the run is taken over, and the log says why its end could not be stored',
  ],
  release: ['release', 'tried again until trust ends; then the lease expires, and nothing is lost'],
};
