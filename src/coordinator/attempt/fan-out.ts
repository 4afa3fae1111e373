import type { EpochMs, Millis } from '../../core/brand';
import { given } from '../../core/given';
import { asideKey } from '../../core/backfill';
import { formatDuration } from '../../core/duration';
import {
  type ItemEnd,
  PLAN_PIECE,
  type PlannedItem,
  itemPiece,
  itemsDeadlineMs,
  lanesOf,
  parseItemEnd,
  parseItemPiece,
  parsePlan,
} from '../../core/fan-out';
import { askedOf } from '../../core/origin';
import { ForeignRecordError } from '../../core/record';
import type { FanOutHandler, ItemOutcome } from '../../handler/define-fan-out';
import { NonRetryableError } from '../../handler/handler';
import { allPieces } from '../../lease/pages';
import { type ListedPiece, StoreError, StoreUnavailableError } from '../../lease/store';
import { createGate } from '../gate';
import type { HeldRow } from '../held';
import type { AgainInput, AttemptResult, Lane } from '../message';
import { describeError } from './call-handler';
import { type HandlerCall, endedBy, notCalled, runHandler } from './run-handler';
import { type Attempt, waitForGroup } from './waits';

/** The largest plan, in bytes of JSON: a plan travels through Durable. */
const PLAN_LIMIT = 1024 * 1024;
const PIECES_AT_ONCE = 16;
const PIECES_PER_PAGE = 500;

/** The plan cannot be carried out, and a new plan would be no better. */
class InvalidPlanError extends NonRetryableError {}

export interface Stage {
  readonly handlerCall: HandlerCall | undefined;
  /** The run continues once these are done. */
  readonly left?: Left;
  /** The pieces of the run, if the attempt has listed them. */
  readonly pieces?: readonly ListedPiece[];
  /** A call has kept a text. */
  readonly hasKept?: boolean;
  /** The orchestration of an earlier attempt has ended. */
  readonly hasEnded?: boolean;
}

/** What is at work for a run between its attempts: items, or an orchestration of the app. */
export interface Left {
  readonly count: number;
  /** Within this time they end. */
  readonly deadlineMs: Millis;
  /** The attempt's answer, by which the run's own orchestration begins them. */
  readonly answer: (until: EpochMs, next: AgainInput) => AttemptResult;
}

/**
 * One attempt of a run that fans out. The stored pieces show how far the run has come: without a plan, the attempt
 * plans; with all items done, it gathers; with items left, it leaves them to their lanes, or fails after their time.
 * Decision 082.
 *
 * @param afterItems the run's own orchestration has finished with the items, or their time is over
 */
export async function fanOutStage(
  attempt: Attempt,
  handler: FanOutHandler,
  input: never,
  afterItems: boolean,
): Promise<Stage> {
  const { held } = attempt;
  const pieces = await listPieces(held, held.key);
  try {
    return { ...(await stageOf(attempt, handler, input, { afterItems, pieces })), pieces };
  } catch (error) {
    if (!(error instanceof ForeignRecordError)) throw error;
    return { handlerCall: endedBy(held, 'foreign', describeError(error)), pieces };
  }
}

async function stageOf(
  attempt: Attempt,
  handler: FanOutHandler,
  input: never,
  { afterItems, pieces }: { readonly afterItems: boolean; readonly pieces: readonly ListedPiece[] },
): Promise<Stage> {
  const { held } = attempt;
  const { name } = held.job.spec;
  const { policy } = handler;
  if (!pieces.some((piece) => piece.name === PLAN_PIECE)) {
    if (afterItems) return { handlerCall: outOfTime(held, `the plan of job "${name}" is gone`) };
    let items: readonly PlannedItem[] = [];
    const handlerCall = await runHandler(attempt, async (context) => {
      const plan = checkPlan(handler, await handler.plan(context, input));
      if (plan.length === 0) return handler.gather(context, [] as never, input);
      items = await keepPlan(held, plan);
      return undefined;
    });
    return { handlerCall, ...(handlerCall.end.kind === 'returned' && leftTo(held, handler, items)) };
  }

  const plan = await readPlan(held);
  const states = new Map(pieces.map((piece) => [parseItemPiece(piece.name), piece.summary['state']]));
  const failed = plan.find(({ index }) => states.get(index) === 'failed');
  if (policy.onItemFailure === 'failFast' && failed !== undefined) {
    const end = await readItemEnd(held, failed.index);
    return { handlerCall: itemFailed(held, failed.index, end) };
  }
  const left = plan.filter(({ index }) => !states.has(index));
  if (left.length === 0) {
    // Read before the call: the check of the trust must come right before the handler, and reading takes a while.
    const outcomes = await readOutcomes(held, plan);
    return { handlerCall: await runHandler(attempt, (context) => handler.gather(context, outcomes as never, input)) };
  }
  if (!afterItems) {
    const ended = await placeForItems(attempt);
    return { handlerCall: ended, ...(ended === undefined && leftTo(held, handler, left)) };
  }
  const limit = formatDuration(itemsDeadlineMs(held.job.spec, handler.policy));
  const message = `${String(left.length)} of ${String(plan.length)} items of job "${name}" were not done within ${limit}`;
  return { handlerCall: outOfTime(held, message) };
}

