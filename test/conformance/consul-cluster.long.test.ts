import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LeaseStore } from '../../src/lease/store';
import { startConsul } from '../../src/local/cluster/consul';
import { freePort, type StorageServer } from '../../src/local/cluster/server';
import { canStart, clientAt, storeAt } from '../support/consul';
import { JOB, newLeaseId, readRow } from './cases/support';
import { acquired, answered, rowIn, written } from './cluster-calls';

let servers: readonly StorageServer[];

/** The ports of each server's gossip and of its Raft. */
async function startThree(): Promise<readonly StorageServer[]> {
  const ports = await Promise.all([0, 1, 2].map(async () => ({ serf: await freePort(), raft: await freePort() })));
  const joins = ports.map(({ serf }) => `-retry-join=127.0.0.1:${String(serf)}`);
  return Promise.all(
    ports.map(({ serf, raft }, index) =>
      startConsul({
        untilReady: false,
        args: [
          ...['-bootstrap-expect=3', `-node=s${String(index)}`, '-retry-interval=1s', ...joins],
          ...[`-serf-lan-port=${String(serf)}`, `-server-port=${String(raft)}`],
        ],
      }),
    ),
  );
}

/** A store that asks these servers, the first of them first. */
function at(...some: readonly StorageServer[]): LeaseStore {
  const hosts = some.map(({ port }) => `127.0.0.1:${String(port)}`).join(',');
  return storeAt({ url: `consul://${hosts}`, container: 'cluster', callTimeoutMs: 3_000 });
}

/** The leader, and the two others. */
async function byRole(): Promise<readonly [StorageServer, readonly StorageServer[]]> {
  const roles = await Promise.all(
    servers.map(async (server) => {
      const self = (await clientAt(server.url).call('GET', 'agent/self')) as {
        readonly Stats?: { readonly consul?: { readonly leader?: string } };
      };
      return { server, isLeader: self.Stats?.consul?.leader === 'true' };
    }),
  );
  const leader = roles.find(({ isLeader }) => isLeader)?.server;
  if (leader === undefined) throw new Error('the cluster has no leader');
  return [leader, servers.filter((server) => server !== leader)];
}

describe.runIf(canStart('A cluster of three servers of Consul'))('a cluster of three servers of Consul', () => {
  beforeEach(async () => {
    servers = await startThree();
  }, 120_000);
  afterEach(() => Promise.all(servers.map((server) => server.stop())));

  it('whose leader is killed keeps rows and leases, and goes on', async () => {
    const ready = at(...servers);
    const ifMatch = await rowIn(ready);
    const leaseId = await acquired(ready, ifMatch, 60_000);
    const etag = await written(ready, { leaseId, ifMatch }, '1');
    const [leader, others] = await answered(byRole);
    const store = at(leader, ...others);
    await leader.stop('SIGKILL');
    expect(await answered(() => store.renew(JOB, leaseId))).toBe('renewed');
    expect(await answered(() => readRow(store))).toEqual({ etag, lease: 'leased', metadata: { token: '1' } });
    const request = { leaseId: newLeaseId(), leaseMs: 15_000, ifMatch: etag };
    expect(await answered(() => store.acquire(JOB, request))).toEqual({ kind: 'lost' });
    await written(store, { leaseId, ifMatch: etag }, '2');
  });

  it('whose leader stands still has another, and the old one answers nothing old afterwards', async () => {
    const ready = at(...servers);
    const ifMatch = await rowIn(ready);
    // Whoever leads: nobody takes the lease over before it ends.
    const started = performance.now();
    const leaseId = await acquired(ready, ifMatch, 15_000);
    const [leader, others] = await answered(byRole);
    const alone = at(leader);
    process.kill(leader.pid, 'SIGSTOP');
    const store = at(...others);
    const successor = await acquired(store, ifMatch, 60_000);
    expect(performance.now() - started).toBeGreaterThan(14_000);
    const etag = await written(store, { leaseId: successor, ifMatch }, '2');
    await expect(alone.renew(JOB, leaseId)).rejects.toMatchObject({ code: 'StoreUnavailable' });
    process.kill(leader.pid, 'SIGCONT');
    expect(await answered(() => readRow(alone))).toMatchObject({ etag, metadata: { token: '2' } });
    expect(await answered(() => alone.renew(JOB, leaseId))).toBe('lost');
    const late = { leaseId, ifMatch };
    expect(await answered(() => alone.writeRow(JOB, { token: '9' }, late))).toEqual({ kind: 'refused' });
  });

  it('goes on without a server, and a server without the others answers nothing', async () => {
    const ready = at(...servers);
    await rowIn(ready);
    const [leader, [one, two]] = await answered(byRole);
    if (one === undefined || two === undefined) throw new Error('two servers are missing');
    process.kill(one.pid, 'SIGSTOP');
    expect((await answered(() => readRow(at(one, leader, two)))).lease).toBe('available');
    process.kill(leader.pid, 'SIGSTOP');
    const record = { body: '{}', summary: {} };
    await expect(at(two).createRecord(JOB, '1-s', record)).rejects.toMatchObject({ code: 'StoreUnavailable' });
    await expect(at(two).list()).rejects.toMatchObject({ code: 'StoreUnavailable' });
    for (const { pid } of [one, leader]) process.kill(pid, 'SIGCONT');
    expect((await answered(() => at(two).list())).jobs.size).toBe(1);
  });
});
