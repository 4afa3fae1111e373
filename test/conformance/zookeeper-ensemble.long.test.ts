import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { StorageServer } from '../../src/local/servers/server';
import { startStorageServer } from '../../src/local/servers/servers';
import { quietPort } from '../support/quiet-port';
import { modeOf, storeAt } from '../support/zookeeper';
import { acquire, createRow, JOB, jobName, newLeaseId, readRow } from './cases/support';
import { startClaiming } from './claiming';

const LONG_MS = 300_000;
/** Elections, and starts of servers that catch up, on a machine that does other things. */
const PATIENCE = { timeout: 120_000, interval: 200 };

interface Member {
  server: StorageServer;
  readonly start: () => Promise<StorageServer>;
}

let folder: string;
let members: Member[] = [];

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'zookeeper-ensemble-'));
  const ports = await Promise.all(
    Array.from({ length: 3 }, () => Promise.all([quietPort(), quietPort(), quietPort()])),
  );
  const settings = [
    ...ports.map(([, peer, election], index) => [`server.${index + 1}`, `127.0.0.1:${peer}:${election}`] as const),
    ...([
      ['tickTime', '500'],
      ['initLimit', '40'],
      ['syncLimit', '10'],
    ] as const),
  ];
  members = await Promise.all(
    ports.map(async ([port], index) => {
      const data = path.join(folder, String(index));
      const start = () => startStorageServer('zookeeper', { data, port, id: index + 1, settings });
      return { start, server: await start() };
    }),
  );
}, LONG_MS);
afterAll(async () => {
  for (const { server } of members) await server.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});

const url = (some: readonly Member[] = members): string =>
  `zk://${some.map(({ server }) => `127.0.0.1:${server.port}`).join(',')}`;

async function leader(): Promise<Member> {
  return vi.waitFor(async () => {
    const modes = await Promise.all(members.map(({ server }) => modeOf(server.port)));
    const found = members[modes.indexOf('leader')];
    if (found === undefined || modes.includes(undefined)) throw new Error(`no whole ensemble: ${modes.join()}`);
    return found;
  }, PATIENCE);
}

describe('an ensemble of three', () => {
  it(
    'whose leader is killed keeps each answered claim, and its successor grants each token once',
    async () => {
      const store = storeAt({ url: url(), container: 'killed' });
      await store.prepare();
      await createRow(store);
      const claims = startClaiming(storeAt({ url: url(), container: 'killed', callTimeoutMs: 3_000 }));
      try {
        for (let round = 0; round < 2; round += 1) {
          const before = claims.answered.length;
          await vi.waitFor(() => expect(claims.answered.length).toBeGreaterThan(before + 20), PATIENCE);
          const old = await leader();
          const known = claims.answered.length;
          await old.server.stop('SIGKILL');
          // A lease of the claim that the kill has interrupted lasts 15 s.
          await vi.waitFor(() => expect(claims.answered.length).toBeGreaterThan(known + 20), PATIENCE);
          old.server = await old.start();
        }
      } finally {
        await claims.stop();
      }
      expect(new Set(claims.answered).size).toBe(claims.answered.length);
      const token = Number((await readRow(store)).metadata['token']);
      expect(token).toBeGreaterThanOrEqual(claims.answered.at(-1) ?? Infinity);
    },
    LONG_MS,
  );

  it(
    'whose leader stands still grants its row to one, and the old leader has nothing to add',
    async () => {
      const old = await leader();
      const others = members.filter((member) => member !== old);
      const store = storeAt({ url: url(others), container: 'still', callTimeoutMs: 5_000 });
      const cutOff = storeAt({ url: url([old]), container: 'still', callTimeoutMs: 2_000 });
      await store.prepare();
      const ifMatch = await createRow(store);
      expect((await cutOff.list()).jobs.size).toBe(1);
      process.kill(old.server.pid, 'SIGSTOP');
      try {
        const late = { leaseId: newLeaseId(), leaseMs: 60_000, ifMatch };
        // The old leader gets this once it continues.
        await expect(cutOff.acquire(JOB, late)).rejects.toMatchObject({ code: 'StoreUnavailable' });
        const leaseId = newLeaseId();
        await vi.waitFor(
          async () =>
            expect(await store.acquire(JOB, { leaseId, leaseMs: 60_000, ifMatch })).toMatchObject({ kind: 'acquired' }),
          PATIENCE,
        );
        const claim = { token: '1', execution: 'of the majority' };
        await vi.waitFor(async () => {
          await store.writeRow(JOB, claim, { leaseId, ifMatch });
          expect((await readRow(store)).metadata).toEqual(claim);
        }, PATIENCE);
        process.kill(old.server.pid, 'SIGCONT');
        await leader();
        await vi.waitFor(async () => expect((await readRow(cutOff)).metadata).toEqual(claim), PATIENCE);
        expect(await cutOff.acquire(JOB, late)).toEqual({ kind: 'lost' });
        expect(await store.renew(JOB, leaseId)).toBe('renewed');
      } finally {
        process.kill(old.server.pid, 'SIGCONT');
      }
    },
    LONG_MS,
  );

  it(
    'without most of its servers answers no call, and continues once it has them',
    async () => {
      await leader();
      const store = storeAt({ url: url(), container: 'minority', callTimeoutMs: 3_000 });
      await vi.waitFor(() => store.prepare(), PATIENCE);
      await acquire(store, await createRow(store));
      const [one, two] = members;
      if (one === undefined || two === undefined) throw new Error('no members');
      await Promise.all([one.server.stop('SIGKILL'), two.server.stop('SIGKILL')]);
      await expect(store.list()).rejects.toMatchObject({ code: 'StoreUnavailable' });
      await expect(store.createRow(jobName('other'), { token: '0' })).rejects.toMatchObject({
        code: 'StoreUnavailable',
      });
      [one.server, two.server] = await Promise.all([one.start(), two.start()]);
      await vi.waitFor(async () => expect((await readRow(store)).metadata).toEqual({ token: '0' }), PATIENCE);
      // The server that was left may have kept it, and handed it on as the next leader.
      await store.createRow(jobName('other'), { token: '0' });
      expect((await readRow(store, jobName('other'))).metadata).toEqual({ token: '0' });
    },
    LONG_MS,
  );
});
