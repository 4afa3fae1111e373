import type { JobName, LeaseId, Millis, Token } from '../core/brand';
import { nobodyBeats } from '../core/fan-out';
import { decodeRow } from '../core/row';
import { acquire, release } from '../lease/acquire';
import { untilAnswered } from '../lease/deadline';
import { type Beats, isLeftToItems, leaveBeats, listBeats, runsAtWork } from './beat';
import { isFanOut } from '../handler/handlers';
import type { Coordinator, RunnableJob } from './coordinator';
import { writeAtRest } from './held';
import type { Ask } from './row-writer';

/** How a shutdown leaves the items of one run. */
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
export function leaveItems(coordinator: Coordinator, remaining: () => Millis): readonly Promise<void>[] {
  const ask: Ask = (call) => untilAnswered(coordinator, remaining, (signal) => call(coordinator.store, signal));
  // An orchestration of the app outlives its hosts. A run of one has no items here.
  const fanning = runsAtWork(coordinator).filter(({ job }) => isFannedOut(coordinator.jobs.get(job as JobName)));
  return fanning.map((beats) => leave({ coordinator, beats, remaining, ask }));
}

function isFannedOut(job: RunnableJob | undefined): boolean {
  return job !== undefined && isFanOut(job.handler);
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
