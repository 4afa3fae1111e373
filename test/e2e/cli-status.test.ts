import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { encodePresence } from '../../src/core/presence';
import { encodeRow, newRow } from '../../src/core/row';
import type { Row } from '../../src/core/row';
import type { LeaseStore } from '../../src/lease/store';
import type { Overview } from '../../src/operator/overview';
import { pauseJob } from '../../src/operator/pause';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import type { Azurite } from '../support/azurite';
import { startAzurite } from '../support/azurite';
import { cliFolder } from '../support/cli-build';
import type { CliFolder, Ended } from '../support/cli-build';
import { jobSpec } from '../support/job';

const MINUTE = 60_000;
const MARK = Math.floor(Date.now() / MINUTE) * MINUTE;

const JOBS = {
  failing: { schedule: '@hourly', tags: ['billing'] },
  idle: { schedule: '@hourly', tags: ['billing'] },
  stopped: { schedule: '@hourly' },
};

let azurite: Azurite;
let folder: CliFolder;
let store: LeaseStore;

const env = (container = 'cli-status'): NodeJS.ProcessEnv => ({
  ...{ CRONLEASE_STORAGE: azurite.connectionString, CRONLEASE_CONTAINER: container },
});
const onStorage = (...args: readonly string[]): Promise<Ended> => folder.run(args, env());
const nameList = async (...args: readonly string[]): Promise<readonly string[]> =>
  (JSON.parse((await onStorage('status', ...args, '--json')).stdout) as Overview).jobs.map(({ name }) => name);

async function addRow(job: string, changes: Partial<Row>): Promise<void> {
  const { scheduleHash } = jobSpec(job, '@hourly');
  const row = newRow(MARK, 1, scheduleHash);
  await store.createRow(job as JobName, encodeRow({ ...row, cursor: MARK, ...changes }));
}

const ran = (outcome: 'succeeded' | 'failed'): Pick<Row, 'recent'> => ({
  recent: [60, 30].map((minutes) => ({
    ...{ kind: 'run', scheduledFor: MARK - minutes * MINUTE, request: undefined, attempts: 1 },
    ...{ outcome, latenessMs: 12, durationMs: 2_500 },
  })),
});

beforeAll(async () => {
  azurite = await startAzurite();
  folder = cliFolder();
  folder.write('jobs.json', { revision: 1, jobs: JOBS });
  const container = connectContainer({ CRONLEASE_STORAGE: azurite.connectionString }, 'cli-status');
  store = azureBlobStore({ container, clock: systemClock });
  await store.prepare();
  await addRow('idle', ran('succeeded'));
  await addRow('failing', { ...ran('failed'), failures: 2 });
  await addRow('stopped', ran('succeeded'));
  await pauseJob(store, { name: 'stopped' as JobName }, { by: 'ann', note: 'moving' });
  for (const name of ['blue', 'green']) {
    const presence = {
      ...{ instance: name, hub: undefined, rival: undefined, abilities: [], version: '0.1.0', revision: 1, jobs: 'x' },
      ...{ tickedAt: Date.now(), skewMs: 0, hubProven: true },
    };
    await store.writePresence(name, encodePresence(presence), undefined);
  }
});

afterAll(async () => {
  folder.remove();
  await azurite.stop();
});

