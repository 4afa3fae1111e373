import { given } from '../../core/given';
import type { EpochMs, JobName, Millis, Token } from '../../core/brand';
import { BEAT_EVERY_MS, ITEMS_MARGIN_MS, type ItemEnd, STOP_PIECE, itemPiece, parseItemEnd } from '../../core/fan-out';
import { itemSummary } from '../../core/item-table';
import { parseRecordKey, runIdOf } from '../../core/key';
import { ITEM_LOG } from '../../core/log-entry';
import { ForeignMetadataError } from '../../core/metadata';
import { startRank } from '../../core/ranked-queue';
import { ForeignRecordError } from '../../core/record';
import { redactError } from '../../core/recorded-error';
import { redactNothing } from '../../core/redact';
import { decodeRow } from '../../core/row';
import { backoff } from '../../core/run';
import type { ItemContext } from '../../handler/define-fan-out';
import { isFanOut } from '../../handler/handlers';
import { CALL_LIMIT_MS, within } from '../../lease/deadline';
import { createFence } from '../../lease/fence';
import { type PieceStore, StoreError } from '../../lease/store';
import type { Trust } from '../../lease/trust';
import { isLeftToItems, noteItem, whileAtWork } from '../run-pieces';
import {
  type Aborter,
  type Bounds,
  type Ended,
  type Handled,
  callBounded,
  createAborter,
  timeoutWithin,
} from '../bounded';
import { type Coordinator, type Report, keptFromHandlers } from '../coordinator';
import type { AttemptResult, ItemInput, Worked } from '../message';
import { type Ask, asking } from '../row-writer';
import { NO_TELEMETRY } from '../telemetry';
import { type AttemptLog, NO_LOG, createAttemptLog } from './attempt-log';
import { callHandler, describeAbort } from './call-handler';
import { type CallParts, contextOf } from './run-handler';
import { whileRunning } from '../drain';
import type { Permit } from '../concurrency-limit';
import { patienceOf } from './waits';
import { inputOf } from './request-input';
import { type WantedItem, calling, checkItem, keepChecking, trustFrom } from './item-check';

type ItemResult = Extract<AttemptResult, { kind: 'item' }>;

/** The wait before an item that cannot be worked on now is sent again. */
const SEND_AGAIN_MS = 2_000;

/**
 * One call for one item of a run, wherever Durable has sent it. An item's end is stored once: an item that is done is
 * not done again. Storage troubles are not errors here, because they must not end the item's lane: the item is sent
 * again.
 */
export async function runItem(coordinator: Coordinator, input: ItemInput, report: Report): Promise<ItemResult> {
  const job = coordinator.jobs.get(input.job as JobName);
  const here = { coordinator, input };
  if (coordinator.stopping) return again(here, SEND_AGAIN_MS);
  try {
    if (job === undefined || !isFanOut(job.handler)) return await leaveToOthers(coordinator, input, report);
    const wanted: WantedItem = { coordinator, report, job, handler: job.handler, input };
    return await whileAtWork(coordinator, input, () => attemptUnlessEnded(wanted));
  } catch (error) {
    const isKnown = error instanceof StoreError || error instanceof ForeignMetadataError;
    if (!isKnown && !(error instanceof ForeignRecordError)) throw error;
    report.log('warn', `job "${input.job}", item ${String(input.index)}: will be sent again:`, error);
    return again(here, SEND_AGAIN_MS);
  }
}

/**
 * While an app is being deployed, its instances with the old jobs file take messages too. As long as the run waits for
 * the item, it is sent again: an instance whose file has the job may take it then.
 */
async function leaveToOthers(coordinator: Coordinator, input: ItemInput, report: Report): Promise<ItemResult> {
  const name = input.job as JobName;
  const { clock, store } = coordinator;
  const what = `job "${name}" does not fan out in this instance's jobs file: item ${String(input.index)}`;
  const listed = await within(clock, CALL_LIMIT_MS, (signal) => store.readRow(name, { signal }));
  const row = listed && decodeRow(listed.metadata);
  if (row === undefined || !isLeftToItems(row, input)) {
    report.log('warn', `${what} is not done`);
    return { kind: 'item', state: 'stopped' };
  }
  report.log('debug', `${what} is left to others`);
  return again({ coordinator, input }, BEAT_EVERY_MS);
}

