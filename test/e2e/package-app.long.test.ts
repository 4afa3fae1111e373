import { execFile, execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { unzipSync } from 'fflate';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Azurite, startAzurite } from '../support/azurite';
import { at } from '../support/coordinated';
import { endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';
import { ownClone } from '../support/own-clone';

const root = path.join(__dirname, '../..');
const MEGABYTE = 1024 * 1024;
const FILES = ['dist/app.js', 'dist/telemetry.js', 'host.json', 'jobs.json', 'package.json'];
let folder: string;
/** This repository with handlers of someone's own, and this repository itself. */
let clone: string;

interface Packed {
  readonly code: number;
  readonly out: string;
  readonly errors: string;
}

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'cronlease-package-'));
  clone = ownClone();
});

afterAll(() => {
  endAll();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs scripts/package.mjs of the clone on what `npm run build` has written, into a folder of this test. */
async function pack(name: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Packed> {
  const command = [path.join(clone, 'scripts/package.mjs'), '--built', '--out', path.join(folder, name), ...args];
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, command, {
      env: { ...process.env, ...env },
    });
    return { code: 0, out: stdout, errors: stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, out: stdout, errors: stderr };
  }
}

function jobsFile(name: string, content: unknown): string {
  const file = path.join(folder, name);
  writeFileSync(file, JSON.stringify(content));
  return file;
}

function filesIn(where: string): string[] {
  return readdirSync(where, { recursive: true, encoding: 'utf8' })
    .filter((file) => statSync(path.join(where, file)).isFile())
    .toSorted();
}

/** The app out of the zip, in an empty folder with no node_modules beside or above it. */
function unpack(name: string): string {
  const app = mkdtempSync(path.join(folder, 'app-'));
  for (const [file, content] of Object.entries(unzipSync(readFileSync(path.join(folder, name, 'cronlease.zip'))))) {
    mkdirSync(path.dirname(path.join(app, file)), { recursive: true });
    writeFileSync(path.join(app, file), content);
  }
  return app;
}

describe('npm run package', () => {
  it('writes what the app needs and nothing else, as a folder and as a zip of it', async () => {
    const before = Math.floor(Date.now() / 1000);
    const { code, errors } = await pack('whole');
    expect(code, errors).toBe(0);
    const app = path.join(folder, 'whole/app');
    expect(filesIn(app)).toEqual(FILES);
    const zip = unzipSync(readFileSync(path.join(folder, 'whole/cronlease.zip')));
    expect(Object.keys(zip).toSorted()).toEqual(FILES);
    for (const file of FILES)
      expect(Buffer.from(zip[file] ?? []).equals(readFileSync(path.join(app, file)))).toBe(true);

    const bytes = FILES.reduce((sum, file) => sum + statSync(path.join(app, file)).size, 0);
    // Of this, 130 KB are the public suffix list, which tells patterns that are open to everyone.
    expect(bytes).toBeLessThan(3.25 * MEGABYTE);
    expect(statSync(path.join(folder, 'whole/cronlease.zip')).size).toBeLessThan(MEGABYTE);

    const read = (where: string, file: string): Record<string, unknown> =>
      JSON.parse(readFileSync(path.join(where, file), 'utf8')) as Record<string, unknown>;
    const { name, version, main, engines } = read(root, 'package.json');
    expect(read(app, 'package.json')).toEqual({ name, version, private: true, type: 'commonjs', main, engines });
    expect(read(app, 'host.json')).toEqual(read(root, 'host.json'));
    const { revision, ...jobs } = read(app, 'jobs.json');
    expect(jobs).toEqual({ ...read(root, 'jobs.json'), revision: undefined });
    expect(revision).toBeGreaterThanOrEqual(before);
    expect(revision).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000));
  });

  it('has no sample, neither its job nor its handler', async () => {
    const { jobs } = JSON.parse(readFileSync(path.join(root, 'samples/jobs.json'), 'utf8')) as { jobs: object };
    const names = Object.keys(jobs);
    expect(names.length).toBeGreaterThan(3);
    const { code, errors } = await pack('no-samples');
    expect(code, errors).toBe(0);
    const shipped = FILES.map((file) => readFileSync(path.join(folder, 'no-samples/app', file), 'utf8')).join('\n');
    const built = readFileSync(path.join(clone, 'dist/samples.js'), 'utf8');
    for (const name of names) {
      expect(built).toContain(name);
      expect(shipped).not.toContain(name);
    }
    const refused = await pack('samples', ['--jobs', path.join(root, 'samples/jobs.json')]);
    expect(refused.code).toBe(1);
    expect(refused.errors).toContain('jobs.storage-report');
  });

  it('has the client of a store beside blobs only if it is asked for', async () => {
    const whole = readFileSync(path.join(root, 'dist/app.js'), 'utf8');
    for (const [store, ...parts] of [
      ['postgres', 'SASLInitialResponse', 'pg_advisory_xact_lock'],
      ['redis', 'CLUSTERDOWN', 'ZRANGEBYLEX'],
      ['zookeeper', 'RUNTIMEINCONSISTENCY', 'SESSIONMOVED'],
      ['etcd', 'timetolive', 'max_mod_revision'],
      ['consul', 'LockDelay', 'check-index'],
    ] as const) {
      const { code, errors } = await pack(`with-${store}`, ['--store', store]);
      expect(code, errors).toBe(0);
      expect(filesIn(path.join(folder, `with-${store}/app`))).toEqual([...FILES, `dist/${store}.js`].toSorted());
      const client = readFileSync(path.join(root, `dist/${store}.js`), 'utf8');
      for (const part of parts) {
        expect(client).toContain(part);
        expect(whole).not.toContain(part);
      }
    }
    const refused = await pack('with-oracle', ['--store', 'oracle']);
    expect(refused).toMatchObject({
      code: 1,
      errors: '--store oracle: use postgres, redis, zookeeper, etcd, consul\n',
    });
  });

  it('is the same to the byte for the same revision, in any time zone', async () => {
    await pack('one', ['--revision', '1790000000'], { TZ: 'Pacific/Auckland' });
    await pack('two', ['--revision', '1790000000'], { TZ: 'America/Los_Angeles' });
    const [one, two] = ['one', 'two'].map((name) => readFileSync(path.join(folder, name, 'cronlease.zip')));
    expect(one?.equals(two ?? Buffer.alloc(0))).toBe(true);
  });

  it('writes nothing for a bad jobs file, and leaves no package from before', async () => {
    await pack('bad');
    const jobs = jobsFile('bad.json', {
      jobs: {
        greet: { schedule: '0 25 * * *', input: { name: 'you' } },
        unknown: { schedule: '@daily' },
        again: { handler: 'greet', schedule: '@daily', input: { nome: 'you' } },
        'greet-all': { schedule: '@hourly', timeout: '1h' },
      },
    });
    const { code, errors } = await pack('bad', ['--jobs', jobs]);
    expect(code).toBe(1);
    // Of the file itself, of host.json's functionTimeout, of the registry, and of a handler's own schema.
    for (const path of ['greet.schedule', 'greet-all.timeout', 'unknown', 'again.input']) {
      expect(errors).toContain(`jobs.${path}`);
    }
    expect(filesIn(path.join(folder, 'bad'))).toEqual([]);
    expect((await pack('bad', ['--check', '--jobs', jobs])).code).toBe(1);
  });

  it('holds the days of iCalendar files in its jobs file', async () => {
    const event = 'BEGIN:VEVENT\nDTSTART:20261225\nEND:VEVENT\n';
    writeFileSync(path.join(folder, 'days.ics'), `BEGIN:VCALENDAR\n${event}END:VCALENDAR\n`);
    const input = { name: 'you' };
    const jobs = jobsFile('calendars.json', {
      calendars: { holidays: [{ yearly: '01-01' }, { file: 'days.ics' }] },
      jobs: { greet: { schedule: '@daily', input, except: [{ calendar: 'holidays' }] } },
    });
    const { code, errors } = await pack('calendars', ['--jobs', jobs]);
    expect(code, errors).toBe(0);
    const packed = JSON.parse(readFileSync(path.join(folder, 'calendars/app/jobs.json'), 'utf8')) as object;
    expect(packed).toMatchObject({
      calendars: { holidays: [{ yearly: '01-01' }, { from: '2026-12-25', to: '2026-12-26' }] },
    });
    expect(filesIn(path.join(folder, 'calendars/app'))).toEqual(FILES);
  });

  it('refuses a revision that is lower than the file has', async () => {
    const jobs = jobsFile('later.json', { revision: 9_000_000_000_000, jobs: {} });
    const { code, errors } = await pack('later', ['--jobs', jobs]);
    expect(code).toBe(1);
    expect(errors).toContain('9000000000000');
    expect((await pack('later', ['--revision', '-1'])).code).toBe(1);
  });

  it('only checks with --check', async () => {
    const { code, out } = await pack('check', ['--check']);
    expect(code).toBe(0);
    expect(out).toContain('are valid: ');
    expect(existsSync(path.join(folder, 'check'))).toBe(false);
  });
});