/**
 * The items of a run work under its place in the group. An attempt that leaves items to their lanes without its own
 * call mostly finds the place that the run has kept. Decision 073.
 *
 * @returns the end of the attempt, if it has no place
 */
async function placeForItems(attempt: Attempt): Promise<HandlerCall | undefined> {
  if (!attempt.membership.isNeeded) return undefined;
  const { end } = await waitForGroup(attempt);
  return end === undefined && !attempt.aborter.signal.aborted ? undefined : notCalled(attempt, end);
}

function outOfTime(held: HeldRow, message: string): HandlerCall {
  return endedBy(held, 'timedOut', { name: 'ItemsTimeoutError', message });
}

function leftTo(held: HeldRow, { policy }: FanOutHandler, items: readonly PlannedItem[]): Pick<Stage, 'left'> {
  if (items.length === 0) return {};
  const left: Left = {
    count: items.length,
    deadlineMs: itemsDeadlineMs(held.job.spec, policy),
    answer: (until, next) => ({ kind: 'fanOut', lanes: itemLanes(held, policy, items, until), next }),
  };
  return { left };
}

/** The items in lanes: its own orchestration works on each lane. Decision 084. */
function itemLanes(
  held: HeldRow,
  policy: FanOutHandler['policy'],
  items: readonly PlannedItem[],
  until: EpochMs,
): readonly Lane[] {
  const { rerunOf, hasInput } = held.row.run ?? {};
  const asked = askedOf({ ...(rerunOf && { rerunOf }), ...(hasInput && { hasInput }) });
  const common = {
    job: held.job.spec.name,
    key: held.key,
    token: held.row.token,
    until,
    ...(Object.keys(asked).length > 0 && { asked }),
    ...(held.row.run?.trigger === 'backfill' && { isBackfilled: true as const }),
    attempts: policy.retry.attempts,
  };
  return lanesOf(items, policy.concurrency).map((lane) => ({ ...common, items: lane }));
}

/**
 * The pieces that runs of a job have left in storage, this run included. A back-filled run that is aside still needs
 * its own. Leftovers are not read: if their removal fails, the job's next run removes them.
 */
export function leftoversOf(held: HeldRow) {
  const { coordinator, report, job } = held;
  const { name } = job.spec;
  let pieces: readonly ListedPiece[] = [];
  const trying = async (act: () => Promise<void>): Promise<void> => {
    try {
      await act();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      report.log('warn', `job "${name}": what its run has left will be deleted after its next one:`, error);
    }
  };
  return {
    /**
     * Call it under the lease: later, the list might contain the pieces of a successor's run.
     *
     * @returns the pieces of this run
     */
    async list(): Promise<readonly ListedPiece[]> {
      await trying(async () => {
        const spared = asideKey(held.row.backfill);
        pieces = (await listPieces(held, undefined)).filter(({ key }) => key !== spared);
      });
      return pieces.filter(({ key }) => key === held.key);
    },
    /** Deletes the listed pieces; needs no lease. */
    remove: (): Promise<void> =>
      trying(() => eachOf(pieces, (piece) => coordinator.store.deletePiece(name, piece.key, piece.name))),
  };
}

