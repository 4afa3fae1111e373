import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import type { LeaseStore } from '../../src/lease/store';
import { storeAt as consulAt } from '../support/consul';
import { storeAt as etcdAt } from '../support/etcd';
import { CALLS } from './cases/calls';

/** A member of a cluster, as the store sees it. */
interface Member {
  readonly port: number;
  /** Path and body of each request. */
  readonly asked: string[];
}

const servers: http.Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.closeAllConnections();
});

async function member(status: number, answer: object): Promise<Member> {
  const asked: string[] = [];
  const server = http.createServer((request, response) => {
    void text(request).then((body) => {
      asked.push(`${String(request.url)} ${body}`);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, asked };
}

async function callAll(store: LeaseStore): Promise<void> {
  // Their answers fit some methods only. The requests are what counts here.
  await Promise.allSettled(Object.values(CALLS).map((call) => call(store)));
}

const at = (scheme: string, ...members: readonly Member[]): string =>
  `${scheme}://${members.map(({ port }) => `127.0.0.1:${String(port)}`).join(',')}`;

describe('etcd', () => {
  const open = (...members: readonly Member[]) => etcdAt({ url: at('etcd', ...members), container: 'current' });
  const NO_LEADER = { error: 'etcdserver: no leader', code: 14 };

  it('is asked for no read that a member answers by itself', async () => {
    const one = await member(200, { succeeded: true, header: { revision: '7' }, responses: [] });
    await callAll(open(one));
    expect(one.asked.filter((request) => request.startsWith('/v3/kv/txn')).length).toBeGreaterThan(20);
    for (const request of one.asked) expect(request).not.toContain('serializable');
  });

  it('is asked through another member once one has lost its leader', async () => {
    const [cutOff, other] = [await member(503, NO_LEADER), await member(503, NO_LEADER)];
    const store = open(cutOff, other);
    await expect(store.list()).rejects.toMatchObject({ code: 'StoreUnavailable' });
    expect([cutOff.asked.length, other.asked.length]).toEqual([1, 0]);
    await expect(store.list()).rejects.toMatchObject({ code: 'StoreUnavailable' });
    expect([cutOff.asked.length, other.asked.length]).toEqual([1, 1]);
  });
});

describe('Consul', () => {
  const open = (...members: readonly Member[]) => consulAt({ url: at('consul', ...members), container: 'current' });

  it('is asked for consistent reads only: the leader asks the others whether it still leads', async () => {
    const one = await member(200, { Results: [], ID: 'session' });
    await callAll(open(one));
    const reads = one.asked.filter((request) => /^\/v1\/(txn|kv)/.test(request));
    expect(reads.length).toBeGreaterThan(20);
    expect(reads.some((request) => request.startsWith('/v1/kv'))).toBe(true);
    for (const request of reads) {
      expect(request.split(' ')[0]).toMatch(/[?&]consistent(&|$)/);
      expect(request).not.toContain('stale');
    }
  });

  it('is asked through another agent once one finds no leader', async () => {
    const [cutOff, other] = [await member(500, {}), await member(500, {})];
    const store = open(cutOff, other);
    for (const expected of [
      [1, 0],
      [1, 1],
    ]) {
      await expect(store.list()).rejects.toMatchObject({ code: 'StoreUnavailable' });
      expect([cutOff.asked.length, other.asked.length]).toEqual(expected);
    }
  });
});
