import net from 'node:net';
import type { Redis as Client } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Token } from '../../src/core/brand';
import type { JobSpec } from '../../src/core/job';
import { decodeRow, encodeRow, newRow, type Row } from '../../src/core/row';
import type { LeaseStore } from '../../src/lease/store';
import type { StorageServer } from '../../src/local/servers/server';
import { recoverJobs } from '../../src/operator/operations/recover';
import { systemClock } from '../../src/system-clock';
import { listen } from '../support/listen';
import { clientAt, storeAt, testRedis, urlAt } from '../support/redis';
import { type Switch, switchTo } from '../support/switch';
import { jobSpec } from '../support/job';
import { acquire, LEASE_MS, newLeaseId, readRow, times, writeRow } from './cases/support';

const CONTAINER = 'failover';
const JOB: JobSpec = jobSpec('a', '* * * * *');
const RAISE_BY = 1_000;

interface Pair {
  readonly primary: StorageServer;
  readonly replica: StorageServer;
  /** From now on the replica gets nothing. */
  cut(): void;
  /** Kills the primary, and makes the replica one. */
  failOver(): Promise<void>;
  close(): Promise<void>;
}

/** A primary and its replica, with a link between them that can be cut, and takes so long each way. */
async function startPair(linkMs = 0): Promise<Pair> {
  const atOnce = ['repl-diskless-sync-delay', '0'] as const;
  const [primary, replica] = await Promise.all([testRedis(atOnce), testRedis(atOnce)]);
  let isCut = false;
  const link = await listen((socket) => {
    const upstream = net.connect(primary.port, '127.0.0.1');
    const end = (): void => {
      socket.destroy();
      upstream.destroy();
    };
    const later = (send: () => unknown): void => void (linkMs === 0 ? send() : setTimeout(send, linkMs));
    socket.on('data', (data) => later(() => upstream.write(data))).on('close', end);
    upstream.on('data', (data) => isCut || later(() => socket.write(data)));
    upstream.on('close', end).on('error', end);
  });
  const client: Client = clientAt(replica);
  await client.replicaof('127.0.0.1', link.port);
  await vi.waitFor(async () => expect(await client.info('replication')).toContain('master_link_status:up'), {
    timeout: 20_000,
  });
  return {
    primary,
    replica,
    cut: () => (isCut = true),
    async failOver() {
      await primary.stop('SIGKILL');
      await client.replicaof('NO', 'ONE');
    },
    async close() {
      client.disconnect();
      link.close();
      await Promise.all([primary.stop(), replica.stop()]);
    },
  };
}

let pair: Pair;
afterEach(() => pair.close());

function at({ url }: StorageServer, parameters = ''): LeaseStore {
  return storeAt({ url: `${url}${parameters}`, container: CONTAINER });
}

async function rowOf(store: LeaseStore): Promise<Row> {
  return decodeRow((await readRow(store, JOB.name)).metadata);
}

/** Claims once, as an attempt does: takes the lease, and writes the next token. */
async function claim(store: LeaseStore): Promise<{ readonly token: number; readonly late: () => Promise<string> }> {
  const { etag } = await readRow(store, JOB.name);
  const row = await rowOf(store);
  const leaseId = await acquire(store, etag, JOB.name);
  const token = (row.token + 1) as Token;
  const ifMatch = await writeRow(store, { leaseId, ifMatch: etag }, encodeRow({ ...row, token }), JOB.name);
  await store.release(JOB.name, leaseId);
  return {
    token,
    // A holder that was paused through the failover, and writes to the new primary.
    late: async () => {
      const answer = await at(pair.replica).writeRow(JOB.name, encodeRow({ ...row, token }), { leaseId, ifMatch });
      return answer.kind;
    },
  };
}

/** Until the replica has all that the primary has. */
async function caughtUp(): Promise<void> {
  const client = clientAt(pair.primary);
  await client.set('mark', '1');
  expect(await client.wait(1, 10_000)).toBe(1);
  client.disconnect();
}

async function prepared(parameters = ''): Promise<LeaseStore> {
  const store = at(pair.primary, parameters);
  await store.prepare();
  await store.createRow(JOB.name, encodeRow(newRow(Date.UTC(2026, 0, 1), 0, 'hash')));
  return store;
}

