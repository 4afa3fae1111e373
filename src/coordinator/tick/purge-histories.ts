import type { EpochMs, Millis } from '../../core/brand';
import { brief } from '../../core/text';
import type { Coordinator, Hub, Report } from '../coordinator';

const PASS_EVERY_MS = 3_600_000;
const PURGE_AFTER_MS = 24 * 3_600_000;
/** The purge selects orchestrations by their start, and a fan-out's may last a week, one of the app longer. */
const PURGE_BACK_MS = 8 * 24 * 3_600_000;
/** A tick asks for one span, whose orchestrations come with their inputs: of about so many, or of a minute at first. */
const AT_ONCE = 500;
const FIRST_SPAN_MS = 60_000;
const GROWS_AT_MOST = 24;

/**
 * Durable never deletes finished histories by itself. Once an hour, the returned function begins to purge them, span
 * after span, from the newest to the oldest.
 */
export function historyPurger({ clock, jobs }: Coordinator): (hub: Hub, report: Report) => void {
  const longestMs = Math.max(0, ...[...jobs.values()].map(({ spec }) => spec.timeoutMs ?? 0));
  const backMs = Math.max(PURGE_BACK_MS, 2 * longestMs);
  let begunAt: Millis = -Infinity;
  let left: { readonly from: EpochMs; readonly to: EpochMs } | undefined;
  let spanMs = FIRST_SPAN_MS;
  return (hub, report) => {
    const now = clock.monotonic();
    if (now - begunAt >= PASS_EVERY_MS) {
      begunAt = now;
      const to = clock.now() - PURGE_AFTER_MS;
      left = { from: to - backMs, to };
      spanMs = FIRST_SPAN_MS;
    }
    if (left === undefined) return;
    const { from: oldest, to } = left;
    const from = Math.max(oldest, to - spanMs);
    left = undefined;
    hub.purge({ from: new Date(from), to: new Date(to) }).then(
      (found) => {
        if (from > oldest) left = { from: oldest, to: from };
        spanMs = Math.ceil(spanMs * Math.min(GROWS_AT_MOST, AT_ONCE / Math.max(1, found)));
      },
      (error: unknown) => {
        report.log('warn', 'finished orchestration histories could not be purged:', brief(String(error)));
      },
    );
  };
}
