import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { type AddressInfo, type Server, createServer } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CliFolder, type Ended, cliFolder } from '../support/cli-build';

const MINUTE = 60_000;

let folder: CliFolder;
let silent: Server;
/** Takes so long that it goes on beside the other tests. */
let unanswered: Promise<Ended & { readonly tookMs: number }>;

const inFolder = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> => folder.run(args, env);

beforeAll(async () => {
  folder = cliFolder();
  fs.mkdirSync(path.join(folder.path, 'No_Container'));
  silent = createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  unanswered = askSilence((silent.address() as AddressInfo).port);
});

async function askSilence(port: number): Promise<Ended & { readonly tookMs: number }> {
  const started = performance.now();
  const storage = `AccountName=x;AccountKey=c2VjcmV0;BlobEndpoint=http://127.0.0.1:${port}/x`;
  const ended = await inFolder(['runs', 'minutely'], { CRONLEASE_STORAGE: storage });
  return { ...ended, tookMs: performance.now() - started };
}

afterAll(() => {
  silent.close();
  folder.remove();
});

describe.concurrent('the command line itself', () => {
  it('helps', async () => {
    const [main, version, ...others] = await Promise.all([
      inFolder(['--help']),
      inFolder(['--version']),
      inFolder(['help', 'why']),
      inFolder(['pause', '--help']),
    ]);
    expect(main.code).toBe(0);
    for (const word of ['validate', 'next', 'runs', 'why', 'run', 'cancel', 'pause', 'resume', 'dev', 'Exit codes']) {
      expect(main.stdout).toContain(word);
    }
    expect(version).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as unknown });
    for (const { code, stdout } of others) {
      expect(code).toBe(0);
      expect(stdout).toContain('Examples:');
    }
  });

  it('ends quietly when the reader of its help has closed the pipe', async () => {
    const [program, main] = folder.command;
    const child = spawn(program, [main, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    const errors: Buffer[] = [];
    child.stderr.on('data', (data: Buffer) => errors.push(data));
    const [code] = (await once(child, 'close')) as [number];
    expect([code, Buffer.concat(errors).toString()]).toEqual([0, '']);
  });

  it('does its work when the reader of its warnings has closed the pipe', async () => {
    folder.write('warned.json', { jobs: { either: { schedule: '0 3 1 * 1' } } });
    const [program, main] = folder.command;
    const stdio = ['ignore', 'pipe', 'pipe'] as const;
    const child = spawn(program, [main, 'validate', '--file', 'warned.json'], { stdio: [...stdio], cwd: folder.path });
    child.stderr?.destroy();
    const texts: Buffer[] = [];
    child.stdout?.on('data', (data: Buffer) => texts.push(data));
    const [code] = (await once(child, 'close')) as [number];
    expect([code, Buffer.concat(texts).toString()]).toEqual([0, 'warned.json is valid: 1 job, 1 warning.\n']);
  });

  it.runIf(process.platform === 'linux').each(['--help', 'validate', 'next', 'next --json'])(
    'fails with a sentence when the output of %s finds a full disk',
    async (words) => {
      const [program, main] = folder.command;
      const full = fs.openSync('/dev/full', 'w');
      const child = spawn(program, [main, ...words.split(' ')], { stdio: ['ignore', full, 'pipe'], cwd: folder.path });
      fs.closeSync(full);
      const errors: Buffer[] = [];
      child.stderr?.on('data', (data: Buffer) => errors.push(data));
      const [code] = (await once(child, 'close')) as [number];
      const text = Buffer.concat(errors)
        .toString()
        .split('\n')
        .filter((line) => !line.startsWith('warning'));
      expect([code, ...text]).toEqual([1, expect.stringMatching(/^error: the output cannot be written: ENOSPC/), '']);
    },
  );

  it.each([
    [[], 'Usage'],
    [['validte'], 'Did you mean validate?'],
    [['next', 'minutely', '--tag', 'x'], 'leave one out'],
    [['pause', '--note', 'n'], 'name one job or several'],
    [['pause', 'minutely', '--tag', 'x', '--note', 'n'], 'name one job or several'],
    [['resume'], 'name one job or several'],
    [['next', 'all', '--count', '0'], 'from 1 to 1000'],
    [['next', 'all', '--count', '1001'], 'from 1 to 1000'],
    [['next', 'all', '--count', '1e2'], 'from 1 to 1000'],
    [['next', 'all', '--from', 'yesterday'], '--from "yesterday"'],
    [['next', 'all', 'more'], 'too many arguments'],
    [['why', 'minutely', '2026-13-01T00:00:00Z', '--storage', 'UseDevelopmentStorage=true'], 'TIME "2026-13-01'],
    [['runs', '--lmit', '3'], 'unknown option'],
    [['runs', '--outcome', 'failed,lost'], '"lost" is not an outcome'],
    [['runs', '--failed', '--outcome', 'failed'], 'cannot be used with'],
    [['runs', '--since', 'soon'], '--since "soon"'],
    [['runs', '--cursor', 'x'], '--cursor "x"'],
    [['runs', '--storage', 'nonsense'], '--storage must be a connection string'],
    [['runs', '--storage', 'UseDevelopmentStorage=true', '--container', 'No_Name'], '--container: '],
    [['pause', 'minutely'], '--note'],
    [['pause', 'minutely', '--note', ' '], '--note is empty'],
    [['dev', '--instances', '0'], 'from 1 to 20'],
    [['dev', '--instances', '6', '--same-app', '4'], 'these are 24 instances. Use 20 at most'],
    [['dev', '--duration', 'soon'], '--duration "soon"'],
    [['dev', '--samples', 'nowhere'], '--samples "nowhere": there is no such folder'],
    [['dev', '--samples', 'No_Container'], "the folder's name becomes the container's"],
  ])('%j is wrong usage', async (args, message) => {
    const { code, stdout, stderr } = await inFolder(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
  });

  it('says in which ways storage can be named', async () => {
    const { code, stderr } = await inFolder(['runs']);
    expect(code).toBe(1);
    for (const way of ['--storage', 'CRONLEASE_STORAGE', '__blobServiceUri', 'cronlease dev']) {
      expect(stderr).toContain(way);
    }
    const failed = await folder.json<{ error: { code: string } }>(inFolder(['runs', '--json']), 1);
    expect(failed.error.code).toBe('NoStorage');
  });

  it('prints nothing of a key', async () => {
    const storage = 'DefaultEndpointsProtocol=http;AccountName=x;AccountKey=c2VjcmV0;BlobEndpoint=http://127.0.0.1:1/x';
    const { code, stdout, stderr } = await inFolder(['runs', '--storage', storage]);
    expect(code).toBe(1);
    expect(stderr).toContain('http://127.0.0.1:1/x/cronlease');
    expect(stdout + stderr).not.toContain('c2VjcmV0');
  });
});

describe.concurrent('validate', () => {
  it('says that a file is valid, and warns', async () => {
    expect(await inFolder(['validate'])).toEqual({ code: 0, stdout: 'jobs.json is valid: 5 jobs.\n', stderr: '' });
    folder.write('both.json', { jobs: { both: { schedule: '0 0 1 * MON' } } });
    const { code, stdout, stderr } = await inFolder(['validate', '--file', 'both.json']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'both.json is valid: 1 job, 1 warning.\n' });
    expect(stderr).toContain('warning: both.json:1:18: jobs.both.schedule');
    const report = await folder.json<object>(inFolder(['validate', '--file', 'both.json', '--json']));
    expect(report).toMatchObject({ ok: true, errors: [], warnings: [{ path: 'jobs.both.schedule' }] });
  });

  it('lists every error, with path, value and remedy', async () => {
    folder.write('bad.json', { jobs: { one: { schedule: '61 * * * *' }, two: { schedule: '@daily', colour: 'red' } } });
    const report = await folder.json<{ ok: boolean; errors: object[] }>(
      inFolder(['validate', '--file', 'bad.json', '--json']),
      1,
    );
    expect(report).toMatchObject({ ok: false, warnings: [] });
    expect(report.errors).toHaveLength(2);
    for (const error of report.errors) {
      expect(Object.keys(error)).toEqual(['path', 'value', 'message', 'remedy', 'place']);
    }
    expect(report.errors[0]).toMatchObject({ path: 'jobs.one.schedule', value: '61 * * * *' });
    const { code, stdout, stderr } = await inFolder(['validate', '--file', 'bad.json']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('bad.json:1:17: jobs.one.schedule = "61 * * * *"');
    expect(stderr).toContain('bad.json is not valid: 2 errors.');
  });

  it.each([
    ['missing.json', undefined],
    ['text.json', 'jobs: []'],
    ['empty.json', ''],
    ['.', undefined],
  ])('refuses %s', async (file, content) => {
    if (content !== undefined) folder.write(file, content);
    const report = await folder.json<object>(inFolder(['validate', '--file', file, '--json']), 1);
    expect(report).toMatchObject({ ok: false, errors: [{ path: '$' }], warnings: [] });
  });

  const LONG: unknown = expect.objectContaining({ path: 'jobs.long.timeout', value: '6m' });

  it('holds timeouts against functionTimeout of the host.json beside the file', async () => {
    fs.mkdirSync(path.join(folder.path, 'app'));
    folder.write('app/host.json', { version: '2.0', functionTimeout: '00:05:00' });
    folder.write('app/jobs.json', { jobs: { long: { schedule: '@daily', timeout: '6m' } } });
    const report = await folder.json<object>(inFolder(['validate', '--file', 'app/jobs.json', '--json']));
    // It may be an orchestration, which is not known here. A handler's timeout keeps the app from starting.
    expect(report).toMatchObject({ ok: true, warnings: expect.arrayContaining([LONG]) as unknown });
  });

  it("looks at how long Durable's queues hide what a killed host had taken", async () => {
    fs.mkdirSync(path.join(folder.path, 'queues'));
    const storageProvider = { controlQueueVisibilityTimeout: '00:00:30' };
    folder.write('queues/host.json', { version: '2.0', extensions: { durableTask: { storageProvider } } });
    folder.write('queues/jobs.json', { jobs: { nightly: { schedule: '@daily' } } });
    const report = await folder.json<object>(inFolder(['validate', '--file', 'queues/jobs.json', '--json']), 1);
    const member = (name: string): string => `extensions.durableTask.storageProvider.${name}`;
    const place = { file: path.join('queues', 'host.json'), line: 1 };
    expect(report).toMatchObject({
      ok: false,
      errors: [{ path: member('controlQueueVisibilityTimeout'), value: '00:00:30', place }],
      warnings: [
        { path: member('maxQueuePollingInterval'), value: null },
        { path: member('workItemQueueVisibilityTimeout'), value: null },
      ],
    });
  });

  it('finds the host.json of the app above the file', async () => {
    fs.mkdirSync(path.join(folder.path, 'whole/config/jobs'), { recursive: true });
    folder.write('whole/host.json', { version: '2.0', functionTimeout: '00:05:00' });
    folder.write('whole/config/jobs/jobs.json', { jobs: { long: { schedule: '@daily', timeout: '6m' } } });
    const file = 'whole/config/jobs/jobs.json';
    const report = await folder.json<object>(inFolder(['validate', '--file', file, '--json']));
    expect(report).toMatchObject({ ok: true, warnings: expect.arrayContaining([LONG]) as unknown });
  });
});

describe.concurrent('next', () => {
  it('prints due times strictly after an instant, also a past one', async () => {
    const from = '2026-03-28T01:30:00Z';
    expect(await folder.json(inFolder(['next', 'nightly', '--from', from, '--count', '3', '--json']))).toEqual([
      {
        ...{ job: 'nightly', timeZone: 'Europe/Paris' },
        dueTimes: ['2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z', '2026-03-31T00:30:00.000Z'],
      },
    ]);
  });

  it('prints all jobs, 5 due times each, from now on', async () => {
    const all = await folder.json<{ job: string; dueTimes: string[] }[]>(inFolder(['next', 'all', '--json']));
    expect(all.map(({ job, dueTimes }) => [job, dueTimes.length])).toEqual([
      ...[
        ['minutely', 5],
        ['nightly', 5],
        ['seldom', 5],
        ['leader', 0],
      ],
      ['asked', 0],
    ]);
    expect(Date.parse(all[0]?.dueTimes[0] ?? '') - Date.now()).toBeLessThanOrEqual(MINUTE);
  });

  it('is for people too', async () => {
    const { code, stdout } = await inFolder(['next', 'all', '--from', '2026-03-28', '--count', '2']);
    expect(code).toBe(0);
    expect(stdout).toContain('2026-03-29T01:00:00Z  Sun 2026-03-29 03:00:00 +02:00');
    expect(stdout).toContain('disabled in the file');
    expect(stdout).toContain('a leader job runs all the time');
    expect(stdout).toContain('on request only');
    expect(stdout).not.toContain('\u001b[');
  });

  it('knows what was meant', async () => {
    const { code, stderr } = await inFolder(['next', 'nightli']);
    expect(code).toBe(1);
    expect(stderr).toContain(
      'there is no job "nightli" in jobs.json. Did you mean "nightly"? Known: minutely, nightly',
    );
    const failed = await folder.json<object>(inFolder(['next', 'nightli', '--json']), 1);
    expect(failed).toMatchObject({ error: { code: 'UnknownJob' } });
    const invalid = await inFolder(['next', 'all', '--file', 'missing.json']);
    expect(invalid).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('missing.json') as unknown });
  });
});

describe('storage that never answers', () => {
  it('is given up in the end, with where it was', async () => {
    const { code, stderr, tookMs } = await unanswered;
    expect(tookMs).toBeLessThan(30_000);
    expect(code).toBe(1);
    expect(stderr).toMatch(/http:\/\/127\.0\.0\.1:\d+\/x\/cronlease: no answer/);
  });
});
