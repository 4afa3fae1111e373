import { describe, expect, it } from 'vitest';
import { runHistory } from './history';
import { planOf } from './plan';

/** Replays one history, with its trace. */
const only = process.env['SIMULATION_SEED'];
const first = Number(only ?? process.env['SIMULATION_FIRST'] ?? 1);
const histories = only === undefined ? Number(process.env['SIMULATION_HISTORIES'] ?? 300) : 1;
const TRACE_LINES = 4_000;

describe('every history of simulated faults', () => {
  it(`keeps the promises: ${String(histories)} from seed ${String(first)}`, { timeout: 3_600_000 }, async () => {
    const failed: string[] = [];
    for (let seed = first; seed < first + histories; seed += 1) {
      const plan = planOf(seed);
      const { violations, trace } = await runHistory(plan);
      if (violations.length === 0) continue;
      failed.push(
        `SIMULATION_SEED=${String(seed)} npx vitest run test/simulation: ${violations.slice(0, 3).join('; ')}`,
      );
      if (only === undefined) continue;
      const job = violations[0]?.split(':')[0];
      console.log(JSON.stringify(plan, undefined, 1));
      console.log(trace(TRACE_LINES, job === 'all' ? undefined : job).join('\n'));
    }
    expect(failed).toEqual([]);
  });

  it('is the same history again for the same seed', async () => {
    const [once, again] = [await runHistory(planOf(7)), await runHistory(planOf(7))];
    expect(once.trace(Infinity).length).toBeGreaterThan(100);
    expect(again.trace(Infinity)).toEqual(once.trace(Infinity));
  });
});
