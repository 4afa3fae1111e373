import { computed, signal } from '@preact/signals';
import { serviceNow } from './live';

/** The service's time, to the second. It stands still while it is not visible. */
export const now = signal(serviceNow());

export function startClock(): void {
  const set = (): void => {
    if (!document.hidden) now.value = serviceNow();
  };
  setInterval(set, 1_000);
  document.addEventListener('visibilitychange', set);
}

/** As {@link now}, in steps of 10 s: for pictures of hours. */
export const coarseNow = computed(() => now.value - (now.value % 10_000));
