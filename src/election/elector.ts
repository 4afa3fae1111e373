import type { Millis } from '../core/brand';
import { atMost, sleep } from '../core/clock';
import { ForeignMetadataError } from '../core/metadata';
import { backOff } from '../lease/deadline';
import { StoreError } from '../lease/store';
import { type Scout, type Won, type World, claim, createScout } from './campaign';
import type { ElectionSettings } from './options';
import { Term, type TermOver, healthProblem } from './term';
import { type Leader, LeadershipEndedError, TaskNotEndedError, type TermEnd } from './leadership';

const READ_AFTER_RACE_MS = 500;
/** The first pause after storage did not answer. Later pauses are longer, up to the poll interval. */
const ASK_AGAIN_MS = 1_000;

/** The election was stopped permanently. */
export class ElectionStoppedError extends Error {
  readonly code = 'ElectionStopped';
  override readonly name = 'ElectionStoppedError';
}

export type ElectionEvent =
  | { readonly kind: 'elected'; readonly leader: Leader }
  | { readonly kind: 'lost'; readonly leader: Leader; readonly reason: TermEnd }
  | { readonly kind: 'observed'; readonly leader: Leader | undefined }
  | { readonly kind: 'error'; readonly error: unknown };

/** One instance's part in an election: it follows, or leads a term. */
export class Elector {
  private readonly scout: Scout;
  private readonly stopping = new AbortController();
  private campaign: Promise<void> | undefined;
  /** The last term, which may be over. */
  private term: Term | undefined;
  /** Undefined before the first read. */
  private seen: { readonly leader: Leader | undefined } | undefined;
  /** Aborted at the next change of the leader. */
  private change = new AbortController();
  /** The code of the trouble with storage that was reported, until it is over. */
  private reported: string | undefined;
  private again: ReturnType<typeof backOff>;
  private isUnfit = false;
  private failures = 0;

  constructor(
    private readonly settings: ElectionSettings,
    private readonly world: World,
    private readonly tell: (event: ElectionEvent) => void,
  ) {
    this.scout = createScout(settings, world);
    this.again = this.newBackOff();
  }

  get isLeader(): boolean {
    return this.term?.leads ?? false;
  }

  start(): void {
    if (this.stopping.signal.aborted) {
      throw new ElectionStoppedError(`election "${this.settings.name}" was stopped: create a new LeaderElection`);
    }
    this.campaign ??= this.run();
  }

  /** Resolves once the campaign has ended. */
  async over(): Promise<void> {
    await this.campaign;
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    if (this.term !== undefined) this.drain(this.term);
    await this.campaign;
  }

  async resign(): Promise<boolean> {
    const term = this.term;
    if (term === undefined || !term.leads) return false;
    term.end('resigned', `the leader of election "${this.settings.name}" resigns`);
    await term.over;
    return true;
  }

  leader(): Promise<Leader | undefined> {
    return this.scout.leader();
  }

  /** Yields the leader whenever it changes, by the campaign's sightings or, without a campaign, by its own. */
  async *observe(signal?: AbortSignal): AsyncGenerator<Leader | undefined, void, undefined> {
    const stopping = this.stopping.signal;
    const ends = signal === undefined ? stopping : AbortSignal.any([signal, stopping]);
    let yielded: { readonly leader: Leader | undefined } | undefined;
    while (!ends.aborted) {
      const wait = this.campaign === undefined ? await this.readLeader() : this.settings.pollMs;
      const changed = this.change.signal;
      const seen = this.seen;
      if (seen !== undefined && (yielded === undefined || !isSameTerm(yielded.leader, seen.leader))) {
        yielded = seen;
        yield seen.leader;
      } else {
        await sleep(this.world.clock, wait, AbortSignal.any([ends, changed]));
      }
    }
  }

  /** A claim that succeeds after the stop still becomes a term, so that its lease is released. */
  private async run(): Promise<void> {
    const { signal } = this.stopping;
    let waitMs = 0;
    while (!signal.aborted) {
      await sleep(this.world.clock, waitMs, signal);
      if (signal.aborted) return;
      const turn = await this.follow();
      waitMs = typeof turn === 'number' ? turn : await this.lead(turn);
    }
  }

  /** Reads once, and tries to lead if there is no leader. Returns the term that it won, or the next wait. */
  private async follow(): Promise<Won | Millis> {
    try {
      const sighting = await this.orStopped(this.scout.read());
      if (sighting === undefined) return 0;
      this.troubleOver();
      this.note(sighting.leader);
      // A task that ignores its signal keeps only its own instance from leading.
      const mayLead = this.term?.taskRuns !== true;
      if (!sighting.free || !mayLead || !(await this.orStopped(this.isFit()))) return this.pollWait();
      const won = await claim(this.settings, this.world, sighting, this.stopping.signal);
      return won ?? READ_AFTER_RACE_MS;
    } catch (error) {
      return this.pauseAfter(error);
    }
  }

