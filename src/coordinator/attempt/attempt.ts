import type { JobName, LeaseId, Millis } from '../../core/brand';
import { ITEMS_MARGIN_MS } from '../../core/fan-out';
import { given } from '../../core/given';
import { itemTable } from '../../core/item-table';
import { ATTEMPT_LOG } from '../../core/log-entry';
import { orchestrationIn } from '../../core/orchestration';
import { type Trigger, hasRun } from '../../core/outcome';
import { type AttemptLoss, lossNote, lossReason, storeLoss } from '../../core/past-attempt';
import { type AttemptRecord, type LedgerRecord, attemptHistory, tookMs } from '../../core/record';
import { errorTrace, mapTexts } from '../../core/recorded-error';
import type { Row } from '../../core/row';
import { type RunStep, afterAttempt } from '../../core/run';
import { isCall, isOrchestration } from '../../handler/handlers';
import { CALL_LIMIT_MS, within } from '../../lease/deadline';
import { createFence } from '../../lease/fence';
import { StoreDeniedError, StoreError } from '../../lease/store';
import { type Aborter, createAborter } from '../bounded';
import { type Coordinator, type Report, keptFromHandlers } from '../coordinator';
import { whileRunning } from '../drain';
import { membershipOf } from '../groups';
import { type HeldRow, timeOf } from '../held';
import {
  type AgainInput,
  type AttemptInput,
  type AttemptResult,
  type ClaimInput,
  packAttempts,
  packRow,
  unpackAttempts,
  unpackRow,
} from '../message';
import { beginBeats } from '../run-pieces';
import type { RunEnd, StartedAttempt } from '../settle';
import { type ClaimResult, type Span, UNTRACED } from '../telemetry';
import { ping, untilSent } from '../tell';
import { type AttemptLog, NO_LOG, createAttemptLog } from './attempt-log';
import { type Claimed, claimAttempt, earlyBy } from './claim';
import { type Left, type Stage, leftoversOf } from './fan-out';
import { keepEnd, untilOthersStopped } from './orchestration';
import { type End, perform, performEnd, waitsForOthers } from './perform';
import { type HandlerCall, watchForCancel } from './run-handler';
import type { Attempt } from './waits';

/** The orchestration's input holds at most this many earlier attempts, their errors cut shorter than in the ledger. */
const KNOWN_ATTEMPTS = 100;
const KNOWN_LIMIT = 500;
/** How long an attempt waits for its notices to be sent. After that they are sent beside other work, or by a sweep. */
const SENDS_WITHIN_MS: Millis = 3_000;

/**
 * One attempt: claims, keeps the lease alive, calls the handler, and ends the run or leaves it to a later attempt. Of
 * two executions of one attempt only one gets past the claim; the other returns `lost` at once.
 */
export async function runAttempt(coordinator: Coordinator, input: ClaimInput, report: Report): Promise<AttemptResult> {
  const notKept = await keepEnd(coordinator, input, report);
  if (notKept !== undefined) return notKept;
  if (coordinator.stopping) return { kind: 'lost', why: 'this instance is being shut down' };
  const early = earlyBy(coordinator, input);
  if (early > 0) return { kind: 'again', notBefore: coordinator.clock.now() + early, next: input };

  arrived(coordinator, input);
  const aborter = createAborter();
  // Registered before the claim is made: a shutdown that begins meanwhile waits for it too.
  return whileRunning(coordinator, aborter, claimAndRun(coordinator, input, aborter, report));
}

async function claimAndRun(
  coordinator: Coordinator,
  input: ClaimInput,
  aborter: Aborter,
  report: Report,
): Promise<AttemptResult> {
  const span = beginSpan(coordinator, input, report);
  let result: AttemptResult | 'error' = 'error';
  let row: Row | undefined;
  try {
    const claimed = await claimOrLose(coordinator, input, report, span);
    if (typeof claimed === 'string') return (result = { kind: 'lost', why: claimed });
    ({ row } = claimed.held);
    return (result = await runClaimed(claimed, input, aborter, span));
  } finally {
    const name = resultOf(result);
    const isError = name === 'error' || FAILED.has(name);
    span.end({ result: name, isError, ...(row && { attempt: row.attempt, token: row.token }) });
  }
}

