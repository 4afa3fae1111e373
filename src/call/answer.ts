import type { Millis } from '../core/brand';
import { parseExactly } from '../core/metadata';
import { ASKED_AT_MOST_MS } from '../core/run';
import { CallError } from '../handler/call-handler';
import { type Answer, retryAfterOf } from '../notices/request';

/** The largest body of an answer that is read: the ledger keeps no more. */
export const ANSWER_BYTES = 32 * 1024;
/** How much of a body an error has. */
export const SHOWN = 8 * 1024;

/** The statuses by which a target says that another try may succeed. */
export function isBusy(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500;
}

export function waitOf({ headers }: Pick<Answer, 'headers'>): Millis | undefined {
  const wait = retryAfterOf(headers['retry-after'], headers.date);
  return wait === undefined ? undefined : Math.min(wait, ASKED_AT_MOST_MS);
}

/**
 * Checks the answer to a call.
 *
 * @param hide hides the app's settings
 * @throws CallError unless it is a success
 */
export function checkAnswer(
  answer: Answer,
  expect: readonly number[] | undefined,
  hide: (text: string) => string,
): void {
  const { status, text } = answer;
  const isExpected = expect === undefined ? status >= 200 && status < 300 : expect.includes(status);
  if (isExpected) return;
  const body = text.trim() === '' ? '' : `: ${hide(text.trim()).slice(0, SHOWN)}`;
  if (status >= 300 && status < 400) {
    throw new CallError('CallRedirected', `it answered ${String(status)}, and a redirect is not followed`, false);
  }
  const message = `it answered ${String(status)}${body}`;
  if (isBusy(status)) throw new CallError('CallBusy', message, true, waitOf(answer));
  throw new CallError('CallRefused', message, false);
}

/**
 * The JSON of an answer, with large integers as texts; undefined: it has none, and is not said to have any.
 *
 * @throws CallError if the ledger cannot hold the answer, or it is not the JSON that it claims to be
 */
export function resultOf({ headers, text, isCut }: Answer): unknown {
  if (isCut) {
    const limit = String(ANSWER_BYTES / 1024);
    throw new CallError('CallTooLarge', `it answered with more than ${limit} KB: let it answer with less`, false);
  }
  if (text.trim() === '' || !/^[^;]*[/+]json\b/i.test(headers['content-type'] ?? '')) return undefined;
  try {
    return parseExactly(text);
  } catch {
    throw new CallError('CallGarbled', 'it answered with application/json, and its body is not JSON', false);
  }
}
