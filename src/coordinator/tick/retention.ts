import type { Millis } from '../../core/brand';
import { StoreError } from '../../lease/store';
import type { Coordinator, Report } from '../coordinator';
import { storageTroubled, troubleOver } from '../reachability';

const EVERY_MS: Millis = 3_600_000;
const TROUBLE = 'retention';

/**
 * Deletes old records where the store itself must: once an hour, and again at the next sweep while there are more. The
 * returned function does so at most that often, however often it is called.
 */
export function createRetention(coordinator: Coordinator): (report: Report) => Promise<void> | undefined {
  const { store, clock, jobs } = coordinator;
  let last: Millis | undefined;
  const purge = async (report: Report): Promise<void> => {
    const keep = new Map([...jobs].map(([name, { spec }]) => [name, spec.keepMs]));
    try {
      if ((await store.purge?.(keep)) === 'more') last = undefined;
      troubleOver(coordinator, TROUBLE, 'old records are deleted again', report);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      storageTroubled(coordinator, TROUBLE, error, report);
    }
  };
  return (report) => {
    if (store.purge === undefined) return undefined;
    if (last !== undefined && clock.monotonic() - last < EVERY_MS) return undefined;
    last = clock.monotonic();
    return purge(report);
  };
}
