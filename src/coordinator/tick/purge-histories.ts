import type { Millis } from '../../core/brand';
import { brief } from '../../core/text';
import type { Coordinator, Hub, Report } from '../coordinator';

const PURGE_EVERY_MS = 3_600_000;
const PURGE_AFTER_MS = 24 * 3_600_000;
/** The purge selects orchestrations by their start, and a fan-out's may last a week. */
const PURGE_BACK_MS = 8 * 24 * 3_600_000;

/** Durable never deletes finished histories by itself. The returned function purges them at most once an hour. */
export function historyPurger({ clock }: Coordinator): (hub: Hub, report: Report) => void {
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
