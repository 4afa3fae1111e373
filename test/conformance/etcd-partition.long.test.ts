import { startStorageServer } from '../../src/local/servers/servers';
import type { StorageServer } from '../../src/local/servers/server';
import { clientAt, storeAt } from '../support/etcd';
import { linksBetweenMembers } from '../support/links';
import { quietPort } from '../support/quiet-port';
import { type Group, partitionCases } from './partition-cases';

/** The member's own number, and that of the leader that it knows. */
async function statusOf(member: StorageServer): Promise<readonly [own: string, leader: string]> {
  const answer: object = await clientAt(member).call('maintenance/status', {});
  const { leader, header } = answer as { leader?: string; header?: { member_id?: string } };
  if (leader === undefined || header?.member_id === undefined) throw new Error('a member knows no leader');
  return [header.member_id, leader];
}

/** Each member is known to the others by the relay's address, and so connects only to relays. */
async function startCluster(): Promise<Group> {
  const links = linksBetweenMembers();
  const ports = await Promise.all([0, 1, 2].map(() => quietPort()));
  const relays = await Promise.all(ports.map((port, index) => links.relayTo(index, port)));
  const known = relays.map((relay) => `http://127.0.0.1:${String(relay)}`);
  const members = await Promise.all(
    ports.map((port, index) =>
      startStorageServer('etcd', {
        untilReady: false,
        settings: [
          ['name', `m${String(index)}`],
          ['listen-peer-urls', `http://127.0.0.1:${String(port)}`],
          ['initial-advertise-peer-urls', known[index] ?? ''],
          ['initial-cluster', known.map((url, other) => `m${String(other)}=${url}`).join(',')],
        ],
      }),
    ),
  );
  links.runs(members.map(({ pid }) => pid));
  return {
    links,
    store(some, container) {
      const hosts = some.map((index) => `127.0.0.1:${String(members[index]?.port)}`).join(',');
      return storeAt({ url: `etcd://${hosts}`, container, callTimeoutMs: 3_000 });
    },
    async leader(among) {
      const found = await Promise.all(
        members.map(async (member, index) => (among.includes(index) ? await statusOf(member) : undefined)),
      );
      const leaders = new Set(found.flatMap((status) => (status === undefined ? [] : [status[1]])));
      const index = found.findIndex((status) => status !== undefined && status[0] === status[1]);
      if (leaders.size !== 1 || index === -1) throw new Error(`no leader: ${[...leaders].join()}`);
      return index;
    },
    async stop() {
      links.close();
      await Promise.all(members.map((member) => member.stop()));
    },
  };
}

partitionCases('a cluster of three members of etcd', startCluster);
