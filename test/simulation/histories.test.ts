import { describe, expect, it } from 'vitest';
import { runHistory } from './history';
import { planOf } from './plan';

const first = Number(process.env['SIMULATION_SEED'] ?? 1);
const histories = process.env['SIMULATION_SEED'] === undefined ? Number(process.env['SIMULATION_HISTORIES'] ?? 100) : 1;

describe('every history of simulated faults', () => {
  it('keeps the promises', { timeout: 3_600_000 }, async () => {
    const failed: string[] = [];
    let events = 0;
    const total: Record<string, number> = {};
    for (let seed = first; seed < first + histories; seed += 1) {
      const outcome = await runHistory(planOf(seed));
      events += outcome.events;
      for (const [what, count] of Object.entries(outcome.counts)) total[what] = (total[what] ?? 0) + count;
      if (outcome.violations.length === 0) continue;
      failed.push(`SIMULATION_SEED=${String(seed)}: ${outcome.violations.slice(0, 3).join('; ')}`);
      if (histories === 1)
        console.log(
          outcome.trace(4000, outcome.violations[0]?.split(':')[0]).join('\n'),
          JSON.stringify(planOf(seed), undefined, 1),
        );
    }
    console.log(`${histories} histories, ${events} events`, total);
    expect(failed).toEqual([]);
  });
});
