import type { JobName, Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import { sleep } from '../../core/clock';
import type { JobSpec } from '../../core/job';
import { brief } from '../../core/text';
import { within } from '../../lease/deadline';
import type { ListedRow } from '../../lease/store';
import { StoreError } from '../../lease/store';
import type { Coordinator, HandOver, Hub, Report, RunnableJob } from '../coordinator';
import { giveBack, LATE_MS } from '../give-back';
import { storageTroubled, troubled } from '../reachability';

const POLL_FIRST_MS = 50;
const POLL_AT_MOST_MS = 1_000;
const PROBE_AGAIN_MS = 30_000;
/** A host that does not answer must not hold the tick for ever. */
const HUB_ANSWERS_WITHIN_MS = 10_000;

/**
 * Keeps a deployment whose task hub is dead out of the race: after a start, and after each hand-over whose claim was
 * not seen by the end of its lease, a no-op orchestration must come through first. Otherwise deployments with dead
 * hubs could win every race and shut out the healthy one for ever.
 */
export interface HubWatch {
  /**
   * Seeks the proof as long as there is time, or until it is stopped. Looks and records need no hub and continue
   * meanwhile. Resolves to whether this deployment may race; undefined: it may already, or the proof is being sought.
   */
  prove(hub: Hub, left: () => Millis, stopped: AbortSignal, report: Report): Promise<boolean> | undefined;
  /**
   * A listing that was asked for at `askedAt` (monotonic) showed the row: has the claim been made?
   *
   * @returns what it does about one that is late; never rejects
   */
  sawRow(name: JobName, row: ListedRow, askedAt: Millis, report: Report): Promise<void> | undefined;
  /** Whether this deployment has given this back, and leaves it to the others for now. */
  isLeft(job: JobSpec, turn: string): boolean;
  /** The items that were left to this hub are silent: it must be proven before this deployment races again. */
  lookAtHub(): void;
  /** Whether a claim may be raced for now: a look may have raised a doubt. */
  readonly mayRace: boolean;
  /** An orchestration could not even be started. */
  failed(job: RunnableJob, error: unknown, report: Report): void;
}

/** One call to the hub, cut off. Rejects with `StoreUnavailableError`: nobody knows whether it took effect. */
export function withinHub<T>(clock: Clock, call: () => Promise<T>): Promise<T> {
  return within(clock, HUB_ANSWERS_WITHIN_MS, call, 'the task hub');
}

export function hubWatch(coordinator: Coordinator): HubWatch {
  const { clock, handOvers, health, serviceTime } = coordinator;
  let isProven = false;
  let isSought = false;
  let probe: { readonly id: string; readonly sentAt: Millis } | undefined;
  /** What was given back last, by job, and when, on the monotonic clock. */
  const givenBack = new Map<JobName, { readonly turn: string; readonly at: Millis }>();

  const doubt = (reason: string, report: Report): void => {
    isProven = false;
    probe = undefined;
    troubled(coordinator, 'hub', { reason }, report);
  };

  /** Nothing is claimed before the hub has proved well, and nobody is told unless it does not. */
  const lookAtHub = (): void => {
    isProven = false;
    probe = undefined;
  };

  /** A slow hub would give the same back for ever: the second time it keeps the lease, and its attempt comes. */
  const isLate = async (name: JobName, handOver: HandOver, report: Report): Promise<void> => {
    handOvers.set(name, { ...handOver, isLate: true });
    if (handOver.lease !== 'available' || givenBack.get(name)?.turn === handOver.turn) return;
    givenBack.set(name, { turn: handOver.turn, at: clock.monotonic() });
    try {
      await giveBack(coordinator, name, handOver);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      storageTroubled(coordinator, 'writing', error, report);
    }
  };

  /** Where one hand-over is late, the others may be: nobody need look before they are given back. */
  const giveBackLate = async (report: Report): Promise<void> => {
    const late = [...handOvers].filter(([, one]) => !one.isLate && clock.monotonic() - one.at > LATE_MS);
    await Promise.all(late.map(([name, handOver]) => isLate(name, handOver, report)));
  };

  /** One question to the hub: has the probe come through? */
  const ask = async (hub: Hub): Promise<boolean> => {
    if (probe === undefined) {
      const id = `cronlease-probe-${coordinator.newId()}`;
      await withinHub(clock, () => hub.start(id, { kind: 'probe' }));
      probe = { id, sentAt: clock.monotonic() };
    }
    const { id, sentAt } = probe;
    const status = await withinHub(clock, () => hub.status(id));
    // A doubt that was raised while the hub was asked wants a probe of its own.
    if (status === 'completed') return probe?.id === id;
    // A message of it may be lost for good: then the next one shows whether the hub is well.
    if (status !== 'pending' || clock.monotonic() - sentAt > PROBE_AGAIN_MS) probe = undefined;
    return false;
  };

  const seek = async (hub: Hub, left: () => Millis, stopped: AbortSignal, report: Report): Promise<boolean> => {
    let delay = POLL_FIRST_MS;
    while (left() > 0 && !coordinator.stopping) {
      try {
        if (await ask(hub)) {
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
    lookAtHub,
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
    isLeft({ name, leaseMs }, turn) {
      const last = givenBack.get(name);
      return last?.turn === turn && clock.monotonic() - last.at < leaseMs;
    },
    sawRow(name, { etag, lease, metadata }, askedAt, report) {
      const handOver = handOvers.get(name);
      if (handOver === undefined || askedAt < handOver.at) return undefined;
      if (handOver.etag !== etag) {
        handOvers.delete(name);
        // Somebody else's claim hides whether ours was made: a quiet look at the hub tells.
        if (metadata['incumbent'] !== coordinator.deployment) lookAtHub();
      } else if (lease === 'leased' && !handOver.isLate && askedAt - handOver.at > LATE_MS) {
        // A host that is being shut down takes orchestrations and runs none: nothing more is given to it meanwhile.
        lookAtHub();
        return isLate(name, handOver, report);
      } else if (lease !== 'leased') {
        handOvers.delete(name);
        doubt('a claim was handed over to the task hub and not made: the hub must be proven again', report);
      }
      return undefined;
    },
    failed({ spec }, error, report) {
      report.log('error', `job "${spec.name}": its orchestration could not be started:`, brief(String(error)));
      doubt(`the task hub does not take orchestrations: ${String(error)}`, report);
    },
  };
}
