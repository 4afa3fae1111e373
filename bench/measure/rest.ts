import { pause } from '../../test/chaos/time';
import { cpuMs } from '../figures/processes';
import type { World } from './world';

const SAMPLE_MS = 1_000;
/** What the sweeps and the polling of an idle system stay below, also with 5,000 jobs: half a core. */
const RESTING_SHARE = 0.5;
/** Longer than a call to storage may take: what waits for an answer uses no CPU. */
const RESTING_SAMPLES = 6;

/** Whether the last samples, each the CPU of one second in ms, are those of a system that has nothing left to do. */
export function isAtRest(samples: readonly number[]): boolean {
  const last = samples.slice(-RESTING_SAMPLES);
  return last.length === RESTING_SAMPLES && last.every((ms) => ms < RESTING_SHARE * SAMPLE_MS);
}

/**
 * Waits until workers and server have come to rest after their handlers, for the writes that end a run belong to its
 * cost.
 *
 * @param withinMs gives up after that long
 */
export async function untilAtRest({ running, backend }: World, withinMs: number, signal: AbortSignal): Promise<void> {
  const used = (): number => cpuMs([...running.pids(), ...backend.pids]);
  const deadline = performance.now() + withinMs;
  const samples: number[] = [];
  let before = used();
  while (!isAtRest(samples) && performance.now() < deadline) {
    await pause(SAMPLE_MS, signal);
    const now = used();
    samples.push(now - before);
    before = now;
  }
}
