import type { EpochMs, JobName, Millis } from '../../core/brand';
import { sleep } from '../../core/clock';
import { controlOf, pauseAt, pendingManualRuns } from '../../core/control';
import { waitingSince } from '../../core/decide/unfinished';
import { given } from '../../core/given';
import { TERM_RESERVE_MS, actualTime } from '../../core/job';
import { parseRecordKey, recordKey, runIdOf } from '../../core/key';
import { type LogLevel, lineOf } from '../../core/log-entry';
import { SCHEDULED } from '../../core/origin';
import type { Reason } from '../../core/outcome';
import type { LedgerRecord } from '../../core/record';
import { type RecordedError, redactError } from '../../core/recorded-error';
import { type Redact, redactJson, redactNothing } from '../../core/redact';
import { dueOf } from '../../core/row';
import type { AttemptEnd } from '../../core/run';
import { type JobContext, type JobLog, checkProgress } from '../../handler/handler';
import { isCall, isOrchestration } from '../../handler/handlers';
import type { ClosableFence } from '../../lease/fence';
import {
  type Aborter,
  type Bounds,
  type Ended,
  type Handled,
  callBounded,
  createAborter,
  timeoutAfter,
  timeoutWithin,
} from '../bounded';
import type { Report, Speaker } from '../coordinator';
import { type AnytimeStore, type HeldRow, handlerDue, timeOf } from '../held';
import { readUnlessForeign, recordPages } from '../ledger';
import { noteStart } from '../reachability';
import { ping } from '../tell';
import { type AttemptLog, textOf } from './attempt-log';
import { callHandler, describeAbort } from './call-handler';
import {
  type Attempt,
  PAUSED,
  type SeenControl,
  type SeenControls,
  type Turn,
  waitForDue,
  waitForTurn,
  waitUntil,
} from './waits';

/** The most records to read: after so many due times without a run, an older run is not worth the search. */
const RECORDS_AT_MOST = 1_000;

/** A call needs so much grace at least, to end its operation: the next attempt would call beside it. */
const CALL_GRACE_MS: Millis = 3_000;

/** The longest wait between two readings of the clock while the next due time is waited for. */
const ARMED_AT_MOST_MS = 30_000;
/** The wait before a control record that could not be read is read again. */
const READ_AGAIN_MS = 1_000;

/** The handler's part of an attempt, once it is over. */
export interface HandlerCall {
  readonly end: AttemptEnd;
  /** When the handler started; undefined when it was not called. */
  readonly startedAt: EpochMs | undefined;
  /** How long it waited for a place in its group, and for the concurrency limit, if it did. */
  readonly waitedForGroupMs?: Millis;
  readonly waitedForConcurrencyMs?: Millis;
  readonly endedAt: EpochMs;
  readonly result?: unknown;
  /** Values in the result that JSON cannot represent. */
  readonly resultChanges?: readonly string[];
  readonly error: RecordedError | null;
}

/**
 * Waits until the due time, for a place in the job's group and for the concurrency limit, calls the handler, and waits
 * until it returns or its signal is aborted. A handler that ignores its signal gets no more time than the grace.
 *
 * @param call calls the handler
 */
export async function runHandler(attempt: Attempt, call: (context: JobContext) => unknown): Promise<HandlerCall> {
  const { held, aborter, membership } = attempt;
  const { signal } = aborter;
  const due = handlerDue(held.job.spec, held.row);
  const isPaused = await waitForDue(attempt, due);
  const turn = isPaused ? PAUSED : await waitForTurn(attempt);
  const { permit, end } = turn;
  try {
    // The time may have been corrected meanwhile.
    if (permit !== undefined || membership.isNeeded) await waitUntil(held, due, due, signal);
    // This process may have stood still since its claim: by now the run may be over, or a successor's.
    if (!held.trust.holds) aborter.abort('leaseLost', 'leaseLost', 'the lease ran out before the handler was called');
    if (signal.aborted || end !== undefined) return await notCalled(attempt, end);
    const ended = await callNow(attempt, turn, call);
    permit?.giveBack();
    // Settling costs this process some work: handlers that are due at the same instant start first. Decision 062.
    await sleep(held.coordinator.clock, 0);
    return ended;
  } finally {
    permit?.giveBack();
  }
}

/** The attempt ends without its handler. An abort counts before any other reason. */
export async function notCalled({ held, aborter }: Attempt, end: AttemptEnd | undefined): Promise<HandlerCall> {
  const first = aborter.signal.aborted || end === undefined ? await aborter.aborted : end;
  return { end: first, startedAt: undefined, endedAt: timeOf(held), error: null };
}