/** The attempt's span, from the arrival of its message, which is not even read if nothing is traced. */
function beginSpan({ telemetry, jobs }: Coordinator, input: ClaimInput, { invocation }: Report): Span {
  const job = jobs.get(input.job as JobName)?.spec;
  const key = telemetry === undefined || job === undefined ? undefined : unpackRow(input.row).run?.key;
  if (telemetry === undefined || job === undefined || key === undefined) return UNTRACED;
  const run = { job, key };
  if (input.kind === 'handedOver' && input.sent !== undefined) telemetry.arrived(run, input.sent);
  return telemetry.begin('attempt', run, { invocation });
}

const FAILED: ReadonlySet<string> = new Set(['failed', 'timedOut', 'stalled', 'retrying']);

function resultOf(result: AttemptResult | 'error'): string {
  if (result === 'error') return result;
  switch (result.kind) {
    case 'ended': {
      const { outcome } = result.record;
      return hasRun(outcome) ? outcome : 'notRun';
    }
    case 'again':
      return 'retrying';
    case 'fanOut':
    case 'orchestrate':
      return 'planned';
    case 'lost':
    case 'item':
    case 'proven':
      return result.kind;
  }
}

/** The hub has delivered what this process handed over: it need not be given back. */
function arrived({ clock, serviceTime, handOvers }: Coordinator, input: ClaimInput): void {
  if (input.kind !== 'handedOver') return;
  const ageMs = serviceTime.now() - input.acquiredAt;
  handOvers.arrived(input.job as JobName, input.leaseId as LeaseId, ageMs, clock.monotonic());
}

async function claimOrLose(
  coordinator: Coordinator,
  input: ClaimInput,
  report: Report,
  attemptSpan: Span,
): Promise<Claimed | string> {
  const span = attemptSpan.begin('claim');
  let result: ClaimResult = 'unknown';
  try {
    const claimed = await claimAttempt(coordinator, input, coordinator.newId(), report);
    result = typeof claimed === 'string' ? 'lost' : 'won';
    return claimed;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    result = 'lost';
    return `the claim could not be made: ${error.message}`;
  } finally {
    span.end({ result });
    const name = input.job as JobName;
    if (coordinator.jobs.has(name)) coordinator.telemetry?.claimed(name, 'claim', result);
  }
}

async function runClaimed(claimed: Claimed, input: ClaimInput, aborter: Aborter, span: Span): Promise<AttemptResult> {
  try {
    return await underLease(claimed, input, aborter, span);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    // Nothing more is written: the lease expires, and the next holder reads from row and record how far the run got.
    await superseded(claimed.held, error instanceof StoreDeniedError ? { kind: 'refused' } : undefined);
    const { report, job } = claimed.held;
    report.log(
      'error',
      `job "${job.spec.name}": the end of its run could not be stored before its lease ended:`,
      error,
    );
    return { kind: 'lost', why: error.message };
  }
}

async function underLease(
  { held, mayNotBeFirst }: Claimed,
  input: ClaimInput,
  aborter: Aborter,
  span: Span,
): Promise<AttemptResult> {
  const controls = watchForCancel(held, aborter);
  let handlerOver = false;
  const stopRenewing = held.keepAlive({
    onLost: (why) => aborter.abort('leaseLost', lossReason(held.trust.lost?.loss), why),
    onControl: controls.saw,
    isOver: () => handlerOver,
  });
  const fence = createFence(held.job.spec.name, held.row.token, held.trust, keptFromHandlers(held.coordinator));
  const log = logOf(held);
  const membership = membershipOf(held, mayNotBeFirst && waitsForOthers(held));
  /** The items of the run are at work under it. */
  let keepsPlace = false;
  try {
    held.event(isTakeOver(input) ? 'takenOver' : 'claimed');
    const known = input.kind === 'again' ? unpackAttempts(input.known) : [];
    const history = attemptHistory(held.row.past, known);
    const mark = mayNotBeFirst ? await held.mark(history) : undefined;
    if (mark?.kind === 'superseded') return await lost(held, 'a higher token has the run');
    if (mark?.kind === 'final') {
      await held.settleFound(mark.record);
      traceFound(held, mark.record);
      return ended(mark.record);
    }
    const end = input.kind === 'handedOver' ? input.end : null;
    // A run whose items ran out of time still reads its pieces: all items may be done by now.
    const isOver = end !== null && !(end.outcome === 'timedOut' && waitsForOthers(held));
    const attempt: Attempt = { held, fence, aborter, trigger: triggerOf(held, input), log, span, membership, controls };
    const stage = isOver ? await performEnd(attempt, input, end) : await perform(attempt, input);
    handlerOver = true;
    controls.stop();
    fence.close();
    keepsPlace = stage.left !== undefined;
    if (!keepsPlace) void membership.leave();
    if (!held.trust.holds) return await lost(held, 'the lease was lost');

    const settling = span.begin('settle');
    return await conclude(held, stepOf(held, end, stage), { stage, history, log }).finally(() => settling.end());
  } finally {
    controls.stop();
    fence.close();
    log.stop();
    stopRenewing();
    // An invocation that has ended may be frozen with its process.
    if (!keepsPlace) await membership.leave();
  }
}

