import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { CallOutcome } from '../../src/core/storage-call';
import type { LeaseStore } from '../../src/lease/store';
import { startStorageServer } from '../../src/local/servers/servers';
import type { StorageServer } from '../../src/local/servers/server';
import { openStore } from '../../src/stores/open';
import { systemClock } from '../../src/system-clock';
import { keepOf } from '../support/keep';
import { describeWith } from '../support/needs';
import { storeAt, testPostgres, urlAt } from '../support/postgres';
import { acquire, createRow, JOB, jobName, readRow } from './cases/support';
import { lostAnswerConformance } from './lost-answers';

const KEY = '8231526400000-s';
const RECORD = { body: '{"token":1}', summary: { outcome: 'open' } };

const onPostgres = describeWith('postgres', 'the calls to PostgreSQL, and what it answers');

let server: StorageServer;
let schemas = 0;
beforeAll(async () => {
  server = await testPostgres();
});
afterAll(() => server.stop());

function freshName(): string {
  schemas += 1;
  return `wire-${String(schemas)}`;
}

onPostgres('PostgreSQL', () => {
  lostAnswerConformance('PostgreSQL', {
    port: () => server.port,
    open: (port, schema) => storeAt({ url: urlAt(port), schema }),
  });
});

onPostgres('a call to PostgreSQL', () => {
  it('is one statement, won or lost, and is counted with its result', async () => {
    const outcomes: CallOutcome[] = [];
    const store = storeAt({ url: server.url, schema: freshName(), onOutcome: (outcome) => outcomes.push(outcome) });
    await store.prepare();
    const ifMatch = await createRow(store);
    const leaseId = await acquire(store, ifMatch);
    await store.writeRow(JOB, { token: '1' }, { leaseId, ifMatch });
    await store.writeRow(JOB, { token: '1' }, { leaseId, ifMatch });
    await store.readRecord(JOB, KEY);
    expect(outcomes.map(({ kind, result }) => `${kind} ${result}`)).toEqual([
      ...['container ok', 'write ok', 'read ok', 'acquire ok', 'metadata ok', 'metadata conflict', 'read notFound'],
    ]);
  });

  it('that waits for a lock ends in time, and frees its connection', async () => {
    const schema = freshName();
    const store = storeAt({ url: server.url, schema, callTimeoutMs: 300 });
    await storeAt({ url: server.url, schema }).prepare();
    const ifMatch = await createRow(store);
    const blocker = new Client(server.url);
    await blocker.connect();
    await blocker.query(`begin; lock table "${schema}".jobs`);
    const calls = Array.from({ length: 12 }, () => store.readRow(JOB));
    for (const end of await Promise.allSettled(calls)) {
      expect(end).toMatchObject({ status: 'rejected', reason: { code: 'StoreUnavailable' } });
    }
    await blocker.end();
    await vi.waitFor(async () => expect((await readRow(store)).etag).toBe(ifMatch), { timeout: 10_000 });
  });

  it('that lists calls no lease ended that was renewed after its snapshot', async () => {
    const schema = freshName();
    const store = storeAt({ url: server.url, schema });
    await store.prepare();
    await acquire(store, await createRow(store));
    const owner = new Client(server.url);
    await owner.connect();
    // The listing takes a second and a half between its snapshot and its look at the clock. The lease seen ends
    // meanwhile.
    await owner.query(`alter table "${schema}".jobs rename to slow;
      create view "${schema}".jobs as select slow.* from "${schema}".slow, (select pg_sleep(1.5)) s;
      update "${schema}".slow set lease_until = clock_timestamp() + interval '500 ms'`);
    const sent = Date.now();
    const listings = [store.list(), store.list({ job: JOB }), store.readRow(JOB)] as const;
    await vi.waitFor(async () => {
      const { rows } = await owner.query(`select from pg_stat_activity where wait_event = 'PgSleep'`);
      expect(rows).toHaveLength(listings.length);
    });
    await owner.query(`update "${schema}".slow set lease_until = clock_timestamp() + interval '15 s'`);
    await owner.end();
    const [all, one, read] = await Promise.all(listings);
    for (const { date, jobs } of [all, one]) {
      expect(jobs.get(JOB)?.row?.lease).toBe('leased');
      expect(date).toBeLessThanOrEqual(sent + 500);
    }
    expect(read?.lease).toBe('leased');
  });

  it('without the right to create tables works where they exist, and names the remedy where not', async () => {
    const schema = freshName();
    const owner = new Client(server.url);
    await owner.connect();
    await owner.query(`create role guest login`);
    const url = server.url.replace('postgres@', 'guest@');
    await expect(storeAt({ url, schema }).prepare()).rejects.toMatchObject({
      code: 'StoreDenied',
      message: expect.stringContaining('may not create them'),
    });
    await storeAt({ url: server.url, schema }).prepare();
    await expect(storeAt({ url, schema }).list()).rejects.toMatchObject({ code: 'StoreDenied', why: 'role' });
    await owner.query(
      `grant usage on schema "${schema}" to guest;
       grant select, insert, update, delete on all tables in schema "${schema}" to guest`,
    );
    await owner.end();
    const store = storeAt({ url, schema });
    await store.prepare();
    await acquire(store, await createRow(store));
  });

  it('of many instances that start at the same time finds the tables', async () => {
    const schema = freshName();
    // Two pools, because the time limits differ.
    const stores = [10_000, 9_000].map((callTimeoutMs) => storeAt({ url: server.url, schema, callTimeoutMs }));
    await Promise.all(Array.from({ length: 10 }, () => stores.map((store) => store.prepare())).flat());
    await createRow(stores[0] ?? storeAt({ url: server.url, schema }));
  });

  it('deletes what is older than it is kept, of each job by its own length', async () => {
    const schema = freshName();
    const store = storeAt({ url: server.url, schema });
    await store.prepare();
    const [short, long] = [jobName('short'), jobName('long')];
    for (const job of [short, long]) {
      await store.createRecord(job, KEY, RECORD);
      await store.createLog(job, KEY, '1');
      await store.appendLog(job, KEY, '1', { text: 'said\n', at: 0 });
    }
    await store.createRequest('old', '{}');
    const keep = new Map([
      [short, 3_600_000],
      [long, 3 * 3_600_000],
    ]);
    expect(await store.purge(keepOf(keep))).toBe('done');
    expect(await store.readRecord(short, KEY)).toBeDefined();
    const owner = new Client(server.url);
    await owner.connect();
    for (const table of ['records', 'logs', 'requests']) {
      await owner.query(`update "${schema}".${table} set written_at = written_at - interval '2 hours'`);
    }
    // It is old by its due time, and was written just now.
    await store.createRecord(short, '9999999999999-s', RECORD);
    await owner.query(`insert into "${schema}".records (job, id, metadata, body, written_at)
      select 'short', n || '-s', '{}', '', now() - interval '2 hours' from generate_series(1, 6000) n`);
    expect(await store.purge(keepOf(keep))).toBe('more');
    expect(await store.purge(keepOf(keep))).toBe('done');
    expect((await store.listRecords(short, { limit: 10 })).records.map(({ key }) => key)).toEqual(['9999999999999-s']);
    expect(await store.readLog(short, KEY, '1', { from: 0, limit: 10 })).toBeUndefined();
    const { rows } = await owner.query(`select job from "${schema}".log_texts`);
    await owner.end();
    expect(rows).toEqual([{ job: 'long' }]);
    expect(await store.readRecord(long, KEY)).toBeDefined();
    expect(await store.readLog(long, KEY, '1', { from: 0, limit: 10 })).toBe('said\n');
    expect(await store.readRequest('old')).toBe('{}');
  });

  it('shows no password in what it says', async () => {
    const secret = 's3cret-of-mine';
    const settings = { CRONLEASE_STORAGE: `postgres://nobody:${secret}@127.0.0.1:${String(server.port)}/postgres?x=y` };
    const store = openStore({ settings, container: undefined, clock: systemClock });
    const error: unknown = await store.list().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'StoreDenied' });
    const { inspect } = await import('node:util');
    expect(`${inspect(error, { depth: 10, showHidden: true })} ${store.location}`).not.toContain(secret);
    for (const wrong of [
      `postgres://u:${secret}@[x/db`,
      `postgres://u:${secret}#x@h/db`,
      `postgres://u:${secret}@a,b/d`,
    ]) {
      const open = (): LeaseStore =>
        openStore({ settings: { CRONLEASE_STORAGE: wrong }, container: undefined, clock: systemClock });
      expect(open).toThrow(expect.objectContaining({ code: 'ConnectionStringInvalid' }));
      expect(open).not.toThrow(new RegExp(secret));
    }
  });
});