async function callNow(
  attempt: Attempt,
  { permit, waitedForGroupMs = 0 }: Turn,
  call: (context: JobContext) => unknown,
): Promise<HandlerCall> {
  const { held, aborter } = attempt;
  const { redact } = held.coordinator;
  const startedAt = timeOf(held);
  const waited = {
    ...(waitedForGroupMs > 0 && { waitedForGroupMs }),
    ...(permit !== undefined && permit.waitedMs > 0 && { waitedForConcurrencyMs: permit.waitedMs }),
  };
  reportStart(held, startedAt, waited);
  const span = attempt.span.begin('handler');
  const first = await callIn({ ...attempt, span }, startedAt, call);
  span.end({ result: first.kind, isError: first.kind !== 'returned' });
  return { ...endOf(first, aborter, redact), startedAt, endedAt: timeOf(held), ...waited };
}

/** Calls the handler in the span of its attempt, within its bounds. */
function callIn(
  attempt: Attempt,
  startedAt: EpochMs,
  call: (context: JobContext) => unknown,
): Promise<Handled | Ended> {
  const { held, aborter, fence, span } = attempt;
  const { clock, redact } = held.coordinator;
  return callBounded(clock, aborter, boundsOf(held), (progress) => {
    const context = contextFor(attempt, startedAt, progress);
    return span.within(() => callHandler(held.job.spec.name, fence, () => call(context), redact));
  });
}

/** Calls a handler whose run was cancelled while no instance was at work on it, so that it ends what it has begun. */
export async function callToEnd(
  attempt: Attempt,
  reason: Reason,
  call: (context: JobContext) => unknown,
): Promise<void> {
  const aborter = createAborter();
  aborter.abort('cancelled', reason, 'the run was cancelled while no instance was at work on it');
  await callIn({ ...attempt, aborter }, timeOf(attempt.held), call);
}

function endOf(
  first: Handled | Ended,
  aborter: Aborter,
  redact: Redact = redactNothing,
): Pick<HandlerCall, 'end' | 'error' | 'result' | 'resultChanges'> {
  switch (first.kind) {
    case 'returned':
      return { end: { kind: 'returned' }, ...storedResult(first, redact), error: null };
    case 'threw': {
      const { error, ...end } = first;
      return { end, error };
    }
    case 'aborted': {
      const { kind, code, reason } = first;
      return { end: { kind, code, reason }, error: describeAbort(aborter, first, redact) };
    }
  }
}

function storedResult(
  { result, changes }: Extract<Handled, { kind: 'returned' }>,
  redact: Redact,
): Pick<HandlerCall, 'result' | 'resultChanges'> {
  const shown = redact === redactNothing || result === undefined ? result : redactJson(result, redact);
  return { result: shown, ...(changes.length > 0 && { resultChanges: redact(changes, Infinity) }) };
}

function reportStart(
  held: HeldRow,
  startedAt: EpochMs,
  waited: Pick<HandlerCall, 'waitedForGroupMs' | 'waitedForConcurrencyMs'>,
): void {
  const { run } = held.row;
  if (run === undefined) return;
  // An attempt whose turn did not come has called no handler, and is none of the past ones.
  if (held.row.past.length === 0) ping(held.coordinator, held.job.spec, 'start', held.report);
  const latenessMs = startedAt - dueOf(held.job.spec, run);
  held.event('started', { at: startedAt, latenessMs, ...waited });
  // The waits that people have set are not an overload.
  const { waitedForGroupMs = 0, waitedForConcurrencyMs = 0 } = waited;
  const isTimed = run.trigger === 'schedule' || run.trigger === 'catchUp';
  if (!isTimed || held.row.attempt !== 1) return;
  noteStart(held.coordinator, latenessMs - waitedForGroupMs - waitedForConcurrencyMs, held.report);
}

