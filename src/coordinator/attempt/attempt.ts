import type { EpochMs, JobName } from '../../core/brand';
import type { Control } from '../../core/control';
import { ITEMS_MARGIN_MS, itemsDeadlineMs } from '../../core/fan-out';
import type { Trigger } from '../../core/fate';
import { attemptHistory } from '../../core/record';
import type { AttemptRecord } from '../../core/record';
import type { RunStep } from '../../core/run';
import { afterAttempt } from '../../core/run';
import { isFanOut } from '../../handler/handlers';
import { untilAnswered } from '../../lease/deadline';
import { createFence } from '../../lease/fence';
import { keepAlive } from '../../lease/keep-alive';
import { StoreError } from '../../lease/store';
import { beginBeats } from '../beat';
import type { Aborter, RunningCall } from '../bounded';
import { createAborter } from '../bounded';
import type { Coordinator, Report } from '../coordinator';
import { CLOCK_RATE_ERROR, describeRun } from '../held';
import type { Held } from '../held';
import type { AttemptInput, AttemptResult, ClaimInput } from '../message';
import { packAttempts, packRow, unpackAttempts, unpackRow } from '../message';
import { renewalAnswers, renewalEnded, renewalTroubled } from '../reachability';
import type { RunEnd } from '../settle';
import { runKey, settle, settleFound, suspend, writeMark } from '../settle';
import { claimAttempt, earlyBy } from './claim';
import type { Claimed } from './claim';
import type { Attempted, Execution } from './execute';
import { execute, watchForCancel } from './execute';
import type { Stage } from './fan-out';
import { fanOutStage, itemLanes, tidier } from './fan-out';
import { runItem } from './item';

/** Earlier attempts travel with the orchestration: their errors are cut shorter than the ledger's, and old ones go. */
const KNOWN_ATTEMPTS = 100;
const KNOWN_LIMIT = 500;

/**
 * One attempt: claims, keeps the lease alive, calls the handler, and settles what becomes of the run. Of two
 * executions of one attempt only one gets past the claim; the other returns `lost` at once.
 */
export async function runAttempt(
  coordinator: Coordinator,
  input: AttemptInput,
  report: Report,
): Promise<AttemptResult> {
  if (input.kind === 'probe') return { kind: 'proven' };
  if (input.kind === 'item') return runItem(coordinator, input, report);
  if (coordinator.stopping) return { kind: 'lost', why: 'this instance is being shut down' };
  const early = earlyBy(coordinator, input);
  if (early > 0) return { kind: 'again', notBefore: coordinator.clock.now() + early, next: input };

  arrived(coordinator, input);
  const aborter = createAborter();
  const attempt = claimAndRun(coordinator, input, aborter, report);
  // From before the claim on: a shutdown that begins while it is made waits for it too.
  const running: RunningCall = { aborter, done: attempt };
  coordinator.running.add(running);
  try {
    return await attempt;
  } finally {
    coordinator.running.delete(running);
  }
}

/** The hub has delivered what this process handed over: nothing is to be given back. */
function arrived({ handOvers }: Coordinator, input: ClaimInput): void {
  const name = input.job as JobName;
  if (input.kind === 'handedOver' && handOvers.get(name)?.leaseId === input.leaseId) handOvers.delete(name);
}

async function claimAndRun(
  coordinator: Coordinator,
  input: ClaimInput,
  aborter: Aborter,
  report: Report,
): Promise<AttemptResult> {
  const claimed = await claimOrLose(coordinator, input);
  if (typeof claimed === 'string') return { kind: 'lost', why: claimed };
  try {
    return await underLease(coordinator, claimed, input, aborter, report);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    // Nothing more is written: the lease runs out, and the next holder finds out from row and record how far it got.
    report.event({ ...eventBase(coordinator, claimed.held), event: 'superseded', reason: 'leaseLost' });
    return { kind: 'lost', why: error.message };
  }
}

async function claimOrLose(coordinator: Coordinator, input: ClaimInput): Promise<Claimed | string> {
  try {
    return await claimAttempt(coordinator, input, coordinator.newId());
  } catch (error) {
    if (error instanceof StoreError) return `the claim could not be made: ${error.message}`;
    throw error;
  }
}

