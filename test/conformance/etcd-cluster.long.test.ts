import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LeaseStore } from '../../src/lease/store';
import { startEtcd } from '../../src/local/cluster/etcd';
import { freePort, type StorageServer } from '../../src/local/cluster/server';
import { clientAt, storeAt } from '../support/etcd';
import { JOB, newLeaseId, readRow } from './cases/support';
import { acquired, answered, rowIn, written } from './cluster-calls';

let members: readonly StorageServer[];
beforeEach(async () => {
  const peers = await Promise.all([0, 1, 2].map(() => freePort()));
  const urls = peers.map((port) => `http://127.0.0.1:${String(port)}`);
  members = await Promise.all(
    urls.map((url, index) =>
      startEtcd({
        untilReady: false,
        settings: [
          ['name', `m${String(index)}`],
          ['listen-peer-urls', url],
          ['initial-advertise-peer-urls', url],
          ['initial-cluster', urls.map((peer, other) => `m${String(other)}=${peer}`).join(',')],
        ],
      }),
    ),
  );
});
afterEach(() => Promise.all(members.map((member) => member.stop())));

/** A store that asks these members, the first of them first. */
function at(...some: readonly StorageServer[]): LeaseStore {
  const hosts = some.map(({ port }) => `127.0.0.1:${String(port)}`).join(',');
  return storeAt({ url: `etcd://${hosts}`, container: 'cluster', callTimeoutMs: 3_000 });
}

/** The leader, and the two others. */
async function byRole(): Promise<readonly [StorageServer, readonly StorageServer[]]> {
  const roles = await Promise.all(
    members.map(async (member) => {
      const answer: object = await clientAt(member).call('maintenance/status', {});
      const { leader, header } = answer as { leader?: string; header?: { member_id?: string } };
      return { member, isLeader: leader !== undefined && leader === header?.member_id };
    }),
  );
  const leader = roles.find(({ isLeader }) => isLeader)?.member;
  if (leader === undefined) throw new Error('the cluster has no leader');
  return [leader, members.filter((member) => member !== leader)];
}

describe('a cluster of three members of etcd', () => {
  it('whose leader is killed keeps rows and leases, and goes on', async () => {
    const ready = at(...members);
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

  it('whose leader stands still has another, and the old one answers nothing old afterwards', async () => {
    const ready = at(...members);
    const ifMatch = await rowIn(ready);
    const leaseId = await acquired(ready, ifMatch, 15_000);
    // Whoever leads: nobody takes the lease over before it ends.
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

  it('goes on without a member, and a member without the others answers nothing', async () => {
    const ready = at(...members);
    await rowIn(ready);
    const [leader, [one, two]] = await answered(byRole);
    if (one === undefined || two === undefined) throw new Error('two members are missing');
    process.kill(one.pid, 'SIGSTOP');
    const store = at(one, leader, two);
    expect((await answered(() => readRow(store))).lease).toBe('available');
    process.kill(leader.pid, 'SIGSTOP');
    const record = { body: '{}', summary: {} };
    await expect(at(two).createRecord(JOB, '1-s', record)).rejects.toMatchObject({ code: 'StoreUnavailable' });
    await expect(at(two).list()).rejects.toMatchObject({ code: 'StoreUnavailable' });
    for (const { pid } of [one, leader]) process.kill(pid, 'SIGCONT');
    expect((await answered(() => at(two).list())).jobs.size).toBe(1);
  });
});
