import http from 'node:http';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ApiError, type Client, createClient } from '../../src/client/index';
import { type CoordinatedApp, coordinatedApp } from '../support/coordinated';
import { endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';

/** Of a run that has to be claimed on a busy machine. */
const PATIENCE = { timeout: 60_000, interval: 100 };

let app: CoordinatedApp;
let base = '';
let client: Client;

beforeAll(async () => {
  app = coordinatedApp({
    talker: { schedule: '@manual', handler: 'talk', input: { ms: 500 } },
    slow: { schedule: '@manual', handler: 'slow', input: { ms: 120_000 }, lease: '15s' },
    minutely: { schedule: '* * * * *', handler: 'mark', tags: ['fast'] },
  });
  const dev = startDev(buildLocal(), { app: app.folder, instances: 2 }, app.env);
  const { instances } = await dev.ready();
  base = `http://127.0.0.1:${String(instances[0]?.port)}/api/manage`;
  client = createClient({ baseUrl: base });
});
afterAll(endAll);

async function problemOf(call: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await call.catch((reason: unknown) => reason);
  if (error instanceof ApiError) return error;
  throw new Error('there was no ApiError', { cause: error });
}

/** A request with any headers, which `fetch` would not send. */
function raw(path: string, headers: http.OutgoingHttpHeaders, method = 'GET'): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = http.request(`${base}/${path}`, { method, headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    request.on('error', reject).end();
  });
}

