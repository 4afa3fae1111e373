import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { JobName } from '../../src/core/brand';
import type { Overview } from '../../src/manage/schema/jobs';
import { type CliFleet, cliFleet } from '../support/cli-fleet';
import { pauseJob } from '../support/by-operator';

let fleet: CliFleet;
beforeAll(async () => {
  fleet = await cliFleet();
});
afterAll(() => fleet.remove());

const nameList = async (...args: readonly string[]): Promise<readonly string[]> =>
  (JSON.parse((await fleet.run('status', ...args, '--json')).stdout) as Overview).jobs.map(({ name }) => name);

describe.concurrent('status', () => {
  it('shows jobs, the worst first, and deployments', async () => {
    const { code, stdout, stderr } = await fleet.run('status');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^3 jobs {2}1 failing {2}1 idle {2}1 paused {2}\S+Z\n\nJOB +STATE +OUTCOMES +LAST RUN/);
    expect(stdout).toMatch(/\nfailing +failing +✗✗ +failed \w+ ago +2\.5s +12ms +in \w+ +billing\n/);
    expect(stdout).toMatch(/\nstopped +paused [^\n]*\n {2}since \S+Z, by ann: moving\n/);
    expect(stdout).toMatch(/\nDEPLOYMENT +STATE +TICKED[^\n]*\nblue +live [^\n]*\ngreen +live /);
    expect(stdout).toMatch(/\nWhy: cronlease why failing \S+Z\n$/);
  });

  it('is the overview as it is, with --json', async () => {
    const overview = await fleet.folder.json<Overview>(fleet.run('status', '--json'));
    expect(Object.keys(overview)).toEqual(['now', 'jobs', 'deployments', 'maintenance', 'problems']);
    expect(overview.jobs[0]).toMatchObject({ name: 'failing', failures: 2, lastRun: { outcome: 'failed' } });
  });

  it('takes names, patterns and a tag', async () => {
    expect(await nameList('idle')).toEqual(['idle']);
    expect(await nameList('*i*', 'stopped')).toEqual(['failing', 'idle', 'stopped']);
    expect(await nameList('--tag', 'billing')).toEqual(['failing', 'idle']);
    expect(await nameList('s*', '--tag', 'billing')).toEqual([]);
    expect(await fleet.run('status', 'idel')).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining('Did you mean "idle"?') as unknown },
    });
    expect(await fleet.run('status', 'x*')).toMatchObject({ code: 1 });
  });

  it('ends with 1 where --failed lists a job', async () => {
    const { code, stdout } = await fleet.run('status', '--failed');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^1 job {2}1 failing/);
    expect(await fleet.folder.json<Overview>(fleet.run('status', '--failed', '--json'), 1)).toMatchObject({
      jobs: [{ name: 'failing' }],
    });
    const well = await fleet.run('status', 'idle', '--failed');
    expect(well).toMatchObject({ code: 0, stdout: expect.stringMatching(/^No job needs attention/) as unknown });
  });

  it('needs no jobs file, and states what it then does not know', async () => {
    const { code, stdout, stderr } = await fleet.folder.run(['status'], fleet.env(), '/');
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
    const { type, ended, text } = fleet.folder.inTerminal(['status', '--watch'], fleet.env());
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
    const { type, ended, text } = fleet.folder.inTerminal(['status', '--watch', '--failed'], fleet.env());
    await vi.waitFor(() => expect(text()).toContain('q ends'), { timeout: 60_000 });
    type('\u0003');
    expect(await ended).toBe(1);
    expect(text()).toContain('\u001b[?1049l');
  });

  it('prints a line of JSON at each change where there is no terminal', async () => {
    const watching = fleet.folder.start(['status', 'idle', '--watch', '--json'], {
      ...fleet.env(),
      CRONLEASE_SWEEP_INTERVAL: '2s',
    });
    const states = (): readonly string[] =>
      watching
        .stdout()
        .split('\n')
        .filter(Boolean)
        .map((line) => (JSON.parse(line) as Overview).jobs[0]?.state ?? '');
    await vi.waitFor(() => expect(states()).toEqual(['idle']), { timeout: 60_000 });
    await pauseJob(fleet.store, { name: 'idle' as JobName }, { by: 'ann', note: 'moving' });
    await vi.waitFor(() => expect(states()).toEqual(['idle', 'paused']), { timeout: 60_000 });
    watching.signal('SIGINT');
    expect(await watching.ended).toMatchObject({ code: 0, stderr: '' });
  });

  it('ends by itself where there is nothing to see', async () => {
    await fleet.open('cli-empty');
    const ended = await fleet.folder.run(['status', '--watch'], fleet.env('cli-empty'), '/');
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/^No jobs/) as unknown });
  });
});