describe.concurrent('status', () => {
  it('shows jobs, the worst first, and deployments', async () => {
    const { code, stdout, stderr } = await onStorage('status');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^3 jobs {2}1 failing {2}2 idle {2}1 paused {2}\S+Z\n\nJOB +STATE +OUTCOMES +LAST RUN/);
    expect(stdout).toMatch(/\nfailing +idle +✗✗ +failed \w+ ago +2\.5s +12ms +in \w+ +billing\n/);
    expect(stdout).toMatch(/\nstopped +paused [^\n]*\n {2}since \S+Z, by ann: moving\n/);
    expect(stdout).toMatch(/\nDEPLOYMENT +STATE +TICKED[^\n]*\nblue +live [^\n]*\ngreen +live /);
    expect(stdout).toMatch(/\nWhy: cronlease why failing \S+Z\n$/);
  });

  it('is the overview as it is, with --json', async () => {
    const overview = await folder.json<Overview>(onStorage('status', '--json'));
    expect(Object.keys(overview)).toEqual(['now', 'jobs', 'deployments', 'maintenance', 'problems']);
    expect(overview.jobs[0]).toMatchObject({ name: 'failing', failures: 2, lastRun: { outcome: 'failed' } });
  });

  it('takes names, patterns and a tag', async () => {
    expect(await nameList('idle')).toEqual(['idle']);
    expect(await nameList('*i*', 'stopped')).toEqual(['failing', 'idle', 'stopped']);
    expect(await nameList('--tag', 'billing')).toEqual(['failing', 'idle']);
    expect(await nameList('s*', '--tag', 'billing')).toEqual([]);
    expect(await onStorage('status', 'idel')).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining('Did you mean "idle"?') as unknown },
    });
    expect(await onStorage('status', 'x*')).toMatchObject({ code: 1 });
  });

  it('ends with 1 where --failed lists a job', async () => {
    const { code, stdout } = await onStorage('status', '--failed');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^1 job {2}1 failing/);
    expect(await folder.json<Overview>(onStorage('status', '--failed', '--json'), 1)).toMatchObject({
      jobs: [{ name: 'failing' }],
    });
    const well = await onStorage('status', 'idle', '--failed');
    expect(well).toMatchObject({ code: 0, stdout: expect.stringMatching(/^No job needs attention/) as unknown });
  });

  it('needs no jobs file, and states what it then does not know', async () => {
    const { code, stdout, stderr } = await folder.run(['status'], env(), '/');
    expect(code).toBe(0);
    expect(stderr).toContain('schedules, next due times and tags are not known');
    expect(stdout).toMatch(/\nidle +idle +✓✓/);
    expect(stdout).not.toContain('not in this jobs file');
  });
});

describe.concurrent('status --watch', () => {
  /** Stands for the change to the other screen and back. */
  const OTHER = '<other screen>';

  it('repaints a terminal in place until q, and leaves the last state below', async () => {
    const { type, ended, text } = folder.inTerminal(['status', '--watch'], env());
    await vi.waitFor(() => expect(text()).toContain('q ends'), { timeout: 60_000 });
    type('q');
    expect(await ended).toBe(0);
    const [before = '', painted = '', after = ''] = text()
      .replace('\u001b[?1049h', OTHER)
      .replace('\u001b[?1049l', OTHER)
      .split(OTHER);
    expect(before).toBe('');
    expect(painted).toContain('\u001b[H');
    expect(painted).not.toContain('\u001b[2J');
    expect(painted).toContain('\u001b[31m✗\u001b[39m');
    expect(after).toContain('3 jobs');
    for (const line of stripVTControlCharacters(after).split('\r\n')) {
      expect(line.length).toBeLessThanOrEqual(80);
    }
  });

  it('ends with Ctrl+C too', async () => {
    const { type, ended, text } = folder.inTerminal(['status', '--watch', '--failed'], env());
    await vi.waitFor(() => expect(text()).toContain('q ends'), { timeout: 60_000 });
    type('\u0003');
    expect(await ended).toBe(1);
    expect(text()).toContain('\u001b[?1049l');
  });

  it('prints a line of JSON at each change where there is no terminal', async () => {
    const watching = folder.start(['status', 'idle', '--watch', '--json'], {
      ...env(),
      CRONLEASE_SWEEP_INTERVAL: '2s',
    });
    const states = (): readonly string[] =>
      watching
        .stdout()
        .split('\n')
        .filter(Boolean)
        .map((line) => (JSON.parse(line) as Overview).jobs[0]?.state ?? '');
    await vi.waitFor(() => expect(states()).toEqual(['idle']), { timeout: 60_000 });
    await pauseJob(store, { name: 'idle' as JobName }, { by: 'ann', note: 'moving' });
    await vi.waitFor(() => expect(states()).toEqual(['idle', 'paused']), { timeout: 60_000 });
    watching.signal('SIGINT');
    expect(await watching.ended).toMatchObject({ code: 0, stderr: '' });
  });

  it('ends by itself where there is nothing to see', async () => {
    const container = connectContainer({ CRONLEASE_STORAGE: azurite.connectionString }, 'cli-empty');
    await azureBlobStore({ container, clock: systemClock }).prepare();
    const ended = await folder.run(['status', '--watch'], env('cli-empty'), '/');
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/^No jobs/) as unknown });
  });
});

