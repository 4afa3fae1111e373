import type { EpochMs, Millis, JobName } from '../../core/brand';
import { sleep } from '../../core/clock';
import { type Control, pauseAt, controlOf, currentPause } from '../../core/control';
import { windowMs } from '../../core/decide/verdict';
import { controlReadMs, READS_CONTROL_AGAIN_MS } from '../../core/early-claim';
import { ForeignMetadataError } from '../../core/metadata';
import { SUCCEEDS_AFTER_MS } from '../../core/orchestration';
import type { Trigger } from '../../core/outcome';
import { startRank } from '../../core/ranked-queue';
import { dueOf } from '../../core/row';
import type { AttemptEnd } from '../../core/run';
import { isOrchestration } from '../../handler/handlers';
import { within } from '../../lease/deadline';
import type { ClosableFence } from '../../lease/fence';
import { CLOCK_RATE_ERROR } from '../../lease/service-time';
import { type ListedJob, StoreError } from '../../lease/store';
import type { Aborter } from '../bounded';
import type { Patience, Permit } from '../concurrency-limit';
import type { Settings } from '../coordinator';
import type { Membership } from '../groups';
import { type HeldRow, timeOf } from '../held';
import type { Span } from '../telemetry';
import type { AttemptLog } from './attempt-log';

/** The longest wait between two readings of the clock before a handler is due. */
const READ_CLOCK_EVERY_MS = 1_000;

export interface SeenControl {
  readonly control: Control;
  /** When it was read, on the monotonic clock. */
  readonly at: Millis;
}

/** The controls that the renewals of an attempt read, and that it reads itself. */
export interface SeenControls {
  readonly last: SeenControl | undefined;
  readonly saw: (control: Control) => void;
}

/** An attempt that has made its claim. */
export interface Attempt {
  readonly held: HeldRow;
  readonly fence: ClosableFence;
  readonly aborter: Aborter;
  readonly trigger: Trigger;
  readonly log: AttemptLog;
  readonly membership: Membership;
  readonly span: Span;
  readonly controls: SeenControls;
}

/**
 * Waits until the due time. If the claim was made early, the control is read again shortly before: an operator may have
 * paused the job or cancelled the run meanwhile.
 *
 * @returns whether the due time lies in a pause, so that the handler is not called
 */
export async function waitForDue(
  { held, aborter: { signal }, controls }: Pick<Attempt, 'held' | 'aborter' | 'controls'>,
  due: EpochMs,
): Promise<boolean> {
  if (due - decidedAt(held) > READS_CONTROL_AGAIN_MS) {
    // The same for all attempts of a process, so that they share a listing.
    const readMs = controlReadMs(held.coordinator.jobs.size);
    await waitUntil(held, due, due - readMs, signal);
    if (signal.aborted) return false;
    const control = await freshControl(held, readMs);
    // Without an answer the lease is still trusted, and the control that the tick read still stands.
    if (control !== undefined) {
      controls.saw(control);
      if (pauseAt(control, due) !== undefined) return true;
    }
  }
  await waitUntil(held, due, due, signal);
  return false;
}

/** The earliest instant at which the claim may have been decided. */
export function decidedAt({ claimed, row }: Pick<HeldRow, 'claimed' | 'row'>): EpochMs {
  // The handler of an earlier attempt may have started. That one cannot have, if the service's own Date says that the due
  // time is far ahead, and this process's clock proves nothing.
  if (row.past.length > 0) return claimed.date;
  // The answer to the claim may have come long after its decision.
  return Math.min(claimed.date, row.claimedAt ?? claimed.date);
}

/** @param at the due time, or shortly before it */
export async function waitUntil(
  { coordinator, claimed }: HeldRow,
  due: EpochMs,
  at: EpochMs,
  signal: AbortSignal,
): Promise<void> {
  const { clock, serviceTime } = coordinator;
  // A clock that is set back must not prolong the wait: the claim's Date and the monotonic clock bound it.
  const bound = claimed.monotonic + (due - claimed.date) * (1 + CLOCK_RATE_ERROR) - (due - at);
  const left = (): Millis => Math.min(at - serviceTime.now(), bound - clock.monotonic());
  // Node's timers may fire 1 ms early, and the clock may be set or corrected meanwhile: the time is checked again after waiting.
  for (let wait = left(); wait > 0; wait = left()) {
    await sleep(clock, Math.min(wait, READ_CLOCK_EVERY_MS), signal);
    if (signal.aborted) return;
  }
}

/** Attempts that ask within this time share one listing. */
const TOGETHER_MS = 100;
/** More jobs than these are read by a listing of all jobs. */
const ONE_BY_ONE = 4;
/** The share of its time after which a listing ends with what it has read. */
const LISTING_SHARE = 0.8;
/** The most jobs that the warning about a listing names. */
const NAMED = 10;

