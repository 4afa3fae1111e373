import type { Millis } from '../core/brand';
import { sleep } from '../core/clock';
import { abortForShutdown } from './bounded';
import type { Coordinator } from './coordinator';

/** The host gives its shutdown hook 5 s, and we plan for 2: what is not let go by then runs out. */
export const DRAIN_LIMIT_MS: Millis = 2_000;

/** The instance is being shut down: claims nothing more, aborts its attempts, and lets their runs go on elsewhere. */
export async function drain(coordinator: Coordinator): Promise<void> {
  coordinator.stopping = true;
  const running = [...coordinator.running];
  for (const attempt of running) abortForShutdown(attempt);
  const finished = new AbortController();
  await Promise.race([
    Promise.allSettled(running.map(({ done }) => done)).then(() => {
      finished.abort();
    }),
    sleep(coordinator.clock, DRAIN_LIMIT_MS, finished.signal),
  ]);
}
