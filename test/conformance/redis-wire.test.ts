import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import type { Redis as Client } from 'ioredis';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { CallOutcome } from '../../src/core/storage-call';
import type { LeaseStore } from '../../src/lease/store';
import { startStorageServer } from '../../src/local/servers/servers';
import { freePort, type StorageServer } from '../../src/local/servers/server';
import { openStore } from '../../src/stores/open';
import { serverOf } from '../../src/stores/redis/settings';
import { redis } from '../../src/stores/redis/store';
import { systemClock } from '../../src/system-clock';
import { keepOf } from '../support/keep';
import { describeWith } from '../support/needs';
import { clientAt, storeAt, testRedis, urlAt } from '../support/redis';
import { acquire, createRow, JOB, jobName, readRow } from './cases/support';
import { lostAnswerConformance } from './lost-answers';

const KEY = '8231526400000-s';
const RECORD = { body: '{"token":1}', summary: { outcome: 'open' } };

const onRedis = describeWith('redis-server', 'the calls to Redis, and what it answers');

let server: StorageServer;
let client: Client;
let containers = 0;
beforeAll(async () => {
  server = await testRedis();
  client = clientAt(server);
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

function freshName(): string {
  containers += 1;
  return `wire-${String(containers)}`;
}

onRedis('Redis', () => {
  lostAnswerConformance('Redis', {
    port: () => server.port,
    open: (port, container) => storeAt({ url: urlAt(port), container }),
  });
});

onRedis('a call to Redis', () => {
  it('is one command, won or lost, and is counted with its result', async () => {
    const outcomes: CallOutcome[] = [];
    const container = freshName();
    const store = storeAt({ url: server.url, container, onOutcome: (outcome) => outcomes.push(outcome) });
    const round = async (): Promise<void> => {
      await store.prepare();
      const ifMatch = await createRow(store);
      const leaseId = await acquire(store, ifMatch);
      await store.writeRow(JOB, { token: '1' }, { leaseId, ifMatch });
      await store.writeRow(JOB, { token: '1' }, { leaseId, ifMatch });
      await store.readRecord(JOB, KEY);
    };
    await round();
    expect(outcomes.map(({ kind, result }) => `${kind} ${result}`)).toEqual([
      ...['container ok', 'write ok', 'read ok', 'acquire ok', 'metadata ok', 'metadata conflict', 'read notFound'],
    ]);
    await client.del(...(await client.keys(`{${container}}:*`)));
    await client.config('RESETSTAT');
    await round();
    const calls = /^cmdstat_(evalsha|eval):calls=(\d+)/gm;
    expect([...(await client.info('commandstats')).matchAll(calls)].map((found) => found.slice(1))).toEqual([
      ['evalsha', '7'],
    ]);
  });

  it('is carried out after the server has forgotten all scripts', async () => {
    const store = storeAt({ url: server.url, container: freshName() });
    await store.prepare();
    await client.script('FLUSH');
    await acquire(store, await createRow(store));
  });

  it('finds a new connection if the server has closed the last one meanwhile', async () => {
    const store = storeAt({ url: server.url, container: freshName() });
    await store.prepare();
    const mine = String(await client.client('ID'));
    const others = ((await client.client('LIST')) as string).matchAll(/^id=(\d+)/gm);
    for (const [, id = ''] of others) if (id !== mine) await client.client('KILL', 'ID', id);
    await pause(100);
    expect((await store.list()).jobs.size).toBe(0);
  });

  it('leaves its connection after five minutes, as the name may lead to another server by then', async () => {
    const container = freshName();
    let passed = 0;
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + passed };
    const store = redis({ server: serverOf(server.url), container, clock, callTimeoutMs: 9_999 }).store;
    const idsOf = async (): Promise<string[]> => {
      await store.prepare();
      const all = ((await client.client('LIST')) as string).matchAll(/^id=(\d+) .* cmd=eval/gm);
      return [...all].map(([, id = '']) => id);
    };
    const first = await idsOf();
    passed = 4 * 60_000;
    expect(await idsOf()).toEqual(first);
    passed += 61_000;
    const later = await idsOf();
    expect(later).toHaveLength(first.length);
    expect(later).not.toEqual(first);
  });

  it('stays in the keys of its container, which all have one hash tag', async () => {
    const container = freshName();
    const others = await client.keys('*');
    const store = storeAt({ url: server.url, container });
    await store.prepare();
    await acquire(store, await createRow(store));
    await store.createRecord(JOB, KEY, RECORD);
    await store.createLog(JOB, KEY, '1');
    await store.appendLog(JOB, KEY, '1', { text: 'said\n', at: 0 });
    const made = (await client.keys('*')).filter((key) => !others.includes(key));
    expect(made).toHaveLength(11);
    for (const key of made) {
      expect(key.startsWith(`{${container}}:`)).toBe(true);
      expect(await client.ttl(key)).toBe(-1);
    }
  });

  it('that waits for the server ends in time, and the next one has a connection of its own', async () => {
    const store = storeAt({ url: server.url, container: freshName(), callTimeoutMs: 300 });
    await store.prepare();
    const ifMatch = await createRow(store);
    await client.client('PAUSE', 1_500, 'ALL');
    for (const end of await Promise.allSettled(Array.from({ length: 12 }, () => store.readRow(JOB)))) {
      expect(end).toMatchObject({ status: 'rejected', reason: { code: 'StoreUnavailable' } });
    }
    await vi.waitFor(async () => expect((await readRow(store)).etag).toBe(ifMatch), { timeout: 10_000 });
  });

  it('needs a number of confirming replicas if the URL says so, and reports a write without them', async () => {
    const container = freshName();
    await storeAt({ url: server.url, container }).prepare();
    const store = storeAt({ url: `${server.url}?waitReplicas=1&waitMs=50`, container });
    await expect(store.createRow(JOB, { token: '0' })).rejects.toMatchObject({
      code: 'StoreUnavailable',
      message: expect.stringContaining('0 of 1 replicas'),
    });
    expect((await readRow(store)).metadata).toEqual({ token: '0' });
  });

  it('deletes what is older than it is kept, of each job by its own length', async () => {
    const container = freshName();
    const store = storeAt({ url: server.url, container });
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
    const written = await client.keys(`{${container}}:*:written`);
    expect(written).toHaveLength(5);
    for (const key of written) {
      for (const id of await client.zrange(key, '0', '-1')) await client.zincrby(key, 2 * -3_600_000, id);
    }
    expect(await store.purge(keepOf(keep))).toBe('done');
    expect(await store.readRecord(short, KEY)).toBeUndefined();
    expect(await store.readLog(short, KEY, '1', { from: 0, limit: 10 })).toBeUndefined();
    expect((await client.keys(`{${container}}:*:short*`)).toSorted()).toEqual([]);
    expect(await store.readRecord(long, KEY)).toBeDefined();
    expect(await store.readLog(long, KEY, '1', { from: 0, limit: 10 })).toBe('said\n');
    expect(await store.readRequest('old')).toBe('{}');
    // Each call deletes some.
    const many = await Promise.all(
      Array.from({ length: 1_200 }, (_, i) => store.createRecord(short, `${i}-s`, RECORD)),
    );
    expect(many).toHaveLength(1_200);
    const key = `{${container}}:records:short:written`;
    await client.call('ZUNIONSTORE', key, 1, key, 'WEIGHTS', '0.5');
    expect([await store.purge(keepOf(keep)), await store.purge(keepOf(keep))]).toEqual(['more', 'done']);
    expect((await store.listRecords(short, { limit: 10 })).records).toEqual([]);
  });
});

onRedis('a URL of Redis', () => {
  it.each([
    ['redis://h', { location: 'redis://h:6379/0', host: 'h', port: 6379, db: 0, tls: undefined, wait: undefined }],
    ['rediss://ann:p%40ss@h:7000/3', { location: 'rediss://h:7000/3', user: 'ann', password: 'p@ss', db: 3, tls: {} }],
    ['redis://:only@[::1]:1', { location: 'redis://[::1]:1/0', host: '::1', user: undefined, password: 'only' }],
    ['valkeys://h/', { location: 'valkeys://h:6379/0', tls: {} }],
    ['redis://h?waitReplicas=2', { wait: { replicas: 2, ms: 1_000 } }],
    ['redis://h?waitReplicas=2&waitMs=50', { wait: { replicas: 2, ms: 50 } }],
  ])('%s is read', (url, expected) => {
    expect(serverOf(url)).toMatchObject(expected);
  });

  it.each(['[h', 'h#x', 'h/a', 'h?x=y', 'h?waitMs=5', 'h?waitReplicas=0', 'h?waitReplicas=1&waitMs=0', 'a:1,b:2', ''])(
    'is refused if its place is "%s", without its password',
    (place) => {
      const secret = 's3cret-of-mine';
      const wrong = `redis://u:${secret}@${place}`;
      const open = (): LeaseStore =>
        openStore({ settings: { CRONLEASE_STORAGE: wrong }, container: undefined, clock: systemClock });
      expect(open).toThrow(expect.objectContaining({ code: 'ConnectionStringInvalid' }));
      expect(open).not.toThrow(new RegExp(secret));
    },
  );

  it('shows its password in no error', async () => {
    const secret = 's3cret-of-mine';
    const settings = { CRONLEASE_STORAGE: `redis://nobody:${secret}@127.0.0.1:${String(server.port)}` };
    const store = openStore({ settings, container: undefined, clock: systemClock });
    const error: unknown = await store.list().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'StoreDenied', why: 'credentials' });
    expect(`${inspect(error, { depth: 10, showHidden: true })} ${store.location}`).not.toContain(secret);
  });

  it('names a database, and one that the server lacks is an error', async () => {
    const store = storeAt({ url: `${server.url}/3`, container: 'third' });
    await store.prepare();
    expect(await client.exists('{third}:layout')).toBe(0);
    await client.select(3);
    expect(await client.exists('{third}:layout')).toBe(1);
    await client.select(0);
    await expect(storeAt({ url: `${server.url}/99`, container: 'third' }).list()).rejects.toMatchObject({
      code: 'StoreUnavailable',
      message: expect.stringContaining('out of range'),
    });
  });

  it('asks for TLS, and trusts no certificate but those that it or this machine names', async () => {
    const files = path.join(__dirname, '../support/certificate');
    const [cert, key] = [path.join(files, 'localhost.pem'), path.join(files, 'localhost-key.pem')];
    const port = String(await freePort());
    const other = await testRedis(
      ...([
        ['tls-port', port],
        ['tls-cert-file', cert],
        ['tls-key-file', key],
        ['tls-ca-cert-file', cert],
        ['tls-auth-clients', 'no'],
      ] as const),
    );
    try {
      const url = `rediss://localhost:${port}`;
      await expect(storeAt({ url, container: 'tls' }).prepare()).rejects.toMatchObject({
        code: 'StoreUnavailable',
        message: expect.stringMatching(/certificate/i),
      });
      const store = storeAt({ url: `${url}?cacert=${encodeURIComponent(cert)}`, container: 'tls' });
      await store.prepare();
      await acquire(store, await createRow(store));
    } finally {
      await other.stop();
    }
  });
});

