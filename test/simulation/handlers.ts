import { NonRetryableError } from '../../src/coordinator/handler';
import type { JobContext } from '../../src/coordinator/handler';
import { sleep } from '../../src/core/clock';
import type { Clock } from '../../src/core/clock';
import type { FencedBlob } from '../../src/lease/fence';
import type { Behaviour, PlannedJob } from './plan';
import { BEHAVIOURS } from './plan';
import type { Random } from './random';

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
  for (;;) {
    if (random.chance(0.5)) {
      // A stale leader, or storage that is away: a handler that ignores its errors goes on all the same.
      const written = context.fence.write(blob, 'x').catch((error: unknown) => error);
      const failed = await written;
      if (failed !== undefined && behaviour === 'throwsLate') throw failed;
    }
    const left = ends - clock.monotonic();
    if (left <= 0) break;
    const obeys = behaviour !== 'ignores' && behaviour !== 'never';
    await sleep(clock, Math.min(left, 7_000), obeys ? context.signal : undefined);
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
