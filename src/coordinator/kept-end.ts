import type { JobName } from '../core/brand';
import type { OrchestrationEnd } from '../core/orchestration';
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
 * Keeps the end of the orchestration that a claim has started. Of two ends the first one stands.
 *
 * @param place the claim
 * @throws StoreError
 */
export async function keepEndOf(
  { clock, store }: Pick<Coordinator, 'clock' | 'store'>,
  { job, key, token }: { readonly job: JobName; readonly key: string; readonly token: number },
  end: OrchestrationEnd,
): Promise<void> {
  const piece = { body: JSON.stringify(end), summary: {} };
  await within(clock, CALL_LIMIT_MS, (signal) => store.createPiece(job, key, keptPiece(token, END), piece, { signal }));
}

function digits(number: number): string {
  return String(number).padStart(16, '0');
}
