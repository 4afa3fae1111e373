import type { JobName } from '../core/brand';
import type { OrchestrationEnd } from '../core/orchestration';
import { redactError } from '../core/recorded-error';
import { type Redact, redactJson } from '../core/redact';
import { CALL_LIMIT_MS, within } from '../lease/deadline';
import type { Coordinator } from './coordinator';

/** The prefix of the pieces in which a run keeps a text. Decision 130. */
export const KEPT = 'kept-';
/** The number of the piece with the end of a claim's orchestration: the claim itself writes only the one before. */
const END = 1;
/** More than its record holds, and less than any store takes: a result in Durable may have many megabytes. */
const RESULT_CHARACTERS = 64 * 1024;

/** The name of the piece with a text of a claim, from 0. */
export function keptPiece(token: number, index: number): string {
  return `${KEPT}${digits(token)}-${digits(index)}`;
}

/**
 * Keeps the end of the orchestration that a claim has started, without secrets. Of two ends the first one stands.
 *
 * @param place the claim
 * @throws StoreError
 */
export async function keepEndOf(
  { clock, store, redact }: Pick<Coordinator, 'clock' | 'store' | 'redact'>,
  { job, key, token }: { readonly job: JobName; readonly key: string; readonly token: number },
  end: OrchestrationEnd,
): Promise<void> {
  const piece = { body: JSON.stringify(shownEnd(end, redact)), summary: {} };
  await within(clock, CALL_LIMIT_MS, (signal) => store.createPiece(job, key, keptPiece(token, END), piece, { signal }));
}

/** Only the record shows an end, so no one misses what is hidden, or cut off. */
function shownEnd(end: OrchestrationEnd, redact: Redact | undefined): OrchestrationEnd {
  if (end.state === 'failed') return { state: end.state, error: redactError(end.error, redact) };
  const { state, result } = end;
  const shown = redact === undefined ? result : JSON.stringify(redactJson(JSON.parse(result), redact));
  return { state, result: shown.slice(0, RESULT_CHARACTERS) };
}

function digits(number: number): string {
  return String(number).padStart(16, '0');
}
