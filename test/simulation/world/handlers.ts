import type { FanOutHandler, ItemContext, ItemOutcome } from '../../../src/handler/define-fan-out';
import { type JobContext, NonRetryableError } from '../../../src/handler/handler';
import { type Clock, sleep } from '../../../src/core/clock';
import type { FencedBlob } from '../../../src/lease/fence';
import type { ItemExecution } from './facts';
import { BEHAVIOURS, type Behaviour, type PlannedFanOut, type PlannedJob } from '../faults/plan-job';
import type { SimulatedProcess } from './process';
import { type Random, seedOf, seededBy } from '../faults/random';
import type { World } from './world';

/** A handler that ignores its signal still tries to finish: it writes this often, one write after another. */
const HURRIED_WRITES = 40;

/** One handler call: it writes through its fence meanwhile, and behaves as drawn. */
export async function behave(
  context: JobContext,
  clock: Clock,
  blob: FencedBlob,
  random: Random,
  planned: PlannedJob | undefined,
): Promise<unknown> {
  const behaviour = planned === undefined ? 'quick' : draw(random, planned);
  const lasts = planned === undefined ? random.whole(0, 200) : durationOf(random, behaviour);
  const ends = clock.monotonic() + lasts;
  let hurried = 0;
  for (;;) {
    if (random.chance(hurried > 0 ? 1 : 0.5)) {
      // A stale leader, or storage that is away: a handler that ignores its errors continues all the same.
      const written = context.fence.write(blob, 'x').catch((error: unknown) => error);
      const failed = await written;
      if (failed !== undefined && behaviour === 'throwsLate') throw failed;
    }
    say(context);
    const left = ends - clock.monotonic();
    if (left <= 0) break;
    const obeys = behaviour !== 'ignores' && behaviour !== 'never';
    const told = context.signal.aborted;
    if (told) hurried += 1;
    const slice = told && hurried < HURRIED_WRITES ? 250 : 7_000;
    await sleep(clock, Math.min(left, slice), told ? undefined : context.signal);
    if (obeys && context.signal.aborted) throw context.signal.reason;
    if (random.chance(0.8)) context.progress('going on');
  }
  if (behaviour === 'throws' || behaviour === 'throwsLate') throw new Error('simulated');
  if (behaviour === 'final') throw new NonRetryableError('simulated');
  return { by: context.fence.token };
}

/** A fan-out handler's access to the world. */
interface FanOutParts {
  readonly run: (context: JobContext) => Promise<unknown>;
  /** An item begins. */
  readonly begun: (item: string) => void;
  readonly blob: FencedBlob;
}

/** A handler that fans out: its plan and its gathering behave as any handler, its items as {@link behaveAsItem}. */
export function fanOutHandler(
  world: World,
  planned: PlannedFanOut,
  process: SimulatedProcess,
  { run, begun, blob }: FanOutParts,
): FanOutHandler {
  const { concurrency, deadlineMs, onItemFailure, attempts, backoffMs, itemTimeoutMs } = planned;
  const all = Array.from({ length: planned.items }, (_, index) => index);
  const retry = { attempts, backoffMs, factor: 2, maxBackoffMs: Math.max(8_000, backoffMs), jitter: 'full' } as const;
  return {
    policy: { concurrency, deadlineMs, onItemFailure, retry, maxItems: 10, itemTimeoutMs },
    plan: async (context) => {
      await run(context);
      return all;
    },
    each: async (context) => {
      const item = { context, process };
      world.observer.itemStarted(item);
      begun(`${context.runId} item ${String(context.index)} ${String(context.attempt)}`);
      try {
        return await behaveAsItem(world, planned, item, blob);
      } finally {
        world.observer.itemEnded(item);
      }
    },
    gather: async (context, outcomes: readonly ItemOutcome<number, number>[]) => {
      const places = outcomes.map(({ index }) => index);
      const failed = outcomes.some(({ state }) => state === 'failed');
      if (places.join() !== all.join() || (failed && onItemFailure === 'failFast')) {
        world.observer.report('wronglyGathered', context.job, `run ${context.runId} gathered items ${places.join()}`);
      }
      // Without items it is part of the attempt that planned.
      return all.length === 0 ? undefined : run(context);
    },
  };
}

/** An item takes a while or throws, writes through its fence meanwhile, and may ignore its signal. */
async function behaveAsItem(
  world: World,
  planned: PlannedFanOut,
  { context, process: { clock, id } }: ItemExecution,
  blob: FencedBlob,
): Promise<number> {
  const { job, runId, index, attempt, signal, fence } = context;
  const random = seededBy(world.plan.seed, 'item', job, runId, index, attempt);
  const slow = world.troubled && random.chance(planned.slow);
  const obeys = !random.chance(planned.ignores);
  world.trace?.add(id, `${job} item ${String(index)} of ${runId} attempt ${String(attempt)} starts`);
  const ends =
    clock.monotonic() +
    (slow ? random.whole(5_000, random.pick([40_000, 90_000])) : random.whole(0, world.troubled ? 1_500 : 100));
  for (let hurried = 0; ;) {
    if (random.chance(hurried > 0 ? 1 : 0.3)) {
      // A stale token, other writers, or storage that is away: it continues all the same.
      await fence.write(blob, 'x').catch(() => undefined);
    }
    say(context);
    const left = ends - clock.monotonic();
    if (left <= 0) break;
    if (signal.aborted) hurried += 1;
    const slice = signal.aborted && hurried < HURRIED_WRITES ? 250 : 7_000;
    await sleep(clock, Math.min(left, slice), signal.aborted ? undefined : signal);
    if (obeys && signal.aborted) throw signal.reason;
  }
  if (world.troubled && random.chance(planned.throws)) throw new Error('simulated');
  return index;
}

/** Some handlers say something now and then, and some of them so much that their records cannot hold it. */
function say({ log, runId }: JobContext | ItemContext): void {
  const kind = seedOf(0, runId) % 4;
  if (kind < 2) log(kind === 0 ? 'at work' : 'much '.repeat(1_500));
}

function draw(random: Random, { behaviours }: PlannedJob): Behaviour {
  let left = random.next() * BEHAVIOURS.reduce((sum, behaviour) => sum + behaviours[behaviour], 0);
  for (const behaviour of BEHAVIOURS) {
    left -= behaviours[behaviour];
    if (left < 0) return behaviour;
  }
  return 'quick';
}

function durationOf(random: Random, behaviour: Behaviour): number {
  switch (behaviour) {
    case 'quick':
    case 'throws':
    case 'final':
      return random.whole(0, 1_500);
    case 'long':
    case 'throwsLate':
      return random.whole(3_000, 90_000);
    case 'ignores':
      return random.whole(10_000, 120_000);
    case 'never':
      return Infinity;
  }
}
