import { given } from '../core/given';
import { formatDuration, parseDuration } from '../core/duration';
import type { FanOutPolicy } from '../core/fan-out';
import type { Retry } from '../core/job';
import type { RecordedError } from '../core/recorded-error';
import type { StandardSchema } from '../core/standard-schema';
import type { Fence } from '../lease/fence';
import type { JobContext, JobLog } from './handler';

const MOST_AT_ONCE = 100;
const MOST_ITEMS = 10_000;
const LONGEST_MS = 7 * 24 * 3_600_000;

/** The context of one call of `each`. */
export interface ItemContext {
  readonly job: string;
  /** As `context.scheduledFor` of the run. */
  readonly scheduledFor: Date;
  readonly runId: string;
  /** The item's place in the plan, from 0. */
  readonly index: number;
  /** The attempt of this item, from 1. */
  readonly attempt: number;
  /**
   * Aborted when the call must end: it timed out or stalled, its run was cancelled, its instance is cut off from
   * storage, or is shut down.
   */
  readonly signal: AbortSignal;
  /** Has the token of the run's plan. It rejects writes once another attempt may have the run. */
  readonly fence: Fence;
  /**
   * Reports progress. With the job's `stallAfter`, a call that reports none for that long is aborted.
   *
   * @param fraction how much of the item's work is done, from 0 to 1
   * @throws InvalidProgressError
   */
  progress(note?: string, fraction?: number): void;
  readonly log: JobLog;
  /** As that of the run, for the calls of this item. */
  readonly traceparent?: string;
}

/** The outcome of one item, for `gather`. With `failFast` all items have succeeded. */
export type ItemOutcome<Item, Result> =
  | { readonly state: 'succeeded'; readonly index: number; readonly item: Item; readonly result: Result }
  | {
      readonly state: 'failed';
      readonly index: number;
      readonly item: Item;
      readonly error: RecordedError;
      readonly attempts: number;
    };

/** The options of {@link defineFanOut}. Items and results travel as JSON: a `Date` arrives as a string. */
export interface FanOutOptions<Input, Item, Result> {
  /** Checks the job's `input` when the app starts (any Standard Schema). */
  readonly input?: StandardSchema<Input>;
  /** How many items run at once, over all instances: 1 to 100. Default: 10. */
  readonly concurrency?: number;
  /** A plan with more items fails the run: up to 10000. Default: 1000. */
  readonly maxItems?: number;
  /** One call of `each` is aborted after this long, such as `5m`. Default: the job's `timeout`. */
  readonly itemTimeout?: string;
  /** How long all items of a run may take, waits included. Default: the job's `timeout`. */
  readonly deadline?: string;
  /** The retries of one item. The members are those of a job's `retry`, with the same defaults. */
  readonly itemRetry?: {
    readonly attempts?: number;
    readonly backoff?: string;
    readonly factor?: number;
    readonly maxBackoff?: string;
    readonly jitter?: 'full' | 'none';
  };
  /**
   * What happens after an item has failed permanently. `failFast`, the default: the run fails and starts no more items.
   * `collect`: the run continues, and `gather` receives the failure.
   */
  readonly onItemFailure?: 'failFast' | 'collect';
  /** Returns the items. It is called in an attempt of the run, under its claim. A plan is limited to 1 MB of JSON. */
  plan(context: JobContext, input: Input): readonly Item[] | Promise<readonly Item[]>;
  /** Works on one item, on any instance. It may be called twice for the same item, and returns up to 32 KB of JSON. */
  each(context: ItemContext, item: Item, input: Input): Result | Promise<Result>;
  /**
   * Combines the outcomes, which are in the order of the plan. It is called in an attempt of the run, under its claim.
   */
  gather(context: JobContext, outcomes: readonly ItemOutcome<Item, Result>[], input: Input): unknown;
}