describe('the HTTP API of a cluster', () => {
  it('needs no login on this machine, and shows all jobs and deployments', async () => {
    expect(await client.getMe()).toMatchObject({ role: 'admin', actor: 'developer', readOnly: false });
    await vi.waitFor(async () => {
      const { jobs, deployments, problems } = await client.listJobs();
      expect(jobs.map(({ name }) => name).toSorted()).toEqual(['minutely', 'slow', 'talker']);
      expect(deployments.map(({ name, state }) => [name, state])).toEqual([
        ['local-1', 'live'],
        ['local-2', 'live'],
      ]);
      expect(problems).toEqual([]);
    }, PATIENCE);
    expect(client.pollMs()).toBe(2_000);
    expect((await client.listDueTimes({ tag: 'fast', count: 3 })).jobs).toMatchObject([{ job: 'minutely' }]);
    expect((await client.getReady()).status).toBe('healthy');
  });

  it('answers nobody who comes under another name, or from another page', async () => {
    const { host } = new URL(base);
    expect(await raw('jobs', { host })).toBe(200);
    expect(await raw('jobs', { host, origin: `http://${host}` })).toBe(200);
    expect(await raw('jobs', { host: 'rebound.example.com' })).toBe(403);
    expect(await raw('jobs', { host, origin: 'https://example.com' })).toBe(403);
    expect(await raw('jobs', { host, 'x-cronlease-key': 'a guess' })).toBe(401);
    // The header of the host is its own: what a caller sends under its name is removed.
    expect(await raw('keyed/jobs', { host, 'x-cronlease-dev': 'a guess' })).toBe(401);
    const json = { host, 'content-type': 'application/json' };
    expect(await raw('jobs/minutely/pause', json, 'POST')).toBe(403);
    expect(await raw('jobs/minutely/pause', { ...json, 'x-cronlease-request': '1' }, 'POST')).toBe(400);
  });

  it('runs a job with another input, once for each key, and has its log', async () => {
    const options = { input: { ms: 750 }, note: 'a test', idempotencyKey: 'once' };
    const { runId } = await client.runJob('talker', options);
    expect((await client.runJob('talker', options)).runId).toBe(runId);
    const run = await vi.waitFor(async () => {
      const found = await client.getRun(runId);
      expect(found.outcome).toBe('succeeded');
      return found;
    }, PATIENCE);
    expect(run).toMatchObject({ trigger: 'manual', origin: { actor: 'developer', note: 'a test' } });
    expect((await client.runJob('talker', options)).runId).toBe(runId);
    const { entries, ended } = await client.getLog(runId);
    expect(ended).toBe(true);
    const texts = entries.flatMap(({ text }) => text ?? []);
    expect(texts).toEqual(['step 1 of attempt 1', 'step 2 of attempt 1', 'step 3 of attempt 1', 'done']);
    const again = await client.rerun(runId, { input: { ms: 250 } });
    await vi.waitFor(async () => expect((await client.getRun(again.runId)).outcome).toBe('succeeded'), PATIENCE);
    expect((await client.getRun(again.runId)).rerunOf).toBe(run.scheduledFor);
    const { runs } = await client.listRuns({ job: 'talker' });
    expect(runs.map((one) => one.runId)).toEqual([again.runId, runId]);
    expect((await client.getCalendar('talker')).days).toMatchObject([{ outcomes: { succeeded: 2 } }]);
  });

  it('pokes: one tick for all who ask at once', async () => {
    // A busy machine may take up the second request after the first tick is over.
    await vi.waitFor(async () => {
      const [one, other] = await Promise.all([client.poke(), client.poke()]);
      expect(one).toMatchObject({ deployment: 'local-1', hubProven: true, cordoned: false });
      expect(other).toEqual(one);
    }, PATIENCE);
  });

  it('cancels a run in progress', async () => {
    const { runId } = await client.runJob('slow');
    await vi.waitFor(async () => expect((await client.getRun(runId)).outcome).toBe('running'), PATIENCE);
    expect((await problemOf(client.runJob('slow'))).code).toBe('RunGoesOn');
    expect((await client.cancelRun(runId, { note: 'too slow' })).endedBy).toBe('holder');
    await vi.waitFor(async () => expect((await client.getRun(runId)).outcome).toBe('cancelled'), PATIENCE);
  });

  it('pauses and resumes a job, and explains its due times', async () => {
    await client.pauseJob('minutely', 'a test');
    const paused = await client.getJob('minutely');
    expect(paused).toMatchObject({ state: 'paused', pause: { by: 'developer', note: 'a test' } });
    const [due] = (await client.listDueTimes({ job: 'minutely', count: 1 })).jobs[0]?.due ?? [];
    expect((await client.explain('minutely', due?.scheduledFor ?? '')).text).toContain('a test');
    await client.resumeJob('minutely', { ifVersion: paused.controlVersion });
    expect((await client.getJob('minutely')).pause).toBeNull();
    expect((await problemOf(client.resumeJob('minutely'))).code).toBe('NotPaused');
  });

  it('cordons a deployment, and has every change in its audit', async () => {
    await client.cordonDeployment('local-2', 'maintenance');
    expect((await client.listDeployments()).deployments).toMatchObject([
      { cordon: null },
      { name: 'local-2', cordon: { by: 'developer', note: 'maintenance' } },
    ]);
    await client.uncordonDeployment('local-2');
    const { entries, problems } = await client.listAudit();
    expect(problems).toEqual([]);
    expect(entries.map(({ action, state }) => `${action} ${state}`)).toEqual([
      ...['uncordon done', 'cordon done', 'resume refused', 'resume done', 'pause done'],
      ...['cancel done', 'run refused', 'run done', 'rerun done', 'run done', 'run done', 'run done'],
    ]);
    expect(new Set(entries.map(({ actor }) => actor))).toEqual(new Set(['developer']));
  });
});

describe('a cluster whose timers are dead', () => {
  it('is run by pokes alone', async () => {
    const dead = coordinatedApp({ talker: { schedule: '@manual', handler: 'talk', input: { ms: 100 } } });
    const env = { ...dead.env, AzureWebJobs__cronleaseTick__Disabled: 'true' };
    const dev = startDev(buildLocal(), { app: dead.folder, instances: 1 }, env);
    const { instances } = await dev.ready();
    const only = createClient({ baseUrl: `http://127.0.0.1:${String(instances[0]?.port)}/api/manage` });
    await vi.waitFor(async () => expect(await only.poke()).toMatchObject({ due: 0, hubProven: true }), PATIENCE);
    const { runId } = await only.runJob('talker');
    await vi.waitFor(async () => expect(await only.poke()).toMatchObject({ due: 1, handedOver: 1 }), PATIENCE);
    await vi.waitFor(async () => expect((await only.getRun(runId)).outcome).toBe('succeeded'), PATIENCE);
    expect((await only.listDeployments()).deployments).toMatchObject([{ name: 'local-1', state: 'live' }]);
  });
});
