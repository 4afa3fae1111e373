import type { EpochMs, Millis } from '../core/brand';
import { sleep } from '../core/clock';
import type { Control } from '../core/control';
import { decodeControl, NO_CONTROL, pauseAt, pendingRequests } from '../core/control';
import { waitingSince } from '../core/decide';
import type { Reason, Trigger } from '../core/fate';
import { actualTime } from '../core/job';
import { runIdOf } from '../core/key';
import { isObject } from '../core/metadata';
import type { RecordedError } from '../core/record';
import type { AbortCode, AttemptEnd } from '../core/run';
import type { ClosableFence } from '../lease/fence';
import type { Coordinator, Report } from './coordinator';
import { AttemptAbortedError, NonRetryableError } from './handler';
import type { JobContext, JobLog } from './handler';
import type { Held } from './held';
import { ask } from './held';
import { previousRun } from './previous';

/** What a handler returns may have this many bytes as JSON. */
export const RESULT_LIMIT = 32 * 1024;
/** A stack in the ledger is cut to this many characters. */
const STACK_LIMIT = 8 * 1024;
/** Handlers get this long to obey when their instance is shut down, whatever their grace. */
const DRAIN_GRACE_MS = 1_000;
/** A leader job's term ends this long before the host would end it. */
const TERM_RESERVE_MS = 30_000;
/** A control record that could not be read is read again after this long. */
const READ_AGAIN_MS = 1_000;

/** How the handler's part of an attempt went. */
export interface Execution {
  readonly end: AttemptEnd;
  /** When the handler started; undefined when it was not called. */
  readonly startedAt: EpochMs | undefined;
  readonly endedAt: EpochMs;
  readonly result?: unknown;
  readonly error: RecordedError | null;
}

/** Aborts an attempt; the first reason counts. */
export interface Aborter {
  readonly signal: AbortSignal;
  abort(code: AbortCode, reason: Reason, message: string): void;
  readonly aborted: Promise<Extract<AttemptEnd, { kind: 'aborted' }>>;
}

export function createAborter(): Aborter {
  const controller = new AbortController();
  let settle: (end: Extract<AttemptEnd, { kind: 'aborted' }>) => void = () => undefined;
  const aborted = new Promise<Extract<AttemptEnd, { kind: 'aborted' }>>((resolve) => {
    settle = resolve;
  });
  return {
    signal: controller.signal,
    aborted,
    abort(code, reason, message) {
      if (controller.signal.aborted) return;
      settle({ kind: 'aborted', code, reason });
      controller.abort(new AttemptAbortedError(code, message));
    },
  };
}

/**
 * Holds the handler back until its due time, calls it, and waits for the first thing that ends the attempt: the
 * handler, or its signal. A handler that ignores its signal is not waited for longer than the grace.
 */
export async function execute(
  coordinator: Coordinator,
  held: Held,
  fence: ClosableFence,
  aborter: Aborter,
  trigger: Trigger,
  report: Report,
): Promise<Execution> {
  const { clock, serviceTime } = coordinator;
  const due = held.row.run?.trigger === 'schedule' ? dueTime(held) : 0;
  await holdBack(coordinator, due, aborter.signal);
  // This process may have stood still since its claim, and the run be somebody else's, or over, by now.
  if (!held.trust.holds) aborter.abort('leaseLost', 'leaseLost', 'the lease ran out before the handler was called');
  if (aborter.signal.aborted) {
    return { end: await aborter.aborted, startedAt: undefined, endedAt: serviceTime.now(), error: null };
  }

  const startedAt = serviceTime.now();
  reportStart(held, startedAt, report);
  const stall = stallTimer(coordinator, held, aborter);
  const cancelTimeout = timeoutTimer(coordinator, held, aborter);
  const context = contextFor(coordinator, held, fence, aborter, trigger, startedAt, stall.progress, report);
  const handled = callHandler(held, context);
  const first = await Promise.race([handled, aborter.aborted]);
  cancelTimeout();
  stall.cancel();

  if (first.kind === 'aborted' && first.code !== 'leaseLost') {
    const grace = first.code === 'draining' ? DRAIN_GRACE_MS : held.job.spec.graceMs;
    const waiting = new AbortController();
    await Promise.race([
      handled.then(() => {
        waiting.abort();
      }),
      sleep(clock, grace, waiting.signal),
    ]);
  }
  const endedAt = serviceTime.now();
  // Settling costs this process some work: handlers that are due at the same instant start first.
  await sleep(clock, 0);
  return { ...toExecution(first, aborter), startedAt, endedAt };
}

type Handled =
  | { readonly kind: 'returned'; readonly result: unknown }
  | { readonly kind: 'threw'; readonly retryable: boolean; readonly reason: Reason; readonly error: RecordedError };

