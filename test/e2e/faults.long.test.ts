import { AccountSASPermissions, BlobServiceClient } from '@azure/storage-blob';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startAzurite } from '../support/azurite';
import { type CoordinatedApp, type Note, at, coordinatedApp } from '../support/coordinated';
import { type DevEvent, type DevRun, endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';

const LEASE_S = 15;
/** From the loss of a holder to the next attempt: its lease, one tick and 2 s, and time for a machine that is busy. */
const TAKEN_OVER_WITHIN_MS = (LEASE_S + 15 + 2 + 15) * 1000;

let main: string;
beforeAll(() => {
  main = buildLocal();
});
afterAll(endAll);

const of = (job: string, event: string) => (seen: DevEvent) => seen['job'] === job && seen.event === event;

async function notes(app: CoordinatedApp, job: string, what: string, count: number): Promise<Note[]> {
  return vi.waitFor(
    () => {
      const found = app.notes().filter((note) => note.job === job && note.what === what);
      if (found.length < count) throw new Error(`${String(found.length)} of ${String(count)} "${what}" of ${job}`);
      return found;
    },
    { timeout: 120_000, interval: 50 },
  );
}

async function stop(dev: DevRun): Promise<void> {
  process.kill(dev.pid, 'SIGTERM');
  expect(await dev.exited()).toBe(0);
}

describe.concurrent('an instance that is killed in the middle of a run', () => {
  it('is replaced, and its run is taken over with a higher token', { timeout: 240_000 }, async () => {
    const app = coordinatedApp({
      nightly: { schedule: at(9_000), handler: 'slow', lease: `${String(LEASE_S)}s`, input: { ms: 30_000 } },
    });
    const dev = startDev(main, { app: app.folder, instances: 3 }, app.env);
    await dev.ready();
    const [first] = await notes(app, 'nightly', 'started', 1);
    const killedAt = Date.now();
    process.kill(first?.pid ?? 0, 'SIGKILL');
    await dev.event((event) => event.event === 'instanceExited' && event['pid'] === first?.pid);
    const [, second] = await notes(app, 'nightly', 'started', 2);
    expect(second).toMatchObject({ attempt: 2, trigger: 'takeOver', scheduledFor: first?.scheduledFor });
    expect(second?.token).toBeGreaterThan(first?.token ?? Infinity);
    expect((second?.at ?? Infinity) - killedAt).toBeLessThan(TAKEN_OVER_WITHIN_MS);
    await dev.event(of('nightly', 'takenOver'));
    await dev.event(of('nightly', 'succeeded'));
    expect(app.notes().filter(({ what }) => what === 'ended')).toHaveLength(1);
    await dev.event(({ event }) => event === 'instanceStarted');
    await stop(dev);
  });
});

describe.concurrent('an instance that is stopped in the middle of a run', () => {
  it('hands its run over within a tick, without waiting for the lease', { timeout: 240_000 }, async () => {
    const app = coordinatedApp({
      nightly: { schedule: at(9_000), handler: 'slow', lease: '60s', input: { ms: 30_000 } },
    });
    const dev = startDev(main, { app: app.folder, instances: 2 }, app.env);
    await dev.ready();
    const [first] = await notes(app, 'nightly', 'started', 1);
    const stoppedAt = Date.now();
    process.kill(first?.pid ?? 0, 'SIGTERM');
    const [, second] = await notes(app, 'nightly', 'started', 2);
    expect(second).toMatchObject({ attempt: 2, trigger: 'schedule' });
    expect((second?.at ?? Infinity) - stoppedAt).toBeLessThan(45_000);
    await dev.event((event) => of('nightly', 'retrying')(event) && event['reason'] === 'instanceStopped');
    await dev.event(of('nightly', 'succeeded'));
    await stop(dev);
  });
});

describe.concurrent('a handler that blocks the event loop past its lease', () => {
  it('is refused by its fence, and another instance runs the job again', { timeout: 240_000 }, async () => {
    const app = coordinatedApp({
      blocker: { schedule: at(9_000), handler: 'block', lease: `${String(LEASE_S)}s`, input: { ms: 34_000 } },
    });
    const dev = startDev(main, { app: app.folder, instances: 2 }, app.env);
    const { instances } = await dev.ready();
    const [first, second] = await notes(app, 'blocker', 'started', 2);
    expect(second?.pid).not.toBe(first?.pid);
    expect(second).toMatchObject({ attempt: 2, trigger: 'takeOver' });
    expect((second?.at ?? Infinity) - (first?.at ?? 0)).toBeLessThan(TAKEN_OVER_WITHIN_MS);
    await dev.event(of('blocker', 'succeeded'));
    await notes(app, 'blocker', 'refused', 1);
    expect(app.notes().filter(({ what }) => what === 'trusted')).toEqual([]);
    const lost = await dev.event((event) => of('blocker', 'superseded')(event) && event['pid'] === first?.pid);
    expect(lost['reason']).toBe('eventLoopBlocked');
    // The instance that took over cannot know it. The blocked one has noted it since.
    const port = String(instances[0]?.port);
    await vi.waitFor(async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/api/manage/runs/${String(lost['runId'])}`);
      const message: unknown = expect.stringMatching(/^the handler blocked the event loop for 3\d.* s, past its lease/);
      expect(await answer.json()).toMatchObject({
        outcome: 'succeeded',
        attempts: [{ outcome: 'holderLost', error: { name: 'LeaseLostError', message } }, { outcome: 'succeeded' }],
      });
    }, 30_000);
    await stop(dev);
  });
});

describe.concurrent('handlers that misbehave', () => {
  it('end in a recorded outcome with a clear reason, and harm nobody else', { timeout: 240_000 }, async () => {
    const retry = { attempts: 2, backoff: '1s', jitter: 'none' };
    const app = coordinatedApp({
      'throws-text': { schedule: at(8_000), handler: 'throwText', retry },
      'gives-up': { schedule: at(8_000), handler: 'giveUp', retry },
      circular: { schedule: at(8_000), handler: 'circular', retry },
      huge: { schedule: at(8_000), handler: 'huge', retry },
      never: { schedule: at(8_000), handler: 'never', retry, timeout: '1s', grace: '1s' },
      stalls: { schedule: at(8_000), handler: 'never', retry: { attempts: 1 }, stallAfter: '1s', grace: '1s' },
      good: { schedule: at(12_000), handler: 'mark' },
    });
    const dev = startDev(main, { app: app.folder, instances: 2 }, app.env);
    await dev.ready();
    const ends = await Promise.all([
      dev.event(of('throws-text', 'failed'), 90_000),
      dev.event(of('gives-up', 'failed'), 90_000),
      dev.event(of('circular', 'failed'), 90_000),
      dev.event(of('huge', 'failed'), 90_000),
      dev.event(of('never', 'timedOut'), 90_000),
      dev.event(of('stalls', 'stalled'), 90_000),
      dev.event(of('good', 'succeeded'), 90_000),
    ]);
    expect(ends.map(({ job, attempt, reason }) => [job, attempt, reason])).toEqual([
      ['throws-text', 2, 'handlerError'],
      ['gives-up', 1, 'nonRetryable'],
      ['circular', 1, 'invalidResult'],
      ['huge', 1, 'invalidResult'],
      ['never', 2, 'timeout'],
      ['stalls', 1, 'stallAfter'],
      ['good', 1, 'completed'],
    ]);
    await stop(dev);
    expect(dev.stderr()).toContain('thrown: only text');
    expect(dev.stderr()).toContain('returned what is not JSON');
  });
});

describe.concurrent('storage that cannot be reached', () => {
  it('is named, asked again and again, and makes the instance unhealthy', { timeout: 180_000 }, async () => {
    const app = coordinatedApp({ good: { schedule: '@hourly', handler: 'mark' } });
    const storage =
      'DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=bm90IGEga2V5;' +
      'BlobEndpoint=http://127.0.0.1:9/devstoreaccount1;';
    const dev = startDev(main, { app: app.folder, instances: 1, storage }, app.env);
    const { instances } = await dev.ready();
    await dev.event(
      ({ event, reason }) => event === 'unhealthy' && String(reason).includes('http://127.0.0.1:9/devstoreaccount1'),
      90_000,
    );
    // On a busy machine storage may not answer in time in between. Nothing is said twice in a row.
    const reasons = dev.events.filter(({ event }) => event === 'unhealthy').map(({ reason }) => reason);
    expect(reasons.filter((reason, index) => reason === reasons[index - 1])).toEqual([]);
    const answer = await fetch(`http://127.0.0.1:${String(instances[0]?.port)}/api/manage/health`);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toEqual({ status: 'unhealthy' });
    await stop(dev);
  });
});

describe.concurrent('a container that may not be written to', () => {
  it('is said, with the role that is missing, and makes the instance unhealthy', { timeout: 120_000 }, async () => {
    const azurite = await startAzurite();
    const service = BlobServiceClient.fromConnectionString(azurite.connectionString);
    await service.getContainerClient('readonly').create();
    const sas = service.generateAccountSasUrl(
      new Date(Date.now() + 3_600_000),
      AccountSASPermissions.parse('rl'),
      'sco',
    );
    const storage = `BlobEndpoint=${service.url};SharedAccessSignature=${new URL(sas).searchParams.toString()}`;
    const app = coordinatedApp({ good: { schedule: '@hourly', handler: 'mark' } });
    const dev = startDev(main, { app: app.folder, instances: 1, storage, container: 'readonly' }, app.env);
    await dev.ready();
    // On a busy machine storage may first not answer in time.
    const unhealthy = await dev.event(
      ({ event, reason }) => event === 'unhealthy' && String(reason).includes('Storage Blob Data Contributor'),
      60_000,
    );
    expect(unhealthy['reason']).toContain('readonly');
    expect(unhealthy['reason']).not.toContain('sig=');
    await stop(dev);
    await azurite.stop();
  });
});

describe.concurrent('a jobs file that is not valid', () => {
  it('stops the start with every error, those of handlers included', { timeout: 120_000 }, async () => {
    const app = coordinatedApp({
      odd: { schedule: '61 * * * *', timeZone: 'Mars/Olympus', handler: 'mark' },
      unknown: { schedule: '@daily', handler: 'mork' },
    });
    const dev = startDev(main, { app: app.folder, instances: 2 }, app.env);
    expect(await dev.exited()).toBe(1);
    for (const path of ['jobs.odd.schedule', 'jobs.odd.timeZone', 'jobs.unknown.handler']) {
      expect(dev.stderr()).toContain(path);
    }
    expect(dev.stderr()).toContain('did you mean "mark"?');
    expect(dev.events).toEqual([]);
  });
});