async function attemptUnlessEnded(wanted: WantedItem): Promise<ItemResult> {
  const { coordinator, input } = wanted;
  const found = await checkItem(wanted);
  if (found.kind === 'unwanted') return { kind: 'item', state: 'stopped' };
  const { notBefore = 0 } = input;
  if (notBefore > coordinator.serviceTime.now()) return againAt(coordinator, input.attempt, notBefore);
  if (found.kind === 'held') return again(wanted, SEND_AGAIN_MS);
  const item: Item = { ...wanted, trust: trustFrom(wanted, found) };
  const end = await storedEnd(item);
  if (end !== undefined) return afterEnd(item, end);
  const result = await attemptItem(item);
  const isRetried = result.state === 'again' && result.attempt > input.attempt;
  noteItem(coordinator, input, isRetried ? { state: 'retrying', attempt: result.attempt } : undefined);
  return result;
}

/** Has the item sent again, with the number of its next attempt. */
function again(
  { coordinator, input }: Pick<WantedItem, 'coordinator' | 'input'>,
  delay: Millis,
  attempt = input.attempt,
  worked = input.worked,
): ItemResult {
  const now = coordinator.serviceTime.bounded();
  const last = input.until - ITEMS_MARGIN_MS;
  if (now >= last) return { kind: 'item', state: 'stopped' };
  // A lane that calls only to show its presence must not shorten the item's wait.
  const notBefore = Math.max(now + delay, input.notBefore ?? 0);
  // The lane must not end before the time of its run's items, even if the item cannot be tried again by then: Durable
  // may have delivered it twice, and the run would send it out again while its second call trusts.
  return { ...againAt(coordinator, attempt, Math.min(notBefore, last)), ...(worked && { worked }) };
}

function againAt({ serviceTime }: Coordinator, attempt: number, notBefore: EpochMs): ItemResult {
  return { kind: 'item', state: 'again', attempt, notBefore, beatBy: serviceTime.bounded() + BEAT_EVERY_MS };
}

interface Item extends WantedItem {
  readonly trust: Trust;
}

async function attemptItem(item: Item): Promise<ItemResult> {
  const { coordinator, job, handler, input, trust } = item;
  const { retry } = handler.policy;
  const { attempt } = input;
  // This process may have stood still since its check.
  if (!trust.holds) return again(item, SEND_AGAIN_MS);
  if (attempt > retry.attempts) {
    // Its last call was lost without an answer: its process died, or could not reach storage.
    const message =
      `item ${String(input.index)} was tried ${String(retry.attempts)} times, and its last call was lost with its ` +
      'instance or cut off from storage';
    const error = { name: 'ItemLostError', message };
    return finish(item, {
      state: 'failed',
      error,
      attempts: retry.attempts,
      ...timesOf(coordinator, input.worked),
    });
  }
  const wanted = await inputOf({ input: job.input, handler }, input.key, input.asked, askWhileTrusted(item));
  if (wanted.kind === 'refused') {
    return finish(item, { state: 'failed', error: redactError(wanted.error, coordinator.redact), attempts: attempt });
  }
  const aborter = createAborter();
  const log = logOf(item);
  try {
    const end = await whileRunning(coordinator, aborter, callItem(item, wanted.input, log, aborter));
    // The item's end does not wait for its log.
    const [result] = await Promise.all([afterCall(item, end, aborter), log.finish()]);
    return result;
  } finally {
    log.stop();
  }
}

function askWhileTrusted({ coordinator, trust }: Item): Ask {
  return asking(coordinator, () => trust.remaining());
}

/** The log of only this call: Durable may deliver an item twice at once. */
function logOf({ coordinator, report, trust, job: { spec }, input }: Item): AttemptLog {
  if (spec.logs === 'none') return NO_LOG;
  const { key, token, index, attempt } = input;
  const name = (): string => [token, index, attempt, coordinator.newId().slice(0, 8)].join('-');
  const place = { coordinator, report, trust, job: spec.name, key, name };
  return createAttemptLog({ ...place, speaker: { attempt, item: index }, limits: ITEM_LOG });
}