  /** Checks the instance's health. Reports a failure once, until the check succeeds again. */
  private async isFit(): Promise<boolean> {
    const problem = await healthProblem(this.settings, this.world.clock);
    if (problem !== undefined && !this.isUnfit) {
      const message = `this instance does not campaign in election "${this.settings.name}": ${problem.message}`;
      const error = new LeadershipEndedError('unhealthy', message, { cause: problem.cause });
      this.tell({ kind: 'error', error });
    }
    this.isUnfit = problem !== undefined;
    return !this.isUnfit;
  }

  /** A leader's term, from the claim to the release of the lease. Resolves to the wait before the next turn. */
  private async lead(won: Won): Promise<Millis> {
    const { leader } = won;
    const began = this.world.clock.monotonic();
    const term = new Term(this.settings, this.world, won, (error) => this.tell({ kind: 'error', error }));
    this.term = term;
    this.note(leader);
    this.tell({ kind: 'elected', leader });
    if (this.stopping.signal.aborted) this.drain(term);
    const { reason, error } = await term.over;
    if (reason !== 'leaseLost') this.note(undefined);
    this.tell({ kind: 'lost', leader, reason });
    if (TROUBLED.has(reason)) this.tell({ kind: 'error', error });
    this.watchTask(term, reason);
    return this.waitAfter(reason, this.world.clock.monotonic() - began);
  }

  private drain(term: Term): void {
    term.end('draining', `election "${this.settings.name}" is being stopped`);
  }

  /** Reports a task that outlives its grace, which begins now after the loss of a lease, and else is over. */
  private watchTask(term: Term, reason: TermEnd): void {
    if (!term.taskRuns) return;
    const { name, graceMs } = this.settings;
    this.world.clock.after(reason === 'leaseLost' ? graceMs : 0, () => {
      if (!term.taskRuns) return;
      const error = new TaskNotEndedError(
        `the task of election "${name}" has ignored its signal for ${String(graceMs / 1000)} s: ` +
          'others may lead, and this instance may not until the task has ended',
      );
      this.tell({ kind: 'error', error });
    });
  }

  private waitAfter(reason: TermEnd, lasted: Millis): Millis {
    const { maxBackoffMs, backoffMs, afterTask, pollMs } = this.settings;
    if (reason !== 'failed' || lasted >= maxBackoffMs) this.failures = 0;
    if (reason === 'failed') {
      this.failures += 1;
      const wait = Math.min(maxBackoffMs, backoffMs * 2 ** (this.failures - 1));
      return wait * (0.5 + 0.5 * this.world.random());
    }
    if (reason === 'completed' && afterTask === 'stop') this.stopping.abort();
    if (reason === 'leaseLost' || reason === 'draining') return 0;
    // Longer than a poll interval, so that after a release every other candidate reads first.
    return pollMs * (1.25 + 0.25 * this.world.random());
  }

  /** Reads the leader once, for an instance that does not campaign. Returns the wait before the next read. */
  private async readLeader(): Promise<Millis> {
    try {
      this.note(await this.scout.leader());
      this.troubleOver();
      return this.pollWait();
    } catch (error) {
      return this.pauseAfter(error);
    }
  }

  private note(leader: Leader | undefined): void {
    const before = this.seen;
    this.seen = { leader };
    if (before !== undefined && isSameTerm(before.leader, leader)) return;
    this.change.abort();
    this.change = new AbortController();
    this.tell({ kind: 'observed', leader });
  }

  /** How long a follower waits before its next read. The jitter spreads instances that started together. */
  private pollWait(): Millis {
    return this.settings.pollMs * (0.8 + 0.4 * this.world.random());
  }

  /**
   * The pause after an error of storage, or after a row that is not an election's. Each trouble is reported once, and
   * makes pauses longer until it is over.
   *
   * @throws any other error
   */
  private pauseAfter(error: unknown): Millis {
    if (!(error instanceof StoreError) && !(error instanceof ForeignMetadataError)) throw error;
    if (this.reported !== error.code) this.tell({ kind: 'error', error });
    this.reported = error.code;
    return this.again(error);
  }

  private troubleOver(): void {
    this.again = this.newBackOff();
    this.reported = undefined;
  }

  private newBackOff(): ReturnType<typeof backOff> {
    return backOff(this.world.random, ASK_AGAIN_MS, Math.max(ASK_AGAIN_MS, this.settings.pollMs));
  }

  /** Settles with undefined as soon as the election is stopped, even if storage does not answer. */
  private orStopped<T>(work: Promise<T>): Promise<T | undefined> {
    return atMost(this.world.clock, Infinity, work, this.stopping.signal);
  }
}

/** The ends of a term that are errors. */
const TROUBLED: ReadonlySet<TermOver['reason']> = new Set(['failed', 'leaseLost', 'stalled', 'unhealthy'] as const);

function isSameTerm(one: Leader | undefined, other: Leader | undefined): boolean {
  return one?.token === other?.token;
}