interface Shown {
  readonly listed: ReadonlyMap<JobName, ListedJob>;
  /** The jobs of the batch that the listing should have shown. */
  readonly unread: ReadonlySet<JobName>;
}

interface Batch {
  readonly jobs: Set<JobName>;
  readonly shown: Promise<Shown>;
}

/** By coordinator: a process has one for each account, and its listings show no other's jobs. */
const batches = new WeakMap<HeldRow['coordinator'], Batch>();

/**
 * Reads a job's control again. A burst of attempts that are due at the same time costs one listing, and not one call
 * for each.
 *
 * @returns undefined where it could not be read in time, which is logged: once for all jobs of a listing
 */
async function freshControl(held: HeldRow, limitMs: Millis): Promise<Control | undefined> {
  const { name } = held.job.spec;
  const batch = batches.get(held.coordinator) ?? begin(held, limitMs);
  batch.jobs.add(name);
  const { listed, unread } = await batch.shown;
  if (unread.has(name)) return undefined;
  const found = listed.get(name);
  return found === undefined ? readControlAgain(held, limitMs) : ifReadable(held, () => controlOf(found.control));
}

/** Reads the control of one job by its own call. Undefined if it could not be read in time, which is logged. */
function readControlAgain(held: HeldRow, limitMs: Millis): Promise<Control | undefined> {
  const { clock, store } = held.coordinator;
  return ifReadable(held, async () => {
    const { control } = await within(clock, limitMs, (signal) => store.readControl(held.job.spec.name, { signal }));
    return controlOf(control);
  });
}

async function ifReadable(
  { job, report }: HeldRow,
  read: () => Control | Promise<Control>,
): Promise<Control | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof StoreError) && !(error instanceof ForeignMetadataError)) throw error;
    report.log('warn', `job "${job.spec.name}": its control could not be read again before its handler:`, error);
    return undefined;
  }
}

function begin(held: HeldRow, limitMs: Millis): Batch {
  const { coordinator } = held;
  const jobs = new Set<JobName>();
  const show = async (): Promise<Shown> => {
    await sleep(coordinator.clock, TOGETHER_MS);
    batches.delete(coordinator);
    return jobs.size > ONE_BY_ONE ? list(held, jobs, limitMs) : { listed: new Map(), unread: new Set() };
  };
  const batch = { jobs, shown: show() };
  batches.set(coordinator, batch);
  return batch;
}

/** Lists the controls of all jobs, as many as storage shows in time. */
async function list(
  { coordinator: { clock, store }, report }: HeldRow,
  jobs: ReadonlySet<JobName>,
  limitMs: Millis,
): Promise<Shown> {
  const enough = new AbortController();
  const stop = clock.after(limitMs * LISTING_SHARE, () => enough.abort());
  try {
    const listing = await within(clock, limitMs, (signal) => store.list({ signal, enough: enough.signal }));
    const isWhole = listing.continuation === undefined;
    const unread = new Set(isWhole ? [] : [...jobs].filter((name) => !listing.jobs.has(name)));
    if (unread.size > 0) report.log('warn', `${unreadText(unread)}: storage took too long to list them`);
    return { listed: listing.jobs, unread };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    report.log('warn', `${unreadText(jobs)}:`, error);
    return { listed: new Map(), unread: jobs };
  } finally {
    stop();
  }
}

function unreadText(jobs: ReadonlySet<JobName>): string {
  const named = [...jobs].slice(0, NAMED).join(', ');
  const more = jobs.size > NAMED ? ` and ${String(jobs.size - NAMED)} more` : '';
  return `jobs ${named}${more}: their controls could not be read again before their handlers`;
}

/** After a longer wait, a control that was read longer ago than this is read again. */
const CONTROL_AGE_MS = 5_000;
const READ_CONTROL_MS = 1_500;
/** The time that an invocation needs besides its wait and its handler. */
const RESERVE_MS: Millis = 10_000;
/** A job whose `timeout` leaves no room in the host's functionTimeout still waits for a moment. */
const WAIT_AT_LEAST_MS: Millis = 10_000;

/** The result of the wait. If it has a permit, the caller gives it back. */
export interface Turn {
  readonly permit?: Permit;
  readonly waitedForGroupMs?: Millis;
  /** The handler is not called. Undefined also if the signal was aborted. */
  readonly end?: Extract<AttemptEnd, { kind: 'notRun' | 'crowded' }>;
}

export const PAUSED: Turn = { end: { kind: 'notRun', outcome: 'paused', reason: 'paused' } };

/**
 * Waits until the job's group, and then this process, may run one more handler. The place in the group comes first: a
 * run that waited for it with a permit would keep all other jobs of this process waiting. Decision 069.
 */
