import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Client, createClient } from '../../src/client/index';
import type { Overview } from '../../src/manage/schema/jobs';
import { type CliFolder, type Ended, cliFolder } from '../support/cli-build';
import { type CoordinatedApp, coordinatedApp } from '../support/coordinated';
import { endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';

/** Of a run that has to be claimed on a busy machine. */
const PATIENCE = { timeout: 60_000, interval: 200 };
const FAULT = 'the table "orders" is read-only';
const GOOD = { table: 'orders_copy' };

const failing = {
  ...{ schedule: '@every 5s', handler: 'copyTable', input: { table: 'orders' }, overlap: 'queue' },
  retry: { attempts: 1 },
};

/** What `run --wait --json` prints. */
interface Requested {
  readonly runId: string;
  readonly requestedAt: string;
  readonly record: { readonly result: unknown };
}

let app: CoordinatedApp;
let cli: CliFolder;
let client: Client;

/** A command in the folder in which the cluster was started: it finds the cluster's storage by itself. */
const shell = (...args: readonly string[]): Promise<Ended> => cli.run(args, {}, app.folder);

beforeAll(async () => {
  app = coordinatedApp({
    'shell-copy': failing,
    'client-copy': failing,
    sound: { schedule: '@every 5s', handler: 'mark' },
  });
  cli = cliFolder();
  const dev = startDev(buildLocal(), { app: app.folder, instances: 2 }, app.env);
  const { instances } = await dev.ready();
  client = createClient({ baseUrl: `http://127.0.0.1:${String(instances[0]?.port)}/api/manage` });
});

afterAll(() => {
  cli.remove();
  endAll();
});

describe.concurrent('somebody on call', () => {
  it('finds, explains and mends a failing run, and stops its job and starts it again: in a shell', async () => {
    const named = (): Promise<Ended> => shell('status', 'shell-copy', 'sound', '--failed');
    const found = await vi.waitFor(async () => {
      const status = await named();
      expect(status.stdout).toMatch(/^shell-copy +\w+/m);
      return status;
    }, PATIENCE);
    expect(found.code).toBe(1);
    expect(found.stdout).not.toMatch(/^sound/m);

    // The last line names the command that explains it.
    const [, time = ''] = /^Why: cronlease why shell-copy (\S+)$/m.exec(found.stdout) ?? [];
    const why = await shell('why', 'shell-copy', time);
    expect(why).toMatchObject({ code: 0, stderr: '' });
    expect(why.stdout).toContain('failed (handlerError)');
    expect(why.stdout).toContain(`TypeError: ${FAULT}`);
    expect((await shell('logs', 'shell-copy', time)).stdout).toContain('copying orders');

    expect((await shell('ack', 'shell-copy', '--note', 'the copy has moved')).code).toBe(0);
    expect(await named()).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^No job needs attention/) as unknown,
    });

    const run = await shell('run', 'shell-copy', '--input', JSON.stringify(GOOD), '--wait', '--json');
    expect(run, run.stdout).toMatchObject({ code: 0, stderr: '' });
    const { runId, requestedAt, record } = JSON.parse(run.stdout) as Requested;
    expect(record.result).toEqual({ copied: 'orders_copy' });
    const requested = ['--trigger', 'manual', '--channel', 'shell', '--since', requestedAt];
    const own = await shell('runs', 'shell-copy', ...requested, '--json');
    expect(JSON.parse(own.stdout)).toMatchObject({ runs: [{ runId, outcome: 'succeeded' }], cursor: null });

    expect((await shell('pause', 'shell-copy', '--note', 'the copy has moved')).stdout).toMatch(/^Paused shell-copy /);
    const status = await shell('status', 'shell-copy', '--json');
    const [job] = (JSON.parse(status.stdout) as Overview).jobs;
    expect(job).toMatchObject({ state: 'paused', pause: { note: 'the copy has moved' } });
    const resumed = await shell('resume', 'shell-copy', '--json');
    expect(resumed.code).toBe(0);
    const { until } = JSON.parse(resumed.stdout) as { until: string };
    await vi.waitFor(async () => {
      const { stdout } = await shell('runs', 'shell-copy', '--since', until, '--trigger', 'schedule', '--json');
      expect((JSON.parse(stdout) as { runs: unknown[] }).runs).not.toEqual([]);
    }, PATIENCE);
  });

  it('does the same through the typed client', async () => {
    const job = await vi.waitFor(async () => {
      const { jobs } = await client.listJobs();
      const one = jobs.find(({ name }) => name === 'client-copy');
      expect(one?.incident?.failures).toBeGreaterThan(0);
      return one;
    }, PATIENCE);
    const runId = job?.incident?.lastRunId ?? '';

    const { attempts, scheduledFor, outcome } = await client.getRun(runId);
    expect([outcome, attempts[0]?.error?.message]).toEqual(['failed', FAULT]);
    const why = await client.explain('client-copy', scheduledFor);
    expect(why).toMatchObject({ outcome: 'failed', reason: 'handlerError', runId });
    expect((await client.getLog(runId)).entries.map(({ text }) => text)).toContain('copying orders');

    const { acknowledgement } = await client.acknowledge('client-copy', { note: 'the copy has moved' });
    expect(acknowledgement).toMatchObject({ by: 'developer', note: 'the copy has moved' });
    expect((await client.getJob('client-copy')).incident).toMatchObject({ acknowledgement });

    const again = await client.rerun(runId, { input: GOOD, note: 'the copy has moved' });
    const run = await vi.waitFor(async () => {
      const one = await client.getRun(again.runId);
      expect(one.outcome).toBe('succeeded');
      return one;
    }, PATIENCE);
    expect(run).toMatchObject({ rerunOf: scheduledFor, result: { copied: 'orders_copy' } });
    const own = await client.listRuns({ job: 'client-copy', trigger: 'manual', actor: 'developer', channel: 'app' });
    expect(own.runs.map((one) => one.runId)).toEqual([again.runId]);

    const { controlVersion } = await client.getJob('client-copy');
    await client.pauseJob('client-copy', 'the copy has moved', { ifVersion: controlVersion });
    expect((await client.getJob('client-copy')).state).toBe('paused');
    const { pause } = await client.resumeJob('client-copy');
    await vi.waitFor(async () => {
      const query = { job: 'client-copy', since: pause.until ?? '', trigger: 'schedule' } as const;
      expect((await client.listRuns(query)).runs).not.toEqual([]);
    }, PATIENCE);
    const { entries } = await client.listAudit();
    const actions = entries.filter(({ target }) => target === 'client-copy').map(({ action }) => action);
    expect(actions).toEqual(['resume', 'pause', 'rerun', 'ack']);
  });
});
