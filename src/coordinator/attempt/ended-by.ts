import { type RecordedError, redactError } from '../../core/recorded-error';
import { type HeldRow, timeOf } from '../held';
import type { HandlerCall } from './run-handler';

const ENDS = {
  invalidInput: { kind: 'threw', retryable: false, reason: 'invalidInput' },
  timedOut: { kind: 'aborted', code: 'timedOut', reason: 'timeout' },
  itemFailed: { kind: 'threw', retryable: false, reason: 'itemFailed' },
  /** A person or a program has changed or deleted a piece: the next attempt may find it restored. */
  foreign: { kind: 'threw', retryable: true, reason: 'handlerError' },
} as const satisfies Readonly<Record<string, HandlerCall['end']>>;

/** An attempt that ends because of its input, its items, or their pieces, without a call of the handler. */
export function endedBy(held: HeldRow, how: keyof typeof ENDS, error: RecordedError): HandlerCall {
  const at = timeOf(held);
  return { end: ENDS[how], startedAt: at, endedAt: at, error: redactError(error, held.coordinator.redact) };
}
