import { readFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import tls from 'node:tls';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { CallOutcome } from '../../src/core/storage-call';
import type { LeaseStore } from '../../src/lease/store';
import type { StorageServer } from '../../src/local/servers/server';
import { startStorageServer } from '../../src/local/servers/servers';
import { checkStorage } from '../../src/operator/doctor/storage';
import { ensembleOf } from '../../src/stores/http/url';
import { zooKeeper } from '../../src/stores/zookeeper/store';
import { systemClock } from '../../src/system-clock';
import { keepOf } from '../support/keep';
import { listen } from '../support/listen';
import { sessionAt, storeAt, testZooKeeper } from '../support/zookeeper';
import { acquire, createRow, JOB, jobName, LEASE_MS, leaseOf, newLeaseId, readRow } from './cases/support';
import { stoppingServerConformance } from './stopping-server';

const KEY = '8231526400000-s';
const RECORD = { body: '{"token":1}', summary: { outcome: 'open' } };
/** In three parts. */
const LARGE = 'ü'.repeat(700_000);
/** In one. */
const MIDDLE = 'ü'.repeat(20_000);
const START_MS = 120_000;

let server: StorageServer;
let containers = 0;
beforeAll(async () => {
  server = await testZooKeeper();
}, START_MS);
afterAll(() => server.stop());

function freshName(): string {
  containers += 1;
  return `wire-${String(containers)}`;
}

async function freshStore(): Promise<ReturnType<typeof storeAt>> {
  const store = storeAt({ url: server.url, container: freshName() });
  await store.prepare();
  return store;
}

type Side = 'to the server' | 'from the server';

/** A relay that cuts its connection at the n-th piece of data from one side, which does not arrive. */
async function countingRelay(port: number) {
  let left = Infinity;
  let side: Side = 'to the server';
  const listener = await listen((socket) => {
    const upstream = net.connect(port, '127.0.0.1');
    const end = (): void => {
      socket.destroy();
      upstream.destroy();
    };
    const pass = (from: Side, to: net.Socket) => (data: Buffer) => {
      if (from === side) left -= 1;
      if (left <= 0) end();
      else to.write(data);
    };
    socket.on('data', pass('to the server', upstream)).on('close', end);
    upstream.on('data', pass('from the server', socket)).on('close', end).on('error', end);
  });
  return {
    ...listener,
    cutAt: (at: Side, count: number): void => {
      side = at;
      left = count;
    },
  };
}

interface Cutting {
  /** Straight to the server. */
  readonly direct: LeaseStore;
  readonly job: typeof JOB;
  /** Makes the call over the relay. Whether its connection was cut. */
  readonly cut: (call: (store: LeaseStore) => Promise<unknown>) => Promise<boolean>;
}

/** Cuts a call at each piece of data in turn, until it needs no more of them. Each time, the job is another. */
async function atEachPiece(side: Side, use: (cutting: Cutting) => Promise<boolean>): Promise<void> {
  const relay = await countingRelay(server.port);
  const container = freshName();
  const direct = storeAt({ url: server.url, container });
  const store = storeAt({ url: `zk://127.0.0.1:${String(relay.port)}`, container });
  try {
    await direct.prepare();
    let count = 0;
    let wasCut = true;
    while (wasCut) {
      count += 1;
      // The relay's connection is there before the call.
      await store.list();
      wasCut = await use({
        direct,
        job: jobName(`cut-${String(count)}`),
        async cut(call) {
          relay.cutAt(side, count);
          const end = await call(store).then(
            () => undefined,
            (reason: unknown) => reason,
          );
          relay.cutAt(side, Infinity);
          if (end !== undefined) expect(end).toMatchObject({ code: 'StoreUnavailable' });
          return end !== undefined;
        },
      });
      expect(count).toBeLessThan(100);
    }
    expect(count).toBeGreaterThan(1);
  } finally {
    relay.close();
  }
}

describe.each<Side>(['to the server', 'from the server'])('a connection that is cut on the way %s', (side) => {
  it('leaves an acquisition that a repetition finds as its own', () =>
    atEachPiece(side, async ({ direct, job, cut }) => {
      const request = { leaseId: newLeaseId(), leaseMs: LEASE_MS, ifMatch: await createRow(direct, job) };
      const wasCut = await cut((store) => store.acquire(job, request));
      expect(await direct.acquire(job, request)).toMatchObject({ kind: 'acquired' });
      expect(await direct.acquire(job, { ...request, leaseId: newLeaseId() })).toEqual({ kind: 'lost' });
      return wasCut;
    }));

  it('leaves a claim that is made once', () =>
    atEachPiece(side, async ({ direct, job, cut }) => {
      const ifMatch = await createRow(direct, job);
      const leaseId = await acquire(direct, ifMatch, job);
      const claim = { token: '1', execution: 'mine' };
      const wasCut = await cut((store) => store.writeRow(job, claim, { leaseId, ifMatch }));
      const isMade = (await readRow(direct, job)).etag !== ifMatch;
      const again = await direct.writeRow(job, claim, { leaseId, ifMatch });
      expect(again.kind).toBe(isMade ? 'refused' : 'written');
      expect((await readRow(direct, job)).metadata).toEqual(claim);
      return wasCut;
    }));

  it('leaves records, bodies in parts, appends and releases that are made once', () =>
    atEachPiece(side, async ({ direct, job, cut }) => {
      const middle = { ...RECORD, body: MIDDLE };
      const cuts = [await cut((store) => store.createRecord(job, KEY, middle))];
      await direct.createRecord(job, KEY, middle);
      expect((await direct.readRecord(job, KEY))?.body).toBe(MIDDLE);
      await direct.createLog(job, KEY, '1');
      const line = { text: 'said\n', at: 0 };
      cuts.push(await cut((store) => store.appendLog(job, KEY, '1', line)));
      await direct.appendLog(job, KEY, '1', line);
      expect(await direct.readLog(job, KEY, '1', { from: 0, limit: 100 })).toBe('said\n');
      const leaseId = await acquire(direct, await createRow(direct, job), job);
      cuts.push(await cut((store) => store.release(job, leaseId)));
      await direct.release(job, leaseId);
      expect(await leaseOf(direct, job)).toBe('available');
      return cuts.includes(true);
    }));
});

describe('a call to ZooKeeper', () => {
  it('is won or lost, and is counted once with its result', async () => {
    const outcomes: CallOutcome[] = [];
    const container = freshName();
    const store = storeAt({ url: server.url, container, onOutcome: (outcome) => outcomes.push(outcome) });
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

  it('of many at once on one row loses to others and to no renewal of its own', async () => {
    const store = await freshStore();
    const ifMatch = await createRow(store);
    const leaseId = await acquire(store, ifMatch);
    const renewals = Promise.all(Array.from({ length: 20 }, () => store.renew(JOB, leaseId)));
    const written = await store.writeRow(JOB, { token: '1' }, { leaseId, ifMatch });
    expect(written.kind).toBe('written');
    expect(new Set(await renewals)).toEqual(new Set(['renewed']));
  });

  it('of a node that was deleted and made again does not take its ETag for the old one', async () => {
    const store = await freshStore();
    await store.writeControl(JOB, { by: 'ann' }, undefined);
    const { control } = await store.readControl(JOB);
    if (control === undefined) throw new Error('no control');
    await store.removeControl(JOB, control.etag);
    await store.writeControl(JOB, { by: 'bob' }, undefined);
    expect(await store.writeControl(JOB, { by: 'eve' }, control.etag)).toBe('refused');
    expect(await store.removeControl(JOB, control.etag)).toBe('refused');
    expect((await store.readControl(JOB)).control?.metadata).toEqual({ by: 'bob' });
  });

  it('deletes what is older than it is kept, of each job by its own length', async () => {
    const store = await freshStore();
    const [short, long] = [jobName('short'), jobName('long')];
    for (const job of [short, long]) {
      await store.createRecord(job, KEY, { ...RECORD, body: LARGE });
      await store.createLog(job, KEY, '1');
      await store.appendLog(job, KEY, '1', { text: 'said\n', at: 0 });
    }
    await store.createRequest('kept', '{}');
    const keep = new Map([
      [short, 1],
      [long, 3_600_000],
    ]);
    await pause(100);
    expect(await store.purge(keepOf(keep))).toBe('done');
    expect(await store.readRecord(short, KEY)).toBeUndefined();
    expect(await store.readLog(short, KEY, '1', { from: 0, limit: 10 })).toBeUndefined();
    expect((await store.readRecord(long, KEY))?.body === LARGE).toBe(true);
    expect(await store.readLog(long, KEY, '1', { from: 0, limit: 10 })).toBe('said\n');
    expect(await store.readRequest('kept')).toBe('{}');
    // Each call deletes some.
    await Promise.all(
      Array.from({ length: 1_200 }, (_, i) =>
        store.createRecord(short, `82315${String(i).padStart(8, '0')}-s`, RECORD),
      ),
    );
    await pause(100);
    expect([await store.purge(keepOf(keep)), await store.purge(keepOf(keep))]).toEqual(['more', 'done']);
    expect((await store.listRecords(short, { limit: 10 })).records).toEqual([]);
  });

  it('looks for bodies without entries among many, over a network that takes its time', async () => {
    const container = freshName();
    const direct = storeAt({ url: server.url, container });
    await direct.prepare();
    const keys = Array.from({ length: 1_200 }, (_, i) => `82315${String(i).padStart(8, '0')}-s`);
    const body = 'x'.repeat(20_000);
    await Promise.all(keys.map((key) => direct.createRecord(JOB, key, { ...RECORD, body })));
    const relay = await listen((socket) => {
      const upstream = net.connect(server.port, '127.0.0.1');
      const later = (to: net.Socket) => (data: Buffer) => void setTimeout(() => to.write(data), 1);
      socket.on('data', later(upstream)).on('close', () => upstream.destroy());
      upstream.on('data', later(socket)).on('error', () => socket.destroy());
    });
    try {
      const url = `zk://127.0.0.1:${String(relay.port)}`;
      const far = storeAt({ url, container, callTimeoutMs: 1_500 });
      expect(await far.purge(keepOf(new Map([[JOB, 3_600_000]])))).toBe('done');
    } finally {
      relay.close();
    }
  });

  it('stays below its container, and leaves no parts of a body that is replaced or deleted', async () => {
    const container = freshName();
    const session = await sessionAt(server.url);
    const store = storeAt({ url: `${server.url}/apps/jobs`, container });
    await store.prepare();
    await store.createPiece(JOB, KEY, 'plan', { body: LARGE, summary: {} });
    await store.writeGroup('db', LARGE, undefined);
    const group = await store.readGroup('db');
    await store.writeGroup('db', 'short', group?.etag);
    expect(await store.createPiece(JOB, KEY, 'plan', { body: LARGE, summary: {} })).toBe('exists');
    const parts = () => session.children(`/apps/jobs/${container}/parts`);
    expect(await parts()).toHaveLength(1);
    await store.deletePiece(JOB, KEY, 'plan');
    expect(await parts()).toHaveLength(0);
    expect(await session.children('/apps')).toEqual(['jobs']);
    session.end();
  });
});

describe('a user of ZooKeeper', () => {
  it('makes nodes that belong to it alone, and its password is in no error', async () => {
    const secret = 's3cret-of-mine';
    const container = freshName();
    const mine = storeAt({ url: server.url.replace('//', `//ann:${secret}@`), container });
    await mine.prepare();
    await acquire(mine, await createRow(mine));
    const other = storeAt({ url: server.url.replace('//', `//bob:${secret}@`), container });
    for (const store of [other, storeAt({ url: server.url, container })]) {
      const error: unknown = await store.list().catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'StoreDenied', why: 'role' });
      expect(`${inspect(error, { depth: 10, showHidden: true })} ${store.location}`).not.toContain(secret);
    }
  });

  it('is tried by doctor with each kind of call, and no row is left', async () => {
    const container = freshName();
    const options = { server: ensembleOf(server.url), container, clock: systemClock, callTimeoutMs: 10_000 };
    expect(await zooKeeper(options).trial('aaaa')).toMatchObject({ container: 'missing' });
    await storeAt({ url: server.url, container }).prepare();
    const trial = await zooKeeper(options).trial('aaaa');
    expect(trial).toMatchObject({ container: 'there', untried: [], left: undefined });
    expect(trial.failures.size).toBe(0);
    expect(checkStorage(server.url, trial).filter(({ status }) => status === 'problem')).toEqual([]);
    expect((await zooKeeper(options).elections.listRows()).size).toBe(0);
  });

  it('asks for TLS, and trusts no certificate but those that it or this machine names', async () => {
    const files = path.join(__dirname, '../support/certificate');
    const [cert, key] = [path.join(files, 'localhost.pem'), path.join(files, 'localhost-key.pem')];
    const ends = tls.createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (socket) => {
      const upstream = net.connect(server.port, '127.0.0.1');
      socket.pipe(upstream).pipe(socket);
      for (const one of [socket, upstream]) one.on('error', () => upstream.destroy());
    });
    await new Promise<void>((resolve) => ends.listen(0, '127.0.0.1', resolve));
    try {
      const url = `zks://localhost:${String((ends.address() as net.AddressInfo).port)}`;
      const container = freshName();
      await expect(storeAt({ url, container }).prepare()).rejects.toMatchObject({
        code: 'StoreUnavailable',
        message: expect.stringMatching(/certificate/i),
      });
      const store = storeAt({ url: `${url}?cacert=${encodeURIComponent(cert)}`, container });
      await store.prepare();
      await acquire(store, await createRow(store));
    } finally {
      ends.close();
    }
  });
});

