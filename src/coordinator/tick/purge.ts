import type { Millis } from '../../core/brand';
import { brief } from '../../core/text';
import type { Coordinator, Hub, Report } from '../coordinator';

const PURGE_EVERY_MS = 3_600_000;
const PURGE_AFTER_MS = 24 * 3_600_000;
/** A fan-out's orchestration may last a week, and is found by when it began. */
const PURGE_BACK_MS = 8 * 24 * 3_600_000;

/** Durable never drops finished histories by itself. What is returned does, once an hour however often it is called. */
export function purger({ clock }: Coordinator): (hub: Hub, report: Report) => void {
  let lastPurge: Millis | undefined;
  return (hub, report) => {
    const now = clock.monotonic();
    if (lastPurge !== undefined && now - lastPurge < PURGE_EVERY_MS) return;
    lastPurge = now;
    const to = clock.now() - PURGE_AFTER_MS;
    hub.purge({ from: new Date(to - PURGE_BACK_MS), to: new Date(to) }).catch((error: unknown) => {
      report.log('warn', 'finished orchestration histories could not be purged:', brief(String(error)));
    });
  };
}