/** The log that only this attempt writes: no other claim has its token. */
function logOf({ coordinator, report, trust, job: { spec }, key, row }: HeldRow): AttemptLog {
  if (spec.logs === 'none') return NO_LOG;
  const place = { coordinator, report, trust, job: spec.name, key, name: () => String(row.token) };
  return createAttemptLog({ ...place, speaker: { attempt: row.attempt }, limits: ATTEMPT_LOG });
}

type Step = RunStep | { readonly kind: 'left'; readonly left: Left };

function stepOf(held: HeldRow, end: End | null, stage: Stage): Step {
  const { handlerCall, left } = stage;
  if (left !== undefined) return { kind: 'left', left };
  if (handlerCall === undefined) {
    return { kind: 'ended', outcome: end?.outcome ?? 'failed', reason: end?.reason ?? 'holderLost' };
  }
  return afterAttempt(held.job.spec, held.row, handlerCall.end, timeOf(held), held.coordinator.random());
}

function isTakeOver(input: AttemptInput): boolean {
  return input.kind === 'handedOver' && input.what === 'takeOver';
}

/** Only the attempt that follows a holder's death has `takeOver`; its retries have the run's own trigger. */
function triggerOf(held: HeldRow, input: AttemptInput): Trigger {
  return isTakeOver(input) ? 'takeOver' : (held.row.run?.trigger ?? 'schedule');
}

/** What there is to store of an attempt that is over. */
interface Attempted {
  readonly stage: Stage;
  readonly history: readonly AttemptRecord[];
  readonly log: AttemptLog;
}

async function conclude(held: HeldRow, step: Step, attempted: Attempted): Promise<AttemptResult> {
  switch (step.kind) {
    case 'lost':
      return lost(held, 'the lease was lost');
    case 'ended':
      return endRun(held, attempted, step);
    case 'retry':
      return putOff(held, attempted, step, (next) => {
        held.event('retrying', { reason: step.reason });
        logFailure(held, attempted.stage);
        // After a shutdown any tick resumes the run: its orchestration ends here.
        if (step.notBefore === 0) return { kind: 'lost', why: 'the instance is being shut down' };
        return { kind: 'again', notBefore: step.notBefore, next };
      });
    case 'left':
      return leave(held, attempted, step.left);
  }
}