function toExecution(
  first: Handled | Extract<AttemptEnd, { kind: 'aborted' }>,
  aborter: Aborter,
): Pick<Execution, 'end' | 'error' | 'result'> {
  switch (first.kind) {
    case 'returned':
      return { end: { kind: 'returned' }, result: first.result, error: null };
    case 'threw':
      return { end: { kind: 'threw', retryable: first.retryable, reason: first.reason }, error: first.error };
    case 'aborted':
      return { end: first, error: describeError(aborter.signal.reason) };
  }
}

/** Never rejects: what the handler throws is an answer. */
async function callHandler(held: Held, context: JobContext): Promise<Handled> {
  try {
    // The input came out of this very handler's schema when the app started.
    const value = await held.job.handler.run(context, held.job.input as never);
    return checkResult(held.job.spec.name, value);
  } catch (thrown) {
    const final = thrown instanceof NonRetryableError || (isObject(thrown) && thrown['code'] === 'NonRetryable');
    const reason = final ? 'nonRetryable' : 'handlerError';
    return { kind: 'threw', retryable: !final, reason, error: describeError(thrown) };
  }
}

/** A result that the ledger cannot hold is an error of the handler, and trying again would not mend it. */
function checkResult(job: string, value: unknown): Handled {
  if (value === undefined) return { kind: 'returned', result: undefined };
  const refuse = (problem: string): Handled => ({
    kind: 'threw',
    retryable: false,
    reason: 'invalidResult',
    error: { name: 'InvalidResultError', message: `the handler of job "${job}" returned ${problem}` },
  });
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    const [problem] = describeError(error).message.split('\n');
    return refuse(`what is not JSON (${String(problem)}): return plain data, or nothing`);
  }
  if (json === undefined) return refuse(`a ${typeof value}, which is not JSON: return plain data, or nothing`);
  const bytes = Buffer.byteLength(json);
  if (bytes > RESULT_LIMIT) {
    return refuse(
      `${String(bytes)} bytes of JSON, more than ${String(RESULT_LIMIT)}: write it to a blob, return its name`,
    );
  }
  return { kind: 'returned', result: JSON.parse(json) };
}

/** What was thrown, Error or not, as the ledger keeps it. */
export function describeError(thrown: unknown): RecordedError {
  // Where an attempt was aborted from is no news.
  if (thrown instanceof AttemptAbortedError) return { name: thrown.name, message: thrown.message };
  if (thrown instanceof Error) {
    const stack = thrown.stack === undefined ? {} : { stack: thrown.stack.slice(0, STACK_LIMIT) };
    return { name: thrown.name, message: thrown.message.slice(0, STACK_LIMIT), ...stack };
  }
  return { name: 'NotAnError', message: `thrown: ${printable(thrown)}`.slice(0, STACK_LIMIT) };
}

function printable(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    // Circular, or with a getter that throws: its type is all that can be said safely.
    return Object.prototype.toString.call(value);
  }
}

function dueTime(held: Held): EpochMs {
  const { run } = held.row;
  return run === undefined ? 0 : actualTime(held.job.spec, run.scheduledFor);
}

async function holdBack(coordinator: Coordinator, due: EpochMs, signal: AbortSignal): Promise<void> {
  // Node's timers may fire 1 ms early, and the clock may be corrected meanwhile: look again after waiting.
  for (let left = due - coordinator.serviceTime.now(); left > 0; left = due - coordinator.serviceTime.now()) {
    await sleep(coordinator.clock, left, signal);
    if (signal.aborted) return;
  }
}

function reportStart(held: Held, startedAt: EpochMs, report: Report): void {
  const { run } = held.row;
  if (run === undefined) return;
  const due = run.trigger === 'manual' ? run.scheduledFor : dueTime(held);
  report.event({
    event: 'started',
    at: startedAt,
    ...describeRun(held),
    latenessMs: startedAt - due,
  });
}

/** What every event about a run says of it. */
export function describeRun(held: Held): {
  job: Held['job']['spec']['name'];
  scheduledFor?: EpochMs;
  runId?: string;
  token: number;
  attempt: number;
} {
  const { run, token, attempt } = held.row;
  const { name } = held.job.spec;
  return {
    job: name,
    ...(run === undefined ? {} : { scheduledFor: run.scheduledFor, runId: runIdOf(name, run.key) }),
    token,
    attempt,
  };
}

function timeoutTimer({ clock, settings }: Coordinator, held: Held, aborter: Aborter): () => void {
  const { timeoutMs, graceMs, kind, name } = held.job.spec;
  const hostLimit = settings.functionTimeoutMs - graceMs - TERM_RESERVE_MS;
  if (kind === 'always' && (timeoutMs === undefined || timeoutMs > hostLimit)) {
    return clock.after(hostLimit, () => {
      aborter.abort('draining', 'termEnded', `the term of job "${name}" ends before the host's functionTimeout`);
    });
  }
  if (timeoutMs === undefined) return () => undefined;
  return clock.after(timeoutMs, () => {
    aborter.abort('timedOut', 'timeout', `job "${name}" took longer than its timeout of ${String(timeoutMs / 1000)} s`);
  });
}

