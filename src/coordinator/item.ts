import type { EpochMs, JobName, Millis, Token } from '../core/brand';
import { decodeControl } from '../core/control';
import type { ItemEnd } from '../core/fan-out';
import { itemPiece, parseItemEnd, STOP_PIECE, storeItemEnd } from '../core/fan-out';
import { parseRecordKey, runIdOf } from '../core/key';
import { decodeRow } from '../core/row';
import { ForeignMetadataError } from '../core/metadata';
import { ForeignRecordError } from '../core/record';
import { backoff } from '../core/run';
import { untilAnswered, within } from '../lease/deadline';
import type { ClosableFence } from '../lease/fence';
import { createFence } from '../lease/fence';
import { StoreError } from '../lease/store';
import { moment, Trust } from '../lease/trust';
import type { Aborted, Aborter } from './bounded';
import { abortForShutdown, callBounded, createAborter, timeoutAfter } from './bounded';
import type { Handled } from './call-handler';
import { callHandler, describeError } from './call-handler';
import type { Coordinator, Report, RunnableJob } from './coordinator';
import type { FanOutHandler, ItemContext } from './define-fan-out';
import { isFanOut } from './define-fan-out';
import { jobLog } from './execute';
import { ITEMS_MARGIN_MS } from './fan-out';
import type { AttemptResult, ItemInput } from './message';

type ItemResult = Extract<AttemptResult, { kind: 'item' }>;

const CALL_LIMIT_MS = 5_000;
/** An item that could not be looked after now is sent again after this long. */
const SEND_AGAIN_MS = 2_000;
/** How often an item that runs asks whether it is still wanted. */
const LOOK_EVERY_MS = 5_000;

/** The run of an item as a listing showed it. */
type Standing =
  { readonly kind: 'wanted'; readonly trust: Trust } | { readonly kind: 'unwanted'; readonly why: string };

/**
 * One call for one item of a run, wherever Durable has sent it. What becomes of it for good is stored once: an item
 * that is done already is not done again. Never throws: an item's failure is its own.
 */
export async function runItem(coordinator: Coordinator, input: ItemInput, report: Report): Promise<ItemResult> {
  const again = (delay: Millis, attempt: number): ItemResult => {
    const notBefore = coordinator.serviceTime.now() + delay;
    // By then the run has gone on without it.
    if (notBefore > input.until) return { kind: 'item', state: 'stopped' };
    return { kind: 'item', state: 'again', attempt, notBefore };
  };
  const job = coordinator.jobs.get(input.job as JobName);
  if (job === undefined || !isFanOut(job.handler)) {
    report.log('warn', `job "${input.job}" does not fan out in this instance's jobs file: item not done`);
    return { kind: 'item', state: 'stopped' };
  }
  if (coordinator.stopping) return again(SEND_AGAIN_MS, input.attempt);
  try {
    const standing = await standingOf(coordinator, job, job.handler, input);
    if (standing.kind === 'unwanted') return { kind: 'item', state: 'stopped' };
    const item: Item = { job, handler: job.handler, input, trust: standing.trust, again };
    const end = await storedEnd(coordinator, input);
    return end === undefined ? await attemptItem(coordinator, item, report) : await afterEnd(coordinator, item, end);
  } catch (error) {
    const isKnown = error instanceof StoreError || error instanceof ForeignMetadataError;
    if (!isKnown && !(error instanceof ForeignRecordError)) throw error;
    report.log('warn', `job "${input.job}", item ${String(input.index)}: will be sent again:`, error);
    return again(SEND_AGAIN_MS, input.attempt);
  }
}

interface Item {
  readonly job: RunnableJob;
  readonly handler: FanOutHandler;
  readonly input: ItemInput;
  readonly trust: Trust;
  readonly again: (delay: Millis, attempt: number) => ItemResult;
}

