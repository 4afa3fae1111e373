import type { JobName, LeaseId, Millis } from '../../core/brand';
import { sleep } from '../../core/clock';
import { brief } from '../../core/text';
import { type ListedRow, StoreError } from '../../lease/store';
import type { Coordinator, Hub, Report, RunnableJob } from '../coordinator';
import { type HandOver } from '../hand-overs';
import { giveBack } from '../drain';
import { withinHub } from '../hub';
import { storageTroubled, troubled } from '../reachability';

const POLL_FIRST_MS = 50;
const POLL_AT_MOST_MS = 1_000;
/** Within this, the first check of a tick has shown the rows that are in flight. */
const SHOWN_AFTER_MS = 2_000;

/**
 * Keeps a deployment whose task hub is dead out of the race: after a start, and after each hand-over whose claim was
 * not seen by the end of its lease, a no-op orchestration must come through first. Otherwise deployments with dead hubs
 * could win every race and keep out the healthy one forever. Decision 050.
 */
export interface HubWatch {
  /**
   * Seeks the proof until the time is up or `stopped` is aborted. Checks and records need no hub and continue meanwhile.
   * Resolves to whether this deployment may race; undefined if it already may, or the proof is already being sought.
   */
  prove(hub: Hub, left: () => Millis, stopped: AbortSignal, report: Report): Promise<boolean> | undefined;
  /**
   * Checks whether a handed-over claim has been made, by a listing requested at `askedAt` (monotonic) that showed the
   * row.
   *
   * @returns the work on a late hand-over; never rejects
   */
  sawRow(name: JobName, row: ListedRow, askedAt: Millis, report: Report): Promise<void> | undefined;
  /**
   * A lease was handed over. If it stays without a claim it is given back, even if no tick follows: a host that is being
   * drained stops the timer, takes orchestrations, and says nothing to its worker.
   *
   * @param nextTickMs the time until the next tick
   */
  handedOver(name: JobName, nextTickMs: Millis): void;
  /** Whether this deployment has given this turn back, and leaves it to the others until its lease would have ended. */
  isLeft(name: JobName, turn: string): boolean;
  /** Whether this deployment has given this turn back, which it does not do again: the lease lasts until its attempt. */
  keeps(name: JobName, turn: string): boolean;
  /** Demands a new proof before this deployment races again, because items that were left to this hub are silent. */
  demandProof(): void;
  /** Whether this deployment may race now. A check may have raised a doubt. */
  readonly mayRace: boolean;
  /** Raises a doubt, because an orchestration could not be started. */
  failed(job: RunnableJob, error: unknown, report: Report): void;
}

/** `until`: when its lease would have ended, on the monotonic clock. */
type GivenBack = Map<JobName, { readonly turn: string; readonly until: Millis }>;

interface LateHandOvers {
  isLateFor(name: JobName, handOver: HandOver, report: Report): Promise<void>;
  waitFor(name: JobName, leaseId: LeaseId, shownAt: Millis): void;
  giveBackLate(report: Report): Promise<void>;
}

/** Gives late hand-overs back. Decision 052. */
function lateHandOvers(coordinator: Coordinator, givenBack: GivenBack, demandProof: () => void): LateHandOvers {
  const { clock, handOvers } = coordinator;

  /** A slow hub would give the same turn back forever. The second time it keeps the lease, until its attempt comes. */
  const isLate = async (name: JobName, handOver: HandOver): Promise<void> => {
    handOvers.note(name, { ...handOver, isLate: true });
    if (handOver.lease !== 'available' || givenBack.get(name)?.turn === handOver.turn) return;
    givenBack.set(name, { turn: handOver.turn, until: handOver.at + handOver.leaseMs });
    await giveBack(coordinator, name, handOver);
  };

  const isLateFor = async (name: JobName, handOver: HandOver, report: Report): Promise<void> => {
    try {
      await isLate(name, handOver);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      storageTroubled(coordinator, 'writing', error, report);
    }
  };

  /**
   * Where attempts come to other processes, only a listing shows their claims, and the next tick makes one anyway. A
   * release before that would be one more call for each run.
   */
  const waitFor = (name: JobName, leaseId: LeaseId, shownAt: Millis): void => {
    const handOver = handOvers.of(name);
    if (handOver?.leaseId !== leaseId || handOver.isLate) return;
    const now = clock.monotonic();
    const left = (handOvers.silentAt(handOver) ?? Math.max(shownAt, handOver.at + handOvers.lateMs)) - now;
    if (left > 0) {
      handOvers.timedBy(
        name,
        clock.after(left, () => waitFor(name, leaseId, shownAt)),
      );
      return;
    }
    demandProof();
    // The tick's invocation may be over, so nothing is logged. Without an answer the lease expires.
    void isLate(name, handOver).catch((error: unknown) => {
      if (!(error instanceof StoreError)) throw error;
    });
  };

  /** If one hand-over is late, others may be too. They are given back without waiting for a check. */
  const giveBackLate = async (report: Report): Promise<void> => {
    const now = clock.monotonic();
    const late = handOvers.all().filter(([, one]) => !one.isLate && handOvers.isLate(one, now));
    await Promise.all(late.map(([name, handOver]) => isLateFor(name, handOver, report)));
  };

  return { isLateFor, waitFor, giveBackLate };
}