/** The end of a call. Without `worked`, the handler was not called. */
type ItemCall = (Handled | Ended) & { readonly worked?: Worked };

/** The figures of an item that ends now. */
function timesOf({ serviceTime }: Coordinator, worked: Worked | undefined): Pick<ItemEnd, 'durationMs' | 'waitedMs'> {
  if (worked === undefined) return {};
  const { ms, since } = worked;
  return { durationMs: ms, waitedMs: Math.max(0, Math.round(serviceTime.now() - since - ms)) };
}

async function afterCall(item: Item, end: ItemCall | 'notCalled', aborter: Aborter): Promise<ItemResult> {
  const { coordinator, report, job, handler, input, trust } = item;
  const { retry } = handler.policy;
  const { attempt } = input;
  // The call counts as no attempt.
  if (end === 'notCalled') return again(item, SEND_AGAIN_MS);
  if (end.kind === 'aborted' && end.code === 'cancelled') return { kind: 'item', state: 'stopped' };
  const { worked } = end;
  if (end.kind === 'aborted' && end.code === 'draining') return again(item, SEND_AGAIN_MS, attempt, worked);
  const facts = { attempts: attempt, ...timesOf(coordinator, worked) };
  if (end.kind === 'returned') {
    const { result, changes } = end;
    if (changes.length > 0) warnOfChanges(item, changes);
    return finishLate(item, { state: 'succeeded', ...facts, ...given({ result }) });
  }
  // As after a lost lease, the call counts as an attempt. The next call checks whether the item is still wanted.
  if (!trust.holds) return again(item, SEND_AGAIN_MS, attempt + 1, worked);
  const error = end.kind === 'threw' ? end.error : describeAbort(aborter, end, coordinator.redact);
  report.log(
    'warn',
    `job "${job.spec.name}", item ${String(input.index)}, attempt ${String(attempt)}: ${error.message}`,
  );
  const retryable = end.kind === 'aborted' || end.retryable;
  if (retryable && attempt < retry.attempts) {
    return again(item, backoff(retry, attempt, coordinator.random()), attempt + 1, worked);
  }
  return finish(item, { state: 'failed', error, ...facts });
}

async function callItem(
  item: Item,
  runInput: unknown,
  log: AttemptLog,
  aborter: Aborter,
): Promise<ItemCall | 'notCalled'> {
  const { coordinator, report, job, handler, input, trust } = item;
  const { clock, settings, concurrencyLimit } = coordinator;
  const { functionTimeoutMs } = settings;
  const { name, timeoutMs, stallAfterMs, graceMs } = job.spec;
  const what = `item ${String(input.index)} of job "${name}"`;
  const fence = createFence(name, input.token as Token, trust, keptFromHandlers(coordinator));
  const stopWatching = keepChecking(item, trust, aborter);
  const began = clock.monotonic();
  const limit = Math.min(handler.policy.itemTimeoutMs ?? timeoutMs ?? Infinity, functionTimeoutMs - graceMs);
  const rank = startRank(job.spec, parseRecordKey(input.key)?.scheduledFor ?? 0, input.isBackfilled === true);
  const patience = { signal: aborter.signal, atMostMs: patienceOf(settings, limit + graceMs, 0) };
  let permit: Permit | undefined;
  try {
    permit = await concurrencyLimit?.take(rank, patience);
    if (aborter.signal.aborted) {
      const aborted = await aborter.aborted;
      // Only an item that is no longer wanted is over: any other one is sent again.
      return aborted.code === 'leaseLost' ? 'notCalled' : aborted;
    }
    // This process may have stood still while it waited.
    if (concurrencyLimit !== undefined && (permit === undefined || !trust.holds)) return 'notCalled';
    const { telemetry = NO_TELEMETRY } = coordinator;
    const { index, attempt } = input;
    const span = telemetry.begin('item', { job: job.spec, key: input.key }, { invocation: report.invocation });
    const calledAt = clock.monotonic();
    const leftMs = functionTimeoutMs - (calledAt - began);
    const bounds: Bounds = { what, ends: timeoutWithin(limit, { leftMs, graceMs }, what), stallAfterMs, graceMs };
    noteItem(coordinator, input, { state: 'running', attempt: input.attempt });
    const { ms = 0, since = coordinator.serviceTime.now() } = input.worked ?? {};
    const end = await span.within(() =>
      callBounded(clock, aborter, bounds, (alive) => {
        const parts = { aborter, fence, log, traceparent: span.traceparent, alive };
        const context = itemContext(name, input, parts, { report, redact: coordinator.redact });
        const planned: unknown = JSON.parse(input.item);
        return callHandler(
          name,
          fence,
          () => handler.each(context, planned as never, runInput as never),
          coordinator.redact,
        );
      }),
    );
    span.end({ item: index, attempt, result: end.kind, isError: end.kind !== 'returned' });
    return { ...end, worked: { ms: ms + Math.round(clock.monotonic() - calledAt), since } };
  } finally {
    permit?.giveBack();
    stopWatching();
    fence.close();
  }
}