async function underLease(
  coordinator: Coordinator,
  { held, mayNotBeFirst }: Claimed,
  input: ClaimInput,
  aborter: Aborter,
  report: Report,
): Promise<AttemptResult> {
  const cancels = watchForCancel(coordinator, held, aborter, report);
  const alive = keepLease(coordinator, held, aborter, cancels.onControl, report);
  const fence = createFence(held.job.spec.name, held.row.token, held.trust);
  try {
    reportClaim(coordinator, held, input, report);
    const known = input.kind === 'again' ? unpackAttempts(input.known) : [];
    const history = attemptHistory(held.row.past, known);
    const mark = mayNotBeFirst ? await writeMark(coordinator, held, history) : undefined;
    if (mark?.kind === 'superseded') return lost(coordinator, held, 'a higher token has the run', report);
    if (mark?.kind === 'final') {
      if (await settleFound(coordinator, held, mark.record, report)) await release(coordinator, held, alive, report);
      return { kind: 'ended', record: mark.record };
    }
    const end = input.kind === 'handedOver' ? input.end : null;
    const attempted: Attempted = { fence, aborter, trigger: triggerOf(held, input) };
    const isOver = end !== null && !(end.fate === 'timedOut' && isFanOut(held.job.handler));
    const stage: Stage = isOver
      ? { execution: undefined, items: [] }
      : await perform(coordinator, held, attempted, input, report);
    cancels.stop();
    fence.close();
    if (!held.trust.holds) return lost(coordinator, held, 'the lease was lost', report);

    const step = stepOf(coordinator, held, end, stage);
    return await conclude(coordinator, held, { step, stage, history, mark: mark?.etag, alive }, report);
  } finally {
    cancels.stop();
    fence.close();
    alive.stop();
  }
}

/** Calls what the handler has for this attempt. */
async function perform(
  coordinator: Coordinator,
  held: Held,
  attempted: Attempted,
  input: ClaimInput,
  report: Report,
): Promise<Stage> {
  const { handler } = held.job;
  // The input came out of this very handler's schema when the app started.
  const jobInput = held.job.input as never;
  if (!isFanOut(handler)) {
    const execution = await execute(coordinator, held, attempted, (context) => handler.run(context, jobInput), report);
    return { execution, items: [] };
  }
  const afterItems = input.kind === 'again' ? unpackRow(input.row).phase === 'fanning' : input.end !== null;
  const call: Parameters<typeof fanOutStage>[3] = (part) => execute(coordinator, held, attempted, part, report);
  return fanOutStage(coordinator, held, handler, call, afterItems);
}

type Step = RunStep | { readonly kind: 'fanOut' };

function stepOf(
  coordinator: Coordinator,
  held: Held,
  end: Extract<AttemptInput, { kind: 'handedOver' }>['end'],
  { execution, items }: Stage,
): Step {
  if (items.length > 0) return { kind: 'fanOut' };
  if (execution === undefined) {
    return { kind: 'ended', fate: end?.fate ?? 'failed', reason: end?.reason ?? 'holderLost' };
  }
  return afterAttempt(held.job.spec, held.row, execution.end, atLeast(coordinator, held), coordinator.random());
}

/** The time, which a clock that was set back since the claim does not lower. */
function atLeast({ clock, serviceTime }: Coordinator, { claimed }: Held): EpochMs {
  const sinceClaim = (clock.monotonic() - claimed.monotonic) * (1 - CLOCK_RATE_ERROR);
  return Math.max(serviceTime.now(), claimed.date + sinceClaim);
}

/** `takeOver` is said of the attempt that follows a holder's death, and of no other. */
function triggerOf(held: Held, input: AttemptInput): Trigger {
  if (input.kind === 'handedOver' && input.what === 'takeOver') return 'takeOver';
  return held.row.run?.trigger ?? 'schedule';
}

interface Conclusion {
  readonly step: Step;
  readonly stage: Stage;
  readonly history: readonly AttemptRecord[];
  readonly mark: Parameters<typeof settle>[2];
  readonly alive: { stop(): void };
}