describe('cordon and uncordon', () => {
  it('keep a deployment from claiming, within a stated time, and let it claim again', async () => {
    const { code, stdout, stderr } = await onStorage('cordon', 'blue', '--note', ' new disk ', '--by', 'ann');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      /^Cordoned blue since \S+Z\. It claims nothing new within CRONLEASE_SWEEP_INTERVAL \(60 s by default\); what it runs/,
    );
    expect(stdout).toMatch(/ Its jobs are left to green\.\nTo lift the cordon: cronlease uncordon blue\n$/);
    expect((await onStorage('status')).stdout).toMatch(/\nblue +cordoned .* ann: new disk\n/);
    const again = await onStorage('cordon', 'blue', '--note', 'x');
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('is cordoned already, since') as unknown });
    const lifted = await folder.json<object>(onStorage('uncordon', 'blue', '--json'));
    expect(lifted).toMatchObject({ deployment: 'blue', by: 'ann', note: 'new disk' });
    expect(await onStorage('uncordon', 'blue')).toMatchObject({ code: 1, stdout: '' });
  });

  it('warn where nobody is left to claim, and of a deployment that nobody knows', async () => {
    await onStorage('cordon', 'blue', '--note', 'n');
    const last = await onStorage('cordon', 'green', '--note', 'n');
    expect(last).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing runs until one is') as unknown });
    const report = JSON.parse((await onStorage('doctor', '--json')).stdout) as { findings: object[] };
    expect(report.findings).toContainEqual(
      expect.objectContaining({ check: 'cordons', subject: null, status: 'warning' }) as unknown,
    );
    for (const name of ['blue', 'green']) {
      expect((await onStorage('uncordon', name)).stdout).toMatch(/^Lifted the cordon of .* It claims again within /);
    }
    const unknown = await onStorage('cordon', 'gren', '--note', 'n');
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('Did you mean "green"?') as unknown });
    expect(await onStorage('cordon', 'green', '--note', ' ')).toMatchObject({ code: 2 });
    expect(await onStorage('cordon', 'green')).toMatchObject({ code: 2 });
  });
});

