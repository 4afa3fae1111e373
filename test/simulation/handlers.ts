import type { FanOutHandler, ItemOutcome } from '../../src/coordinator/define-fan-out';
import { NonRetryableError } from '../../src/coordinator/handler';
import type { JobContext } from '../../src/coordinator/handler';
import { sleep } from '../../src/core/clock';
import type { Clock } from '../../src/core/clock';
import type { FencedBlob } from '../../src/lease/fence';
import type { Behaviour, PlannedFanOut, PlannedJob } from './plan-job';
import { BEHAVIOURS } from './plan-job';
import type { SimulatedProcess } from './process';
import type { Random } from './random';
import { seededBy } from './random';
import type { World } from './world';

/** A handler that does not obey its signal still wants to get done: it writes this often, one after another. */
const HURRIED_WRITES = 40;

/** What one handler call does: it writes through its fence as it goes on, and behaves as drawn. */
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
      // A stale leader, or storage that is away: a handler that ignores its errors goes on all the same.
      const written = context.fence.write(blob, 'x').catch((error: unknown) => error);
      const failed = await written;
      if (failed !== undefined && behaviour === 'throwsLate') throw failed;
    }
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

/** A handler that fans out: its plan and its gathering behave as any handler does, its items take a while or throw. */
export function fanOutHandler(
  world: World,
  planned: PlannedFanOut,
  { clock, id }: SimulatedProcess,
  { run, begun }: { run: (context: JobContext) => Promise<unknown>; begun: (item: string) => void },
): FanOutHandler {
  const { concurrency, deadlineMs, onItemFailure, attempts } = planned;
  const all = Array.from({ length: planned.items }, (_, index) => index);
  const retry = { attempts, backoffMs: 1_000, factor: 2, maxBackoffMs: 8_000, jitter: 'full' } as const;
  return {
    policy: { concurrency, deadlineMs, onItemFailure, retry, maxItems: 10, itemTimeoutMs: 20_000 },
    plan: async (context) => {
      await run(context);
      return all;
    },
    each: async ({ job, runId, index, attempt, signal }) => {
      const random = seededBy(world.plan.seed, 'item', job, runId, index, attempt);
      const slow = world.troubled && random.chance(planned.slow);
      begun(`${runId} item ${String(index)} ${String(attempt)}`);
      world.trace?.add(id, `${job} item ${String(index)} of ${runId} attempt ${String(attempt)} starts`);
      await sleep(clock, slow ? random.whole(5_000, 40_000) : random.whole(0, world.troubled ? 1_500 : 100), signal);
      if (signal.aborted) throw signal.reason;
      if (world.troubled && random.chance(planned.throws)) throw new Error('simulated');
      return index;
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