function warnOfChanges({ report, job, input, coordinator }: Item, changes: readonly string[]): void {
  const { redact = redactNothing } = coordinator;
  const what = redact(changes, Infinity).join('; ');
  report.log('warn', `job "${job.spec.name}", item ${String(input.index)}: gather gets its result changed: ${what}`);
}

export function itemContext(
  job: JobName,
  { key, index, attempt, asked }: Pick<ItemInput, 'key' | 'index' | 'attempt' | 'asked'>,
  parts: CallParts,
  place: Parameters<typeof contextOf>[0],
): ItemContext {
  const speaker = { job, runId: runIdOf(job, key), attempt, item: index };
  return {
    ...contextOf(place, parts, speaker, asked?.rerunOf ?? parseRecordKey(key)?.scheduledFor ?? 0),
    index,
  };
}

/** A call that blocked its process for long returns without trust. Its result counts if its run still waits for it. */
async function finishLate(item: Item, end: ItemEnd): Promise<ItemResult> {
  if (item.trust.holds) return finish(item, end);
  const found = await checkItem(item);
  if (found.kind === 'unwanted') return { kind: 'item', state: 'stopped' };
  if (found.kind === 'held') return again(item, SEND_AGAIN_MS);
  return finish({ ...item, trust: trustFrom(item, found) }, end);
}

/** Stores the item's end. Of two ends the first one stands. */
async function finish(item: Item, end: ItemEnd): Promise<ItemResult> {
  const answer = await createPiece(item, itemPiece(item.input.index), {
    body: JSON.stringify(end),
    summary: itemSummary(end),
  });
  // The stored end may be our own, after a lost answer, or another call's.
  const stands = answer === 'created' ? end : await storedEnd(item);
  return afterEnd(item, stands ?? end);
}

/** Stops the other items where one failure ends the run. */
async function afterEnd(item: Item, end: ItemEnd): Promise<ItemResult> {
  if (end.state !== 'failed' || item.handler.policy.onItemFailure !== 'failFast')
    return { kind: 'item', state: 'done' };
  await createPiece(item, STOP_PIECE, { body: '{}', summary: {} });
  return { kind: 'item', state: 'stopped' };
}

function createPiece(
  item: Item,
  piece: string,
  record: Parameters<PieceStore['createPiece']>[3],
): ReturnType<PieceStore['createPiece']> {
  const { job, input } = item;
  return askWhileTrusted(item)((store, signal) =>
    store.createPiece(job.spec.name, input.key, piece, record, { signal }),
  );
}

async function storedEnd(item: WantedItem): Promise<ItemEnd | undefined> {
  const { job, key, index } = item.input;
  const name = itemPiece(index);
  const body = await calling(item, (store, signal) => store.readPiece(job as JobName, key, name, { signal }));
  if (body === undefined) return undefined;
  const end = parseItemEnd(body);
  if (end === undefined) throw new ForeignRecordError(`"${name}" of run ${key} of job "${job}" is none of cronlease's`);
  return end;
}
