import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Azurite, startAzurite } from '../support/azurite';
import { packInto } from '../support/packed';

const root = path.join(__dirname, '../..');
const children: ChildProcess[] = [];
let azurite: Azurite;
let app: string;

/** An empty app that has installed the packed library, as a user has it. */
beforeAll(async () => {
  azurite = await startAzurite();
  app = mkdtempSync(path.join(tmpdir(), 'cronlease-user-'));
  writeFileSync(path.join(app, 'package.json'), JSON.stringify({ name: 'user-app', private: true, main: 'index.js' }));
  // dist/ is there: the test command builds first.
  const tarball = packInto(app);
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', '--omit=dev', tarball], { cwd: app });
}, 240_000);

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await azurite.stop();
});

function write(name: string, text: string): void {
  mkdirSync(path.dirname(path.join(app, name)), { recursive: true });
  writeFileSync(path.join(app, name), text);
}

/** The block of code of a page that contains a text. */
function snippet(page: string, language: string, having: string): string {
  const text = readFileSync(path.join(root, page), 'utf8');
  const blocks = [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].filter(
    ([, of, code]) => of === language && code?.includes(having) === true,
  );
  if (blocks.length !== 1) throw new Error(`${page} has ${String(blocks.length)} ${language} blocks with ${having}`);
  return blocks[0]?.[2] ?? '';
}

