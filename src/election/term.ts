import { type Clock, atMost } from '../core/clock';
import { within } from '../lease/deadline';
import { StaleLeaderError, createFence, electionMark } from '../lease/fence';
import { keepAlive } from '../lease/keep-alive';
import type { Token } from '../core/brand';
import { type Won, type World, release } from './campaign';
import type { ElectionSettings } from './options';
import { type Leadership, LeadershipEndedError, type TermEnd } from './leadership';

const RELEASE_LIMIT_MS = 2_000;

/** The end of a term. The first event counts. */
export interface TermOver {
  readonly reason: TermEnd;
  /** The error that the task threw, or the reason of its signal. */
  readonly error?: unknown;
}

/**
 * A term of this instance: its task runs while the lease is kept alive. Create it in the same turn as the claim's
 * answer.
 */
export class Term {
  /** Whether the task is still running. A task that ignores its signal outlives its term. */
  taskRuns = true;
  /** Resolves once the lease is released or lost. */
  readonly over: Promise<TermOver>;
  private readonly aborter = new AbortController();
  private readonly aborted = Promise.withResolvers<TermOver>();
  private isOver = false;
  private cancelStall = (): void => undefined;
  private cancelHealthCheck = (): void => undefined;

  constructor(
    private readonly settings: ElectionSettings,
    private readonly world: World,
    private readonly won: Won,
    private readonly report: (error: unknown) => void,
  ) {
    this.over = this.run();
  }

  /** Whether this instance may still believe that it leads. */
  get leads(): boolean {
    return this.won.trust.holds;
  }

  end(code: LeadershipEndedError['code'], message: string, cause?: unknown): void {
    if (this.isOver || this.aborter.signal.aborted) return;
    const error = new LeadershipEndedError(code, message, cause === undefined ? undefined : { cause });
    this.aborted.resolve({ reason: code, error });
    this.aborter.abort(error);
  }

  private async run(): Promise<TermOver> {
    const { leader, trust } = this.won;
    const { name, graceMs } = this.settings;
    const { signal } = this.aborter;
    const { close, ...fence } = createFence(electionMark(name), leader.token as Token, trust, [
      // A program may keep its own blobs beside the rows.
      `${this.world.store.location}/elections`,
    ]);
    this.awaitProgress();
    const progress = (note?: string): void => this.awaitProgress(note);
    const task = this.callTask({ ...leader, name, signal, fence, progress });
    const lease = this.keepLease();
    this.checkHealthLater();

    const first = await Promise.race([task, this.aborted.promise]);
    this.isOver = true;
    if (signal.aborted) {
      const noted = task.then(({ error }) => {
        if (error !== undefined && !isEcho(error, signal)) this.report(error);
      });
      if (first.reason !== 'leaseLost') await atMost(this.world.clock, graceMs, noted);
    }
    // Even if the task continues after its grace.
    close();
    lease.stop();
    this.cancelStall();
    this.cancelHealthCheck();
    if (!trust.holds) return first;
    const limit = Math.min(RELEASE_LIMIT_MS, trust.remaining());
    // Another instance may lead before the answer arrives.
    trust.end();
    const problem = await release(this.world, name, this.won, limit);
    if (problem !== undefined) this.report(problem);
    return first;
  }

  /** Never rejects: an error of the task is a result. */
  private async callTask(leadership: Leadership): Promise<TermOver> {
    const { name, task } = this.settings;
    // Waits until the election has reported its victory.
    await Promise.resolve();
    if (!this.leads) this.end('leaseLost', `the lease of election "${name}" expired before the task was called`);
    try {
      if (!leadership.signal.aborted) await task(leadership);
      return { reason: 'completed' };
    } catch (error) {
      return { reason: 'failed', error };
    } finally {
      this.taskRuns = false;
    }
  }

  private keepLease(): { stop(): void } {
    const { store, clock, random } = this.world;
    const { name, leaseMs } = this.settings;
    const { leaseId, trust } = this.won;
    let troubled = false;
    return keepAlive({
      store: { renew: (...request) => store.renew(...request) },
      clock,
      random,
      job: name,
      whose: `election "${name}"`,
      leaseId,
      leaseMs,
      trust,
      onLost: (why) => this.end('leaseLost', why),
      onRenewed: () => {
        troubled = false;
      },
      onTrouble: (problem) => {
        // Renewals are repeated. Report only the first failure until one succeeds.
        if (!troubled) this.report(problem);
        troubled = true;
      },
    });
  }

  /** Ends the term if the task reports no progress for as long as it may pause. */
  private awaitProgress(note?: string): void {
    const { stallAfterMs, name } = this.settings;
    if (stallAfterMs === undefined || this.isOver) return;
    this.cancelStall();
    this.cancelStall = this.world.clock.after(stallAfterMs, () => {
      const last = note === undefined ? '' : `; the last was "${note}"`;
      const seconds = String(stallAfterMs / 1000);
      this.end('stalled', `the leader of election "${name}" reported no progress for ${seconds} s${last}`);
    });
  }

  private checkHealthLater(): void {
    const { healthCheck, healthIntervalMs } = this.settings;
    if (healthCheck === undefined || this.isOver) return;
    this.cancelHealthCheck = this.world.clock.after(healthIntervalMs, () => void this.checkHealth());
  }

  private async checkHealth(): Promise<void> {
    const problem = await healthProblem(this.settings, this.world.clock);
    if (problem === undefined) this.checkHealthLater();
    else {
      const message = `the leader of election "${this.settings.name}" steps down: ${problem.message}`;
      this.end('unhealthy', message, problem.cause);
    }
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
