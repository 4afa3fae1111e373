import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ContainerClient } from '@azure/storage-blob';
import { recordKey } from '../../src/core/key';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { type CliFolder, cliFolder } from '../support/cli-build';
import { type CoordinatedApp, coordinatedApp } from '../support/coordinated';
import { DUE_SINCE_1970, FOREIGN, HUGE_MB, JUNK, REASON_LENGTH, RECORDS_AT_MOST } from '../support/foreign-blobs';
import { type DevEvent, type DevRun, type Ready, endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';

const FAR = '+012026-01-01T00:00:00.000Z';
const ESCAPES = '\u001b[2J\u009b31mgone';

let app: CoordinatedApp;
let dev: DevRun;
let ready: Ready;
let container: ContainerClient;
let cli: CliFolder;

beforeAll(async () => {
  cli = cliFolder();
  app = coordinatedApp({
    often: { schedule: '*/5 * * * * *', handler: 'mark', lease: '15s' },
    odd: { schedule: '*/5 * * * * *', handler: 'mark', lease: '15s' },
    far: { schedule: '*/5 * * * * *', handler: 'mark', lease: '15s' },
    behind: { schedule: '* * * * * *', handler: 'mark', lease: '15s' },
    once: { schedule: '@manual', handler: 'slow', lease: '15s', input: { ms: 300_000 } },
  });
  dev = startDev(buildLocal(), { app: app.folder, instances: 2 }, app.env);
  ready = await dev.ready();
  container = connectContainer({ CRONLEASE_STORAGE: ready.storage }, ready.container);
  await dev.event(({ event, job }) => event === 'succeeded' && job === 'behind', 90_000);
}, 180_000);

afterAll(() => {
  endAll();
  cli.remove();
});

/** Writes what no one of cronlease wrote. */
async function put(name: string, metadata: Readonly<Record<string, string>> = {}, body = ''): Promise<void> {
  await container.getBlockBlobClient(name).upload(body, Buffer.byteLength(body), { metadata });
}

/** Changes a row by hand, as soon as no instance holds it. */
async function changeRow(job: string, changes: Readonly<Record<string, string>>): Promise<void> {
  const blob = container.getBlobClient(`jobs/${job}/lease`);
  await vi.waitFor(
    async () => {
      const { metadata = {}, etag = '' } = await blob.getProperties();
      await blob.setMetadata({ ...metadata, ...changes }, { conditions: { ifMatch: etag } });
    },
    { timeout: 30_000, interval: 20 },
  );
}

/** The first event after now that meets `is`. */
function next(
  is: (event: DevEvent) => boolean,
  { withinMs = 90_000, since = new Date().toISOString() } = {},
): Promise<DevEvent> {
  return dev.event((event) => String(event['at']) > since && is(event), withinMs);
}

const ran = (job: string) => (event: DevEvent) => event.event === 'succeeded' && event['job'] === job;

/** As the page has it. */
function titleOf(name: keyof typeof FOREIGN): string {
  return `${FOREIGN[name].blob}: ${FOREIGN[name].becomes}`;
}

describe('a container into which others put blobs', { timeout: 240_000 }, () => {
  it(titleOf('metadata'), async () => {
    await put('jobs/evil', { constructor: 'x' });
    await put('jobs/often/prototype', { prototype: 'x' });
    await next(({ event, reason }) => event === 'unhealthy' && String(reason).startsWith('jobs/evil, jobs/often'));
    await next(ran('often'));
  });

  it(titleOf('junk'), async () => {
    await Promise.all(Array.from({ length: JUNK }, (_, index) => put(`jobs/0-junk-${String(index)}`)));
    await next(ran('often'));
  });

  it(titleOf('name'), async () => {
    await put('deployments/%zz');
    await next(ran('often'));
  });

  it(titleOf('row'), async () => {
    await changeRow('odd', { prototype: 'x' });
    await changeRow('far', { cursor: FAR });
    for (const job of ['odd', 'far']) {
      const { reason } = await next((event) => event.event === 'unhealthy' && event['job'] === job);
      expect(String(reason).length).toBeLessThanOrEqual(REASON_LENGTH);
    }
    await next(ran('often'));
  });

  it(titleOf('cursor'), async () => {
    const since = new Date().toISOString();
    await changeRow('behind', { cursor: '1970-01-01T00:00:00.000Z' });
    const expired = await next((event) => event.event === 'expired' && event['job'] === 'behind', { since });
    expect(expired['count']).toBeGreaterThan(DUE_SINCE_1970);
    await next(ran('behind'));
    const records = dev.events.filter((event) => event.event === 'expired' && event['job'] === 'behind');
    expect(records.length).toBeLessThanOrEqual(RECORDS_AT_MOST);
  });

  it(titleOf('record'), async () => {
    cli.write('jobs.json', { jobs: { once: { schedule: '@manual' } } });
    const where = ['--storage', ready.storage, '--container', ready.container];
    const { runId } = await cli.json<{ runId: string }>(cli.run(['run', 'once', '--json', ...where]));
    const started = await dev.event((event) => event.event === 'started' && event['job'] === 'once', 90_000);
    const due = Date.parse(String(started['scheduledFor']));
    const key = recordKey(due, runId.split('-m-')[1]);
    await put(`runs/once/${key}`, { state: 'final' }, '['.repeat(HUGE_MB * 1024 * 1024));
    const since = new Date().toISOString();
    process.kill(Number(started['pid']), 'SIGKILL');
    const failed = await next((event) => event.event === 'failed' && event['job'] === 'once', { since });
    expect(failed).toMatchObject({ reason: 'outcomeUnknown' });
    await next(ran('often'));
    expect(app.notes().filter(({ job }) => job === 'once')).toHaveLength(1);

    const why = await cli.json(cli.run(['why', 'once', new Date(due).toISOString(), '--json', ...where]));
    expect(why).toMatchObject({ outcome: 'failed', reason: 'outcomeUnknown' });
  });

  it(titleOf('escapes'), async () => {
    const where = ['--storage', ready.storage, '--container', ready.container];
    const due = new Date(Date.UTC(2026, 0, 1));
    const record = {
      ...{ job: 'told', scheduledFor: due.toISOString(), state: 'final', outcome: 'failed', reason: 'handlerError' },
      ...{ trigger: 'schedule', token: 1, runId: 'told', startedAt: due.toISOString(), endedAt: due.toISOString() },
      latenessMs: 0,
      attempts: [
        {
          ...{ attempt: 1, token: 1, deployment: ESCAPES, startedAt: due.toISOString(), endedAt: due.toISOString() },
          ...{ outcome: 'failed', error: { name: 'Error', message: ESCAPES } },
        },
      ],
    };
    await put('jobs/told/control', { format: '1' });
    await put(`runs/told/${recordKey(due.getTime())}`, { state: 'final' }, JSON.stringify(record));
    for (const flag of [[], ['--json']]) {
      const { code, stdout, stderr } = await cli.run(['runs', 'told', ...where, ...flag]);
      expect(code, stderr).toBe(0);
      expect(stdout).toContain('\\u009b31mgone');
      for (const control of ['\u001b', '\u009b']) expect(stdout).not.toContain(control);
    }
    const { findings } = await cli.json<{ findings: { check: string; status: string; subject: string }[] }>(
      cli.run(['doctor', '--json', ...where]),
      1,
    );
    const subjects = findings.filter(({ status }) => status === 'problem').map(({ subject }) => subject);
    expect(subjects).toEqual(expect.arrayContaining(['jobs/evil', 'jobs/odd/lease', 'jobs/far/lease']));
    const strays = findings.filter(({ check, status }) => check === 'strays' && status === 'warning');
    expect(strays.map(({ subject }) => subject)).toEqual(['jobs/', 'deployments/']);
  });

  it('ends as any other', async () => {
    process.kill(dev.pid, 'SIGTERM');
    expect(await dev.exited()).toBe(0);
  });
});
