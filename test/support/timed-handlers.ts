import type { Millis } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import type { JobContext } from '../../src/handler/handler';
import { type Instance, type RivalTicks, rivalTicks, type SimulationOptions } from './rival-ticks';

export interface TimedHandlers {
  readonly sim: RivalTicks;
  /** The first instance. */
  readonly on: Instance;
  /** The most handlers that ran at once. */
  most(): number;
  /** The jobs of all calls, in order. */
  started(): string[];
}

/** Jobs whose handlers take so long (a second), or until they are aborted. */
export function timedHandlers(lasts: Readonly<Record<string, Millis>>, options: SimulationOptions): TimedHandlers {
  let running = 0;
  let most = 0;
  const handler = async ({ job, signal }: JobContext, { coordinator: { clock } }: Instance): Promise<void> => {
    running += 1;
    most = Math.max(most, running);
    await sleep(clock, lasts[job] ?? 1_000, signal);
    running -= 1;
    if (signal.aborted) throw signal.reason;
  };
  const sim = rivalTicks({ handler, ...options });
  const [on] = sim.instances;
  if (on === undefined) throw new Error('no instance');
  return { sim, on, most: () => most, started: () => sim.calls.map(({ job }) => job) };
}
