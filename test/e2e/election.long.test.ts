import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { BlobServiceClient } from '@azure/storage-blob';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Azurite, startAzurite } from '../support/azurite';
import type { StorageServer } from '../../src/local/servers/server';
import { testPostgres } from '../support/postgres';
import { type Program, endPrograms, eventually, root, startProgram } from '../support/program';
import { scratchFolder } from '../support/scratch';

/** A lease of 15 s, and polls of 2 s; and time for a machine that is busy. */
const TAKEN_OVER_WITHIN_MS = (15 + 2 + 15) * 1000;

interface Note {
  readonly what: string;
  readonly id: string;
  readonly at: number;
  readonly token?: number;
  readonly [member: string]: unknown;
}

let azurite: Azurite;
let postgres: StorageServer;
let pool: pg.Pool;
let containers = 0;
beforeAll(async () => {
  [azurite, postgres] = await Promise.all([startAzurite(), testPostgres()]);
  pool = new pg.Pool({ connectionString: postgres.url });
});
afterAll(async () => {
  endPrograms();
  await pool.end();
  await Promise.all([azurite.stop(), postgres.stop()]);
});

/** A place of one election, with the target of its leaders. */
interface Place {
  readonly connection: string;
  readonly container: string;
  target(): Promise<string>;
  /** The rows and all that is beside them. */
  names(): Promise<string[]>;
}

const PLACES: Readonly<Record<string, (container: string) => Promise<Place>>> = {
  async blobs(container) {
    const { connectionString: connection } = azurite;
    const client = BlobServiceClient.fromConnectionString(connection).getContainerClient(container);
    return {
      ...{ connection, container },
      target: async () => (await client.getBlobClient('target').downloadToBuffer()).toString(),
      async names() {
        const names: string[] = [];
        for await (const { name } of client.listBlobsFlat()) names.push(name);
        return names.toSorted();
      },
    };
  },
  async PostgreSQL(container) {
    const texts = async (sql: string): Promise<string[]> =>
      (await pool.query<{ text: string }>(sql.replaceAll('AT', `"${container}"`))).rows.map(({ text }) => text);
    await pool.query(`create schema "${container}"`);
    await pool.query(`create table "${container}".target (id integer primary key, text text, token bigint)`);
    return {
      ...{ connection: postgres.url, container },
      target: async () => (await texts('select text from AT.target')).join(),
      names: () =>
        texts(
          "select 'elections/race/lease' as text from AT.elections union select 'target' from AT.target order by 1",
        ),
    };
  },
};

/** Some candidates of one election, each a process that imports the built library as a program does. */
async function candidates(
  store: string,
  ...ids: string[]
): Promise<{ programs: Map<string, Program>; notes(): Note[]; place: Place }> {
  containers += 1;
  const place = await PLACES[store]?.(`election-${String(containers)}`);
  if (place === undefined) throw new Error(`no store "${store}"`);
  const programs = new Map(
    ids.map((id) => [
      id,
      startProgram('test/support/app/election/candidate.mjs', [place.connection, place.container, id]),
    ]),
  );
  return {
    programs,
    notes: () => [...programs.values()].flatMap(({ lines }) => lines.map((line) => JSON.parse(line) as Note)),
    place,
  };
}

function noted(notes: () => Note[], what: string, is: Partial<Note>): Promise<Note> {
  return eventually(`${what} ${JSON.stringify(is)}`, () =>
    notes().find((note) => note.what === what && Object.entries(is).every(([key, value]) => note[key] === value)),
  );
}