/** A leader job's term ends before the host's functionTimeout would kill it, so that it can hand over. */
function boundsOf({ coordinator: { clock, settings }, job, claimed }: HeldRow): Bounds {
  const { name, kind, timeoutMs, stallAfterMs } = job.spec;
  const graceMs = isCall(job.handler) ? Math.max(CALL_GRACE_MS, job.spec.graceMs) : job.spec.graceMs;
  const what = `job "${name}"`;
  const hostLimit = settings.functionTimeoutMs - graceMs - TERM_RESERVE_MS;
  if (kind === 'always' && (timeoutMs === undefined || timeoutMs > hostLimit)) {
    const ends = {
      afterMs: hostLimit,
      end: { kind: 'aborted', code: 'draining', reason: 'termEnded' },
      message: `the term of ${what} ends before the host's functionTimeout`,
    } as const;
    return { what, ends, stallAfterMs, graceMs };
  }
  if (isOrchestration(job.handler)) {
    // Its timeout counts for the orchestration, and may be longer than an attempt can be.
    const ends = timeoutAfter(settings.functionTimeoutMs - graceMs, what);
    return { what, ends, stallAfterMs: undefined, graceMs };
  }
  if (timeoutMs === undefined) return { what, ends: undefined, stallAfterMs, graceMs };
  // An attempt may have waited for its due time. A timeout that does not fit by itself is refused where a host ends it.
  const isBounded = timeoutMs + graceMs <= settings.functionTimeoutMs;
  const leftMs = isBounded ? settings.functionTimeoutMs - (clock.monotonic() - claimed.monotonic) : Infinity;
  return { what, ends: timeoutWithin(timeoutMs, { leftMs, graceMs }, what), stallAfterMs, graceMs };
}

function contextFor(attempt: Attempt, startedAt: EpochMs, alive: (note?: string) => void): JobContext {
  const { coordinator, report, job, row } = attempt.held;
  const { name } = job.spec;
  const key = row.run?.key ?? '';
  const scheduledFor = row.run?.rerunOf ?? row.run?.scheduledFor ?? startedAt;
  const speaker = { job: name, runId: runIdOf(name, key), attempt: row.attempt };
  const { traceparent } = attempt.span;
  return {
    ...contextOf({ report, redact: coordinator.redact }, { ...attempt, traceparent, alive }, speaker, scheduledFor),
    startedAt: new Date(startedAt),
    trigger: attempt.trigger,
    origin: row.run?.origin ?? SCHEDULED,
    previous: () => previousRun(coordinator.store, name, key),
  };
}

export interface CallParts {
  readonly aborter: Aborter;
  readonly fence: ClosableFence;
  readonly log: AttemptLog;
  readonly traceparent?: string | undefined;
  /** Resets the stall limit. */
  readonly alive: (note?: string) => void;
}

/** The members that the contexts of runs and of items have in common. */
export function contextOf(
  place: Parameters<typeof jobLog>[0],
  { aborter, fence, log, traceparent, alive }: CallParts,
  speaker: Omit<Speaker, 'traceparent'>,
  scheduledFor: EpochMs,
): Omit<JobContext, 'startedAt' | 'trigger' | 'origin' | 'previous'> {
  const { job, runId, attempt } = speaker;
  const { close: _, ...openFence } = fence;
  return {
    job,
    scheduledFor: new Date(scheduledFor),
    runId,
    attempt,
    signal: aborter.signal,
    fence: openFence,
    progress: (note, fraction) => {
      const progress = checkProgress(note, fraction);
      if (progress !== undefined) log.progress(progress);
      alive(note);
    },
    log: jobLog(place, { ...speaker, traceparent }, log),
    ...given({ traceparent }),
  };
}

/** Where nothing is secret, the host gets what was passed, and shows it as it always does. Decision 099. */
export function jobLog(
  { report, redact }: { readonly report: Report; readonly redact: Redact | undefined },
  speaker: Speaker,
  log: AttemptLog,
): JobLog {
  const { job, item } = speaker;
  const prefix = item === undefined ? `[${job}]` : `[${job}#${String(item)}]`;
  const write =
    (level: LogLevel) =>
    (...message: unknown[]): void => {
      const hidden = redact === undefined ? undefined : lineOf(textOf(message), redact);
      const show = (...shown: readonly unknown[]): void => {
        if (report.line === undefined) report.log(report.raised?.(level, job) ?? level, prefix, ...shown);
        else report.line(level, speaker, shown);
      };
      try {
        if (hidden === undefined) show(...message);
        else show(hidden);
      } catch {
        // A value that cannot be shown must not fail the handler.
        show(textOf(message));
      }
      log.line(level, () => hidden ?? lineOf(textOf(message), redactNothing));
    };
  return Object.assign(write('info'), {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  });
}

/**
 * Aborts the attempt when an operator cancels its run, or when the next due time or manual run of a job with overlap
 * `cancel` comes.
 */
