import { type Clock, sleep } from '../core/clock';
import { within } from '../lease/deadline';
import { StaleLeaderError, createFence, electionMark } from '../lease/fence';
import { keepAlive } from '../lease/keep-alive';
import type { Token } from '../core/brand';
import { type Won, type World, release } from './campaign';
import { type ElectionSettings, type Leader, type Leadership, LeadershipEndedError, type TermEnd } from './options';

const RELEASE_LIMIT_MS = 2_000;

/** The end of a term. The first event counts. */
export interface TermOver {
  readonly reason: TermEnd;
  /** The error that the task threw, or the reason of its signal. */
  readonly error?: unknown;
}

export interface Term {
  readonly leader: Leader;
  /** Whether this instance may still believe that it leads. */
  readonly leads: boolean;
  /** Whether the task is still running. A task that ignores its signal outlives its term. */
  readonly taskRuns: boolean;
  end(code: LeadershipEndedError['code'], message: string, cause?: unknown): void;
  /** Resolves once the lease is released or lost. */
  readonly over: Promise<TermOver>;
}

/** Runs the task while the lease is kept alive. Call it in the same turn as the claim's answer. */
export function startTerm(settings: ElectionSettings, world: World, won: Won, report: (error: unknown) => void): Term {
  const { leader, trust } = won;
  const { name, graceMs } = settings;
  const { clock } = world;
  const aborter = new AbortController();
  const aborted = Promise.withResolvers<TermOver>();
  let over = false;
  let taskRuns = true;
  const end: Term['end'] = (code, message, cause) => {
    if (over || aborter.signal.aborted) return;
    const error = new LeadershipEndedError(code, message, cause === undefined ? undefined : { cause });
    aborted.resolve({ reason: code, error });
    aborter.abort(error);
  };
  const fence = createFence(electionMark(name), leader.token as Token, trust, [
    // A program may keep its own blobs beside the rows.
    `${world.store.location}/elections`,
  ]);
  const stall = watchProgress(settings, clock, end);
  const { close, ...openFence } = fence;
  const { progress } = stall;
  const leadership = { ...leader, name, signal: aborter.signal, fence: openFence, progress };

  const task = callTask(settings, won, leadership, end).finally(() => {
    taskRuns = false;
  });
  const watches = [keepLease(settings, world, won, end, report), stall, watchHealth(settings, clock, end)];
  const conclude = async (): Promise<TermOver> => {
    const first = await Promise.race([task, aborted.promise]);
    over = true;
    if (aborter.signal.aborted) {
      const ended = new AbortController();
      const noted = task.then(({ error }) => {
        ended.abort();
        if (error !== undefined && !isEcho(error, aborter.signal)) report(error);
      });
      if (first.reason !== 'leaseLost') await Promise.race([noted, sleep(clock, graceMs, ended.signal)]);
    }
    // Even if the task continues after its grace.
    close();
    for (const watch of watches) watch.stop();
    if (trust.holds) {
      const limit = Math.min(RELEASE_LIMIT_MS, trust.remaining());
      // Another instance may lead before the answer arrives.
      trust.end();
      const problem = await release(world, name, won, limit);
      if (problem !== undefined) report(problem);
    }
    return first;
  };
  return {
    leader,
    get leads() {
      return trust.holds;
    },
    get taskRuns() {
      return taskRuns;
    },
    end,
    over: conclude(),
  };
}

type End = Term['end'];

/** Calls the task. Never rejects: an error of the task is a result. */
async function callTask(
  settings: ElectionSettings,
  { trust }: Won,
  leadership: Leadership,
  end: End,
): Promise<TermOver> {
  // Waits until the election has reported its victory.
  await Promise.resolve();
  if (!trust.holds) end('leaseLost', `the lease of election "${settings.name}" expired before the task was called`);
  if (leadership.signal.aborted) return { reason: 'completed' };
  try {
    await settings.task(leadership);
    return { reason: 'completed' };
  } catch (error) {
    return { reason: 'failed', error };
  }
}

/** Whether a task's error is only the effect of its aborted signal. */
function isEcho(error: unknown, { reason }: AbortSignal): boolean {
  if (error === reason) return true;
  try {
    if (error instanceof StaleLeaderError) return true;
    return error instanceof Error && (error.name === 'AbortError' || error.cause === reason);
  } catch {
    // A task may throw a proxy that allows nothing.
    return false;
  }
}

function keepLease(
  settings: ElectionSettings,
  { store, clock, random }: World,
  { leaseId, trust }: Won,
  end: End,
  report: (error: unknown) => void,
): { stop(): void } {
  let troubled = false;
  return keepAlive({
    store: { renew: (name, id, options) => store.renew(name, id, options) },
    clock,
    random,
    job: settings.name,
    whose: `election "${settings.name}"`,
    leaseId,
    leaseMs: settings.leaseMs,
    trust,
    onLost: (why) => end('leaseLost', why),
    onRenewed: () => {
      troubled = false;
    },
    onTrouble: (problem) => {
      // Renewals are repeated. Report only the first failure until one succeeds.
      if (!troubled) report(problem);
      troubled = true;
    },
  });
}

function watchProgress(
  { stallAfterMs, name }: ElectionSettings,
  clock: Clock,
  end: End,
): Pick<Leadership, 'progress'> & { stop(): void } {
  if (stallAfterMs === undefined) return { progress: () => undefined, stop: () => undefined };
  const arm = (note?: string): (() => void) =>
    clock.after(stallAfterMs, () => {
      const last = note === undefined ? '' : `; the last was "${note}"`;
      end(
        'stalled',
        `the leader of election "${name}" reported no progress for ${String(stallAfterMs / 1000)} s${last}`,
      );
    });
  let cancel = arm();
  let over = false;
  return {
    progress: (note) => {
      if (over) return;
      cancel();
      cancel = arm(note);
    },
    stop: () => {
      over = true;
      cancel();
    },
  };
}

function watchHealth(settings: ElectionSettings, clock: Clock, end: End): { stop(): void } {
  let over = settings.healthCheck === undefined;
  let cancel = (): void => undefined;
  const next = (): void => {
    if (!over) cancel = clock.after(settings.healthIntervalMs, () => void check());
  };
  const check = async (): Promise<void> => {
    const problem = await healthProblem(settings, clock);
    if (problem === undefined) next();
    else if (!over)
      end('unhealthy', `the leader of election "${settings.name}" steps down: ${problem.message}`, problem.cause);
  };
  next();
  return {
    stop: () => {
      over = true;
      cancel();
    },
  };
}

interface HealthProblem {
  readonly message: string;
  readonly cause?: unknown;
}

/** Calls the health check once. Never rejects: a check that throws or takes too long has failed. */
export async function healthProblem(settings: ElectionSettings, clock: Clock): Promise<HealthProblem | undefined> {
  const { healthCheck, healthTimeoutMs } = settings;
  if (healthCheck === undefined) return undefined;
  try {
    const healthy = await within(clock, healthTimeoutMs, async () => healthCheck(), { whose: 'the health check' });
    return healthy ? undefined : { message: 'the health check failed' };
  } catch (cause) {
    return { message: `the health check failed: ${textOf(cause)}`, cause };
  }
}

export function textOf(cause: unknown): string {
  try {
    return cause instanceof Error ? cause.message : String(cause);
  } catch {
    // An object without a prototype has no text, and a revoked proxy allows nothing.
    return 'it threw a value that cannot be shown';
  }
}