function cronlease(...parameters: string[]): ChildProcess {
  const child = spawn(
    process.execPath,
    [path.join(app, 'node_modules/cronlease/dist/lib/cli/main.js'), ...parameters],
    {
      cwd: app,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  children.push(child);
  return child;
}

function collect(child: ChildProcess): { out: () => string; code: Promise<number | null> } {
  let out = '';
  const add = (text: Buffer): void => {
    out += String(text);
  };
  child.stdout?.on('data', add);
  child.stderr?.on('data', add);
  return { out: () => out, code: new Promise((resolve) => child.on('close', resolve)) };
}

/** What a fresh process spends on requiring a package of the app. */
function load(name: string): { readonly cpuMs: number; readonly files: readonly string[] } {
  const program = `const before = process.cpuUsage();
    require('${name}');
    const { user, system } = process.cpuUsage(before);
    console.log(JSON.stringify({ cpuMs: (user + system) / 1_000, files: Object.keys(require.cache) }));`;
  const out = execFileSync(process.execPath, ['-e', program], { cwd: app, encoding: 'utf8' });
  return JSON.parse(out) as ReturnType<typeof load>;
}

describe('the library, packed and installed', () => {
  it('turns an app into a coordinator that runs its jobs', { timeout: 90_000 }, async () => {
    write('host.json', readFileSync(path.join(root, 'host.json'), 'utf8'));
    write('jobs.json', snippet('docs/how-to/existing-app.md', 'json', '"jobs"'));
    write('index.js', snippet('docs/how-to/existing-app.md', 'js', 'registerCoordinator'));
    const dev = cronlease('dev', '--json', '--port', '0', '--instances', '2', '--storage', azurite.connectionString);
    const { out, code } = collect(dev);
    await vi.waitFor(() => expect(out()).toContain('"event":"succeeded"'), { timeout: 60_000, interval: 100 });
    dev.kill('SIGTERM');
    expect(await code).toBe(0);
    const runs = collect(cronlease('runs', 'hello', '--json', '--storage', azurite.connectionString));
    expect(await runs.code).toBe(0);
    const { runs: records } = JSON.parse(runs.out()) as {
      readonly runs: readonly { readonly scheduledFor: string; readonly outcome: string }[];
    };
    const { scheduledFor: due } = records.find(({ outcome }) => outcome === 'succeeded') ?? {};
    expect(records).toContainEqual(
      expect.objectContaining({ job: 'hello', outcome: 'succeeded', result: { hello: 'you', due } }),
    );
  });

  it('brings its prices', async () => {
    const { out, code } = collect(cronlease('cost'));
    expect(await code, out()).toBe(0);
    expect(out()).toContain('a month for 1 job');
  });

  it('runs the handler tests of the guide', () => {
    write('handler.test.mjs', snippet('docs/how-to/writing-handlers.md', 'js', 'runJob'));
    const out = execFileSync(process.execPath, ['--test', 'handler.test.mjs'], { cwd: app, encoding: 'utf8' });
    expect(out).toMatch(/^(#|ℹ) pass 3$/m);
    expect(out).toMatch(/^(#|ℹ) fail 0$/m);
  });

  it('says what to install when there is no Azurite', async () => {
    const { out, code } = collect(cronlease('dev', '--port', '0'));
    expect(await code).toBe(1);
    expect(out()).toContain('npm install --save-dev azurite');
    expect(out()).toContain('--storage');
  });

  it('is imported by ES modules too, and registers nothing by being imported', () => {
    write(
      'check.mjs',
      `import { registerCoordinator, defineJob, StaleLeaderError, NonRetryableError } from 'cronlease';
       import { runJob, settableClock } from 'cronlease/testing';
       import { createRequire } from 'node:module';
       const same = createRequire(import.meta.url)('cronlease').defineJob === defineJob;
       const done = await runJob(defineJob({ run: (ctx) => ctx.scheduledFor.toISOString() }), { scheduledFor: '2026-03-01T00:00:00Z' });
       console.log(JSON.stringify({ same, result: done.result, all: [registerCoordinator, StaleLeaderError, NonRetryableError, settableClock].every((one) => typeof one === 'function') }));`,
    );
    const out = execFileSync(process.execPath, ['check.mjs'], { cwd: app, encoding: 'utf8' });
    expect(JSON.parse(out)).toEqual({ same: true, result: '2026-03-01T00:00:00.000Z', all: true });
  });

  it('has types that a strict program can use', () => {
    write(
      'typed/handler.ts',
      `import { defineJob, registerCoordinator } from 'cronlease';
       import type { JobContext, LedgerRecord, StandardSchema } from 'cronlease';
       import { runJob } from 'cronlease/testing';
       const input: StandardSchema<{ container: string }> = {
         '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: value as { container: string } }) },
       };
       const job = defineJob({
         input,
         run: async (ctx: JobContext, { container }) => {
           const previous: LedgerRecord | undefined = await ctx.previous();
           ctx.progress(container.toUpperCase());
           return { token: ctx.fence.token, last: previous?.outcome ?? null };
         },
       });
       export const main = async (): Promise<string> => {
         const { result } = await runJob(job, { settings: { input: { container: 'a' }, timeout: '3s' } });
         // @ts-expect-error a setting that no job has
         await runJob(job, { settings: { tiemout: '3s' } });
         return result?.last ?? result?.token.toFixed() ?? '';
       };
       const dated = defineJob({ run: async ({ scheduledFor }, input: { name: string }) => ({ due: scheduledFor, hello: input.name }) });
       export const due = async (): Promise<string | undefined> => (await runJob(dated)).result?.due.slice(0, 4);
       registerCoordinator({ jobs: { jobs: { job: { schedule: '@daily', input: { container: 'a' } } } }, handlers: { job } });`,
    );
    write('typed/guide.ts', snippet('docs/how-to/existing-app.md', 'ts', 'registerCoordinator'));
    write(
      'typed/tsconfig.json',
      JSON.stringify({
        compilerOptions: {
          strict: true,
          exactOptionalPropertyTypes: true,
          module: 'node20',
          target: 'es2023',
          lib: ['es2024'],
          noEmit: true,
          types: ['node'],
          typeRoots: [path.join(root, 'node_modules/@types')],
        },
        include: ['*.ts'],
      }),
    );
    const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
    execFileSync(process.execPath, [tsc, '-p', path.join(app, 'typed')], { encoding: 'utf8' });
  });

  it('costs an app that requires it no more than twice what @azure/functions does, and loads no other package', () => {
    const loads = Array.from({ length: 9 }, () => [load('@azure/functions'), load('cronlease')] as const);
    for (const [, { files }] of loads) {
      const own = path.join(app, 'node_modules/cronlease/');
      expect(files.filter((file) => !file.startsWith(own))).toEqual([]);
      expect(files.length).toBeLessThan(40);
    }
    const ratios = loads.map(([host, library]) => library.cpuMs / host.cpuMs).toSorted((a, b) => a - b);
    expect(ratios[4], String(ratios)).toBeLessThan(2);
  });

  it('takes in the packages that only its commands need, with their licenses', () => {
    const { dependencies } = JSON.parse(
      readFileSync(path.join(app, 'node_modules/cronlease/package.json'), 'utf8'),
    ) as { readonly dependencies: object };
    const licenses = readFileSync(path.join(app, 'node_modules/cronlease/dist/lib/LICENSES.txt'), 'utf8');
    for (const name of ['acorn', 'commander', 'json5', 'saxes', 'yaml', 'zod']) {
      expect(dependencies).not.toHaveProperty([name]);
      expect(licenses).toMatch(new RegExp(`^${name}$`, 'm'));
    }
    expect(licenses).toMatch(/^luxon$/m);
  });

  it('leaves the packages of the host outside, so that an app has one copy', () => {
    const compiled = readFileSync(path.join(app, 'node_modules/cronlease/dist/lib/functions/register.js'), 'utf8');
    expect(compiled).toContain('require("@azure/functions")');
    expect(compiled).toContain('require("durable-functions")');
  });
});
