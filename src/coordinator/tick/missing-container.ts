import type { Millis } from '../../core/brand';
import { within } from '../../lease/deadline';
import { StoreUnavailableError } from '../../lease/store';
import type { Coordinator, Report } from '../coordinator';

/** Longer than any lease with its margin: by then, no holder from before trusts any more. */
const MADE_AGAIN_AFTER_MS: Millis = 75_000;
const LIMIT_MS: Millis = 10_000;

/** Sees to it that the container exists. */
interface ContainerWatch {
  /** Whether it has existed in this process's life. */
  readonly isPrepared: boolean;
  /** Makes the container if it is missing: at the start, and once it has been missing for long. */
  prepare(report: Report): Promise<void>;
  /** Carries out a step of the tick, and notes whether the container is missing. */
  watch<T>(step: () => Promise<T>): Promise<T>;
}

/**
 * Nothing is stored any more that a claim could contradict, and once all leases from before are over, no instance
 * believes to hold one. A new instance makes the container at its start without this wait, as it must: it cannot tell a
 * deleted container from one that never was. Decision 034.
 */
export function createContainerWatch({ clock, serviceTime, store }: Coordinator): ContainerWatch {
  let isPrepared = false;
  /** When it was first missed, on the monotonic clock. */
  let since: Millis | undefined;
  return {
    get isPrepared() {
      return isPrepared;
    },
    async prepare({ event }) {
      const wasDeleted = since !== undefined && clock.monotonic() - since >= MADE_AGAIN_AFTER_MS;
      if (isPrepared && !wasDeleted) return;
      await within(clock, LIMIT_MS, (signal) => store.prepare({ signal }));
      isPrepared = true;
      since = undefined;
      if (!wasDeleted) return;
      const reason =
        `the container at ${store.location} had been deleted, and was created again: jobs without records count as new, ` +
        'and their tokens begin at 1; if their handlers write under a fence, raise the tokens with "cronlease recover ' +
        '--after-failover"';
      event({ event: 'warning', at: serviceTime.now(), reason });
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
  };
}
