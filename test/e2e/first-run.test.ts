import { type ChildProcess, execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { scratchFolder } from '../support/scratch';

/** What `npm start` runs, from the build that `npm run build` has written, in a folder with the same files. */
const root = path.join(__dirname, '../..');
const main = path.join(root, 'dist/lib/cli/main.js');
/** Of a test that waits for a whole take-over on a busy machine. */
const PATIENCE_MS = 90_000;

let app: string;
let dev: ChildProcess;
let printed = '';
let startedAt = 0;

const env = (): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(CRONLEASE_|FORCE_COLOR)/.test(name))),
  NO_COLOR: '1',
});

/** A command in that folder, and the one document that it prints. */
function command<Value>(...args: readonly string[]): Promise<Value> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [main, ...args, '--json'], { cwd: app, env: env() }, (error, stdout, stderr) => {
      if (error === null) resolve(JSON.parse(stdout) as Value);
      else reject(new Error(`${args.join(' ')}: ${stdout}${stderr}`, { cause: error }));
    });
  });
}

/** The first match of what has been printed, as soon as it is there. */
function seen(pattern: RegExp): Promise<RegExpExecArray> {
  return vi.waitFor(
    () => {
      const match = pattern.exec(printed);
      if (match === null) throw new Error(`${String(pattern)} is not in:\n${printed}`);
      return match;
    },
    { timeout: PATIENCE_MS, interval: 20 },
  );
}

beforeAll(() => {
  app = scratchFolder('first-run');
  for (const file of ['dist/samples.js', 'host.json', 'jobs.json', 'package.json', 'samples']) {
    fs.cpSync(path.join(root, file), path.join(app, file), { recursive: true });
  }
  const { scripts } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  const [, options = ''] = scripts.start.split('dist/lib/cli/main.js ');
  // Nothing is built again here: the folder has no sources.
  const given = options.replace(/--build "[^"]*" ?/, '').split(' ');
  startedAt = Date.now();
  dev = spawn(process.execPath, [main, ...given, '--port', '0'], {
    cwd: app,
    env: env(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [dev.stdout, dev.stderr]) stream?.on('data', (text: Buffer) => (printed += String(text)));
});

afterAll(async () => {
  const ended = new Promise((resolve) => dev.once('exit', resolve));
  if (dev.exitCode === null && dev.signalCode === null) {
    dev.kill('SIGTERM');
    await ended;
  }
});

describe('the first five minutes', () => {
  it('opens to the dashboard, at the address of its first line', async () => {
    const [, url = ''] = await seen(/Dashboard: (http:\S+)/);
    const page = await fetch(url);
    expect(new URL(page.url).pathname).toBe('/api/manage/');
    const [, script = ''] = /src="([^"]+)"/.exec(await page.text()) ?? [];
    const answer = await fetch(new URL(script, page.url));
    expect(answer.headers.get('content-type')).toContain('text/javascript');
    expect((await answer.text()).length).toBeGreaterThan(10_000);
    const jobs = await fetch(new URL('jobs', page.url), { headers: { 'sec-fetch-site': 'same-origin' } });
    expect(jobs.status).toBe(200);
  });

  it('begin with commands that are right as soon as the banner is there', async () => {
    await seen(/Ctrl\+C stops everything/);
    await seen(/next +\d\d:\d\d:\d\dZ +[^\n]*(count-to-20|say-hello)/);
    await seen(/GET http:\/\/127\.0\.0\.1:\d+\/api\/manage\/health/);
    const [doctor, runs] = await Promise.all([
      command<{ ok: boolean; findings: { status: string; check: string; message: string }[] }>('doctor'),
      command<{ runs: object[] }>('runs'),
    ]);
    expect(doctor.findings.filter(({ status }) => status !== 'ok')).toEqual([]);
    expect(Array.isArray(runs.runs)).toBe(true);
  });

  it('show a run within seconds, and suggest the process that holds the long one', async () => {
    const [, first = ''] = await seen(/Z {2}(local-\d) +say-hello +succeeded/);
    console.log(`first run ${Date.now() - startedAt} ms after the start of dev, on ${first}`);
    const [, job = '', holder = '', pid = ''] = await seen(
      /(count-to-20) is running on (local-\d)\.[^]*?kill -9 (\d+)/,
    );
    await seen(new RegExp(`${holder} +http://127.0.0.1:\\d+ +pid ${pid}\n`));
    const { runs } = await command<{
      runs: { attempts: { deployment: string; outcome: string; endedAt: unknown }[] }[];
    }>('runs', job);
    const [run] = runs;
    expect(run).toMatchObject({
      outcome: 'running',
      attempts: [{ deployment: holder, outcome: 'running', endedAt: null }],
    });

    process.kill(Number(pid), 'SIGKILL');
    await seen(/count-to-20 +taken over[^\n]*attempt 2/);
    await seen(/count-to-20 +counted to 20, from 1 again in attempt 2/);
    await seen(/count-to-20 +succeeded[^\n]*attempt 2/);
  });

  it('restart when the jobs have changed, and name the change', async () => {
    const file = path.join(app, 'jobs.json');
    const jobs = JSON.parse(fs.readFileSync(file, 'utf8')) as { revision: number; jobs: object };
    const fresh = { schedule: '@every 1s', handler: 'say-hello', input: { name: 'you' } };
    const changed = { ...jobs, revision: jobs.revision + 1, jobs: { ...jobs.jobs, fresh } };
    fs.writeFileSync(file, JSON.stringify(changed));
    await seen(/jobs\.json: added fresh: @every 1s\n/);
    await seen(/fresh +Hello, you!/);
    expect((await command<{ job: string }[]>('next', 'fresh')).map(({ job }) => job)).toEqual(['fresh']);
  });

  it('end with nothing left behind', async () => {
    const ended = new Promise<number | null>((resolve) => dev.once('exit', resolve));
    dev.kill('SIGINT');
    expect(await ended).toBe(0);
    expect(fs.existsSync(path.join(app, '.cronlease'))).toBe(false);
  });
});