describe('the package, in an empty folder', () => {
  let azurite: Azurite;

  beforeAll(async () => {
    azurite = await startAzurite();
  });

  afterAll(() => azurite.stop());

  it('runs a job with no node_modules beside it', async () => {
    const input = { name: 'you' };
    const jobs = { jobs: { report: { handler: 'greet', schedule: at(12_000), input } } };
    const packed = await pack('run', ['--jobs', jobsFile('run.json', jobs)]);
    expect(packed.code, packed.errors).toBe(0);
    const dev = startDev(buildLocal(), {
      app: unpack('run'),
      instances: 1,
      storage: azurite.connectionString,
      container: 'packaged',
    });
    const { deployment } = (await dev.ready()).instances[0] ?? {};
    const ran = await dev.event(({ event }) => event === 'succeeded', 60_000);
    expect(ran).toMatchObject({ job: 'report', deployment });
    process.kill(dev.pid, 'SIGTERM');
    expect(await dev.exited()).toBe(0);
  });

  it('has registered its functions after little more than Node itself takes', async () => {
    await pack('start');
    const app = unpack('start');
    // The best of several runs in turn, so that other work on the machine slows both.
    const turns = Array.from({ length: 9 }, () => ({
      registered: cpuUntilRegistered(path.join(app, 'dist/app.js'), app),
      empty: cpuUntilRegistered(undefined, app),
    }));
    const best = (of: 'registered' | 'empty'): number => Math.min(...turns.map((turn) => turn[of]));
    // Measured in CPU time, whatever else the machine does: 14 times an empty process, 0.32 s and 0.023 s.
    expect(best('registered') / best('empty')).toBeLessThan(20);
  });
});

/** CPU time of a process from its start until the app in it is registered, in ms. */
function cpuUntilRegistered(file: string | undefined, cwd: string): number {
  const env = { ...process.env, CRONLEASE_STORAGE: 'UseDevelopmentStorage=true', NODE_OPTIONS: '' };
  const args = [path.join(root, 'test/support/start-process.cjs'), ...(file === undefined ? [] : [file])];
  const out = execFileSync(process.execPath, args, { cwd, env, encoding: 'utf8' });
  const { functions, cpuMs } = JSON.parse(out) as { functions: readonly string[]; cpuMs: number };
  expect(functions.includes('cronleaseTick')).toBe(file !== undefined);
  return cpuMs;
}