describe('a server of ZooKeeper', () => {
  stoppingServerConformance({
    start: (options) => startStorageServer('zookeeper', options),
    open: (url, container, callTimeoutMs) => storeAt({ url, container, callTimeoutMs }),
  });

  it(
    'that ends a session ends no lease, and the next call has a session of its own',
    async () => {
      const other = await testZooKeeper(['tickTime', '100'], ['maxSessionTimeout', '1000']);
      const relay = await countingRelay(other.port);
      const container = 'session';
      const url = `zk://127.0.0.1:${String(relay.port)}`;
      const store = storeAt({ url, container });
      try {
        await store.prepare();
        const ifMatch = await createRow(store);
        const leaseId = newLeaseId();
        await store.acquire(JOB, { leaseId, leaseMs: 60_000, ifMatch });
        const session = await sessionAt(other.url);
        let isEnded = false;
        const held = session.ended.then(() => (isEnded = true));
        await vi.waitFor(() => expect(isEnded).toBe(true), { timeout: 60_000 });
        await held;
        // The store's session, which has been silent for as long, has ended too.
        expect(await store.renew(JOB, leaseId)).toBe('renewed');
        expect(await leaseOf(store)).toBe('leased');
      } finally {
        relay.close();
        await other.stop();
      }
    },
    START_MS,
  );

  it('that does not answer is skipped for the next one of the URL', async () => {
    const silent = await listen(() => undefined);
    const container = freshName();
    const url = `zk://127.0.0.1:${String(silent.port)},127.0.0.1:1,127.0.0.1:${String(server.port)}`;
    const store = storeAt({ url, container, callTimeoutMs: 6_000 });
    try {
      await vi.waitFor(() => store.prepare(), { timeout: 60_000 });
      expect((await store.list()).jobs.size).toBe(0);
    } finally {
      silent.close();
    }
  });
});