/** What becomes of the run, written down; then the lease is let go. */
async function conclude(
  coordinator: Coordinator,
  held: Held,
  conclusion: Conclusion,
  report: Report,
): Promise<AttemptResult> {
  const { step, stage, history, mark, alive } = conclusion;
  const { execution } = stage;
  switch (step.kind) {
    case 'lost':
      return lost(coordinator, held, 'the lease was lost', report);
    case 'ended': {
      const attempts = withAttempt(coordinator, held, history, execution, step.fate);
      const at = execution?.endedAt ?? coordinator.serviceTime.now();
      const end: RunEnd = { fate: step.fate, reason: step.reason, at, result: execution?.result };
      const settled = await settle(coordinator, held, mark, attempts, end, report);
      if (settled.kind === 'superseded') return lost(coordinator, held, "a successor's record stands", report);
      const tidy = isFanOut(held.job.handler) ? await tidier(coordinator, held, report) : undefined;
      if (settled.mayRelease) await release(coordinator, held, alive, report);
      await tidy?.();
      report.event({ ...eventBase(coordinator, held), event: step.fate, reason: step.reason });
      if (execution?.error) logFailure(held, execution, report);
      return { kind: 'ended', record: settled.record };
    }
    case 'goOn': {
      const attempts = await putOff(coordinator, held, conclusion, step, report);
      if (attempts === undefined) return lost(coordinator, held, 'the lease has passed on', report);
      report.event({ ...eventBase(coordinator, held), event: 'retrying', reason: step.reason });
      if (execution?.error) logFailure(held, execution, report);
      // After a shutdown any tick resumes the run: its orchestration ends here.
      if (step.notBefore === 0) return { kind: 'lost', why: 'the instance is being shut down' };
      return { kind: 'again', notBefore: step.notBefore, next: goingOn(held, attempts) };
    }
    case 'fanOut': {
      const { handler } = held.job;
      if (!isFanOut(handler)) throw new Error(`job "${held.job.spec.name}" does not fan out`);
      // A run that was claimed since its items were silent keeps their deadline.
      const deadline = coordinator.serviceTime.now() + itemsDeadlineMs(held.job.spec, handler.policy) + ITEMS_MARGIN_MS;
      const until = Math.min(held.row.notBefore ?? Infinity, deadline);
      const run = { job: held.job.spec.name, key: runKey(held.row), token: held.row.token };
      await beginBeats(coordinator, run, () => held.trust.remaining());
      const next = { outcome: 'planned', notBefore: until } as const;
      const attempts = await putOff(coordinator, held, conclusion, next, report);
      if (attempts === undefined) return lost(coordinator, held, 'the lease has passed on', report);
      report.event({ ...eventBase(coordinator, held), event: 'fannedOut', count: stage.items.length });
      return {
        kind: 'fanOut',
        lanes: itemLanes(held, handler, stage.items, until),
        next: goingOn(held, attempts),
      };
    }
  }
}

/**
 * The run goes on in another attempt: its row says from when, and the lease is let go.
 *
 * @returns the attempts so far; undefined: the lease has passed on, and nothing was written
 */
async function putOff(
  coordinator: Coordinator,
  held: Held,
  { stage: { execution }, history, alive }: Conclusion,
  next: Parameters<typeof suspend>[3],
  report: Report,
): Promise<readonly AttemptRecord[] | undefined> {
  const attempts = withAttempt(coordinator, held, history, execution, next.outcome);
  const current = attemptOf(coordinator, held, execution, next.outcome);
  if (!(await suspend(coordinator, held, current, next, report))) return undefined;
  await release(coordinator, held, alive, report);
  return attempts;
}

/** What the run's own orchestration goes on with. */
function goingOn(held: Held, attempts: readonly AttemptRecord[]): AttemptInput {
  return {
    kind: 'again',
    job: held.job.spec.name,
    etag: held.etag,
    row: packRow(held.row),
    known: packAttempts(attempts.slice(-KNOWN_ATTEMPTS).map(shorten)),
  };
}

