import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import type { Token } from '../../src/core/brand';
import { createFence } from '../../src/lease/fence';
import type { StorageServer } from '../../src/local/servers/server';
import { runJob } from '../../src/testing/run-job';
import { describeWith } from '../support/needs';
import { testPostgres } from '../support/postgres';
import { load, loadUnderFence, snippet } from './page';

/** The page's limits, shortened. */
const SHORTER = { "lock_timeout = '15s'": "lock_timeout = '1500ms'", "timeout = '10s'": "timeout = '500ms'" };
const fenceOf = (token: number) => createFence('a', token as Token, { holds: true }, []);

describeWith('postgres', 'the fencing recipe on PostgreSQL')('on a PostgreSQL server, underFence', () => {
  const underFence = loadUnderFence(SHORTER);
  let server: StorageServer;
  let pool: Pool;
  beforeAll(async () => {
    server = await testPostgres();
    pool = new Pool({ connectionString: server.url });
    vi.stubGlobal('pool', pool);
    // It gives the pool its listener.
    load('handler');
    await pool.query(snippet('create'));
    await pool.query(snippet('create-fence'));
    await pool.query('CREATE TABLE sale (day date, customer text, amount integer)');
    await pool.query('CREATE TABLE total (day date, customer text, amount integer)');
  }, 60_000);
  beforeEach(() => pool.query('DELETE FROM cronlease_fence'));
  afterAll(async () => {
    vi.unstubAllGlobals();
    await pool.end();
    await server.stop();
  });

  it('sets the limits of the page, for its transaction alone', async () => {
    const client = await pool.connect();
    const limits = async (): Promise<unknown[]> => {
      const names = ['lock_timeout', 'idle_in_transaction_session_timeout'];
      const answers = [];
      for (const name of names)
        answers.push((await client.query<Record<string, string>>(`SHOW ${name}`)).rows[0]?.[name]);
      return answers;
    };
    expect(await loadUnderFence()(client, 'a', fenceOf(1), limits)).toEqual(['15s', '10s']);
    expect(await limits()).toEqual(['0', '0']);
    client.release();
  });

  it('ends a leader that stands still inside its transaction, so that its successor writes', async () => {
    const [still, successor] = [await pool.connect(), await pool.connect()];
    const entered = Promise.withResolvers<undefined>();
    const woken = Promise.withResolvers<undefined>();
    const late = underFence(still, 'a', fenceOf(1), async () => {
      await still.query("INSERT INTO report VALUES ('2026-01-01', 1, 1)");
      entered.resolve(undefined);
      await woken.promise;
      await still.query("INSERT INTO report VALUES ('2026-01-02', 1, 1)");
    });
    await entered.promise;
    await underFence(successor, 'a', fenceOf(2), () =>
      successor.query("INSERT INTO report VALUES ('2026-01-01', 2, 2)"),
    );
    woken.resolve(undefined);
    await expect(late).rejects.toThrow();
    expect((await pool.query('SELECT total, token FROM report')).rows).toEqual([{ total: 2, token: '2' }]);
    still.release();
    successor.release();
  });

  it('gives up where the one before it works on, and gets its turn when that has ended', async () => {
    const [busy, successor] = [await pool.connect(), await pool.connect()];
    let ends = false;
    const entered = Promise.withResolvers<undefined>();
    const first = underFence(busy, 'a', fenceOf(1), async () => {
      entered.resolve(undefined);
      while (!ends) await busy.query('SELECT pg_sleep(0.1)');
    });
    await entered.promise;
    await expect(underFence(successor, 'a', fenceOf(2), async () => 2)).rejects.toMatchObject({ code: '55P03' });
    ends = true;
    await first;
    expect(await underFence(successor, 'a', fenceOf(2), async () => 2)).toBe(2);
    busy.release();
    successor.release();
  });

  it('fails the page’s handler whose connection the server has ended, and not its process', async () => {
    const { dailyTotals: handler } = load('handler', SHORTER);
    if (handler === undefined) throw new Error('examples/fencing.md exports no dailyTotals');
    await pool.query("INSERT INTO sale VALUES ('2026-01-01', 'ann', 1)");
    let standsStill = true;
    vi.stubGlobal('pool', {
      on: () => undefined,
      connect: async () => {
        const client = await pool.connect();
        return {
          release: () => client.release(),
          query: async (sql: string, values?: unknown[]) => {
            if (standsStill && sql.startsWith('INSERT INTO total')) await wait(1_500);
            return client.query(sql, values);
          },
        };
      },
    });
    const run = () => runJob(handler, { job: 'daily-totals', token: 3, scheduledFor: '2026-01-01T00:00:00Z' });
    expect(await run()).toMatchObject({ outcome: 'failed' });
    expect((await pool.query('SELECT * FROM total')).rows).toEqual([]);
    standsStill = false;
    expect(await run()).toMatchObject({ outcome: 'succeeded' });
    expect((await pool.query('SELECT customer, amount FROM total')).rows).toEqual([{ customer: 'ann', amount: 1 }]);
  });
});