onRedis('a server of Redis', () => {
  it.each([
    ['always', 'SIGTERM'],
    ['always', 'SIGKILL'],
    ['everysec', 'SIGKILL'],
  ] as const)(
    'with appendfsync %s, ended by %s and started on its files, keeps rows and leases',
    async (fsync, end) => {
      const data = mkdtempSync(path.join(tmpdir(), 'redis-files-'));
      const settings = [['appendfsync', fsync]] as const;
      const first = await startStorageServer('redis', { data, settings });
      const store = storeAt({ url: first.url, container: 'again', callTimeoutMs: 2_000 });
      await store.prepare();
      const ifMatch = await createRow(store);
      const leaseId = await acquire(store, ifMatch);
      await store.writeRow(JOB, { token: '7' }, { leaseId, ifMatch });
      await first.stop(end);
      await expect(store.list()).rejects.toMatchObject({ code: 'StoreUnavailable' });
      const second = await startStorageServer('redis', { data, settings, port: first.port });
      try {
        await vi.waitFor(async () => expect(await readRow(store)).toMatchObject({ lease: 'leased' }));
        expect((await readRow(store)).metadata).toEqual({ token: '7' });
        expect(await store.renew(JOB, leaseId)).toBe('renewed');
      } finally {
        await second.stop();
      }
    },
  );

  it('that stands still costs each call its time limit and no more, and is used again', async () => {
    const other = await testRedis();
    const store = storeAt({ url: other.url, container: 'still', callTimeoutMs: 500 });
    try {
      await store.prepare();
      const leaseId = await acquire(store, await createRow(store));
      process.kill(other.pid, 'SIGSTOP');
      const started = performance.now();
      const ends = await Promise.allSettled(Array.from({ length: 15 }, () => store.renew(JOB, leaseId)));
      expect(performance.now() - started).toBeLessThan(5_000);
      for (const one of ends) expect(one).toMatchObject({ status: 'rejected', reason: { code: 'StoreUnavailable' } });
      process.kill(other.pid, 'SIGCONT');
      await vi.waitFor(async () => expect(await store.renew(JOB, leaseId)).toBe('renewed'), { timeout: 20_000 });
    } finally {
      await other.stop();
    }
  });

  it('of a cluster is found by any of its nodes', async () => {
    const nodes = await Promise.all(
      [0, 1].map(() => testRedis(['cluster-enabled', 'yes'], ['cluster-require-full-coverage', 'no'])),
    );
    const clients = nodes.map(clientAt);
    try {
      const [one, two] = clients;
      const half = (from: number): number[] => Array.from({ length: 8_192 }, (_, index) => from + index);
      await one?.cluster('ADDSLOTS', ...half(0));
      await two?.cluster('ADDSLOTS', ...half(8_192));
      await one?.cluster('MEET', '127.0.0.1', nodes[1]?.port ?? 0);
      await vi.waitFor(
        async () => {
          for (const each of clients)
            expect(await each.cluster('INFO')).toMatch(/cluster_state:ok[^]*cluster_slots_ok:16384/);
        },
        { timeout: 20_000 },
      );
      for (const container of ['one', 'two', 'three', 'four']) {
        for (const { url } of nodes) {
          const store = storeAt({ url, container });
          await store.prepare();
          await acquire(store, await createRow(store, jobName(`by-${url.slice(-5)}`)), jobName(`by-${url.slice(-5)}`));
        }
        const seen = await Promise.all(
          nodes.map(async ({ url }) => (await storeAt({ url, container }).list()).jobs.size),
        );
        expect(seen).toEqual([2, 2]);
      }
    } finally {
      for (const each of clients) each.disconnect();
      await Promise.all(nodes.map((node) => node.stop()));
    }
  });
});
