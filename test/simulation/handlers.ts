import { NonRetryableError } from '../../src/coordinator/handler';
import type { JobContext } from '../../src/coordinator/handler';
import { sleep } from '../../src/core/clock';
import type { Clock } from '../../src/core/clock';
import type { FencedBlob } from '../../src/lease/fence';
import type { Behaviour, PlannedJob } from './plan-job';
import { BEHAVIOURS } from './plan-job';
import type { Random } from './random';

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