describe.concurrent.each(Object.keys(PLACES))('a leader on %s that is killed', (store) => {
  it('is followed by another within its lease and one poll, with a higher token', { timeout: 180_000 }, async () => {
    const { programs, notes, place } = await candidates(store, 'x', 'y', 'z');
    const first = await noted(notes, 'wrote', { token: 1 });
    const killedAt = Date.now();
    programs.get(first.id)?.signal('SIGKILL');
    const second = await noted(notes, 'wrote', { token: 2 });
    expect(second.id).not.toBe(first.id);
    expect(second.at - killedAt).toBeLessThan(TAKEN_OVER_WITHIN_MS);
    expect(await place.target()).toBe(`${second.id} 2`);
    const third = ['x', 'y', 'z'].find((id) => id !== first.id && id !== second.id) ?? '';
    await noted(notes, 'observed', { id: third, leader: second.id, token: 2 });
    expect(notes().filter(({ what }) => what === 'elected')).toHaveLength(2);

    // Rows of elections are not jobs.
    expect(await place.names()).toEqual(['elections/race/lease', 'target']);

    // Whoever stops hands over without waiting for the lease.
    const stoppedAt = Date.now();
    programs.get(second.id)?.signal('SIGTERM');
    expect(await noted(notes, 'lost', { id: second.id })).toMatchObject({ reason: 'draining' });
    expect(await programs.get(second.id)?.exited).toBe(0);
    const last = await noted(notes, 'wrote', { token: 3 });
    expect(last).toMatchObject({ id: third });
    expect(last.at - stoppedAt).toBeLessThan(14_000);
    // The fence was still open while the lease was held.
    expect(await noted(notes, 'told', { id: second.id })).toMatchObject({ code: 'draining', refused: false });
  });
});

describe.concurrent.each(Object.keys(PLACES))('a leader on %s that stands still past its lease', (store) => {
  // A stall of the machine spoils the measured time, in one try.
  it('is told within 200 ms of waking, and its write is refused', { timeout: 180_000, retry: 2 }, async () => {
    const { programs, notes, place } = await candidates(store, 'x', 'y');
    const first = await noted(notes, 'wrote', { token: 1 });
    programs.get(first.id)?.signal('SIGSTOP');
    const second = await noted(notes, 'wrote', { token: 2 });
    expect(second.id).not.toBe(first.id);
    programs.get(first.id)?.signal('SIGCONT');
    const told = await noted(notes, 'told', { id: first.id });
    expect(told).toMatchObject({ code: 'leaseLost', refused: 'StaleLeader', leads: false });
    expect(told['toldAfter']).toBeLessThanOrEqual(200);
    expect(await place.target()).toBe(`${second.id} 2`);
    await noted(notes, 'observed', { id: first.id, leader: second.id });
    expect(await noted(notes, 'error', { id: first.id })).toMatchObject({ code: 'leaseLost' });
  });
});

