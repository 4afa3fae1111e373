import type { Millis } from '../core/brand';
import { formatDuration, parseDuration } from '../core/duration';
import { given } from '../core/given';
import { TAKE_OVER_AFTER_MS } from '../core/orchestration';
import type { StandardSchema } from '../core/standard-schema';

const SOONEST_MS: Millis = 60_000;
const LATEST_MS: Millis = 24 * 3_600_000;

/** The options of {@link defineOrchestration}. */
export interface OrchestrationOptions<Input> {
  /** The name of an orchestrator of this app: the first argument of `df.app.orchestration`. */
  readonly orchestrator: string;
  /** Checks the job's `input` when the app starts (any Standard Schema). The orchestrator gets its output. */
  readonly input?: StandardSchema<Input>;
  /** Another deployment takes a run over after this long without a heartbeat, `1m` to `1d`. Default: `90s`. */
  readonly takeOverAfter?: string;
}

/** A job that is a Durable orchestration. Made by {@link defineOrchestration}. */
export interface OrchestrationHandler {
  readonly input?: StandardSchema | undefined;
  readonly orchestrator: string;
  readonly takeOverAfterMs: Millis;
}

/** An option of {@link defineOrchestration} is invalid. */
export class InvalidOrchestrationError extends Error {
  readonly code = 'InvalidOrchestration';
  override readonly name = 'InvalidOrchestrationError';

  constructor(setting: string, value: unknown, remedy: string) {
    super(`defineOrchestration: ${setting} is ${JSON.stringify(value) ?? String(value)}: ${remedy}`);
  }
}

/**
 * Defines a job that is a Durable orchestration of this app: each run starts one, and ends with it. The orchestrator's
 * input is `{ input, cronlease }`, of the job and of its run: pass `cronlease` on to activities that use
 * {@link fenceOf}.
 *
 * @throws InvalidOrchestrationError
 */
export function defineOrchestration<Input = unknown>({
  orchestrator,
  input,
  takeOverAfter,
}: OrchestrationOptions<Input>): OrchestrationHandler {
  if (typeof orchestrator !== 'string' || !/^[A-Za-z][\w-]{0,126}$/.test(orchestrator)) {
    throw new InvalidOrchestrationError('orchestrator', orchestrator, 'use the name of an orchestrator of the app');
  }
  return { ...given({ input }), orchestrator, takeOverAfterMs: takeOverAfterOf(takeOverAfter) };
}

function takeOverAfterOf(value: unknown): Millis {
  if (value === undefined) return TAKE_OVER_AFTER_MS;
  const ms = typeof value === 'string' ? parseDuration(value) : undefined;
  if (ms !== undefined && ms >= SOONEST_MS && ms <= LATEST_MS) return ms;
  const limits = `from ${formatDuration(SOONEST_MS)} to ${formatDuration(LATEST_MS)}`;
  throw new InvalidOrchestrationError('takeOverAfter', value, `use a duration ${limits}, such as "5m"`);
}
