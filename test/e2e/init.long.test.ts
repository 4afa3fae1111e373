import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { packInto } from '../support/packed';

const root = path.join(__dirname, '../..');
const env = {
  ...process.env,
  PATH: `${path.dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
  NODE_OPTIONS: '',
};
let app: string;

function run(command: string, args: readonly string[], cwd: string): string {
  return execFileSync(command, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

/** The app of `cronlease init`, installed as its next steps say. */
beforeAll(() => {
  const folder = mkdtempSync(path.join(tmpdir(), 'cronlease-init-'));
  // dist/ is there: the test command builds first.
  const tarball = path.basename(packInto(folder));
  const next = run(process.execPath, [path.join(root, 'bin/cronlease.cjs'), 'init', 'app', '--json'], folder);
  app = path.join(folder, 'app');
  const steps = (JSON.parse(next) as { readonly next: readonly string[] }).next;
  expect(steps.map((step) => step.split(' ').slice(0, 2).join(' '))).toEqual([
    `(cd ${root}`,
    'cd app',
    'npm install',
    'npm test',
    'npm start',
  ]);
  expect(steps[2]).toContain(tarball);
  run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', path.join('..', tarball)], app);
}, 600_000);

describe('a new app, installed from the tarball', () => {
  it('passes its own test', () => {
    const out = run('npm', ['test'], app);
    expect(out).toMatch(/pass 1\n[^]*fail 0\n/);
  });

  it('runs its job under "npm start"', { timeout: 180_000 }, async () => {
    const child = spawn('npm', ['start', '--', '--json', '--port', '0', '--instances', '2'], {
      ...{ cwd: app, env, detached: true },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    const add = (text: Buffer): void => {
      out += String(text);
    };
    child.stdout.on('data', add);
    child.stderr.on('data', add);
    const ended = new Promise((resolve) => child.on('close', resolve));
    try {
      await vi.waitFor(
        () => expect(out).toMatch(/"event":"succeeded".*"job":"greet"|"job":"greet".*"event":"succeeded"/),
        {
          ...{ timeout: 150_000, interval: 200 },
        },
      );
      // A second job, in the order of the README: its handler, the registry, the jobs file.
      const edit = (file: string, from: string, to: string): void =>
        writeFileSync(path.join(app, file), readFileSync(path.join(app, file), 'utf8').replace(from, to));
      writeFileSync(
        path.join(app, 'src/hello.ts'),
        `import { defineJob } from 'cronlease';\nexport const hello = defineJob({ run: async () => 'hi' });\n`,
      );
      await vi.waitFor(() => expect(out).toContain('hello.ts changed'), { timeout: 60_000, interval: 100 });
      edit('src/app.ts', 'import { greet', "import { hello } from './hello';\nimport { greet");
      edit('src/app.ts', 'handlers: { greet }', 'handlers: { greet, hello }');
      edit('jobs.json', '"greet"', '"hello": { "schedule": "@every 2s" },\n    "greet"');
      edit('jobs.json', '"revision": 1', '"revision": 2');
      await vi.waitFor(
        () =>
          expect(out).toMatch(/"event":"succeeded","at":[^\n]*"job":"hello"|"job":"hello"[^\n]*"event":"succeeded"/),
        {
          timeout: 60_000,
          interval: 100,
        },
      );
      expect(out).not.toMatch(/not in the registry|InvalidJobs|could not start|unable to load/);
    } finally {
      // The group: npm, the command and its instances.
      process.kill(-(child.pid ?? 0), 'SIGTERM');
      await ended;
    }
  });

  it('has a package of the library with everything that init needs', () => {
    const own = path.join(app, 'node_modules/cronlease');
    const next = run(process.execPath, [path.join(own, 'bin/cronlease.cjs'), 'init', 'second', '--json'], app);
    expect((JSON.parse(next) as { readonly next: readonly string[] }).next[0]).toContain('npm run pack');
    expect(readFileSync(path.join(app, 'second/src/greet.ts'), 'utf8')).toContain("from 'cronlease'");
  });
});