async function attemptItem(coordinator: Coordinator, item: Item, report: Report): Promise<ItemResult> {
  const { job, handler, input, trust, again } = item;
  const { retry } = handler.policy;
  const { attempt } = input;
  // This process may have stood still since it looked.
  if (!trust.holds) return { kind: 'item', state: 'stopped' };
  if (attempt > retry.attempts) {
    // Its calls ended without an answer: with them, so did the processes that made them.
    const message = `item ${String(input.index)} was lost with its instance, ${String(retry.attempts)} times`;
    return finish(coordinator, item, {
      state: 'failed',
      error: { name: 'ItemLostError', message },
      attempts: retry.attempts,
    });
  }
  const aborter = createAborter();
  const call = callItem(coordinator, item, aborter, report);
  const running = { aborter, done: call };
  coordinator.running.add(running);
  if (coordinator.stopping) abortForShutdown(running);
  let end: Handled | Aborted;
  try {
    end = await call;
  } finally {
    coordinator.running.delete(running);
  }
  if (!trust.holds) return { kind: 'item', state: 'stopped' };
  if (end.kind === 'returned') {
    const { result } = end;
    return finish(coordinator, item, { state: 'succeeded', ...(result === undefined ? {} : { result }) });
  }
  if (end.kind === 'aborted' && end.code === 'draining') return again(SEND_AGAIN_MS, attempt);
  if (end.kind === 'aborted' && (end.code === 'cancelled' || end.code === 'leaseLost')) {
    return { kind: 'item', state: 'stopped' };
  }
  const error = end.kind === 'threw' ? end.error : describeError(aborter.signal.reason);
  report.log(
    'warn',
    `job "${job.spec.name}", item ${String(input.index)}, attempt ${String(attempt)}: ${error.message}`,
  );
  const retryable = end.kind === 'aborted' || end.retryable;
  if (retryable && attempt < retry.attempts) return again(backoff(retry, attempt, coordinator.random()), attempt + 1);
  return finish(coordinator, item, { state: 'failed', error, attempts: attempt });
}

async function callItem(
  coordinator: Coordinator,
  { job, handler, input, trust }: Item,
  aborter: Aborter,
  report: Report,
): Promise<Handled | Aborted> {
  const { clock, settings } = coordinator;
  const { name, timeoutMs, stallAfterMs, graceMs } = job.spec;
  const what = `item ${String(input.index)} of job "${name}"`;
  const fence = createFence(name, input.token as Token, trust);
  const stopWatching = watchStanding(coordinator, job, handler, input, trust, aborter, report);
  const limit = Math.min(handler.policy.itemTimeoutMs ?? timeoutMs ?? Infinity, settings.functionTimeoutMs - graceMs);
  try {
    return await callBounded(
      clock,
      aborter,
      { what, ends: timeoutAfter(limit, what), stallAfterMs, graceMs },
      (progress) => {
        const context = itemContext(name, input, { aborter, fence, progress }, report);
        const item: unknown = JSON.parse(input.item);
        return callHandler(name, () => handler.each(context, item as never, job.input as never));
      },
    );
  } finally {
    stopWatching();
    fence.close();
  }
}

/** What `each` is given. */
export function itemContext(
  job: JobName,
  { key, index, attempt }: Pick<ItemInput, 'key' | 'index' | 'attempt'>,
  { aborter, fence, progress }: Pick<ItemContext, 'progress'> & { aborter: Aborter; fence: ClosableFence },
  report: Report,
): ItemContext {
  const { close: _, ...openFence } = fence;
  return {
    job,
    scheduledFor: new Date(parseRecordKey(key)?.scheduledFor ?? 0),
    runId: runIdOf(job, key),
    index,
    attempt,
    signal: aborter.signal,
    fence: openFence,
    progress,
    log: jobLog(report, `[${job}#${String(index)}]`),
  };
}

/** Stores what became of the item; of two ends the first one stands. */
async function finish(coordinator: Coordinator, item: Item, end: ItemEnd): Promise<ItemResult> {
  const answer = await createPiece(coordinator, item, itemPiece(item.input.index), storeItemEnd(end));
  // It may be our own write, whose answer was lost, or that of another call.
  const stands = answer === 'created' ? end : await storedEnd(coordinator, item.input);
  return afterEnd(coordinator, item, stands ?? end);
}

