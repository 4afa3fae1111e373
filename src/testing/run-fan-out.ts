import type { Millis } from '../core/brand';
import type { RecordedError } from '../core/recorded-error';
import { backoff } from '../core/run';
import { callBounded, createAborter, timeoutAfter } from '../coordinator/bounded';
import { callHandler, describeError } from '../coordinator/attempt/call-handler';
import type { FanOutHandler, ItemOutcome } from '../handler/define-fan-out';
import { NO_LOG } from '../coordinator/attempt/attempt-log';
import type { HandlerCall } from '../coordinator/attempt/run-handler';
import { checkPlan } from '../coordinator/attempt/fan-out';
import { itemContext } from '../coordinator/attempt/item';
import { type Bench, type JobTest, type JobTestOptions, callAttempt, conclude, finish, testBench } from './run-job';

/** The options of {@link runFanOut}, as for `runJob`. */
export type FanOutTestOptions = Omit<JobTestOptions, 'during' | 'attempt'>;

/** The result of {@link runFanOut}. */
export interface FanOutTest extends JobTest {
  /** The outcomes of the items that were worked on, in the order of the plan. */
  readonly items: readonly ItemOutcome<unknown, unknown>[];
  /** How often `each` was called in all. */
  readonly itemCalls: number;
}

/**
 * Runs a job that fans out once, in memory: `plan`, then `each` for one item after another with their retries, then
 * `gather`. Waits between the attempts of an item take no time. Items and results pass through JSON, as they do in
 * storage.
 *
 * @throws ConfigError when the settings, or the input, are not valid
 */
export async function runFanOut(handler: FanOutHandler, options: FanOutTestOptions = {}): Promise<FanOutTest> {
  const bench = await testBench(handler, options);
  const input = bench.held.job.input as never;
  const done = (handlerCall: HandlerCall, items: readonly ItemOutcome<unknown, unknown>[], itemCalls: number) => ({
    ...conclude(bench, handlerCall),
    items,
    itemCalls,
  });
  let texts: readonly string[] = [];
  const planned = await attempt(bench, async (context) => {
    texts = checkPlan(handler, await handler.plan(context, input));
  });
  if (planned.end.kind !== 'returned') return done(planned, [], 0);

  const outcomes: ItemOutcome<unknown, unknown>[] = [];
  let calls = 0;
  for (const [index, text] of texts.entries()) {
    const worked = await workOn(bench, handler, index, text);
    calls += worked.calls;
    outcomes.push(worked.outcome);
    if (worked.outcome.state === 'failed' && handler.policy.onItemFailure === 'failFast') {
      const at = bench.clock.now();
      const end = { kind: 'threw', retryable: false, reason: 'itemFailed' } as const;
      return done({ end, startedAt: at, endedAt: at, error: worked.outcome.error }, outcomes, calls);
    }
  }
  const gathered = await attempt(bench, (context) => handler.gather(context, outcomes as never, input));
  return done(gathered, outcomes, calls);
}

function attempt(bench: Bench, call: Parameters<typeof callAttempt>[1]): Promise<HandlerCall> {
  return finish(bench.clock, callAttempt(bench, call), bench.aborter);
}

async function workOn(
  bench: Bench,
  handler: FanOutHandler,
  index: number,
  text: string,
): Promise<{ outcome: ItemOutcome<unknown, unknown>; calls: number }> {
  const item: unknown = JSON.parse(text);
  const { retry } = handler.policy;
  for (let calls = 1; ; calls += 1) {
    const { error, retryable, result } = await callItem(bench, handler, index, calls, item);
    if (error === undefined) return { outcome: { state: 'succeeded', index, item, result }, calls };
    if (!retryable || calls >= retry.attempts) {
      return { outcome: { state: 'failed', index, item, error, attempts: calls }, calls };
    }
    await bench.clock.advance(backoff(retry, calls, bench.coordinator.random()));
  }
}

async function callItem(
  { clock, held, fence, report }: Bench,
  handler: FanOutHandler,
  index: number,
  number: number,
  item: unknown,
): Promise<{ error?: RecordedError; retryable?: boolean; result?: unknown }> {
  const { spec, input } = held.job;
  const aborter = createAborter();
  const what = `item ${String(index)} of job "${spec.name}"`;
  const limit: Millis = handler.policy.itemTimeoutMs ?? spec.timeoutMs ?? Infinity;
  const { stallAfterMs, graceMs } = spec;
  const bounds = { what, ends: timeoutAfter(limit, what), stallAfterMs, graceMs };
  const call = callBounded(clock, aborter, bounds, (alive) => {
    const id = { key: held.key, index, attempt: number };
    const parts = { aborter, fence, log: NO_LOG, alive };
    const context = itemContext(spec.name, id, parts, { report, redact: undefined });
    return callHandler(spec.name, fence, () => handler.each(context, item as never, input as never));
  });
  await clock.advance(0);
  const end = await finish(clock, call, aborter);
  switch (end.kind) {
    case 'returned':
      return { result: end.result };
    case 'threw':
      return { error: end.error, retryable: end.retryable };
    case 'aborted':
      return { error: describeError(aborter.signal.reason), retryable: true };
  }
}