export async function waitForTurn(attempt: Attempt): Promise<Turn> {
  const { held, aborter, membership } = attempt;
  const { clock } = held.coordinator;
  const since = clock.monotonic();
  const group = membership.isNeeded ? await waitForGroup(attempt) : {};
  if (group.end !== undefined || aborter.signal.aborted) return group;
  const turn = await waitForPermit(attempt);
  if (turn.end !== undefined) return turn;
  try {
    const isLong = clock.monotonic() - since > CONTROL_AGE_MS;
    const isPaused = isLong && (await isPausedMeanwhile(attempt));
    return isPaused ? { ...turn, ...PAUSED } : { ...group, ...turn };
  } catch (error) {
    turn.permit?.giveBack();
    throw error;
  }
}

export async function waitForGroup(attempt: Attempt): Promise<Turn> {
  const { patience, end } = patienceFor(attempt, 'groupFull');
  const waitedForGroupMs = await attempt.membership.enter(patience);
  return waitedForGroupMs === undefined ? { end } : { waitedForGroupMs };
}

/** Waits until this process may run one more handler. Without a limit it returns at once, without a permit. */
async function waitForPermit(attempt: Attempt): Promise<Turn> {
  const { held } = attempt;
  const { concurrencyLimit } = held.coordinator;
  const { spec } = held.job;
  const { run } = held.row;
  // A leader job's term lasts until the host's limit, and would keep its permit from all others.
  if (concurrencyLimit === undefined || run === undefined || spec.kind === 'always') return {};
  const { patience, end } = patienceFor(attempt, 'concurrencyLimit');
  const permit = await concurrencyLimit.take(startRank(spec, dueOf(spec, run), run.trigger === 'backfill'), patience);
  return permit === undefined ? { end } : { permit };
}

function patienceFor(
  { held, aborter: { signal } }: Attempt,
  reason: Extract<AttemptEnd, { kind: 'crowded' }>['reason'],
): { readonly patience: Patience; readonly end: NonNullable<Turn['end']> } {
  const window = windowLeft(held);
  const host = hostLeft(held);
  const end =
    window <= host ? ({ kind: 'notRun', outcome: 'expired', reason } as const) : ({ kind: 'crowded', reason } as const);
  return { patience: { signal, atMostMs: Math.min(window, host) }, end };
}

/**
 * The time until the run is older than its window. A run whose handler was called before has no such end: its retries
 * and its take-over follow. Nor has a back-filled one.
 */
function windowLeft(held: HeldRow): Millis {
  const { coordinator, job, row, claimed } = held;
  const { spec } = job;
  if (row.past.length > 0 || row.run === undefined || row.run.trigger === 'backfill') return Infinity;
  const sinceClaim = (coordinator.clock.monotonic() - claimed.monotonic) * (1 + CLOCK_RATE_ERROR);
  // A fast clock makes nothing older than it is.
  const now = Math.min(timeOf(held), claimed.date + 1_000 + sinceClaim);
  return dueOf(spec, row.run) + (row.run.trigger === 'manual' ? spec.catchUpWindowMs : windowMs(spec)) - now;
}

/** The time that is left of this invocation if the handler is to have its whole `timeout`. */
function hostLeft({ coordinator: { clock, settings }, job: { spec, handler }, claimed }: HeldRow): Millis {
  const { timeoutMs = 0, graceMs } = spec;
  // An attempt only starts an orchestration, or reads its end.
  const neededMs = isOrchestration(handler) ? SUCCEEDS_AFTER_MS : timeoutMs;
  return patienceOf(settings, neededMs + graceMs, clock.monotonic() - claimed.monotonic);
}

/**
 * How long an invocation may wait, so that the host does not end it, and every other one of its process.
 *
 * @param neededMs how long its handler may take
 * @param usedMs how long ago the invocation began
 */
export function patienceOf({ functionTimeoutMs }: Settings, neededMs: Millis, usedMs: Millis): Millis {
  return Math.max(WAIT_AT_LEAST_MS, functionTimeoutMs - neededMs - RESERVE_MS - usedMs);
}

/** A pause stops neither a run whose handler was called before, nor one that a person asked for. */
async function isPausedMeanwhile({ held, controls }: Attempt): Promise<boolean> {
  const control = await latestControl(held, controls);
  const { run, past } = held.row;
  if (control === undefined || past.length > 0 || run === undefined || run.trigger === 'manual') return false;
  const wasPaused = run.trigger === 'backfill' ? undefined : pauseAt(control, dueOf(held.job.spec, run));
  return (wasPaused ?? currentPause(control, timeOf(held))) !== undefined;
}

async function latestControl(held: HeldRow, controls: SeenControls): Promise<Control | undefined> {
  const { clock } = held.coordinator;
  const seen = controls.last;
  if (seen !== undefined && clock.monotonic() - seen.at <= CONTROL_AGE_MS) return seen.control;
  const read = await readControlAgain(held, READ_CONTROL_MS);
  // Without an answer the lease is still trusted, and the control that was read last still stands.
  if (read === undefined) return seen?.control;
  controls.saw(read);
  return read;
}
