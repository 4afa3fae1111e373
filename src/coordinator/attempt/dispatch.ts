import type { Coordinator, Report } from '../coordinator';
import type { AttemptInput, AttemptResult } from '../message';
import { runAttempt } from './attempt';
import { runItem } from './item';

/** Carries out what a task hub has delivered: a proof that it delivers, an item of a fan-out, or an attempt. */
export async function dispatch(coordinator: Coordinator, input: AttemptInput, report: Report): Promise<AttemptResult> {
  if (input.kind === 'probe') return { kind: 'proven' };
  return input.kind === 'item' ? runItem(coordinator, input, report) : runAttempt(coordinator, input, report);
}
