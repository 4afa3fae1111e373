import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Overview } from '../../src/manage/schema/jobs';
import type { Ended } from '../support/cli-build';
import { addRow, type CliFleet, cliFleet, ran } from '../support/cli-fleet';

let fleet: CliFleet;
beforeAll(async () => {
  fleet = await cliFleet();
});
afterAll(() => fleet.remove());

describe('cordon and uncordon', () => {
  it('keep a deployment from claiming, within a stated time, and let it claim again', async () => {
    const { code, stdout, stderr } = await fleet.run('cordon', 'blue', '--note', ' new disk ', '--by', 'ann');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      /^Cordoned blue at \S+Z\. It claims nothing new within CRONLEASE_SWEEP_INTERVAL \(60 s by default\); what it runs/,
    );
    expect(stdout).toMatch(/ Its jobs are left to green\.\nTo lift the cordon: cronlease uncordon blue\n$/);
    expect((await fleet.run('status')).stdout).toMatch(/\nblue +cordoned .* ann: new disk\n/);
    const again = await fleet.run('cordon', 'blue', '--note', 'x');
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('has been cordoned since') as unknown });
    const lifted = await fleet.folder.json<object>(fleet.run('uncordon', 'blue', '--json'));
    expect(lifted).toMatchObject({ deployment: 'blue', by: 'ann', note: 'new disk' });
    expect(await fleet.run('uncordon', 'blue')).toMatchObject({ code: 1, stdout: '' });
  });

  it('warn where nobody is left to claim, and of a deployment that nobody knows', async () => {
    await fleet.run('cordon', 'blue', '--note', 'n');
    const last = await fleet.run('cordon', 'green', '--note', 'n');
    expect(last).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing runs until one is') as unknown });
    const report = JSON.parse((await fleet.run('doctor', '--json')).stdout) as { findings: object[] };
    expect(report.findings).toContainEqual(
      expect.objectContaining({ check: 'cordons', subject: null, status: 'warning' }) as unknown,
    );
    for (const name of ['blue', 'green']) {
      expect((await fleet.run('uncordon', name)).stdout).toMatch(/^Lifted the cordon of .* It claims again within /);
    }
    const unknown = await fleet.run('cordon', 'gren', '--note', 'n');
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('Did you mean "green"?') as unknown });
    expect(await fleet.run('cordon', 'green', '--note', ' ')).toMatchObject({ code: 2 });
    expect(await fleet.run('cordon', 'green')).toMatchObject({ code: 2 });
  });
});

describe('ack and unack', () => {
  const at = (...args: readonly string[]): Promise<Ended> => fleet.folder.run(args, fleet.env('cli-ack'));

  it('take a failing job off the top, with a note and an end, and put it back', async () => {
    const own = await fleet.open('cli-ack');
    await addRow(own, 'idle', ran('succeeded'));
    for (const name of ['failing', 'stopped']) await addRow(own, name, { ...ran('failed'), failures: 2 });
    expect((await at('ack', 'idle')).stderr).toContain('job "idle" neither fails nor is overdue');
    const made = await at('ack', 'failing', '--note', 'a new key', '--until', '8h', '--by', 'ann');
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout).toMatch(
      /^Acknowledged failing: 2 failed runs since \S+Z\. This ends with its next success, or at \S+Z\.\nTo remove it: cronlease unack failing\n$/,
    );
    const { stdout } = await at('status');
    expect(stdout).toMatch(/^3 jobs {2}1 failing {2}1 acknowledged {2}1 idle/);
    expect(stdout).toMatch(
      /\nstopped [^]*\nfailing [^\n]*\n {2}acknowledged by ann until \S+Z: a new key; 2 failures in a row\n/,
    );
    expect(stdout).toMatch(/\nWhy: cronlease why stopped /);
    expect((await at('status', '--failed')).stdout).not.toMatch(/^failing/m);
    const again = await fleet.folder.json(at('ack', 'failing', '--json'));
    expect(again).toMatchObject({ job: 'failing', note: '', until: null });
    expect(await fleet.folder.json(at('unack', 'failing', '--json'))).toEqual(again);
    expect(await at('unack', 'failing')).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining('has no acknowledgement in force') as unknown },
    });
    expect((await at('ack', 'failing', '--until', 'soon')).code).toBe(2);
  });
});

describe('pause and resume of several jobs', () => {
  const pausesOf = async (...jobs: readonly string[]): Promise<readonly boolean[]> => {
    const { jobs: listed } = JSON.parse((await fleet.run('status', ...jobs, '--json')).stdout) as Overview;
    return jobs.map((job) => listed.find(({ name }) => name === job)?.state === 'paused');
  };

  it('lists them and asks, and does nothing without a yes', async () => {
    const asked = fleet.folder.inTerminal(['pause', '*', '--note', 'holidays'], fleet.env());
    await vi.waitFor(() => expect(asked.text()).toContain('Type yes to confirm'), { timeout: 60_000 });
    expect(asked.text()).toMatch(/^Pause:\r\n {2}failing\r\n(?: {2}idle\r\n)?/);
    expect(asked.text()).toMatch(/Left as they are \(paused already\):\r\n(?: {2}idle\r\n)? {2}stopped\r\n/);
    asked.type('no\n');
    expect(await asked.ended).toBe(1);
    expect(asked.text()).toContain('nothing was done');
    expect(await pausesOf('failing', 'stopped')).toEqual([false, true]);
    const unasked = await fleet.run('pause', 'failing', 'idle', '--note', 'n');
    expect(unasked).toMatchObject({ code: 1, stderr: expect.stringContaining('Add --yes') as unknown });
    expect(await pausesOf('failing')).toEqual([false]);
  });

  it('takes a yes, a pattern, several names and a tag', async () => {
    await fleet.run('resume', 'idle', 'stopped', '--yes');
    const paused = await fleet.run('pause', '--tag', 'billing', '--note', 'holidays', '--yes');
    expect(paused).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Paused failing .*\nPaused idle /s) as unknown,
    });
    expect(await pausesOf('failing', 'idle', 'stopped')).toEqual([true, true, false]);
    const again = await fleet.run('pause', '--tag', 'billing', '--note', 'n', '--yes');
    expect(again).toMatchObject({ code: 1, stderr: 'error: jobs "failing", "idle": paused already\n' });
    const asked = fleet.folder.inTerminal(['resume', '*l*'], fleet.env());
    await vi.waitFor(() => expect(asked.text()).toContain('Resume these 2 jobs?'), { timeout: 60_000 });
    asked.type('yes\n');
    expect(await asked.ended).toBe(0);
    expect(await pausesOf('failing', 'idle', 'stopped')).toEqual([false, false, false]);
    const listed = await fleet.folder.json<object[]>(
      fleet.run('pause', 'idle', 'sto*', '--note', 'n', '--yes', '--json'),
    );
    expect(listed).toMatchObject([{ job: 'idle', note: 'n' }, { job: 'stopped' }]);
    expect(await fleet.run('resume', 'x*', '--yes')).toMatchObject({ code: 1, stdout: '' });
  });
});