async function endRun(
  held: HeldRow,
  { stage, history, log }: Attempted,
  { outcome, reason }: Extract<Step, { kind: 'ended' }>,
): Promise<AttemptResult> {
  const { handlerCall } = stage;
  const at = handlerCall?.endedAt ?? timeOf(held);
  const { handler } = held.job;
  // The next run must not begin beside activities of an orchestration that this one leaves.
  if (isOrchestration(handler) && held.row.attempt > 1 && stage.hasEnded !== true) await untilOthersStopped(held);
  // With an earlier file, the job may have fanned out, or been an orchestration.
  const hasPlanned = held.row.past.some(({ outcome: how }) => how === 'planned');
  // The first attempt of a call without an operation leaves nothing.
  const hasCalled = isCall(handler) && (stage.hasKept === true || held.row.attempt > 1);
  const hasLeft = waitsForOthers(held) || hasPlanned || hasCalled;
  const leftovers = hasLeft ? leftoversOf(held) : undefined;
  // A run that ends without its handler has not listed its pieces: it lists them once, before its record.
  const pieces = stage.pieces ?? (await leftovers?.list()) ?? [];
  const run = { job: held.job.spec.name, scheduledFor: held.row.run?.scheduledFor ?? 0 };
  const end: RunEnd = {
    outcome,
    reason,
    at,
    result: handlerCall?.result,
    ...given({ resultChanges: handlerCall?.resultChanges, items: itemTable(pieces) }),
    ...(await log.conclude()),
    ...(isOrchestration(handler) && orchestrationIn(pieces, run)),
  };
  const own = hasRun(outcome) ? attemptOf(held, handlerCall, outcome) : undefined;
  const beforeRelease = stage.pieces === undefined ? undefined : async () => void (await leftovers?.list());
  const record = await held.settle(own === undefined ? history : [...history, own], end, beforeRelease);
  if (record === undefined) return await lost(held, "a successor's record stands");
  // Before the pieces of thousands of items are deleted, during which this process may be shut down.
  tellEnd(held, record, { outcome, reason, at });
  if (hasRun(outcome)) ping(held.coordinator, held.job.spec, outcome === 'succeeded' ? 'success' : 'fail', held.report);
  await leftovers?.remove();
  // The lease is released. An invocation that has ended may be frozen with its process.
  await untilSent(held.coordinator, held.job.spec.name, SENDS_WITHIN_MS);
  logFailure(held, stage);
  return ended(record);
}

/** Durable has no use for the items, and a large answer takes its own blob. */
function ended(whole: LedgerRecord): AttemptResult {
  const { items: _, ...record } = whole;
  return { kind: 'ended', record };
}

function tellEnd(
  held: HeldRow,
  record: LedgerRecord,
  { outcome, reason, at }: Pick<RunEnd, 'outcome' | 'reason' | 'at'>,
): void {
  const { coordinator, job, key, row } = held;
  const trigger = row.run?.trigger ?? 'schedule';
  const took = tookMs(record);
  held.event(outcome, {
    reason,
    trigger,
    ...(took !== undefined && { durationMs: took }),
  });
  const since = row.run?.since ?? at;
  const end = { outcome: hasRun(outcome) ? outcome : null, reason, trigger, since, attempts: row.attempt };
  coordinator.telemetry?.ended({ job: job.spec, key }, end);
}

/**
 * Sends the span of a run that was found ended: its holder may have died before it sent the same one. If it has not,
 * the span comes twice, with the same ids and times.
 */
function traceFound({ coordinator, job, key, row }: HeldRow, record: LedgerRecord): void {
  const { reason, trigger, endedAt, claimedAt } = record;
  if (reason === null || endedAt === null) return;
  const at = Date.parse(endedAt);
  const since = claimedAt === null ? (row.run?.since ?? at) : Date.parse(claimedAt);
  const outcome = hasRun(record.outcome) ? record.outcome : null;
  const end = { outcome, reason, trigger: trigger ?? 'schedule', since, at, attempts: record.attempts.length };
  coordinator.telemetry?.ended({ job: job.spec, key }, end);
}

/** Leaves the run to others, which are at work for it from here on. */
async function leave(held: HeldRow, attempted: Attempted, { count, deadlineMs, answer }: Left): Promise<AttemptResult> {
  // A run that was claimed since they were silent keeps their deadline.
  const until = Math.min(held.row.notBefore ?? Infinity, timeOf(held) + deadlineMs + ITEMS_MARGIN_MS);
  await beginBeats(held);
  return putOff(held, attempted, { outcome: 'planned', notBefore: until }, (next) => {
    held.event('fannedOut', { count });
    return answer(until, next);
  });
}

/**
 * Leaves the run to another attempt. If another holder has the row, nothing is written, and this attempt is lost.
 *
 * @param then makes the answer of this attempt from the input of the next one
 */