function stallTimer(
  { clock }: Coordinator,
  held: Held,
  aborter: Aborter,
): { progress: (note?: string) => void; cancel: () => void } {
  const { stallAfterMs, name } = held.job.spec;
  if (stallAfterMs === undefined) return { progress: () => undefined, cancel: () => undefined };
  const arm = (note: string | undefined): (() => void) =>
    clock.after(stallAfterMs, () => {
      const last = note === undefined ? '' : `; the last was "${note}"`;
      const silence = `job "${name}" reported no progress for ${String(stallAfterMs / 1000)} s`;
      aborter.abort('stalled', 'stallAfter', silence + last);
    });
  let cancel = arm(undefined);
  let over = false;
  return {
    progress: (note) => {
      if (over) return;
      cancel();
      cancel = arm(note);
    },
    cancel: () => {
      over = true;
      cancel();
    },
  };
}

function contextFor(
  coordinator: Coordinator,
  held: Held,
  fence: ClosableFence,
  aborter: Aborter,
  trigger: Trigger,
  startedAt: EpochMs,
  progress: (note?: string) => void,
  report: Report,
): JobContext {
  const { name } = held.job.spec;
  const { row } = held;
  const key = row.run?.key ?? '';
  const { close: _, ...openFence } = fence;
  return {
    job: name,
    scheduledFor: new Date(row.run?.scheduledFor ?? startedAt),
    startedAt: new Date(startedAt),
    runId: runIdOf(name, key),
    attempt: row.attempt,
    trigger,
    signal: aborter.signal,
    fence: openFence,
    progress,
    log: jobLog(report, `[${name}]`),
    previous: () => previousRun(coordinator.store, name, key),
  };
}

export function jobLog(report: Report, prefix: string): JobLog {
  const write =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (...message: unknown[]): void => {
      report.log(level, prefix, ...message);
    };
  return Object.assign(write('info'), {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  });
}

/**
 * Aborts the attempt when people, or the next due time of a job with overlap `cancel`, say so.
 *
 * @returns what takes the news from each renewal, and what stops watching
 */
export function watchForCancel(
  coordinator: Coordinator,
  held: Held,
  aborter: Aborter,
  report: Report,
): { onControl: (control: Control) => void; stop: () => void } {
  const { clock, serviceTime } = coordinator;
  const { spec } = held.job;
  const runId = runIdOf(spec.name, held.row.run?.key ?? '');
  let control: Control | undefined;
  let disarm = (): void => undefined;
  const overlap = (what: string): void => {
    aborter.abort('cancelled', 'overlapCancel', `run ${runId} gives way to ${what}`);
  };
  /** A due time in a pause ends nothing. Before the first renewal nobody has looked whether there is one. */
  const onDue = async (due: EpochMs): Promise<void> => {
    control ??= await currentControl(coordinator, held);
    if (pauseAt(control, actualTime(spec, due)) !== undefined) armFrom(due);
    else overlap(`the due time ${new Date(due).toISOString()}`);
  };
  const armFrom = (after: EpochMs): void => {
    const due = spec.overlap === 'cancel' && spec.enabled ? spec.timetable.next(after) : undefined;
    if (due === undefined || aborter.signal.aborted) return;
    const wait: Millis = actualTime(spec, due) - serviceTime.now();
    disarm = clock.after(Math.max(0, wait), () => {
      if (serviceTime.now() < actualTime(spec, due)) armFrom(due - 1);
      else {
        onDue(due).catch((error: unknown) => {
          report.log('warn', `job "${spec.name}": whether it is paused could not be read:`, error);
          disarm = clock.after(READ_AGAIN_MS, () => {
            armFrom(due - 1);
          });
        });
      }
    });
  };
  armFrom(waitingSince(spec, held.row));
  return {
    onControl: (seen) => {
      control = seen;
      if (seen.cancel === runId)
        aborter.abort('cancelled', 'cancelRequested', `run ${runId} was cancelled by an operator`);
      const request = pendingRequests(seen, held.row.manualTaken)[0];
      if (spec.overlap === 'cancel' && request !== undefined) overlap(`manual request ${request.id}`);
    },
    stop: () => {
      disarm();
    },
  };
}

async function currentControl(coordinator: Coordinator, { job, trust }: Held): Promise<Control> {
  const { control } = await ask(
    coordinator,
    () => trust.remaining(),
    (signal) => coordinator.store.readControl(job.spec.name, { signal }),
  );
  return control === undefined ? NO_CONTROL : decodeControl(control.metadata);
}