/** A handler that fans out. Made by {@link defineFanOut}. */
export interface FanOutHandler {
  readonly input?: StandardSchema | undefined;
  readonly policy: FanOutPolicy;
  /** `never`, as in `JobHandler`. */
  readonly plan: (context: JobContext, input: never) => unknown;
  readonly each: (context: ItemContext, item: never, input: never) => unknown;
  readonly gather: (context: JobContext, outcomes: never, input: never) => unknown;
}

/** An option of {@link defineFanOut} is invalid. */
export class InvalidFanOutError extends Error {
  readonly code = 'InvalidFanOut';
  override readonly name = 'InvalidFanOutError';

  constructor(setting: string, value: unknown, remedy: string) {
    super(`defineFanOut: ${setting} is ${JSON.stringify(value) ?? String(value)}: ${remedy}`);
  }
}

/**
 * Defines a job that fans out: one instance plans the items, all instances of its deployment work on them, and one
 * gathers the results. The end of each item is stored, so that a take-over does not repeat it.
 *
 * @throws InvalidFanOutError
 */
export function defineFanOut<Input = unknown, Item = unknown, Result = unknown>(
  options: FanOutOptions<Input, Item, Result>,
): FanOutHandler {
  const { concurrency = 10, maxItems = 1_000, onItemFailure = 'failFast', input, plan, each, gather } = options;
  for (const [name, value] of Object.entries({ plan, each, gather })) {
    if (typeof value !== 'function') throw new InvalidFanOutError(name, value, 'must be a function');
  }
  whole('concurrency', concurrency, MOST_AT_ONCE);
  whole('maxItems', maxItems, MOST_ITEMS);
  oneOf('onItemFailure', onItemFailure, ['failFast', 'collect']);
  return {
    ...given({ input }),
    policy: {
      concurrency,
      maxItems,
      onItemFailure,
      itemTimeoutMs: duration('itemTimeout', options.itemTimeout),
      deadlineMs: duration('deadline', options.deadline),
      retry: retryOf(options.itemRetry ?? {}),
    },
    // Called as methods of `options`, so that a definition may use `this`.
    plan: (context, value) => options.plan(context, value),
    each: (context, item, value) => options.each(context, item, value),
    gather: (context, outcomes, value) => options.gather(context, outcomes, value),
  };
}

function retryOf(retry: NonNullable<FanOutOptions<unknown, unknown, unknown>['itemRetry']>): Retry {
  const { attempts = 3, factor = 2, jitter = 'full' } = retry;
  whole('itemRetry.attempts', attempts, 100);
  oneOf('itemRetry.jitter', jitter, ['full', 'none']);
  if (typeof factor !== 'number' || !(factor >= 1 && factor < Infinity)) {
    throw new InvalidFanOutError('itemRetry.factor', factor, 'use a number from 1');
  }
  return {
    attempts,
    factor,
    jitter,
    backoffMs: duration('itemRetry.backoff', retry.backoff, 0) ?? 10_000,
    maxBackoffMs: duration('itemRetry.maxBackoff', retry.maxBackoff, 0) ?? 300_000,
  };
}

function whole(setting: string, value: unknown, most: number): void {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 && value <= most) return;
  throw new InvalidFanOutError(setting, value, `use a whole number from 1 to ${String(most)}`);
}

function oneOf(setting: string, value: unknown, allowed: readonly string[]): void {
  if (allowed.some((one) => one === value)) return;
  throw new InvalidFanOutError(setting, value, `use ${allowed.map((one) => `"${one}"`).join(' or ')}`);
}

function duration(setting: string, value: unknown, atLeast = 1_000): number | undefined {
  if (value === undefined) return undefined;
  const ms = typeof value === 'string' ? parseDuration(value) : undefined;
  if (ms !== undefined && ms >= atLeast && ms <= LONGEST_MS) return ms;
  const limits = `from ${formatDuration(atLeast)} to ${formatDuration(LONGEST_MS)}`;
  throw new InvalidFanOutError(setting, value, `use a duration ${limits}, such as "5m"`);
}
