import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { hostname } from 'node:os';
import { STORE_LIMITS } from '../stores/limits';
import { systemClock } from '../system-clock';
import { type ElectionEvent, Elector } from './elector';
import { type LeaderElectionOptions, checkOptions, openRows } from './options';
import { textOf } from './term';
import type { Leader, TermEnd } from './leadership';

/** The events of {@link LeaderElection}, by name. */
export interface LeaderElectionEvents {
  /** This instance leads. Its task is called next. */
  elected: [leader: Leader];
  /** This instance no longer leads, for `reason`. */
  lost: [ended: Leader & { readonly reason: TermEnd }];
  /** The leader has changed, or there is none. */
  observed: [leader: Leader | undefined];
  /** An error, as for `onError`. */
  error: [error: unknown];
}

/**
 * Elects one leader among all processes that name the same store and election, and runs its task there.
 *
 * The leader holds a lease in the store, which it keeps renewed, and a token that grows with every term. After a leader's
 * death, another leads within the lease plus one poll interval; after a stop or a resignation, within one poll
 * interval. A paused leader may run on for a moment beside its successor: the fence rejects its writes, not its other
 * effects. Nothing happens before {@link LeaderElection.start}.
 */
export class LeaderElection extends EventEmitter<LeaderElectionEvents> {
  /** The election's name. */
  readonly name: string;
  /** The id of this instance in the election. */
  readonly id: string;
  readonly #elector: Elector;
  readonly #onError: ((error: unknown) => void) | undefined;

  /** @throws ElectionOptionsError (code `ElectionOptions`) with every error in the options */
  constructor(options: LeaderElectionOptions) {
    super();
    const settings = checkOptions(options, defaultId, STORE_LIMITS.leaseMs);
    this.name = settings.name;
    this.id = settings.id;
    this.#onError = options.onError;
    const world = { store: openRows(options), clock: systemClock, random: Math.random, newId: randomUUID };
    this.#elector = new Elector(settings, world, (event) => this.#tell(event));
  }

  /** Whether this instance leads, to its best knowledge at this moment. Use the fence where you must be sure. */
  get isLeader(): boolean {
    return this.#elector.isLeader;
  }

  /**
   * Campaigns from now on, until {@link LeaderElection.stop}. While storage cannot be reached, it retries.
   *
   * @throws ElectionStoppedError (code `ElectionStopped`) if it was stopped before
   */
  start(): void {
    this.#elector.start();
    this.#elector.over().catch((error: unknown) => this.#report(error));
  }

  /** Calls {@link LeaderElection.start}, and resolves when the campaign has ended. `signal` stops it. */
  async run({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const stop = (): void => {
      this.#elector.stop().catch((error: unknown) => this.#report(error));
    };
    this.start();
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted === true) stop();
    try {
      await this.#elector.over();
    } finally {
      signal?.removeEventListener('abort', stop);
    }
  }

  /**
   * Ends the campaign permanently. A leader's task is aborted with the reason `draining` and gets its grace. Then the
   * lease is released, so that another instance leads within one poll interval.
   */
  stop(): Promise<void> {
    return this.#elector.stop();
  }

  /**
   * Ends this instance's term, if it leads, like {@link LeaderElection.stop} with the reason `resigned`. It continues
   * to campaign after the others have had their chance.
   *
   * @returns whether it led
   */
  resign(): Promise<boolean> {
    return this.#elector.resign();
  }

  /**
   * Reads the current leader; undefined if there is no leader. Between the acquisition and the claim of a new leader,
   * this is still the previous one. Works without {@link LeaderElection.start}.
   *
   * @throws StoreUnavailableError, StoreDeniedError
   */
  leader(): Promise<Leader | undefined> {
    return this.#elector.leader();
  }

  /**
   * Yields the current leader, then each change; short terms may be missed. Uses the sightings of the campaign, or else
   * reads once a poll interval. Ends with `signal`, or with {@link LeaderElection.stop}.
   */
  observe({ signal }: { readonly signal?: AbortSignal } = {}): AsyncGenerator<Leader | undefined, void, undefined> {
    return this.#elector.observe(signal);
  }

  /** Emits an event. A listener that throws does not stop the election. */
  #tell(event: ElectionEvent): void {
    if (event.kind === 'error') {
      this.#report(event.error);
      return;
    }
    try {
      if (event.kind === 'lost') this.emit('lost', { ...event.leader, reason: event.reason });
      else if (event.kind === 'elected') this.emit('elected', event.leader);
      else this.emit('observed', event.leader);
    } catch (error) {
      this.#report(error);
    }
  }

  #report(error: unknown): void {
    const listens = this.listenerCount('error') > 0;
    try {
      this.#onError?.(error);
      if (listens) this.emit('error', error);
    } catch (thrown) {
      show(`cronlease: the error handler of election "${this.name}" threw:`, thrown);
    }
    if (this.#onError === undefined && !listens) show(`cronlease: election "${this.name}":`, error);
  }
}

function show(what: string, error: unknown): void {
  try {
    console.error(what, error);
  } catch {
    // It does not let itself be inspected.
    console.error(what, textOf(error));
  }
}

function defaultId(): string {
  const host = hostname()
    .replaceAll(/[^\x21-\x7e]/g, '-')
    .slice(0, 100);
  return `${host}-${String(process.pid)}-${randomUUID().slice(0, 8)}`;
}