function keepLease(
  coordinator: Coordinator,
  held: Held,
  aborter: Aborter,
  onControl: (control: Control) => void,
  report: Report,
): { stop(): void } {
  const { store, clock, random } = coordinator;
  const { leaseId, leaseMs, trust } = held;
  const { name } = held.job.spec;
  let troubles = 0;
  const alive = keepAlive({
    store,
    clock,
    random,
    job: name,
    leaseId,
    leaseMs,
    trust,
    onLost: (why) => {
      aborter.abort('leaseLost', 'leaseLost', why);
    },
    onRenewed: () => {
      troubles = 0;
      renewalAnswers(coordinator, name, report);
    },
    onControl,
    onDate: (date, sent) => {
      coordinator.serviceTime.observe(date, sent);
    },
    onTrouble: (problem) => {
      troubles += 1;
      // One call that is lost is asked again and is no news.
      if (troubles > 1 && problem instanceof StoreError) renewalTroubled(coordinator, name, problem, report);
      else report.log('debug', `job "${name}": renewing its lease:`, problem);
    },
  });
  return {
    stop: () => {
      alive.stop();
      renewalEnded(coordinator, name);
    },
  };
}

/** The attempts of the run, this one included if its handler was called. */
function withAttempt(
  coordinator: Coordinator,
  held: Held,
  history: readonly AttemptRecord[],
  execution: Execution | undefined,
  outcome: AttemptRecord['outcome'],
): readonly AttemptRecord[] {
  const current = attemptOf(coordinator, held, execution, outcome);
  return current === undefined ? history : [...history, current];
}

/** This attempt, if its handler was called. */
function attemptOf(
  coordinator: Coordinator,
  { row }: Held,
  execution: Execution | undefined,
  outcome: AttemptRecord['outcome'],
): (AttemptRecord & { readonly startedAt: string }) | undefined {
  if (execution?.startedAt === undefined) return undefined;
  return {
    attempt: row.attempt,
    token: row.token,
    deployment: coordinator.deployment,
    startedAt: new Date(execution.startedAt).toISOString(),
    endedAt: new Date(execution.endedAt).toISOString(),
    outcome,
    error: execution.error,
  };
}

function shorten(attempt: AttemptRecord): AttemptRecord {
  if (attempt.error === null) return attempt;
  const { name, message, stack } = attempt.error;
  const error = { name: name.slice(0, KNOWN_LIMIT), message: message.slice(0, KNOWN_LIMIT) };
  return { ...attempt, error: stack === undefined ? error : { ...error, stack: stack.slice(0, KNOWN_LIMIT) } };
}

/** A lease that cannot be let go runs out by itself: everything is written by now. */
async function release(coordinator: Coordinator, held: Held, alive: { stop(): void }, report: Report): Promise<void> {
  alive.stop();
  const { name } = held.job.spec;
  try {
    await untilAnswered(
      coordinator,
      () => held.trust.remaining(),
      (signal) => coordinator.store.release(name, held.leaseId, { signal }),
    );
  } catch (error) {
    report.log('warn', `job "${name}": its lease could not be released and will run out:`, error);
  }
}

function reportClaim(coordinator: Coordinator, held: Held, input: AttemptInput, report: Report): void {
  const takeOver = input.kind === 'handedOver' && input.what === 'takeOver';
  report.event({ ...eventBase(coordinator, held), event: takeOver ? 'takenOver' : 'claimed' });
}

function lost(coordinator: Coordinator, held: Held, why: string, report: Report): AttemptResult {
  report.event({ ...eventBase(coordinator, held), event: 'superseded', reason: 'leaseLost' });
  report.log('warn', `job "${held.job.spec.name}": attempt ${String(held.row.attempt)} ends without effect: ${why}`);
  return { kind: 'lost', why };
}

function logFailure(held: Held, execution: Execution, report: Report): void {
  const { error } = execution;
  if (error === null) return;
  report.log(
    'error',
    `job "${held.job.spec.name}", attempt ${String(held.row.attempt)}: ${error.stack ?? `${error.name}: ${error.message}`}`,
  );
}

function eventBase(coordinator: Coordinator, held: Held) {
  return { at: coordinator.serviceTime.now(), ...describeRun(held) };
}