async function putOff(
  held: HeldRow,
  { stage: { handlerCall }, history, log }: Attempted,
  next: Parameters<HeldRow['suspend']>[1],
  then: (next: AgainInput) => AttemptResult,
): Promise<AttemptResult> {
  const own = attemptOf(held, handlerCall, next.outcome);
  const attempts = own === undefined ? history : [...history, own];
  // The row does not wait for the log.
  const [isSuspended] = await Promise.all([held.suspend(own, next), log.finish()]);
  if (!isSuspended) return lost(held, 'the lease has passed on');
  const known = packAttempts(attempts.slice(-KNOWN_ATTEMPTS).map(shorten));
  return then({ kind: 'again', job: held.job.spec.name, etag: held.etag, row: packRow(held.row), known });
}

/** This attempt, if its handler was called. */
function attemptOf(
  { coordinator, row }: HeldRow,
  handlerCall: HandlerCall | undefined,
  outcome: AttemptRecord['outcome'],
): StartedAttempt | undefined {
  if (handlerCall?.startedAt === undefined) return undefined;
  return {
    attempt: row.attempt,
    token: row.token,
    deployment: coordinator.deployment,
    startedAt: new Date(handlerCall.startedAt).toISOString(),
    ...given({
      waitedForGroupMs: handlerCall.waitedForGroupMs,
      waitedForConcurrencyMs: handlerCall.waitedForConcurrencyMs,
    }),
    endedAt: new Date(handlerCall.endedAt).toISOString(),
    outcome,
    error: handlerCall.error,
  };
}

function shorten(attempt: AttemptRecord): AttemptRecord {
  if (attempt.error === null) return attempt;
  let left = 3 * KNOWN_LIMIT;
  const cut = (text: string): string => {
    const kept = text.slice(0, Math.min(KNOWN_LIMIT, left));
    left -= kept.length;
    return kept;
  };
  return { ...attempt, error: mapTexts(attempt.error, cut) };
}

async function lost(held: HeldRow, found: string): Promise<AttemptResult> {
  const { name } = held.job.spec;
  const why = held.trust.lost?.why ?? found;
  await superseded(held, undefined);
  held.report.log('warn', `job "${name}": attempt ${String(held.row.attempt)} ends without effect: ${why}`);
  return { kind: 'lost', why };
}

/**
 * Reports that the attempt ends without effect. Without a lease it may write neither row nor record, so the reason
 * reaches the ledger with the next claim of the run, if this process makes it. Otherwise a note keeps it.
 */
async function superseded(held: HeldRow, supposed: AttemptLoss | undefined): Promise<void> {
  const { coordinator, job, row, trust } = held;
  const loss = trust.lost?.loss ?? supposed;
  if (loss !== undefined) coordinator.losses.set(job.spec.name, { token: row.token, loss });
  held.event('superseded', { reason: lossReason(loss) });
  if (coordinator.stopping) return;
  await held.lookAfterLost();
  if (loss !== undefined) await noteLoss(held, loss);
}

function logFailure({ job, row, report }: HeldRow, { handlerCall }: Stage): void {
  if (handlerCall === undefined || handlerCall.error === null) return;
  report.log('error', `job "${job.spec.name}", attempt ${String(row.attempt)}: ${errorTrace(handlerCall.error)}`);
}

/**
 * Notes why the attempt lost its lease, for the commands that show its run. Without a lease it may write neither row
 * nor record, so the note is its own log. No other attempt has its token.
 */
async function noteLoss({ coordinator, job, key, row, report }: HeldRow, loss: AttemptLoss): Promise<void> {
  // Storage that refused the renewals would refuse this too.
  if (loss.kind === 'refused') return;
  const { store, clock } = coordinator;
  const { name } = job.spec;
  const note = lossNote(row.token);
  const text = storeLoss(loss);
  try {
    await within(clock, CALL_LIMIT_MS, (signal) => store.createLog(name, key, note, { signal }));
    await within(clock, CALL_LIMIT_MS, (signal) => store.appendLog(name, key, note, { text, at: 0 }, { signal }));
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    report.log('debug', `job "${name}": the reason why attempt ${String(row.attempt)} was lost is not noted:`, error);
  }
}
