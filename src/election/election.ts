import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { hostname } from 'node:os';
import { STORE_LIMITS } from '../stores/limits';
import { electionRowsIn } from '../stores/open';
import { systemClock } from '../system-clock';
import type { ElectionEvent } from './candidate';
import type { Elector } from './elector';
import { createElector } from './elector';
import type { Leader, TermEnd } from './leadership';
import type { LeaderElectionOptions } from './options';
import { checkOptions } from './options';

/** What {@link LeaderElection} says, by name. */
export interface LeaderElectionEvents {
  /** This instance leads; its task is called next. */
  elected: [leader: Leader];
  /** This instance leads no more, and why. */
  lost: [ended: Leader & { readonly reason: TermEnd }];
  /** Another leader than before, or none, was seen. */
  observed: [leader: Leader | undefined];
  /** What went wrong; as with `onError`. */
  error: [error: unknown];
}

/**
 * Elects one leader among all processes that name the same container and election, and runs its task there.
 *
 * The leader holds a blob lease that it keeps renewed, and a token that grows with every term. A leader that dies is
 * followed by another within its lease and one poll interval, one that stops or resigns within one poll interval.
 * Nothing is done before {@link LeaderElection.start}.
 */
export class LeaderElection extends EventEmitter<LeaderElectionEvents> {
  /** The election's name. */
  readonly name: string;
  /** Who this instance is in the election. */
  readonly id: string;
  readonly #elector: Elector;
  readonly #onError: ((error: unknown) => void) | undefined;

  /** @throws ElectionOptionsError (code `ElectionOptions`) with everything that is wrong with the options */
  constructor(options: LeaderElectionOptions) {
    super();
    const settings = checkOptions(options, defaultId, STORE_LIMITS.leaseMs);
    this.name = settings.name;
    this.id = settings.id;
    this.#onError = options.onError;
    const store = electionRowsIn(options.container, systemClock);
    this.#elector = createElector(
      settings,
      { store, clock: systemClock, random: Math.random, newId: randomUUID },
      (event) => {
        this.#tell(event);
      },
    );
  }

  /** Whether this instance leads, to its best knowledge at this very moment. What must be sure goes by the fence. */
  get isLeader(): boolean {
    return this.#elector.isLeader;
  }

  /**
   * Campaigns from now on, until {@link LeaderElection.stop}. Storage that cannot be reached is asked again and again.
   *
   * @throws ElectionStoppedError (code `ElectionStopped`) when it was stopped before
   */
  start(): void {
    this.#elector.start();
    this.#elector.over().catch((error: unknown) => {
      this.#report(error);
    });
  }

  /** {@link LeaderElection.start}, and resolves when the campaign has ended; `signal` stops it. */
  async run({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const stop = (): void => {
      this.#elector.stop().catch((error: unknown) => {
        this.#report(error);
      });
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
   * Ends the campaign for good. A leader's task is aborted with the reason `draining`, gets its grace, and its lease is
   * let go, so that another instance leads within one poll interval.
   */
  stop(): Promise<void> {
    return this.#elector.stop();
  }

  /**
   * Ends this instance's term, if it leads: as {@link LeaderElection.stop}, with the reason `resigned`. It goes on
   * campaigning after the others have had their chance.
   *
   * @returns whether it led
   */
  resign(): Promise<boolean> {
    return this.#elector.resign();
  }

  /**
   * Reads who leads now; undefined: nobody. In the instant between the lease and the claim of a new leader this is still
   * the one before. Works without {@link LeaderElection.start}.
   *
   * @throws StoreUnavailableError, StoreDeniedError
   */
  leader(): Promise<Leader | undefined> {
    return this.#elector.leader();
  }

  /**
   * Who leads, first as it is, then whenever it changes; leaders in between may be passed over. Looks once a poll
   * interval, or goes by what the campaign sees. Ends with `signal`, or with {@link LeaderElection.stop}.
   */
  observe({ signal }: { readonly signal?: AbortSignal } = {}): AsyncGenerator<Leader | undefined, void, undefined> {
    return this.#elector.observe(signal);
  }

  /** A listener that throws harms nobody else. */
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
      console.error(`cronlease: the error handler of election "${this.name}" threw:`, thrown);
    }
    if (this.#onError === undefined && !listens) console.error(`cronlease: election "${this.name}":`, error);
  }
}

function defaultId(): string {
  const host = hostname()
    .replaceAll(/[^\x21-\x7e]/g, '-')
    .slice(0, 100);
  return `${host}-${String(process.pid)}-${randomUUID().slice(0, 8)}`;
}
