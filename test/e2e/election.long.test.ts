import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { BlobServiceClient } from '@azure/storage-blob';
import type { ContainerClient } from '@azure/storage-blob';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Azurite } from '../support/azurite';
import { startAzurite } from '../support/azurite';
import type { Program } from '../support/program';
import { endPrograms, eventually, root, startProgram } from '../support/program';
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
let containers = 0;
beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(async () => {
  endPrograms();
  await azurite.stop();
});

/** Some candidates of one election, each a process that imports the built library as a program does. */
function candidates(...ids: string[]): { programs: Map<string, Program>; notes(): Note[]; container: ContainerClient } {
  containers += 1;
  const container = `election-${String(containers)}`;
  const programs = new Map(
    ids.map((id) => [
      id,
      startProgram('test/support/app/election/candidate.mjs', [azurite.connectionString, container, id]),
    ]),
  );
  return {
    programs,
    notes: () => [...programs.values()].flatMap(({ lines }) => lines.map((line) => JSON.parse(line) as Note)),
    container: BlobServiceClient.fromConnectionString(azurite.connectionString).getContainerClient(container),
  };
}

function noted(notes: () => Note[], what: string, is: Partial<Note>): Promise<Note> {
  return eventually(`${what} ${JSON.stringify(is)}`, () =>
    notes().find((note) => note.what === what && Object.entries(is).every(([key, value]) => note[key] === value)),
  );
}

async function targetOf(container: ContainerClient): Promise<string> {
  return (await container.getBlobClient('target').downloadToBuffer()).toString();
}

describe.concurrent('a leader that is killed', () => {
  it('is followed by another within its lease and one poll, with a higher token', { timeout: 180_000 }, async () => {
    const { programs, notes, container } = candidates('x', 'y', 'z');
    const first = await noted(notes, 'wrote', { token: 1 });
    const killedAt = Date.now();
    programs.get(first.id)?.signal('SIGKILL');
    const second = await noted(notes, 'wrote', { token: 2 });
    expect(second.id).not.toBe(first.id);
    expect(second.at - killedAt).toBeLessThan(TAKEN_OVER_WITHIN_MS);
    expect(await targetOf(container)).toBe(`${second.id} 2`);
    const third = ['x', 'y', 'z'].find((id) => id !== first.id && id !== second.id) ?? '';
    await noted(notes, 'observed', { id: third, leader: second.id, token: 2 });
    expect(notes().filter(({ what }) => what === 'elected')).toHaveLength(2);

    // Rows of elections are no jobs.
    const names: string[] = [];
    for await (const { name } of container.listBlobsFlat()) names.push(name);
    expect(names.toSorted()).toEqual(['elections/race/lease', 'target']);

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

describe.concurrent('a leader that stands still past its lease', () => {
  it('is told within 200 ms of waking, and its write is refused', { timeout: 180_000 }, async () => {
    const { programs, notes, container } = candidates('x', 'y');
    const first = await noted(notes, 'wrote', { token: 1 });
    programs.get(first.id)?.signal('SIGSTOP');
    const second = await noted(notes, 'wrote', { token: 2 });
    expect(second.id).not.toBe(first.id);
    programs.get(first.id)?.signal('SIGCONT');
    const told = await noted(notes, 'told', { id: first.id });
    expect(told).toMatchObject({ code: 'leaseLost', refused: 'StaleLeader', leads: false });
    expect(told['toldAfter']).toBeLessThanOrEqual(200);
    expect(await targetOf(container)).toBe(`${second.id} 2`);
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