export function watchForCancel(held: HeldRow, aborter: Aborter): SeenControls & { stop: () => void } {
  const { clock, serviceTime } = held.coordinator;
  const { spec } = held.job;
  // Due times and manual runs wait for a back-filled run.
  const mayGiveWay = spec.overlap === 'cancel' && held.row.run?.trigger !== 'backfill';
  const runId = runIdOf(spec.name, held.row.run?.key ?? '');
  let last: SeenControl | undefined;
  let isOver = false;
  let disarm = (): void => undefined;
  const overlap = (what: string): void => {
    aborter.abort('cancelled', 'overlapCancel', `run ${runId} gives way to ${what}`);
  };
  /** A due time in a pause ends nothing. Before the first renewal the control record has not been read. */
  const onDue = async (due: EpochMs): Promise<void> => {
    if (last === undefined) {
      const { control } = await held.ask((store, signal) => store.readControl(spec.name, { signal }));
      last = { control: controlOf(control), at: clock.monotonic() };
    }
    if (pauseAt(last.control, actualTime(spec, due)) !== undefined) armFrom(due);
    else overlap(`the due time ${new Date(due).toISOString()}`);
  };
  const armFrom = (after: EpochMs): void => {
    const due = mayGiveWay && spec.enabled ? spec.timetable.next(after) : undefined;
    if (due === undefined || isOver || aborter.signal.aborted) return;
    const wait: Millis = actualTime(spec, due) - serviceTime.now();
    // In steps, so that a correction of the time made meanwhile counts.
    disarm = clock.after(Math.min(Math.max(0, wait), ARMED_AT_MOST_MS), () => {
      if (serviceTime.now() < actualTime(spec, due)) armFrom(due - 1);
      else {
        onDue(due).catch((error: unknown) => {
          // The lease of a run that has ended is never lost, which would end this.
          if (isOver) return;
          held.report.log('warn', `job "${spec.name}": whether it is paused could not be read:`, error);
          disarm = clock.after(READ_AGAIN_MS, () => armFrom(due - 1));
        });
      }
    });
  };
  armFrom(waitingSince(spec, held.row));
  return {
    get last() {
      return last;
    },
    saw: (seen) => {
      last = { control: seen, at: clock.monotonic() };
      if (seen.cancel === runId)
        aborter.abort('cancelled', 'cancelRequested', `run ${runId} was cancelled by an operator`);
      // A leader job takes no manual runs: one from before it became one ends no term.
      const request = spec.kind === 'always' ? undefined : pendingManualRuns(seen, held.row.manualTaken)[0];
      if (mayGiveWay && request !== undefined) overlap(`manual run ${request.id}`);
    },
    stop: () => {
      isOver = true;
      disarm();
    },
  };
}

/** The newest final record of the job that is older than this run and ran. */
async function previousRun(store: AnytimeStore, job: JobName, key: string): Promise<LedgerRecord | undefined> {
  const before = recordKey(parseRecordKey(key)?.scheduledFor ?? 0);
  let seen = 0;
  for await (const { records } of recordPages(store, job, (call) => call(), { limit: 100 })) {
    for (const { key: candidate, summary } of records) {
      // `started` is in the summary of what ran, and only there.
      if (candidate <= before || summary['state'] !== 'final' || summary['started'] === undefined) continue;
      const found = await readUnlessForeign(store, job, candidate);
      // A record that cronlease did not write must not end this run.
      if (found !== undefined && found !== 'foreign') return found.record;
    }
    seen += records.length;
    if (seen >= RECORDS_AT_MOST) break;
  }
  return undefined;
}

const ENDS = {
  invalidInput: { kind: 'threw', retryable: false, reason: 'invalidInput' },
  timedOut: { kind: 'aborted', code: 'timedOut', reason: 'timeout' },
  itemFailed: { kind: 'threw', retryable: false, reason: 'itemFailed' },
  /** A person or a program has changed or deleted a piece: the next attempt may find it restored. */
  foreign: { kind: 'threw', retryable: true, reason: 'handlerError' },
} as const satisfies Readonly<Record<string, HandlerCall['end']>>;

/** An attempt that ends because of its input, its items, or their pieces, without a call of the handler. */
export function endedBy(held: HeldRow, how: keyof typeof ENDS, error: RecordedError): HandlerCall {
  const at = timeOf(held);
  return { end: ENDS[how], startedAt: at, endedAt: at, error: redactError(error, held.coordinator.redact) };
}
