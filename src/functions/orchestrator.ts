import type { OrchestrationContext } from 'durable-functions';
import type { AttemptInput, AttemptResult, Batch, Continued, ItemInput, Lane } from '../coordinator/message';
import type { PlannedItem } from '../core/fan-out';
import { type OrchestrationEnd, failedOrchestration } from '../core/orchestration';
import type { LedgerRecord } from '../core/record';

/** The orchestrators' names. A second version gets a new name, and the old one stays registered for a release. */
export const RUN = 'cronleaseRun';
/** A run that began in a batch. */
export const CONTINUED = 'cronleaseContinued';
export const BATCH = 'cronleaseBatch';
export const ITEMS = 'cronleaseItems';
export const ATTEMPT = 'cronleaseAttempt';
export const ATTEMPTS = 'cronleaseAttempts';

/** Durable replays an orchestration's whole history with each answer, so a longer lane is split into parts. */
const ITEMS_AT_ONCE = 100;

type Yielded = ReturnType<OrchestrationContext['df']['callActivity']>;

type RunEnd = LedgerRecord | { readonly lost: string } | 'proven';

/**
 * One run: attempt, durable timer, next attempt. It is deterministic and thin: the attempts decide everything.
 *
 * @returns the ledger record, or the reason why this orchestration is done with the run
 */
export function* orchestrateRun(context: OrchestrationContext): Generator<Yielded, RunEnd, AttemptResult> {
  return yield* goOn(context, yield context.df.callActivity(ATTEMPT, context.df.getInput<AttemptInput>()));
}

/** A run whose first attempt was made in a batch. */
export function* orchestrateContinued(context: OrchestrationContext): Generator<Yielded, RunEnd, AttemptResult> {
  return yield* goOn(context, context.df.getInput<Continued>().result);
}

/** Claims that are due together. A run that is not over after its attempt continues in its own orchestration. */
export function* orchestrateBatch(context: OrchestrationContext): Generator<Yielded, unknown, unknown> {
  const { activities } = context.df.getInput<Batch>();
  return yield context.df.Task.all(activities.map((claims) => context.df.callActivity(ATTEMPTS, claims)));
}

function* goOn(context: OrchestrationContext, first: AttemptResult): Generator<Yielded, RunEnd, AttemptResult> {
  let result = first;
  for (;;) {
    switch (result.kind) {
      case 'ended':
        return result.record;
      case 'lost':
        return { lost: result.why };
      case 'proven':
        return 'proven';
      case 'again':
        yield context.df.createTimer(new Date(result.notBefore));
        break;
      case 'fanOut':
        yield context.df.Task.all(result.lanes.map((lane) => context.df.callSubOrchestrator(ITEMS, lane)));
        break;
      case 'orchestrate':
        result = yield context.df.callActivity(ATTEMPT, {
          ...result.next,
          orchestrated: JSON.stringify(yield* endOf(context, result)),
        });
        continue;
      case 'item':
        throw new Error('an attempt of a run returned the result of an item');
    }
    result = yield context.df.callActivity(ATTEMPT, result.next);
  }
}

type Orchestrated = Extract<AttemptResult, { kind: 'orchestrate' }>;

/** An orchestration that was terminated fails too, where Durable tells of it at all. */
function* endOf(
  context: OrchestrationContext,
  { orchestrator, input, instanceId }: Orchestrated,
): Generator<Yielded, OrchestrationEnd, unknown> {
  try {
    const result = yield context.df.callSubOrchestrator(orchestrator, JSON.parse(input), instanceId);
    return { state: 'succeeded', result: JSON.stringify(result ?? null) };
  } catch (error) {
    return failedOrchestration(error instanceof Error ? error.message : String(error));
  }
}

type LaneEnd = 'done' | 'stopped';
type ItemResult = Extract<AttemptResult, { kind: 'item' }>;

/**
 * Works on items of one run, one after another. An item that must be retried waits behind the others. The number of
 * lanes side by side is the limit of items at once, over all instances.
 */
export function* orchestrateItems(context: OrchestrationContext): Generator<Yielded, LaneEnd, ItemResult | LaneEnd> {
  const lane = context.df.getInput<Lane>();
  if (lane.items.length <= ITEMS_AT_ONCE) return yield* workThrough(context, lane);
  for (let from = 0; from < lane.items.length; from += ITEMS_AT_ONCE) {
    const items = lane.items.slice(from, from + ITEMS_AT_ONCE);
    const end = yield context.df.callSubOrchestrator(ITEMS, { ...lane, items });
    if (end === 'stopped') return end;
  }
  return 'done';
}

type WaitingItem = PlannedItem & Pick<ItemInput, 'attempt' | 'worked'> & { readonly notBefore: number };

function* workThrough(
  context: OrchestrationContext,
  { items, attempts, ...run }: Lane,
): Generator<Yielded, LaneEnd, ItemResult | LaneEnd> {
  let waiting: readonly WaitingItem[] = items.map((item) => ({ ...item, attempt: 1, notBefore: 0 }));
  let beatBy = Infinity;
  for (;;) {
    const next = waiting.reduce<WaitingItem | undefined>(
      (first, item) => (first === undefined || item.notBefore < first.notBefore ? item : first),
      undefined,
    );
    if (next === undefined) return 'done';
    const { notBefore, ...item } = next;
    waiting = waiting.filter((other) => other !== next);
    // The last lost call is passed on to one more call, which records it. An item has no further calls.
    if (item.attempt > attempts + 1) continue;
    const callAt = Math.min(notBefore, beatBy);
    if (notBefore > 0) yield context.df.createTimer(new Date(callAt));
    const input: ItemInput = { kind: 'item', ...run, ...item, ...(callAt < notBefore ? { notBefore } : {}) };
    try {
      const result = yield context.df.callActivity(ATTEMPT, input);
      if (typeof result === 'string' || result.state === 'stopped') return 'stopped';
      if (result.state === 'again') {
        const { attempt, notBefore, worked } = result;
        waiting = [...waiting, { ...item, attempt, notBefore, ...(worked && { worked }) }];
        ({ beatBy } = result);
      }
    } catch {
      // An item's call always answers, unless its process died. That counts as an attempt of the item.
      waiting = [...waiting, { ...item, attempt: item.attempt + 1, notBefore: 0 }];
    }
  }
}
