import type { ETag, Millis } from '../core/brand';
import { sleep } from '../core/clock';
import type { JobNotes } from './board';
import type { Coordinator, Hub, Report, RunnableJob } from './coordinator';

const POLL_FIRST_MS = 50;
const POLL_AT_MOST_MS = 1_000;

/**
 * Keeps a deployment whose task hub is dead out of the race: after a start, and after each hand-over whose claim was
 * not seen by the end of its lease, a no-op orchestration must come through first. Otherwise deployments with dead
 * hubs could win every race and shut out the healthy one for ever.
 */
export interface HubWatch {
  /** Whether this deployment may race. Waits for the proof as long as there is time. */
  proven(hub: Hub, left: () => Millis, report: Report): Promise<boolean>;
  /** A lease was handed to an orchestration. */
  handedOver(notes: JobNotes, etag: ETag, job: RunnableJob): void;
  /** A listing showed the row: has the claim been made? */
  sawRow(notes: JobNotes, etag: ETag, report: Report): void;
  /** An orchestration could not even be started. */
  failed(job: RunnableJob, error: unknown, report: Report): void;
}

export function hubWatch(coordinator: Coordinator): HubWatch {
  const { clock, health, serviceTime } = coordinator;
  let isProven = false;
  let probe: string | undefined;

  const doubt = (reason: string, report: Report): void => {
    isProven = false;
    probe = undefined;
    if (health.trouble('hub', reason)) report.event({ event: 'unhealthy', at: serviceTime.now(), reason });
  };

  return {
    async proven(hub, left, report) {
      if (isProven) return true;
      let delay = POLL_FIRST_MS;
      while (left() > 0 && !coordinator.stopping) {
        try {
          if (probe === undefined) {
            const id = `cronlease-probe-${coordinator.newId()}`;
            await hub.start(id, { kind: 'probe' });
            probe = id;
          }
          const status = await hub.status(probe);
          if (status === 'completed') {
            isProven = true;
            if (health.over('hub')) {
              report.event({ event: 'healthy', at: serviceTime.now(), reason: 'the task hub answers again' });
            }
            return true;
          }
          if (status !== 'pending') probe = undefined;
        } catch (error) {
          doubt(`the task hub does not take orchestrations: ${String(error)}`, report);
        }
        await sleep(clock, Math.min(delay, Math.max(0, left())));
        delay = Math.min(POLL_AT_MOST_MS, delay * 2);
      }
      if (!coordinator.stopping && health.trouble('hub', 'a no-op orchestration has not come through')) {
        const reason = 'the task hub is not proven: a no-op orchestration has not come through, so nothing is claimed';
        report.event({ event: 'unhealthy', at: serviceTime.now(), reason });
      }
      return false;
    },
    handedOver(notes, etag, { spec }) {
      notes.handOver = { etag, endsAt: clock.monotonic() + spec.leaseMs };
    },
    sawRow(notes, etag, report) {
      if (notes.handOver === undefined) return;
      if (notes.handOver.etag !== etag) {
        notes.handOver = undefined;
      } else if (clock.monotonic() >= notes.handOver.endsAt) {
        notes.handOver = undefined;
        doubt('a claim was handed over to the task hub and not made: the hub must be proven again', report);
      }
    },
    failed({ spec }, error, report) {
      report.log('error', `job "${spec.name}": its orchestration could not be started:`, error);
      doubt(`the task hub does not take orchestrations: ${String(error)}`, report);
    },
  };
}