describe('a failover of Redis to a replica that lags behind', () => {
  beforeEach(async () => {
    pair = await startPair();
  });

  it('gives a token out twice, refuses the old holder, and recover raises the token above all', async () => {
    const store = await prepared();
    const first = await claim(store);
    await caughtUp();
    pair.cut();
    const lost = [await claim(store), await claim(store), await claim(store)];
    expect([first, ...lost].map(({ token }) => token)).toEqual([1, 2, 3, 4]);
    await pair.failOver();

    const promoted = at(pair.replica);
    expect((await rowOf(promoted)).token).toBe(1);
    expect(await lost[2]?.late()).toBe('refused');
    expect((await claim(promoted)).token).toBe(2);

    const desk = { store: promoted, clock: systemClock, newId: newLeaseId, waiting: () => undefined };
    const request = {
      file: { revision: 0, jobs: [JOB] },
      until: undefined,
      raiseBy: RAISE_BY,
      runs: 'resume',
    } as const;
    const { until, jobs } = await recoverJobs(desk, { ...request, apply: true });
    expect(jobs).toMatchObject([{ kind: 'recovered', token: { from: 2 } }]);
    const repaired = await rowOf(promoted);
    expect(repaired.token).toBeGreaterThanOrEqual(2 + RAISE_BY);
    expect(repaired.cursor).toBeGreaterThan(until - 60_000);
  });

  it('loses nothing that was answered if each write waits for a replica', async () => {
    const store = await prepared('?waitReplicas=1&waitMs=200');
    expect((await claim(store)).token).toBe(1);
    pair.cut();
    const { etag } = await readRow(store, JOB.name);
    const request = { leaseId: newLeaseId(), leaseMs: LEASE_MS, ifMatch: etag };
    await expect(store.acquire(JOB.name, request)).rejects.toMatchObject({ code: 'StoreUnavailable' });
    await pair.failOver();
    const promoted = at(pair.replica);
    expect(await rowOf(promoted)).toMatchObject({ token: 1 });
    expect((await readRow(promoted, JOB.name)).lease).toBe('available');
  });

  it('is a failover of reads too: a replica answers none', async () => {
    await prepared();
    await caughtUp();
    await expect(at(pair.replica).list()).rejects.toMatchObject({
      code: 'StoreUnavailable',
      message: expect.stringContaining('replica'),
    });
    await pair.failOver();
    expect((await at(pair.replica).list()).jobs.size).toBe(1);
  });
});

describe('a failover of Redis that leaves connections open', () => {
  let endpoint: Switch;
  beforeEach(async () => {
    pair = await startPair();
    endpoint = await switchTo(pair.primary.port);
  });
  afterEach(() => endpoint.close());

  async function openThere(parameters: string): Promise<LeaseStore> {
    await prepared();
    const store = storeAt({ url: `${urlAt(endpoint.port)}${parameters}`, container: CONTAINER });
    // As many connections as calls side by side use.
    await Promise.all(times(10, () => store.list()));
    await caughtUp();
    return store;
  }

  it.each(['', '?waitReplicas=1'])(
    'costs one call, which finds a replica: every other one goes to the new primary (%s)',
    async (parameters) => {
      const store = await openThere(parameters);
      const [old, promoted] = [clientAt(pair.primary), clientAt(pair.replica)];
      await promoted.replicaof('NO', 'ONE');
      await old.replicaof('127.0.0.1', pair.replica.port);
      endpoint.leadTo(pair.replica.port);
      await expect(readRow(store, JOB.name)).rejects.toMatchObject({ message: expect.stringContaining('READONLY') });
      for (const row of await Promise.all(times(10, () => readRow(store, JOB.name))))
        expect(row.lease).toBe('available');
      await vi.waitFor(async () => expect(await promoted.info('replication')).toContain('connected_slaves:1'), {
        timeout: 20_000,
      });
      expect((await claim(store)).token).toBe(1);
      old.disconnect();
      promoted.disconnect();
    },
  );

  it('costs one call, which finds a primary without replicas', async () => {
    const store = await openThere('');
    const [old, promoted] = [clientAt(pair.primary), clientAt(pair.replica)];
    await old.config('SET', 'min-replicas-to-write', '1');
    await promoted.replicaof('NO', 'ONE');
    await vi.waitFor(async () => expect(await old.info('replication')).toContain('connected_slaves:0'));
    endpoint.leadTo(pair.replica.port);
    await expect(readRow(store, JOB.name)).rejects.toMatchObject({ message: expect.stringContaining('NOREPLICAS') });
    expect((await claim(store)).token).toBe(1);
    old.disconnect();
    promoted.disconnect();
  });
});

const WRITES_MS = 2_000;

describe('what a kill of the primary loses under load', () => {
  it.each([
    [0, ''],
    [0, '?waitReplicas=1'],
    [20, ''],
    [20, '?waitReplicas=1'],
  ])(
    'is measured by the writes that it loses under load (a link of %i ms, parameters "%s")',
    async (linkMs, parameters) => {
      pair = await startPair(linkMs);
      const store = await prepared(parameters);
      const took: number[] = [];
      let answered = 0;
      let isOver = false;
      const writing = Array.from({ length: 8 }, async (_, writer) => {
        for (let count = 0; !isOver; count += 1) {
          const sent = performance.now();
          try {
            await store.createRecord(JOB.name, `${String(writer)}-${String(count)}`, {
              body: '{}',
              summary: { a: 'b' },
            });
          } catch (error) {
            expect(error).toMatchObject({ code: 'StoreUnavailable' });
            return;
          }
          took.push(performance.now() - sent);
          answered += 1;
        }
      });
      await new Promise((resolve) => setTimeout(resolve, WRITES_MS));
      await pair.failOver();
      isOver = true;
      await Promise.all(writing);
      const client = clientAt(pair.replica);
      const kept = await client.hlen(`{${CONTAINER}}:records:${JOB.name}`);
      client.disconnect();
      const sorted = took.toSorted((a, b) => a - b);
      const [median, p99] = [0.5, 0.99].map((part) => sorted[Math.floor(sorted.length * part)]?.toFixed(2));
      console.log(
        `link of ${String(linkMs)} ms, ${parameters || 'without waiting'}: ${String(answered)} writes answered, ` +
          `${String(Math.max(0, answered - kept))} of them lost; median ${String(median)} ms, p99 ${String(p99)} ms`,
      );
      expect(answered).toBeGreaterThan(50);
      if (parameters === '') expect(kept).toBeLessThan(linkMs === 0 ? Infinity : answered);
      else expect(kept).toBeGreaterThanOrEqual(answered);
    },
  );
});
