import type { Millis } from '../../core/brand';
import { StoreUnavailableError } from '../../lease/store';
import type { Coordinator, Report } from '../coordinator';

/** Longer than any lease with its margin: by then, no holder from before trusts any more. */
const MADE_AGAIN_AFTER_MS: Millis = 75_000;

/** Watches for a container that was deleted while this process ran. */
interface MissingContainer {
  /** Whether the container has been missing for so long that it is to be made again. */
  readonly isOld: boolean;
  watch<T>(step: () => Promise<T>): Promise<T>;
  /** The container was made, or was there. */
  made(report: Report): void;
}

/**
 * Nothing is stored any more that a claim could contradict, and once all leases from before are over, nobody believes to
 * hold one. A new instance makes the container at its start without this wait, as it must: it cannot tell a deleted
 * container from one that never was.
 */
export function missingContainer({ clock, serviceTime, store }: Coordinator): MissingContainer {
  /** When it was first missed, on the monotonic clock. */
  let since: Millis | undefined;
  const isOld = (): boolean => since !== undefined && clock.monotonic() - since >= MADE_AGAIN_AFTER_MS;
  return {
    get isOld() {
      return isOld();
    },
    async watch(step) {
      try {
        const result = await step();
        since = undefined;
        return result;
      } catch (error) {
        if (error instanceof StoreUnavailableError && error.noContainer) since ??= clock.monotonic();
        throw error;
      }
    },
    made({ event }) {
      if (since !== undefined) {
        const reason =
          `the container at ${store.location} had been deleted, and was made again: jobs without records count as new, ` +
          'and their tokens begin at 1; if their handlers write under a fence, raise the tokens with "cronlease recover ' +
          '--after-failover"';
        event({ event: 'warning', at: serviceTime.now(), reason });
      }
      since = undefined;
    },
  };
}
