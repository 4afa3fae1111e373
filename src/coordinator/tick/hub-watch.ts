import type { JobName, LeaseId, Millis } from '../../core/brand';
import { sleep } from '../../core/clock';
import { brief } from '../../core/text';
import { type ListedRow, StoreError } from '../../lease/store';
import type { Coordinator, Hub, Report, RunnableJob } from '../coordinator';
import type { HandOver } from '../hand-overs';
import { giveBack } from '../drain';
import { withinHub } from '../hub';
import { storageTroubled, troubleOver, troubled } from '../reachability';

/** The waits between two looks whether a no-op has come through: the first, and the longest. */
export const POLL_FIRST_MS: Millis = 50;
export const POLL_AT_MOST_MS: Millis = 1_000;
/** Within this, the first check of a tick has shown the rows that are in flight. */
const SHOWN_AFTER_MS = 2_000;

/**
 * Keeps a deployment whose task hub is dead out of the race: after a start, and after each hand-over whose claim was
 * not seen by the end of its lease, a no-op orchestration must come through first. Otherwise deployments with dead hubs
 * could win every race and keep out the healthy one forever. Decision 050. Gives late hand-overs back. Decision 052.
 */
export class HubWatch {
  readonly #coordinator: Coordinator;
  readonly #probe: ReturnType<typeof hubProbe>;
  #isProven = false;
  #isSought = false;
  /** The turn that was last given back, by job, and when its lease would have ended, on the monotonic clock. */
  readonly #givenBack = new Map<JobName, { readonly turn: string; readonly until: Millis }>();

  constructor(coordinator: Coordinator) {
    this.#coordinator = coordinator;
    this.#probe = hubProbe(coordinator);
  }

  /** Whether this deployment may race now. A check may have raised a doubt. */
  get mayRace(): boolean {
    return this.#isProven;
  }

  /** Stops claims until the hub is proven. Only a failed proof is reported. */
  demandProof(): void {
    this.#isProven = false;
    this.#probe.forget();
  }

  #doubt(reason: string, report: Report): void {
    this.demandProof();
    troubled(this.#coordinator, 'hub', { reason }, report);
  }