onPostgres('a connection to PostgreSQL', () => {
  it('lives for five minutes, as the name may lead to another server by then', async () => {
    const schema = freshName();
    const owner = new Client(server.url);
    await owner.connect();
    const pidOf = async (): Promise<number | undefined> => {
      const { rows } = await owner.query<{ pid: number }>(
        `select pid from pg_stat_activity where query like '%${schema}%' and pid <> pg_backend_pid()`,
      );
      return rows[0]?.pid;
    };
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const store = storeAt({ url: server.url, schema, callTimeoutMs: 9_999 });
      await store.prepare();
      await store.list();
      const first = await pidOf();
      expect(first).toBeDefined();
      for (let minute = 1; minute <= 4; minute += 1) {
        vi.advanceTimersByTime(60_000);
        await store.list();
        expect(await pidOf()).toBe(first);
      }
      vi.advanceTimersByTime(60_000);
      await store.list();
      await expect.poll(pidOf, { timeout: 5_000 }).not.toBe(first);
    } finally {
      vi.useRealTimers();
      await owner.end();
    }
  });
});

onPostgres('a server of PostgreSQL', () => {
  it.each(['SIGINT', 'SIGKILL'] as const)(
    'ended by %s and started on its files keeps rows and leases',
    async (signal) => {
      const data = mkdtempSync(path.join(tmpdir(), 'pg-files-'));
      chmodSync(data, 0o755);
      const settings = [
        ['max_connections', '50'],
        ['log_min_messages', 'fatal'],
      ];
      const first = await startStorageServer('postgres', { data, settings });
      const store = storeAt({ url: first.url, schema: 'again', callTimeoutMs: 2_000 });
      await store.prepare();
      const ifMatch = await createRow(store);
      const leaseId = await acquire(store, ifMatch);
      await store.writeRow(JOB, { token: '7' }, { leaseId, ifMatch });
      await first.stop(signal);
      await expect(store.list()).rejects.toMatchObject({ code: 'StoreUnavailable' });
      // The processes of a server that was killed hold its memory for a moment.
      const second = await vi.waitFor(() => startStorageServer('postgres', { data, settings, port: first.port }), {
        timeout: 30_000,
      });
      try {
        expect(await readRow(store)).toMatchObject({ lease: 'leased', metadata: { token: '7' } });
        expect(await store.renew(JOB, leaseId)).toBe('renewed');
      } finally {
        await second.stop();
      }
    },
  );

  it('that stands still costs each call its time limit and no more, and is used again', async () => {
    const other = await testPostgres();
    const store = storeAt({ url: other.url, schema: 'still', callTimeoutMs: 500 });
    try {
      await vi.waitFor(() => store.prepare(), { timeout: 20_000 });
      const leaseId = await acquire(store, await createRow(store));
      const backends = new Client(other.url);
      await backends.connect();
      const { rows } = await backends.query<{ pid: number }>('select pid from pg_stat_activity');
      await backends.end();
      const pids = [other.pid, ...rows.map(({ pid }) => pid)];
      const signal = (name: NodeJS.Signals): void => {
        for (const pid of pids) {
          try {
            process.kill(pid, name);
          } catch (error) {
            // A session that has ended meanwhile.
            if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
          }
        }
      };
      signal('SIGSTOP');
      const started = performance.now();
      const ends = await Promise.allSettled(Array.from({ length: 15 }, () => store.renew(JOB, leaseId)));
      expect(performance.now() - started).toBeLessThan(5_000);
      for (const end of ends) expect(end).toMatchObject({ status: 'rejected', reason: { code: 'StoreUnavailable' } });
      signal('SIGCONT');
      await vi.waitFor(async () => expect(await store.renew(JOB, leaseId)).toBe('renewed'), { timeout: 20_000 });
    } finally {
      await other.stop();
    }
  });
});