describe('ack and unack', () => {
  const at = (...args: readonly string[]): Promise<Ended> => folder.run(args, env('cli-ack'));

  it('take a failing job off the top, with a note and an end, and put it back', async () => {
    const container = connectContainer({ CRONLEASE_STORAGE: azurite.connectionString }, 'cli-ack');
    const own = azureBlobStore({ container, clock: systemClock });
    await own.prepare();
    for (const name of ['failing', 'idle', 'stopped']) {
      const { scheduleHash } = jobSpec(name, '@hourly');
      const changes = name === 'idle' ? ran('succeeded') : { ...ran('failed'), failures: 2 };
      await own.createRow(name as JobName, encodeRow({ ...newRow(MARK, 1, scheduleHash), cursor: MARK, ...changes }));
    }
    expect((await at('ack', 'idle')).stderr).toContain('job "idle" neither fails nor is overdue');
    const made = await at('ack', 'failing', '--note', 'a new key', '--until', '8h', '--by', 'ann');
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout).toMatch(
      /^Acknowledged failing: 2 failed runs since \S+Z\. This ends with its next success, or at \S+Z\.\nTo remove it: cronlease unack failing\n$/,
    );
    const { stdout } = await at('status');
    expect(stdout).toMatch(/^3 jobs {2}1 failing {2}1 acknowledged {2}3 idle/);
    expect(stdout).toMatch(
      /\nstopped [^]*\nfailing [^\n]*\n {2}acknowledged by ann until \S+Z: a new key; 2 failures in a row\n/,
    );
    expect(stdout).toMatch(/\nWhy: cronlease why stopped /);
    expect((await at('status', '--failed')).stdout).not.toMatch(/^failing/m);
    const again = await folder.json(at('ack', 'failing', '--json'));
    expect(again).toMatchObject({ job: 'failing', note: '', until: null });
    expect(await folder.json(at('unack', 'failing', '--json'))).toEqual(again);
    expect(await at('unack', 'failing')).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining('has no acknowledgement in force') as unknown },
    });
    expect((await at('ack', 'failing', '--until', 'soon')).code).toBe(2);
  });
});

describe('pause and resume of several jobs', () => {
  const pausesOf = async (...jobs: readonly string[]): Promise<readonly boolean[]> => {
    const { jobs: listed } = JSON.parse((await onStorage('status', ...jobs, '--json')).stdout) as Overview;
    return jobs.map((job) => listed.find(({ name }) => name === job)?.state === 'paused');
  };

  it('lists them and asks, and does nothing without a yes', async () => {
    const asked = folder.inTerminal(['pause', '*', '--note', 'holidays'], env());
    await vi.waitFor(() => expect(asked.text()).toContain('Type yes to confirm'), { timeout: 60_000 });
    expect(asked.text()).toMatch(/^Pause:\r\n {2}failing\r\n(?: {2}idle\r\n)?/);
    expect(asked.text()).toMatch(/Left as they are, since paused already:\r\n(?: {2}idle\r\n)? {2}stopped\r\n/);
    asked.type('no\n');
    expect(await asked.ended).toBe(1);
    expect(asked.text()).toContain('nothing was done');
    expect(await pausesOf('failing', 'stopped')).toEqual([false, true]);
    const unasked = await onStorage('pause', 'failing', 'idle', '--note', 'n');
    expect(unasked).toMatchObject({ code: 1, stderr: expect.stringContaining('Add --yes') as unknown });
    expect(await pausesOf('failing')).toEqual([false]);
  });

  it('takes a yes, a pattern, several names and a tag', async () => {
    await onStorage('resume', 'idle', 'stopped', '--yes');
    const paused = await onStorage('pause', '--tag', 'billing', '--note', 'holidays', '--yes');
    expect(paused).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Paused failing .*\nPaused idle /s) as unknown,
    });
    expect(await pausesOf('failing', 'idle', 'stopped')).toEqual([true, true, false]);
    const again = await onStorage('pause', '--tag', 'billing', '--note', 'n', '--yes');
    expect(again).toMatchObject({ code: 1, stderr: 'error: jobs "failing", "idle": paused already\n' });
    const asked = folder.inTerminal(['resume', '*l*'], env());
    await vi.waitFor(() => expect(asked.text()).toContain('Resume these 2 jobs?'), { timeout: 60_000 });
    asked.type('yes\n');
    expect(await asked.ended).toBe(0);
    expect(await pausesOf('failing', 'idle', 'stopped')).toEqual([false, false, false]);
    const listed = await folder.json<object[]>(onStorage('pause', 'idle', 'sto*', '--note', 'n', '--yes', '--json'));
    expect(listed).toMatchObject([{ job: 'idle', note: 'n' }, { job: 'stopped' }]);
    expect(await onStorage('resume', 'x*', '--yes')).toMatchObject({ code: 1, stdout: '' });
  });
});