/** The plan's items as JSON texts. */
export function checkPlan({ policy }: FanOutHandler, items: unknown): readonly string[] {
  if (!Array.isArray(items)) throw new InvalidPlanError('plan must return an array of items');
  if (items.length > policy.maxItems) {
    throw new InvalidPlanError(
      `plan returned ${String(items.length)} items, more than maxItems (${String(policy.maxItems)}): ` +
        'raise it, or let one item stand for several',
    );
  }
  // A place that was never set is an item too, which `map` would leave out.
  const texts = Array.from(items, (item: unknown, index) => {
    let text: string | undefined;
    try {
      text = JSON.stringify(item);
    } catch (cause) {
      throw new InvalidPlanError(`item ${String(index)} of the plan is not JSON: return plain data`, { cause });
    }
    if (text === undefined) {
      throw new InvalidPlanError(`item ${String(index)} of the plan is a ${typeof item}, which is not JSON`);
    }
    return text;
  });
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes > PLAN_LIMIT) {
    throw new InvalidPlanError(
      `the plan has ${String(bytes)} bytes as JSON, more than ${String(PLAN_LIMIT)}: put the data into blobs, and let ` +
        'items name them',
    );
  }
  return texts;
}

/** Stores the plan. Of two plans of one run the first one stands. */
async function keepPlan(held: HeldRow, texts: readonly string[]): Promise<readonly PlannedItem[]> {
  const piece = { body: JSON.stringify(texts), summary: { items: String(texts.length) } };
  await asking(held, (store, signal) => store.createPiece(held.job.spec.name, held.key, PLAN_PIECE, piece, { signal }));
  return readPlan(held);
}

async function readPlan(held: HeldRow): Promise<readonly PlannedItem[]> {
  const items = parsePlan(await readPiece(held, PLAN_PIECE));
  if (items === undefined) throw foreign(held, PLAN_PIECE);
  return items;
}

async function readOutcomes(
  held: HeldRow,
  plan: readonly PlannedItem[],
): Promise<readonly ItemOutcome<unknown, unknown>[]> {
  const outcomes: ItemOutcome<unknown, unknown>[] = [];
  await eachOf(plan, async ({ index, item }) => {
    const end = await readItemEnd(held, index);
    const which = { index, item: JSON.parse(item) as unknown };
    const { state, attempts } = end;
    outcomes[index] =
      state === 'failed' ? { ...which, state, error: end.error, attempts } : { ...which, state, result: end.result };
  });
  return outcomes;
}

async function readItemEnd(held: HeldRow, index: number): Promise<ItemEnd> {
  const name = itemPiece(index);
  const end = parseItemEnd(await readPiece(held, name));
  if (end === undefined) throw foreign(held, name);
  return end;
}

export async function readPiece(held: HeldRow, name: string): Promise<string> {
  const body = await asking(held, (store, signal) => store.readPiece(held.job.spec.name, held.key, name, { signal }));
  if (body === undefined) throw foreign(held, name);
  return body;
}

export function listPieces(held: HeldRow, key: string | undefined): Promise<readonly ListedPiece[]> {
  const request = { limit: PIECES_PER_PAGE, ...given({ key }) };
  return allPieces((next) =>
    asking(held, (store, signal) => store.listPieces(held.job.spec.name, { ...request, ...next }, { signal })),
  );
}

/**
 * As {@link HeldRow.ask}, for pieces. An answer that arrives after the trust is rejected, as on a machine that slept
 * meanwhile: it may show a successor's pieces, or the absence of pieces that a successor has deleted.
 */
export async function asking<T>({ ask, trust }: HeldRow, call: Parameters<typeof ask<T>>[0]): Promise<T> {
  const answer = await ask(call);
  if (!trust.holds) throw new StoreUnavailableError('storage answered after the lease had run out');
  return answer;
}

function foreign(held: HeldRow, name: string): ForeignRecordError {
  return new ForeignRecordError(
    `"${name}" of run ${held.key} of job "${held.job.spec.name}" is missing or is none of cronlease's`,
  );
}

function itemFailed(held: HeldRow, index: number, end: ItemEnd): HandlerCall {
  const error =
    end.state === 'failed'
      ? { ...end.error, message: `item ${String(index)}: ${end.error.message}` }
      : { name: 'ItemError', message: `item ${String(index)} failed` };
  return endedBy(held, 'itemFailed', error);
}

async function eachOf<T>(values: readonly T[], act: (value: T) => Promise<void>): Promise<void> {
  const gate = createGate(PIECES_AT_ONCE);
  await Promise.all(values.map((value) => gate(() => act(value))));
}
