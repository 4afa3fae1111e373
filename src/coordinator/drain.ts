import type { Millis, JobName, LeaseId, Token } from '../core/brand';
import { sleep } from '../core/clock';
import { nobodyBeats } from '../core/fan-out';
import { decodeRow } from '../core/row';
import { isFanOut } from '../handler/handlers';
import { acquire, release } from '../lease/acquire';
import { type Aborter, type RunningCall, abortForShutdown } from './bounded';
import type { Coordinator } from './coordinator';
import type { HandOver } from './hand-overs';
import { writeAtRest } from './held';
import { type Ask, asking } from './row-writer';
import { type Beats, isLeftToItems, leaveBeats, listBeats, runsAtWork } from './run-pieces';

/** The host gives its shutdown hook 5 s, and we plan for 2: leases that are not released by then expire. */
const DRAIN_LIMIT_MS: Millis = 2_000;
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

interface Leaving {
  readonly coordinator: Coordinator;
  readonly beats: Beats;
  readonly remaining: () => Millis;
  readonly ask: Ask;
}

/**
 * Leaves the runs on whose items this process has worked, in its shutdown: it ends its heartbeat for each, and if no
 * other process has one, it hands the run on to any tick. Call it when no item can begin here any more. Where an item
 * does not end, or storage does not answer, the silence of the items decides. Decision 089. Decision 090.
 */
function leaveItems(coordinator: Coordinator, remaining: () => Millis): readonly Promise<void>[] {
  const ask = asking(coordinator, remaining);
  // An orchestration of the app outlives its hosts. A run of one has no items here.
  const fanning = runsAtWork(coordinator).filter(({ job }) => {
    const handler = coordinator.jobs.get(job as JobName)?.handler;
    return handler !== undefined && isFanOut(handler);
  });
  return fanning.map((beats) => leave({ coordinator, beats, remaining, ask }));
}

async function leave(leaving: Leaving): Promise<void> {
  const { coordinator, beats } = leaving;
  // Until then, an item may trust.
  await Promise.allSettled(beats.items);
  await Promise.allSettled([beats.writing]);
  if (!beats.exists) return;
  await leaveBeats(coordinator, beats);
  if (await isLast(leaving)) await handOn(leaving);
}

async function isLast({ beats, ask }: Leaving): Promise<boolean> {
  return nobodyBeats(await listBeats(ask, beats), beats.token as Token);
}

/**
 * Notes in the row that no instance works on its items. An item that finds the row leased does not begin to trust, so
 * under the lease the heartbeats of all that trust are there to be seen.
 */
async function handOn(leaving: Leaving): Promise<void> {
  const { coordinator, beats, remaining, ask } = leaving;
  const { store } = coordinator;
  const name = beats.job as JobName;
  const seen = await ask((rows, signal) => rows.readRow(name, { signal }));
  // On an available row, what was owed is written.
  if (seen?.lease !== 'available') return;
  const row = decodeRow(seen.metadata);
  if (!isLeftToItems(row, beats)) return;
  const lease = {
    leaseId: coordinator.newId() as LeaseId,
    leaseMs: store.limits.leaseMs.least,
    etag: seen.etag,
  };
  const acquired = await acquire(coordinator, name, lease, remaining);
  if (acquired === undefined) return;
  const next = { ...row, owed: [], telling: [], itemsLeftAt: acquired.date };
  if (await isLast(leaving)) await writeAtRest(coordinator, name, lease, next, remaining);
  else await release(coordinator, name, lease, remaining);
}

const GIVE_BACK_LIMIT_MS = 2_000;

/**
 * Releases an available row that was handed over and not claimed, so that others need not wait until its lease expires.
 * The release carries the ETag from before the claim, so it fails once any claim has been made. An attempt that comes
 * later finds its lease gone, and acquires it again if the row is unchanged. Decision 051. Decision 054. Decision 058.
 *
 * @throws StoreError when storage does not answer: the lease expires
 */
export async function giveBack(coordinator: Coordinator, name: JobName, handOver: HandOver): Promise<void> {
  const { clock, handOvers } = coordinator;
  if (handOver.lease !== 'available') return;
  handOvers.givesBack(name, handOver);
  const started = clock.monotonic();
  const remaining = (): Millis => GIVE_BACK_LIMIT_MS - (clock.monotonic() - started);
  const answer = release(coordinator, name, handOver, remaining);
  // The caller gets the error.
  const over = answer.catch(() => undefined);
  handOvers.releases.add(over);
  try {
    await answer;
  } finally {
    handOvers.releases.delete(over);
  }
}

/** Gives back all hand-overs of this process that it has not seen claimed. Never rejects, because leases expire. */
export async function giveBackAll(coordinator: Coordinator): Promise<void> {
  await Promise.allSettled(
    coordinator.handOvers.all().map(([name, handOver]) => giveBack(coordinator, name, handOver)),
  );
}