export function hubWatch(coordinator: Coordinator): HubWatch {
  const { clock, handOvers, health, serviceTime } = coordinator;
  let isProven = false;
  let isSought = false;
  const probe = hubProbe(coordinator);
  /** The turn that was last given back, by job. */
  const givenBack: GivenBack = new Map();

  /** Stops claims until the hub is proven. Only a failed proof is reported. */
  const demandProof = (): void => {
    isProven = false;
    probe.forget();
  };

  const doubt = (reason: string, report: Report): void => {
    demandProof();
    troubled(coordinator, 'hub', { reason }, report);
  };

  const { isLateFor, waitFor, giveBackLate } = lateHandOvers(coordinator, givenBack, demandProof);

  const seek = async (hub: Hub, left: () => Millis, stopped: AbortSignal, report: Report): Promise<boolean> => {
    let delay = POLL_FIRST_MS;
    while (left() > 0 && !coordinator.stopping) {
      try {
        const tookMs = await probe.ask(hub);
        if (tookMs !== undefined) {
          handOvers.proven(tookMs);
          isProven = true;
          if (health.over('hub')) {
            report.event({ event: 'healthy', at: serviceTime.now(), reason: 'the task hub answers again' });
          }
          return true;
        }
      } catch (error) {
        doubt(`the task hub does not take orchestrations: ${String(error)}`, report);
      }
      await giveBackLate(report);
      await sleep(clock, Math.min(delay, Math.max(0, left())), stopped);
      delay = Math.min(POLL_AT_MOST_MS, delay * 2);
    }
    const reason = 'the task hub is not proven: a no-op orchestration has not come through, so nothing is claimed';
    if (!coordinator.stopping) troubled(coordinator, 'hub', { reason }, report);
    return false;
  };

  return {
    demandProof,
    prove(hub, left, stopped, report) {
      if (isProven || isSought) return undefined;
      isSought = true;
      return seek(hub, left, stopped, report).finally(() => {
        isSought = false;
      });
    },
    get mayRace() {
      return isProven;
    },
    handedOver(name, nextTickMs) {
      const handOver = handOvers.of(name);
      if (handOver !== undefined) {
        waitFor(name, handOver.leaseId, clock.monotonic() + Math.max(0, nextTickMs) + SHOWN_AFTER_MS);
      }
    },
    isLeft(name, turn) {
      const last = givenBack.get(name);
      return last?.turn === turn && clock.monotonic() < last.until;
    },
    keeps(name, turn) {
      return givenBack.get(name)?.turn === turn;
    },
    sawRow(name, row, askedAt, report) {
      const handOver = handOvers.of(name);
      if (handOver === undefined || askedAt < handOver.at) return undefined;
      const { etag, lease } = row;
      if (handOver.etag !== etag) {
        const { incumbent, token } = row.metadata;
        const isOurs = incumbent === coordinator.deployment && Number(token) > handOver.token;
        handOvers.claimed(name, isOurs ? row.metadata : undefined);
        // Another claim, or a record, which raises no token, hides whether ours was made. A new proof of the hub shows it.
        if (!isOurs) demandProof();
      } else if (lease === 'leased' && !handOver.isLate && handOvers.isLate(handOver, askedAt)) {
        // A host that is being shut down accepts orchestrations and runs none, so it gets no more of them.
        demandProof();
        return isLateFor(name, handOver, report);
      } else if (lease !== 'leased') {
        handOvers.forget(name);
        doubt('the task hub was given a claim but did not make it: the hub must be proven again', report);
      }
      return undefined;
    },
    failed({ spec }, error, report) {
      report.log('error', `job "${spec.name}": its orchestration could not be started:`, brief(String(error)));
      // One trouble of the hub, whichever jobs meet it.
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      doubt(`the task hub does not take orchestrations: ${String(cause)}`, report);
    },
  };
}

/** A message of a probe may be lost permanently. The next probe then shows whether the hub works. */
const PROBE_AGAIN_MS: Millis = 30_000;

/** No-op orchestrations, which prove that a task hub carries out what it accepts. */
interface HubProbe {
  /**
   * Asks the hub once whether the probe has come through. Without one on its way, sends one.
   *
   * @returns how long the probe took; undefined: there is no proof yet
   */
  ask(hub: Hub): Promise<Millis | undefined>;
  /** What has been sent proves nothing any longer. */
  forget(): void;
}

export function hubProbe({ clock, newId }: Pick<Coordinator, 'clock' | 'newId'>): HubProbe {
  let probe: { readonly id: string; readonly sentAt: Millis } | undefined;
  return {
    async ask(hub) {
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
    forget() {
      probe = undefined;
    },
  };
}
