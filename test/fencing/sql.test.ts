import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Token } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import { createFence } from '../../src/lease/fence';
import { runJob } from '../../src/testing/run-job';
import { jobSpec } from '../support/job';
import { type SimulatedHandler, rivalTicks } from '../support/rival-ticks';
import { type Engine, postgresql, sqlite } from './engine';
import { load, loadUnderFence, snippet } from './page';

const ENGINES: Readonly<Record<string, () => Promise<Engine>>> = {
  PostgreSQL: postgresql,
  SQLite: async () => sqlite(),
};
const MINUTE = 60_000;
const LARGE = Number.MAX_SAFE_INTEGER;
const underFence = loadUnderFence();
const fenceOf = (token: number, trust = { holds: true }) => createFence('a', token as Token, trust, []);

describe.each(Object.entries(ENGINES))('on %s', (_name, open) => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await open();
    await engine.query(snippet('create'));
    await engine.query(snippet('create-fence'));
  });
  beforeEach(async () => {
    await engine.query('DELETE FROM report');
    await engine.query('DELETE FROM cronlease_fence');
  });
  afterAll(async () => {
    vi.unstubAllGlobals();
    await engine.close();
  });

  const rowsOf = async (sql: string): Promise<unknown> => (await engine.query(sql)).rows;
  const report = () => rowsOf('SELECT total, token FROM report ORDER BY day');

  describe('a row with its token', () => {
    const write = async (token: number, total: number, day = '2026-01-01'): Promise<boolean> =>
      (await engine.query(snippet('write'), [day, total, token])).rows.length === 1;

    it('is inserted by the first write, and written twice with one token', async () => {
      expect(await write(4, 10)).toBe(true);
      expect(await report()).toEqual([{ total: 10, token: 4 }]);
      expect(await write(4, 11)).toBe(true);
      expect(await report()).toEqual([{ total: 11, token: 4 }]);
    });

    it('is written with a higher token, and with the highest that there can be', async () => {
      await write(4, 10);
      expect(await write(5, 20)).toBe(true);
      expect(await write(LARGE, 30)).toBe(true);
      expect(await write(LARGE - 1, 40)).toBe(false);
      expect(await report()).toEqual([{ total: 30, token: LARGE }]);
    });

    it('refuses a lower token and stays as it is', async () => {
      await write(5, 20);
      expect(await write(4, 10)).toBe(false);
      expect(await report()).toEqual([{ total: 20, token: 5 }]);
    });

    it('is updated, where it is known to exist, by the same and a higher token only', async () => {
      const update = async (token: number, total: number): Promise<boolean> =>
        (await engine.query(snippet('update'), ['2026-01-01', total, token])).rows.length === 1;
      expect(await update(4, 10)).toBe(false);
      await write(4, 10);
      expect([await update(4, 11), await update(5, 12), await update(4, 13)]).toEqual([true, true, false]);
      expect(await report()).toEqual([{ total: 12, token: 5 }]);
    });

    it('says nothing about another row', async () => {
      await write(5, 20);
      expect(await write(4, 10, '2026-01-02')).toBe(true);
    });
  });

  describe('many rows under a fence row', () => {
    const insert = (day: string, total: number, token: number) =>
      engine.query('INSERT INTO report (day, total, token) VALUES ($1, $2, $3)', [day, total, token]);
    const replaceAll = (token: number) => async (): Promise<number> => {
      await engine.query('DELETE FROM report');
      await insert('2026-01-01', 10, token);
      await insert('2026-01-02', 20, token);
      return token;
    };

    it('are written by the first, the same and a higher token', async () => {
      for (const token of [4, 4, 5, LARGE]) {
        expect(await underFence(engine, 'a', fenceOf(token), replaceAll(token))).toBe(token);
      }
      expect(await rowsOf('SELECT job, token FROM cronlease_fence')).toEqual([{ job: 'a', token: LARGE }]);
      expect(await rowsOf('SELECT token FROM report')).toEqual([{ token: LARGE }, { token: LARGE }]);
    });

    it('refuse a lower token before anything is written', async () => {
      await underFence(engine, 'a', fenceOf(5), replaceAll(5));
      let called = false;
      const late = underFence(engine, 'a', fenceOf(4), async () => {
        called = true;
      });
      await expect(late).rejects.toMatchObject({ code: 'StaleLeader' });
      expect(called).toBe(false);
      expect(await report()).toEqual([
        { total: 10, token: 5 },
        { total: 20, token: 5 },
      ]);
    });

    it('stay as they were when the writing fails half-way, and so does the fence', async () => {
      await underFence(engine, 'a', fenceOf(4), replaceAll(4));
      const failing = underFence(engine, 'a', fenceOf(5), async () => {
        await engine.query('DELETE FROM report');
        throw new Error('half-way');
      });
      await expect(failing).rejects.toThrow('half-way');
      expect(await report()).toHaveLength(2);
      expect(await underFence(engine, 'a', fenceOf(4), replaceAll(4))).toBe(4);
    });

    it('keep the error of a connection that cannot even roll back', async () => {
      const query = async (): Promise<never> => {
        throw new Error('connection reset');
      };
      const broken = { query: (sql: string) => (sql === 'BEGIN' ? engine.query(sql) : query()) };
      await expect(underFence(broken, 'a', fenceOf(4), replaceAll(4))).rejects.toThrow('connection reset');
      await engine.query('ROLLBACK');
    });

    it('have a fence of their own for each job', async () => {
      await underFence(engine, 'a', fenceOf(5), async () => undefined);
      expect(await underFence(engine, 'b', fenceOf(4), async () => 'written')).toBe('written');
    });

    it('are not even begun by an attempt that knows that it is over', async () => {
      const late = underFence(engine, 'a', fenceOf(9, { holds: false }), replaceAll(9));
      await expect(late).rejects.toMatchObject({ code: 'StaleLeader' });
      expect(await rowsOf('SELECT * FROM cronlease_fence')).toEqual([]);
    });

    it('are shut to older tokens by one that takes the fence before it reads', async () => {
      await underFence(engine, 'a', fenceOf(5), async () => undefined);
      await expect(underFence(engine, 'a', fenceOf(4), replaceAll(4))).rejects.toMatchObject({ code: 'StaleLeader' });
      expect(await report()).toEqual([]);
    });
  });

  describe('a leader', () => {
    it('that is paused past its lease and wakes up writes nothing over its successor’s rows', async () => {
      const ends: unknown[] = [];
      const write = (total: number, token: number): Promise<unknown> =>
        engine.query(snippet('write'), ['2026-01-01', total, token]);
      const handler: SimulatedHandler = async ({ job, attempt, fence }, on) => {
        const { token } = fence;
        if (attempt > 1) {
          await underFence(engine, job, fence, () => write(200, token));
          return 'successor';
        }
        await underFence(engine, job, fence, () => write(100, token));
        on.pause();
        await sleep(on.coordinator.clock, 1000);
        // It goes on in the middle of what it was doing, and asks no one whether it still leads.
        const unaware = { ...fence, check: () => undefined };
        ends.push(await underFence(engine, job, unaware, () => write(101, token)).catch((error: unknown) => error));
        ends.push(await write(102, token));
        fence.check();
        return 'woken';
      };
      const sim = rivalTicks({ jobs: [jobSpec('a', '@at 2026-01-01T00:05:00Z')], deployments: 2, handler });
      await until(sim.clock.advance, async () => (await sim.records('a'))[0]?.outcome === 'succeeded');
      expect(await report()).toEqual([{ total: 200, token: 2 }]);

      for (const instance of sim.instances) instance.wake();
      await until(sim.clock.advance, async () => ends.length === 2);
      expect(ends).toMatchObject([{ code: 'StaleLeader' }, { rows: [] }]);
      expect(await report()).toEqual([{ total: 200, token: 2 }]);
      expect(await sim.records('a')).toMatchObject([{ outcome: 'succeeded', token: 2, result: 'successor' }]);
    });

    it('that runs the page’s handler writes its rows under the fence, and fails without a trace when it is late', async () => {
      await engine.query('CREATE TABLE sale (day date, customer text, amount integer)');
      await engine.query('CREATE TABLE total (day date, customer text, amount integer)');
      await engine.query("INSERT INTO sale VALUES ('2026-01-01', 'ann', 1), ('2026-01-01', 'ann', 2)");
      vi.stubGlobal('pool', {
        connect: async () => ({ query: engine.query, release: () => undefined }),
        on: () => undefined,
      });
      const { dailyTotals: handler } = load('handler');
      if (handler === undefined) throw new Error('examples/fencing.md exports no dailyTotals');
      const totals = async () => (await engine.query('SELECT customer, amount FROM total')).rows;
      const run = (token: number) =>
        runJob(handler, { job: 'daily-totals', token, scheduledFor: '2026-01-01T00:00:00Z' });

      expect(await run(5)).toMatchObject({ outcome: 'succeeded' });
      expect(await totals()).toEqual([{ customer: 'ann', amount: 3 }]);
      await engine.query("INSERT INTO sale VALUES ('2026-01-01', 'ann', 4)");
      expect(await run(4)).toMatchObject({ outcome: 'failed', error: { name: 'StaleLeaderError' } });
      expect(await totals()).toEqual([{ customer: 'ann', amount: 3 }]);
      expect(await run(6)).toMatchObject({ outcome: 'succeeded' });
      expect(await totals()).toEqual([{ customer: 'ann', amount: 7 }]);
    });
  });
});

/** Lets time pass until it is so. The database takes real time, which the clock does not know of. */
async function until(advance: (ms: number) => Promise<void>, so: () => Promise<boolean>): Promise<void> {
  for (let passed = 0; !(await so()); passed += 1000) {
    if (passed > 30 * MINUTE) throw new Error('it has not come to that in 30 minutes');
    await advance(1000);
  }
}
