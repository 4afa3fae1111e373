import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { jobSpec } from '../support/job';
import { rivalTicks } from '../support/rival-ticks';

const SECOND = 1_000;
const HOUR = 3_600_000;
const T0 = Date.UTC(2026, 0, 1);
/** With nothing always ready, the instance for runs goes away after such a pause. */
const IDLE_MS = 240 * SECOND;

/** How late the hourly runs of half a day start, in seconds, where each of them finds no instance and waits for one to start. */
async function lateness(startsIn: number): Promise<readonly number[]> {
  const sim = rivalTicks({ jobs: [jobSpec('a', '@hourly')], settings: { longestLookAheadMs: 34 * SECOND } });
  let readyAt = -Infinity;
  let lastAt = -Infinity;
  for (const instance of sim.instances) {
    instance.hubLateMs = () => {
      const now = sim.clock.now();
      if (now - lastAt > IDLE_MS) readyAt = now + startsIn * SECOND;
      lastAt = Math.max(now, readyAt);
      return Math.max(5, readyAt - now);
    };
  }
  await sim.clock.advanceTo(T0 + 9 * HOUR + 30 * 60 * SECOND);
  return sim.calls.filter(({ attempt }) => attempt === 1).map(({ at, scheduledFor }) => (at - scheduledFor) / SECOND);
}

describe('runs that wait for an instance to start', () => {
  const kept = readFileSync(path.join(__dirname, '../../docs/evidence/on-azure.json'), 'utf8');
  const { rows } = (JSON.parse(kept) as { readonly 'cold-start': { readonly rows: readonly string[][] } })[
    'cold-start'
  ];
  const table = rows.map((cells) => cells.map((cell) => Number(/^(\d+) s$/.exec(cell)?.[1])));

  it('are in a table', () => expect(table.length).toBeGreaterThan(3));

  it.each(table)(
    'of which each takes %d s start %d s late five times, and then %d s',
    async (startsIn = 0, first = 0, then = 0) => {
      const late = await lateness(startsIn);
      expect(late).toHaveLength(9);
      expect(late.slice(0, 5).map(Math.round)).toEqual(Array.from({ length: 5 }, () => first));
      expect(late.slice(5).map(Math.round)).toEqual(Array.from({ length: 4 }, () => then));
    },
  );
});
