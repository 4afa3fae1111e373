import { afterEach, beforeEach, expect, it } from 'vitest';
import type { LeaseStore } from '../../src/lease/store';
import type { StorageServer } from '../../src/local/servers/server';
import { JOB, newLeaseId, readRow } from './cases/support';
import { acquired, answered, rowIn, written } from './cluster-calls';

/** Three servers that elect a leader by themselves, and a store that names several of them. */
export interface ClusterOfThree {
  start(): Promise<readonly StorageServer[]>;
  isLeader(server: StorageServer): Promise<boolean>;
  /** @param hosts separated by commas; the first of them is asked first */
  open(hosts: string, callTimeoutMs: number): LeaseStore;
}

/** How a store behaves while servers of its cluster are killed and stopped, the leader among them. */
export function clusterCases({ start, isLeader, open }: ClusterOfThree): void {
  let servers: readonly StorageServer[];
  beforeEach(async () => {
    servers = await start();
  }, 120_000);
  afterEach(() => Promise.all(servers.map((server) => server.stop())));

  const at = (...some: readonly StorageServer[]): LeaseStore =>
    open(some.map(({ port }) => `127.0.0.1:${String(port)}`).join(','), 3_000);

  /** The leader, and the two others. */
  async function byRole(): Promise<readonly [StorageServer, readonly StorageServer[]]> {
    const roles = await Promise.all(servers.map(async (server) => ({ server, leads: await isLeader(server) })));
    const leader = roles.find(({ leads }) => leads)?.server;
    if (leader === undefined) throw new Error('the cluster has no leader');
    return [leader, servers.filter((server) => server !== leader)];
  }

  it('keeps rows and leases if its leader is killed, and continues', async () => {
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
    const { jobs } = await answered(() => store.list({ job: JOB }));
    expect(jobs.get(JOB)?.row?.leftMs).toBeGreaterThan(0);
    await written(store, { leaseId, ifMatch: etag }, '2');
  });

  it('has another leader if its first stands still, which answers nothing old afterwards', async () => {
    const ready = at(...servers);
    const ifMatch = await rowIn(ready);
    const leaseId = await acquired(ready, ifMatch, 15_000);
    // Whoever leads: no one takes the lease over before it ends.
    const started = performance.now();
    const [leader, others] = await answered(byRole);
    const alone = at(leader);
    process.kill(leader.pid, 'SIGSTOP');
    const store = at(...others);
    const successor = await acquired(store, ifMatch, 60_000);
    // Its answer came up to a call after the lease began.
    expect(performance.now() - started).toBeGreaterThan(10_000);
    const etag = await written(store, { leaseId: successor, ifMatch }, '2');
    await expect(alone.renew(JOB, leaseId)).rejects.toMatchObject({ code: 'StoreUnavailable' });
    process.kill(leader.pid, 'SIGCONT');
    expect(await answered(() => readRow(alone))).toMatchObject({ etag, metadata: { token: '2' } });
    expect(await answered(() => alone.renew(JOB, leaseId))).toBe('lost');
    const late = { leaseId, ifMatch };
    expect(await answered(() => alone.writeRow(JOB, { token: '9' }, late))).toEqual({ kind: 'refused' });
  });

  it('continues without one server, and a server without the others answers nothing', async () => {
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
}
