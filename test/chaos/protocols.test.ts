import { afterAll, expect, it } from 'vitest';
import type { JobName, LeaseId } from '../../src/core/brand';
import { startStorageServer } from '../../src/local/servers/servers';
import { storeAt as consulAt, testConsul } from '../support/consul';
import { storeAt as etcdAt, urlAt as etcdUrl } from '../support/etcd';
import { has } from '../support/needs';
import { storeAt as postgresAt, testPostgres, urlAt as postgresUrl } from '../support/postgres';
import { storeAt as redisAt, testRedis, urlAt as redisUrl } from '../support/redis';
import { storeAt as zooKeeperAt, testZooKeeper } from '../support/zookeeper';
import type { Call } from './calls';
import { consulProtocol } from './consul-protocol';
import { etcdProtocol } from './etcd-protocol';
import { postgresProtocol } from './postgres-protocol';
import { startProxy } from './proxy';
import { redisProtocol } from './redis-protocol';
import { zooKeeperProtocol } from './zookeeper-protocol';

const JOB = 'a' as JobName;
const LEASE = 'lease-1' as LeaseId;

const ends: (() => unknown)[] = [];
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

const CASES = [
  {
    needs: 'postgres',
    ...{ name: 'PostgreSQL', protocol: postgresProtocol, start: testPostgres },
    open: (port: number) => postgresAt({ url: postgresUrl(port), schema: 'seen' }),
  },
  {
    needs: 'redis-server',
    ...{ name: 'Redis', protocol: redisProtocol, start: testRedis },
    open: (port: number) => redisAt({ url: redisUrl(port), container: 'seen' }),
  },
  {
    needs: 'etcd',
    ...{ name: 'etcd', protocol: etcdProtocol, start: () => startStorageServer('etcd') },
    open: (port: number) => etcdAt({ url: etcdUrl(port), container: 'seen' }),
  },
  {
    needs: 'java',
    ...{ name: 'ZooKeeper', protocol: zooKeeperProtocol, start: testZooKeeper },
    open: (port: number) => zooKeeperAt({ url: `zk://127.0.0.1:${String(port)}`, container: 'seen' }),
  },
  {
    needs: 'consul',
    ...{ name: 'Consul', protocol: consulProtocol, start: () => testConsul({}) },
    open: (port: number) => consulAt({ url: `consul://127.0.0.1:${String(port)}`, container: 'seen' }),
  },
] as const;

for (const { name, needs, protocol, start, open } of CASES) {
  it.runIf(has(needs, `the proxy before ${name}`))(
    `the proxy before ${name} sees each call, and its result`,
    async () => {
      const looksFirst = name === 'ZooKeeper' || name === 'Consul';
      const makesFolders = name === 'ZooKeeper';
      const server = await start();
      ends.push(() => server.stop());
      const seen: { readonly call: Call; readonly status: number }[] = [];
      const proxy = await startProxy({
        protocol,
        target: () => server.port,
        onRequest: () => undefined,
        onAnswer(call, status) {
          seen.push({ call, status });
          return undefined;
        },
      });
      ends.push(() => proxy.close());
      const store = open(proxy.port);
      const row = { format: '1', phase: 'running', attempt: '2', token: '7' };
      await store.prepare();
      await store.createRow(JOB, { format: '1' });
      const ifMatch = (await store.readRow(JOB))?.etag;
      if (ifMatch === undefined) throw new Error('the row is gone');
      seen.length = 0;
      await store.list();
      await store.acquire(JOB, { leaseId: LEASE, leaseMs: 15_000, ifMatch });
      await store.acquire(JOB, { leaseId: 'other' as LeaseId, leaseMs: 15_000, ifMatch });
      await store.renew(JOB, LEASE);
      await store.writeRow(JOB, row, { leaseId: LEASE, ifMatch });
      await store.writeRow(JOB, row, { leaseId: LEASE, ifMatch });
      const body = '{}\n'.repeat(50_000);
      const through = '2026-01-01T00:00:00.000Z';
      await store.createRecord(JOB, 'key', { body, summary: { state: 'final', through } });
      await store.createRecord(JOB, 'key', { body, summary: { state: 'final', through } });
      // An answer of many packets is passed on as a whole.
      expect((await store.readRecord(JOB, 'key'))?.body).toBe(body);
      await store.release(JOB, LEASE);

      const written = { kind: 'row', job: JOB, phase: 'running', attempt: 2, token: 7, ends: false };
      const record = { kind: 'record', job: JOB, key: 'key', state: 'final', through: Date.parse(through) };
      // A script that Redis does not know yet is sent twice. A call to etcd may take several requests.
      const answered = seen.filter(({ call, status }) => status !== 500 && call.kind !== 'other');
      const kinds = answered.map(({ call, status }) => [call, status]);
      // ZooKeeper and Consul look, and send no transaction that cannot succeed. ZooKeeper's first record finds that a
      // folder is missing.
      expect(kinds).toEqual([
        [{ kind: 'list' }, 200],
        [{ kind: 'acquire', job: JOB, leaseId: LEASE }, 201],
        ...(looksFirst ? [] : [[{ kind: 'acquire', job: JOB, leaseId: 'other' }, 409]]),
        [{ kind: 'renew', job: JOB, leaseId: LEASE }, 200],
        [written, 200],
        ...(looksFirst ? [] : [[written, 409]]),
        ...(makesFolders ? [[record, 409]] : []),
        [record, 201],
        [record, 409],
        [{ kind: 'release', job: JOB, leaseId: looksFirst ? '' : LEASE }, 200],
      ]);
    },
  );
}
