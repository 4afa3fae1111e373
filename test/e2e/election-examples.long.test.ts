import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Azurite, startAzurite } from '../support/azurite';
import { type Program, endPrograms, eventually, startProgram } from '../support/program';

/** As many as `examples/shards.mjs` has. */
const SHARDS = 8;

let azurite: Azurite;
beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(async () => {
  endPrograms();
  await azurite.stop();
});

/** An example as its user starts it: one command, several workers. */
function start(example: string): { program: Program; container: ContainerClient } {
  const program = startProgram(`examples/${example}.mjs`, [], {
    CRONLEASE_STORAGE: azurite.connectionString,
    EXAMPLE_CONTAINER: example,
  });
  const service = BlobServiceClient.fromConnectionString(azurite.connectionString);
  return { program, container: service.getContainerClient(example) };
}

/** The first line from `from` on that matches, and where it is. */
async function line({ lines }: Program, pattern: RegExp, from = 0): Promise<{ match: RegExpExecArray; index: number }> {
  return eventually(`${String(pattern)} in\n${lines.slice(-40).join('\n')}`, () => {
    for (let index = from; index < lines.length; index += 1) {
      const match = pattern.exec(lines[index] ?? '');
      if (match !== null) return { match, index };
    }
    return undefined;
  });
}

async function pidOf(program: Program, worker: string): Promise<number> {
  const { match } = await line(program, new RegExp(`^${worker}  starts: kill -9 (\\d+)`));
  return Number(match[1]);
}

/** Kills the worker that leads, and waits for the next one. Returns both, and where the second one began. */
async function killLeader(program: Program): Promise<{ first: string; second: string; index: number }> {
  const elected = await line(program, /^(\w+) {2}leads \(token 1\)/);
  const first = elected.match[1] ?? '';
  process.kill(await pidOf(program, first), 'SIGKILL');
  const next = await line(program, /^(\w+) {2}leads \(token 2\)/, elected.index);
  return { first, second: next.match[1] ?? '', index: next.index };
}

async function stop(program: Program): Promise<void> {
  program.signal('SIGTERM');
  expect(await program.exited, program.lines.join('\n')).toBe(0);
  expect(program.lines.filter((text) => /Error|at async/.test(text))).toEqual([]);
}

async function json<T>(container: ContainerClient, name: string): Promise<T> {
  return JSON.parse((await container.getBlobClient(name).downloadToBuffer()).toString()) as T;
}

describe.concurrent('the example of a leader that aggregates', () => {
  it('goes on when its leader is killed, and loses and doubles nothing', { timeout: 240_000 }, async () => {
    const { program, container } = start('aggregate');
    await line(program, /has added up \d+ messages/);
    const { first, second, index } = await killLeader(program);
    expect(second).not.toBe(first);
    // Whoever was killed is replaced, and what the new one sends is counted too.
    await line(program, /^w4 {2}has sent 25 /);
    await line(program, new RegExp(`^${second}  has added up`), index);
    await stop(program);

    const sums = await json<Record<string, { through: number; count: number; total: number }>>(
      container,
      'totals.json',
    );
    const waiting = new Map<string, number[]>();
    for await (const { name } of container.listBlobsFlat({ prefix: 'inbox/' })) {
      const [, sender = '', number = ''] = name.split('/');
      waiting.set(sender, [...(waiting.get(sender) ?? []), Number(number)]);
    }
    expect(Object.keys(sums).map((sender) => sender.split('-')[0])).toEqual(
      expect.arrayContaining(['w1', 'w2', 'w3', 'w4']),
    );
    for (const [sender, { through, count, total }] of Object.entries(sums)) {
      // Numbers go from 1: each is in the sum, once, or still waits.
      expect({ sender, count, total }).toEqual({ sender, count: through, total: (through * (through + 1)) / 2 });
      const rest = (waiting.get(sender) ?? []).filter((number) => number > through);
      expect(rest).toEqual(rest.map((_, place) => through + 1 + place));
    }
  });
});

describe.concurrent('the example of a leader that assigns shards', () => {
  it(
    'goes on when its leader is killed: every shard has one member, and no piece is done twice',
    { timeout: 240_000 },
    async () => {
      const { program, container } = start('shards');
      await line(program, /^w\d {2}assigns .*; .*; /);
      await Promise.all(['w1', 'w2', 'w3'].map((member) => line(program, new RegExp(`^${member}  did piece`))));
      const { first, index } = await killLeader(program);
      // The shards of the dead go to the living, and to the one that replaces it.
      const again = await line(program, /^w\d {2}assigns /, index);
      expect(again.match.input).not.toContain(`${first}-`);
      const settled = await line(program, /^w\d {2}assigns .*w4-/, index);
      await line(program, /^w4 {2}did piece/, settled.index);
      // A member does its shards one after another: the last one may not have had its turn yet.
      await Promise.all(
        Array.from({ length: SHARDS }, (_, shard) =>
          line(program, new RegExp(`did piece \\d+ of shard ${String(shard)}$`), settled.index),
        ),
      );
      await stop(program);

      const { shards } = await json<{ shards: string[] }>(container, 'assignment.json');
      expect(shards).toHaveLength(SHARDS);
      const done = program.lines.flatMap(
        (text) => /did piece (\d+) of shard (\d)/.exec(text)?.slice(1).join(' of ') ?? [],
      );
      expect(new Set(done).size).toBe(done.length);
      for (let shard = 0; shard < SHARDS; shard += 1) {
        const { pieces, by } = await json<{ pieces: number; by: Record<string, number> }>(
          container,
          `shards/${String(shard)}`,
        );
        expect(Object.values(by).reduce((all, count) => all + count, 0)).toBe(pieces);
        // The killed one may have done a piece and not said so.
        const said = done.filter((piece) => piece.endsWith(` of ${String(shard)}`)).length;
        expect(pieces - said).toBeGreaterThanOrEqual(0);
        expect(pieces - said).toBeLessThanOrEqual(1);
      }
    },
  );
});
