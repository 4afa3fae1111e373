import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startStorageServer } from '../../src/local/servers/servers';
import type { StorageServer } from '../../src/local/servers/server';
import { canStart } from '../support/consul';
import { testPostgres } from '../support/postgres';
import { endPrograms, eventually, startProgram } from '../support/program';
import { testRedis } from '../support/redis';
import { testZooKeeper } from '../support/zookeeper';

const STORES: Readonly<Record<string, () => Promise<StorageServer>>> = {
  Redis: testRedis,
  etcd: () => startStorageServer('etcd'),
  ZooKeeper: testZooKeeper,
  ...(canStart('elections on Consul') && { Consul: () => startStorageServer('consul') }),
};

interface Note {
  readonly what: string;
  readonly id: string;
  readonly [member: string]: unknown;
}

/** What the leaders of every election write to. */
let target: StorageServer;
let pool: pg.Pool;
beforeAll(async () => {
  target = await testPostgres();
  pool = new pg.Pool({ connectionString: target.url });
});
afterAll(async () => {
  endPrograms();
  await pool.end();
  await target.stop();
});

/** The id and the token of the last leader that has written. */
async function written(schema: string): Promise<string> {
  return (await pool.query<{ text: string }>(`select text from "${schema}".target`)).rows
    .map(({ text }) => text)
    .join();
}

describe.concurrent.each(Object.entries(STORES))('an election on %s', (name, start) => {
  it(
    'has one leader after another, with growing tokens, and refuses what a stale one writes',
    { timeout: 240_000 },
    async () => {
      const schema = `election-${name.toLowerCase()}`;
      const [server] = await Promise.all([
        start(),
        pool.query(
          `create schema "${schema}"; create table "${schema}".target (id integer primary key, text text, token bigint)`,
        ),
      ]);
      const env = { DATABASE_URL: target.url };
      const programs = new Map(
        ['x', 'y', 'z'].map((id) => [
          id,
          startProgram('test/support/app/election/candidate.mjs', [server.url, schema, id], env),
        ]),
      );
      const lines = (): string => [...programs.values()].flatMap((program) => program.lines).join('\n');
      const noted = (what: string, is: Readonly<Record<string, unknown>>): Promise<Note> =>
        eventually(`${what} ${JSON.stringify(is)} in\n${lines()}`, () =>
          [...programs.values()]
            .flatMap((program) => program.lines.filter((line) => line.startsWith('{')))
            .map((line) => JSON.parse(line) as Note)
            .find((note) => note.what === what && Object.entries(is).every(([key, value]) => note[key] === value)),
        );
      try {
        // The first stands still past its lease, and finds out when it wakes.
        const first = await noted('wrote', { token: 1 });
        programs.get(first.id)?.signal('SIGSTOP');
        const second = await noted('wrote', { token: 2 });
        expect(second.id).not.toBe(first.id);
        programs.get(first.id)?.signal('SIGCONT');
        expect(await noted('told', { id: first.id })).toMatchObject({ refused: 'StaleLeader', leads: false });
        expect(await written(schema)).toBe(`${second.id} 2`);

        // The second one is killed.
        programs.get(second.id)?.signal('SIGKILL');
        const third = await noted('wrote', { token: 3 });
        expect(third.id).not.toBe(second.id);
        expect(await written(schema)).toBe(`${third.id} 3`);

        // The third one stops, and hands over.
        programs.get(third.id)?.signal('SIGTERM');
        await noted('lost', { id: third.id, reason: 'draining' });
        expect(await programs.get(third.id)?.exited).toBe(0);
        const fourth = await noted('wrote', { token: 4 });
        expect(fourth.id).not.toBe(third.id);
        await noted('observed', { id: fourth.id, leader: fourth.id, token: 4 });
      } finally {
        for (const program of programs.values()) program.signal('SIGKILL');
        await server.stop();
      }
    },
  );
});
