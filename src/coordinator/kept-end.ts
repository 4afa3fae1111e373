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
  const piece = { body: JSON.stringify(redactedEnd(end, redact)), summary: {} };
  await within(clock, CALL_LIMIT_MS, (signal) => store.createPiece(job, key, keptPiece(token, END), piece, { signal }));
}

/** Only the record shows an end, so no one misses what is hidden. */
function redactedEnd(end: OrchestrationEnd, redact: Redact | undefined): OrchestrationEnd {
  if (redact === undefined) return end;
  if (end.state === 'failed') return { state: end.state, error: redactError(end.error, redact) };
  return { state: end.state, result: JSON.stringify(redactJson(JSON.parse(end.result), redact)) };
}

function digits(number: number): string {
  return String(number).padStart(16, '0');
}
