import { startStorageServer } from '../../src/local/servers/servers';
import { linksBetweenMembers } from '../support/links';
import { quietPort } from '../support/quiet-port';
import { modeOf, storeAt } from '../support/zookeeper';
import { type Group, partitionCases } from './partition-cases';

const HOST = '127.0.0.1';

/**
 * Each server has the relays' ports for the others, and its own for itself. It tells the others where it listens for
 * elections when it connects, and they would connect there: the relays replace that by their own port.
 */
async function startEnsemble(): Promise<Group> {
  const links = linksBetweenMembers();
  const ports = await Promise.all(
    [0, 1, 2].map(async () => ({ client: await quietPort(), quorum: await quietPort(), election: await quietPort() })),
  );
  const shown = new Map<number, number>();
  const rewrite = (head: Buffer): Buffer =>
    Buffer.from(
      head.toString('latin1').replace(/127\.0\.0\.1:(\d{5})/g, (text, port: string) => {
        const relay = shown.get(Number(port));
        return relay === undefined ? text : `${HOST}:${String(relay)}`;
      }),
      'latin1',
    );
  const lines = await Promise.all(
    ports.map(async ({ quorum, election }, index) => {
      const relays = [await links.relayTo(index, quorum), await links.relayTo(index, election, rewrite)] as const;
      shown.set(election, relays[1]);
      return { own: [quorum, election] as const, relays };
    }),
  );
  const members = await Promise.all(
    ports.map(({ client }, index) => {
      const servers = lines.map(({ own, relays }, other) => {
        const [quorum, election] = other === index ? own : relays;
        return [`server.${String(other + 1)}`, `${HOST}:${String(quorum)}:${String(election)}`] as const;
      });
      const settings = [...servers, ['tickTime', '500'], ['initLimit', '40'], ['syncLimit', '10']] as const;
      return startStorageServer('zookeeper', { port: client, id: index + 1, settings });
    }),
  );
  links.runs(members.map(({ pid }) => pid));
  return {
    links,
    store(some, container) {
      const hosts = some.map((index) => `${HOST}:${String(members[index]?.port)}`).join(',');
      return storeAt({ url: `zk://${hosts}`, container, callTimeoutMs: 3_000 });
    },
    async leader(among) {
      const modes = await Promise.all(
        members.map(async ({ port }, index) => (among.includes(index) ? await modeOf(port) : 'not asked')),
      );
      const index = modes.indexOf('leader');
      if (index === -1 || modes.includes(undefined)) throw new Error(`no whole ensemble: ${modes.join()}`);
      return index;
    },
    async stop() {
      links.close();
      await Promise.all(members.map((member) => member.stop()));
    },
  };
}

partitionCases('an ensemble of three servers of ZooKeeper', startEnsemble);