describe.concurrent('LeaderElection', () => {
  it('is required by CommonJS, leads, is observed by who does not campaign, and says what is wrong with options', async () => {
    const folder = scratchFolder('election');
    writeFileSync(
      path.join(folder, 'program.cjs'),
      `const { LeaderElection, ElectionOptionsError } = require('cronlease');
       const { ContainerClient } = require('@azure/storage-blob');
       const container = new ContainerClient(process.argv[2], 'commonjs');
       let problems;
       try { new LeaderElection({ container, name: 'No', leese: '15s', lease: '5s' }); }
       catch (error) { problems = error instanceof ElectionOptionsError && error.problems; }
       const task = async ({ token, fence }) => { await fence.write(container.getBlockBlobClient('out'), 'x'); return token; };
       const observer = new LeaderElection({ container, name: 'a', id: 'observer', task, pollInterval: '1s', onError: () => {} });
       const one = new LeaderElection({ container, name: 'a', id: 'one', task: ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)) });
       (async () => {
         const done = one.run();
         const seen = [];
         for await (const leader of observer.observe()) {
           seen.push(leader && leader.id);
           if (leader !== undefined) break;
         }
         const led = [one.isLeader, observer.isLeader, (await observer.leader()).token];
         await one.stop();
         await done;
         await observer.stop();
         console.log(JSON.stringify({ problems, seen: seen.at(-1), led, after: (await observer.leader()) === undefined }));
       })();`,
    );
    const run = startProgram(path.relative(root, path.join(folder, 'program.cjs')), [azurite.connectionString]);
    expect(await run.exited, run.lines.join('\n')).toBe(0);
    const { problems, ...rest } = JSON.parse(run.lines.at(-1) ?? '') as { problems: string[] };
    expect(rest).toEqual({ seen: 'one', led: [true, false, 1], after: true });
    expect(problems).toHaveLength(4);
    expect(problems.join('\n')).toContain('did you mean "lease"?');
  });

  it('leads by the example of the guide on PostgreSQL, until it is killed', { timeout: 180_000 }, async () => {
    const page = readFileSync(path.join(root, 'docs/how-to/leader-election.md'), 'utf8');
    const code = /^```js postgres\n(.*?)^```$/ms.exec(page)?.[1] ?? '';
    const folder = scratchFolder('election');
    writeFileSync(path.join(folder, 'program.mjs'), code);
    const start = () =>
      startProgram(path.relative(root, path.join(folder, 'program.mjs')), [], { DATABASE_URL: postgres.url });
    const leads = (program: Program, token: number) =>
      eventually(`token ${String(token)} in ${program.lines.join('\n')}`, () =>
        program.lines.find((line) => line.endsWith(` leads with token ${String(token)}`)),
      );
    const progress = async () => (await pool.query<{ done: string; token: string }>('select * from progress')).rows[0];
    const first = start();
    await leads(first, 1);
    const second = start();
    await vi.waitUntil(async () => Number((await progress())?.done) > 0, { timeout: 30_000 });
    first.signal('SIGKILL');
    await leads(second, 2);
    await vi.waitUntil(async () => (await progress())?.token === '2', { timeout: 30_000 });
    second.signal('SIGTERM');
    expect(await second.exited, second.lines.join('\n')).toBe(0);
    expect(second.lines).toHaveLength(1);
  });

  it('has types that a strict program can use, with its own copy of the storage package too', () => {
    const folder = scratchFolder('election');
    writeFileSync(
      path.join(folder, 'program.mts'),
      `import { ContainerClient } from '@azure/storage-blob';
       import { LeaderElection } from 'cronlease';
       import type { Leader, Leadership, LeaderElectionOptions, TermEnd } from 'cronlease';
       const container = new ContainerClient('UseDevelopmentStorage=true', 'a');
       const options: LeaderElectionOptions = {
         container, name: 'a', lease: 15_000, stallAfter: '30s', healthCheck: async () => true, afterTask: 'stop',
         task: async ({ signal, fence, token, since, progress }: Leadership) => {
           progress(\`\${token} \${since.toISOString()}\`);
           await fence.write(container.getBlockBlobClient('b'), 'x', { ifMatch: '"1"' });
           signal.throwIfAborted();
         },
       };
       const election = new LeaderElection(options);
       election.on('elected', (leader: Leader) => leader.token.toFixed());
       election.on('lost', ({ reason }) => { const why: TermEnd = reason; return why; });
       election.on('observed', (leader) => leader?.id);
       // @ts-expect-error -- there is no such event
       election.on('won', () => undefined);
       new LeaderElection({ storage: 'postgres://app@db/app?sslmode=verify-full', name: 'a', task: () => undefined });
       new LeaderElection({ storage: 'postgres://app@db/app?sslmode=verify-full', container: 'elections', name: 'a', task: () => undefined });
       // @ts-expect-error -- neither container nor storage
       if (Math.random() > 1) new LeaderElection({ name: 'a', task: () => undefined });
       // @ts-expect-error -- both
       if (Math.random() > 1) new LeaderElection({ container, storage: 'postgres://app@db/app?sslmode=verify-full', name: 'a', task: () => undefined });
       // @ts-expect-error -- the name is missing
       new LeaderElection({ container, task: () => undefined });
       export const main = async (): Promise<string | undefined> => {
         for await (const leader of election.observe({ signal: AbortSignal.timeout(1) })) return leader?.id;
         return (await election.leader())?.id;
       };`,
    );
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      module: 'node20',
      target: 'es2023',
      lib: ['es2024'],
      noEmit: true,
      types: ['node'],
      skipLibCheck: true,
    };
    writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['program.mts'] }));
    const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
    execFileSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' });
  });
});
