import type { Clock } from '../core/clock';
import { within } from '../lease/deadline';
import type { ElectionSettings } from './options';

export interface HealthProblem {
  readonly message: string;
  /** The error that the check threw, if it did. */
  readonly cause?: unknown;
}

/** Calls the health check once. Never rejects: a check that throws or takes too long has failed. */
export async function healthProblem(settings: ElectionSettings, clock: Clock): Promise<HealthProblem | undefined> {
  const { healthCheck, healthTimeoutMs } = settings;
  if (healthCheck === undefined) return undefined;
  try {
    const healthy = await within(clock, healthTimeoutMs, async () => healthCheck(), { whose: 'the health check' });
    return healthy ? undefined : { message: 'the health check failed' };
  } catch (cause) {
    return { message: `the health check failed: ${textOf(cause)}`, cause };
  }
}

/** The message of what a task or a check threw. */
export function textOf(cause: unknown): string {
  try {
    return cause instanceof Error ? cause.message : String(cause);
  } catch {
    // An object without a prototype has no text, and a revoked proxy allows nothing.
    return 'it threw a value that cannot be shown';
  }
}