  /**
   * Seeks the proof until the time is up or `stopped` is aborted. Checks and records need no hub and continue meanwhile.
   * Resolves to whether this deployment may race; undefined if it already may, or the proof is already being sought.
   */
  prove(hub: Hub, left: () => Millis, stopped: AbortSignal, report: Report): Promise<boolean> | undefined {
    if (this.#isProven || this.#isSought) return undefined;
    this.#isSought = true;
    return this.#seek(hub, left, stopped, report).finally(() => {
      this.#isSought = false;
    });
  }

  async #seek(hub: Hub, left: () => Millis, stopped: AbortSignal, report: Report): Promise<boolean> {
    const { clock, handOvers } = this.#coordinator;
    let delay = POLL_FIRST_MS;
    while (left() > 0 && !this.#coordinator.stopping) {
      try {
        const tookMs = await this.#probe.ask(hub);
        if (tookMs !== undefined) {
          handOvers.proven(tookMs);
          this.#isProven = true;
          troubleOver(this.#coordinator, 'hub', 'the task hub answers again', report);
          return true;
        }
      } catch (error) {
        this.#doubt(`the task hub does not take orchestrations: ${String(error)}`, report);
      }
      // If one hand-over is late, others may be too. They are given back without waiting for a check.
      const now = clock.monotonic();
      const late = handOvers.all().filter(([, one]) => !one.isLate && handOvers.isLate(one, now));
      await Promise.all(late.map(([name, handOver]) => this.#reportLate(name, handOver, report)));
      await sleep(clock, Math.min(delay, Math.max(0, left())), stopped);
      delay = Math.min(POLL_AT_MOST_MS, delay * 2);
    }
    const reason = 'the task hub is not proven: a no-op orchestration has not come through, so nothing is claimed';
    if (!this.#coordinator.stopping) troubled(this.#coordinator, 'hub', { reason }, report);
    return false;
  }

  /** A slow hub would give the same turn back forever. The second time it keeps the lease, until its attempt comes. */
  async #isLate(name: JobName, handOver: HandOver): Promise<void> {
    this.#coordinator.handOvers.note(name, { ...handOver, isLate: true });
    if (handOver.lease !== 'available' || this.keeps(name, handOver.turn)) return;
    this.#givenBack.set(name, { turn: handOver.turn, until: handOver.at + handOver.leaseMs });
    await giveBack(this.#coordinator, name, handOver);
  }

  async #reportLate(name: JobName, handOver: HandOver, report: Report): Promise<void> {
    try {
      await this.#isLate(name, handOver);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      storageTroubled(this.#coordinator, 'writing', error, report);
    }
  }

  /**
   * A lease was handed over. If it stays without a claim it is given back, even if no tick follows: a host that is being
   * drained stops the timer, takes orchestrations, and says nothing to its worker.
   *
   * @param nextTickMs the time until the next tick
   */
  handedOver(name: JobName, nextTickMs: Millis): void {
    const { clock, handOvers } = this.#coordinator;
    const handOver = handOvers.of(name);
    if (handOver === undefined) return;
    this.#waitFor(name, handOver.leaseId, clock.monotonic() + Math.max(0, nextTickMs) + SHOWN_AFTER_MS);
  }

  /**
   * Where attempts come to other processes, only a listing shows their claims, and the next tick makes one anyway. A
   * release before that would be one more call for each run.
   */
  #waitFor(name: JobName, leaseId: LeaseId, shownAt: Millis): void {
    const { clock, handOvers } = this.#coordinator;
    const handOver = handOvers.of(name);
    if (handOver?.leaseId !== leaseId || handOver.isLate) return;
    const now = clock.monotonic();
    const left = (handOvers.silentAt(handOver) ?? Math.max(shownAt, handOver.at + handOvers.lateMs)) - now;
    if (left > 0) {
      const cancel = clock.after(left, () => this.#waitFor(name, leaseId, shownAt));
      handOvers.timedBy(name, cancel);
      return;
    }
    this.demandProof();
    // The tick's invocation may be over, so nothing is logged. Without an answer the lease expires.
    void this.#isLate(name, handOver).catch((error: unknown) => {
      if (!(error instanceof StoreError)) throw error;
    });
  }

  /** Whether this deployment has given this turn back, and leaves it to the others until its lease would have ended. */
  isLeft(name: JobName, turn: string): boolean {
    const last = this.#givenBack.get(name);
    return last?.turn === turn && this.#coordinator.clock.monotonic() < last.until;
  }

  /** Whether this deployment has given this turn back, which it does not do again: the lease lasts until its attempt. */
  keeps(name: JobName, turn: string): boolean {
    return this.#givenBack.get(name)?.turn === turn;
  }

  /**
   * Checks whether a handed-over claim has been made, by a listing requested at `askedAt` (monotonic) that showed the
   * row.
   *
   * @returns the work on a late hand-over; never rejects
   */
  sawRow(name: JobName, row: ListedRow, askedAt: Millis, report: Report): Promise<void> | undefined {
    const { handOvers, deployment } = this.#coordinator;
    const handOver = handOvers.of(name);
    if (handOver === undefined || askedAt < handOver.at) return undefined;
    const { etag, lease } = row;
    if (handOver.etag !== etag) {
      const { incumbent, token } = row.metadata;
      const isOurs = incumbent === deployment && Number(token) > handOver.token;
      handOvers.claimed(name, isOurs ? row.metadata : undefined);
      // Another claim, or a record, which raises no token, hides whether ours was made. A new proof of the hub shows it.
      if (!isOurs) this.demandProof();
    } else if (lease === 'leased' && !handOver.isLate && handOvers.isLate(handOver, askedAt)) {
      // A host that is being shut down accepts orchestrations and runs none, so it gets no more of them.
      this.demandProof();
      return this.#reportLate(name, handOver, report);
    } else if (lease !== 'leased') {
      handOvers.forget(name);
      this.#doubt('the task hub was given a claim but did not make it: the hub must be proven again', report);
    }
    return undefined;
  }

  /** Raises a doubt, because an orchestration could not be started. */
  failed({ spec }: RunnableJob, error: unknown, report: Report): void {
    report.log('error', `job "${spec.name}": its orchestration could not be started:`, brief(String(error)));
    // One trouble of the hub, whichever jobs meet it.
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    this.#doubt(`the task hub does not take orchestrations: ${String(cause)}`, report);
  }
}

/** A message of a probe may be lost permanently. The next probe then shows whether the hub works. */
const PROBE_AGAIN_MS: Millis = 30_000;

/** No-op orchestrations, which prove that a task hub carries out what it accepts. */
export function hubProbe({ clock, newId }: Coordinator) {
  let probe: { readonly id: string; readonly sentAt: Millis } | undefined;
  return {
    /**
     * Asks the hub once whether the probe has come through. Without one on its way, sends one.
     *
     * @returns how long the probe took; undefined: there is no proof yet
     */
    async ask(hub: Hub): Promise<Millis | undefined> {
      if (probe === undefined) {
        const id = `cronlease-probe-${newId()}`;
        await withinHub(clock, () => hub.start(id, { kind: 'probe' }));
        probe = { id, sentAt: clock.monotonic() };
      }
      const asked = probe;
      const status = await withinHub(clock, () => hub.status(asked.id));
      const tookMs = clock.monotonic() - asked.sentAt;
      // A doubt that was raised during the call needs its own probe.
      if (probe !== asked) return undefined;
      if (status !== 'pending' || tookMs > PROBE_AGAIN_MS) probe = undefined;
      return status === 'completed' ? tookMs : undefined;
    },
    /** What has been sent proves nothing any longer. */
    forget(): void {
      probe = undefined;
    },
  };
}
