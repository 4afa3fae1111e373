import type { Millis } from '../core/brand';
import { sleep } from '../core/clock';
import { type Aborter, type RunningCall, abortForShutdown } from './bounded';
import type { Coordinator } from './coordinator';
import { giveBackAll } from './give-back';
import { leaveItems } from './leave-items';

/** The host gives its shutdown hook 5 s, and we plan for 2: leases that are not released by then expire. */
export const DRAIN_LIMIT_MS: Millis = 2_000;
/** The process ends with its shutdown hook, so the answers of running calls must have left it before. */
const ANSWER_MS: Millis = 100;

/** Registers the call while it runs, so that a shutdown aborts it and waits for it. */
export async function whileRunning<T>(coordinator: Coordinator, aborter: Aborter, done: Promise<T>): Promise<T> {
  const running: RunningCall = { aborter, done };
  coordinator.running.add(running);
  // The shutdown began before it could see this call.
  if (coordinator.stopping) abortForShutdown(running);
  try {
    return await done;
  } finally {
    coordinator.running.delete(running);
  }
}

/**
 * Shuts the instance down: it claims nothing more, gives back the leases of its hand-overs that have not been claimed,
 * aborts its attempts and its items, and leaves the runs of those. All of these runs continue on other instances.
 * Decision 060.
 */
export async function drain(coordinator: Coordinator): Promise<void> {
  coordinator.stopping = true;
  const { clock } = coordinator;
  const began = clock.monotonic();
  const running = [...coordinator.running];
  for (const attempt of running) abortForShutdown(attempt);
  // A tick that never answers would keep its timer's lock: after a restart in place the host waits for it.
  const ticks = [...coordinator.ticks];
  // Looked at first: a hand-over that is being given back is no longer noted, and its release has yet to be sent.
  const { releases } = coordinator.handOvers;
  const left = leaveItems(coordinator, () => DRAIN_LIMIT_MS - (clock.monotonic() - began));
  const isIdle = running.length + ticks.length + left.length + coordinator.handOvers.count + releases.size === 0;
  if (isIdle) return;
  for (const tick of ticks) tick.wake();
  // Once more after the ticks: one of them may be handing over.
  const ticksOver = Promise.allSettled(ticks.map(({ done }) => done));
  const givenBack = [...releases, giveBackAll(coordinator), ticksOver.then(() => giveBackAll(coordinator))];
  const goingOn = [...running, ...ticks].map(({ done }) => done);
  const finished = new AbortController();
  await Promise.race([
    Promise.allSettled([...goingOn, ...givenBack, ...left]).then(() => finished.abort()),
    sleep(clock, DRAIN_LIMIT_MS, finished.signal),
  ]);
  await sleep(clock, ANSWER_MS);
}