/** What an item's end means for the others. */
async function afterEnd(coordinator: Coordinator, item: Item, end: ItemEnd): Promise<ItemResult> {
  if (end.state !== 'failed' || item.handler.policy.onItemFailure !== 'failFast')
    return { kind: 'item', state: 'done' };
  await createPiece(coordinator, item, STOP_PIECE, { body: '{}', summary: {} });
  return { kind: 'item', state: 'stopped' };
}

function createPiece(
  coordinator: Coordinator,
  { job, input, trust }: Item,
  piece: string,
  record: Parameters<Coordinator['store']['createPiece']>[3],
): ReturnType<Coordinator['store']['createPiece']> {
  return untilAnswered(
    coordinator,
    () => trust.remaining(),
    (signal) => coordinator.store.createPiece(job.spec.name, input.key, piece, record, { signal }),
  );
}

async function storedEnd(coordinator: Coordinator, { job, key, index }: ItemInput): Promise<ItemEnd | undefined> {
  const name = itemPiece(index);
  const body = await calling(coordinator, (signal) =>
    coordinator.store.readPiece(job as JobName, key, name, { signal }),
  );
  if (body === undefined) return undefined;
  const end = parseItemEnd(body);
  if (end === undefined) throw new ForeignRecordError(`"${name}" of run ${key} of job "${job}" is none of cronlease's`);
  return end;
}

/** Whether the run still waits for this item: it may be cancelled, taken over, failed, or out of time. */
async function standingOf(
  coordinator: Coordinator,
  { spec }: RunnableJob,
  { policy }: FanOutHandler,
  input: ItemInput,
): Promise<Standing> {
  const { store, clock, serviceTime } = coordinator;
  const sent = moment(clock);
  const listing = await calling(coordinator, (signal) => store.list({ job: spec.name, signal }));
  serviceTime.observe(listing.date, sent);
  const seen = listing.jobs.get(spec.name);
  if (seen?.row === undefined) return { kind: 'unwanted', why: 'its row is gone' };
  const row = decodeRow(seen.row.metadata);
  if (row.phase !== 'fanning' || row.run?.key !== input.key || row.token !== input.token) {
    return { kind: 'unwanted', why: 'its run has gone on without it' };
  }
  const control = seen.control === undefined ? undefined : decodeControl(seen.control.metadata);
  if (control?.cancel === runIdOf(spec.name, input.key)) return { kind: 'unwanted', why: 'its run was cancelled' };
  if (policy.onItemFailure === 'failFast') {
    const stop = await calling(coordinator, (signal) => store.readPiece(spec.name, input.key, STOP_PIECE, { signal }));
    if (stop !== undefined) return { kind: 'unwanted', why: 'another item of its run has failed' };
  }
  const trust = new Trust(clock, sent, remainingOf(input.until, listing.date));
  return trust.holds ? { kind: 'wanted', trust } : { kind: 'unwanted', why: "the time of its run's items is over" };
}

function remainingOf(until: EpochMs, date: EpochMs): Millis {
  return until - date - ITEMS_MARGIN_MS;
}

/** Aborts the item when its run does not want it any more. Returns what stops watching. */
function watchStanding(
  coordinator: Coordinator,
  job: RunnableJob,
  handler: FanOutHandler,
  input: ItemInput,
  trust: Trust,
  aborter: Aborter,
  report: Report,
): () => void {
  const { clock } = coordinator;
  let stopped = false;
  let cancel = (): void => undefined;
  const look = async (): Promise<void> => {
    if (!trust.holds) {
      aborter.abort('leaseLost', 'leaseLost', "the time of its run's items is over");
      return;
    }
    try {
      const standing = await standingOf(coordinator, job, handler, input);
      if (standing.kind === 'unwanted') aborter.abort('cancelled', 'cancelRequested', standing.why);
    } catch (error) {
      report.log('debug', `job "${job.spec.name}", item ${String(input.index)}: whether it is wanted:`, error);
    }
    if (!stopped) arm();
  };
  const arm = (): void => {
    cancel = clock.after(Math.min(LOOK_EVERY_MS, trust.remaining()), () => void look());
  };
  arm();
  return () => {
    stopped = true;
    cancel();
  };
}

function calling<T>({ clock }: Coordinator, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return within(clock, CALL_LIMIT_MS, call);
}
