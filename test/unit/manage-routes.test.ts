import { describe, expect, it } from 'vitest';
import { encodePresence, type Presence } from '../../src/core/presence';
import { StoreDeniedError, StoreUnavailableError } from '../../src/lease/store';
import { includes, ROLES } from '../../src/manage/rights';
import { ROUTES } from '../../src/manage/routes';
import { Problem } from '../../src/manage/schema';
import { jobSpec } from '../support/job';
import { accessWithKeys, manageBench, type ManageBench, type Sent } from '../support/manage';

const DUE = '2026-01-01T00:01:00.000Z';

const EAST: Presence = {
  ...{
    instance: 'i',
    hub: 'hub',
    version: '1.2.3',
    revision: 0,
    jobs: 'hash',
    tickEveryMs: 15_000,
    skewMs: 0,
    rival: undefined,
  },
  ...{ tickedAt: Date.UTC(2026, 0, 1, 0, 2), hubProven: true },
};

async function bench(changes: Parameters<typeof manageBench>[1] = {}): Promise<ManageBench> {
  const jobs = [jobSpec('a', '* * * * *'), jobSpec('b', '@manual', { tags: ['slow'] })];
  const made = manageBench({ jobs, deployments: 1, sweepIntervalMs: 5_000 }, changes);
  await made.sim.clock.advance(125_000);
  await made.sim.store.writePresence('east', encodePresence(EAST), undefined);
  return made;
}

/** A request to each route that would be carried out. */
const SENT: Readonly<Record<string, Sent>> = {
  getOpenApi: { path: 'openapi.json' },
  listJobs: { path: 'jobs' },
  getJob: { path: 'jobs/a' },
  listDueTimes: { path: 'next' },
  getTimeline: { path: 'timeline' },
  explain: { path: `jobs/a/why?time=${DUE}` },
  listDeployments: { path: 'deployments' },
  listRuns: { path: 'runs' },
  getRun: { path: 'runs/a-20260101T000100Z' },
  runJob: { method: 'POST', path: 'jobs/b/runs' },
  cancelRun: { method: 'POST', path: 'runs/a-20260101T000100Z/cancel' },
  pauseJob: { method: 'POST', path: 'jobs/a/pause', body: { note: 'a test' } },
  resumeJob: { method: 'POST', path: 'jobs/a/resume' },
  rerun: { method: 'POST', path: 'runs/a-20260101T000100Z/rerun', body: { input: 1, note: 'a test' } },
  acknowledge: { method: 'POST', path: 'jobs/a/acknowledgement', body: { note: 'a test' } },
  unacknowledge: { method: 'DELETE', path: 'jobs/a/acknowledgement' },
  getBackfill: { path: 'jobs/a/backfill' },
  planBackfill: { path: `jobs/a/backfill/plan?from=${DUE}` },
  startBackfill: { method: 'POST', path: 'jobs/a/backfill', body: { from: DUE, includeSucceeded: true } },
  stopBackfill: { method: 'DELETE', path: 'jobs/a/backfill' },
  cordonDeployment: { method: 'POST', path: 'deployments/east/cordon', body: { note: 'a test' } },
  uncordonDeployment: { method: 'POST', path: 'deployments/east/uncordon' },
  repairLayout: { method: 'POST', path: 'layout/repair', body: { note: 'a test' } },
  poke: { method: 'POST', path: 'poke' },
  listAudit: { path: 'audit' },
  getCalendar: { path: 'jobs/a/calendar' },
  getLog: { path: 'runs/a-20260101T000100Z/log' },
  pauseJobs: { method: 'POST', path: 'pause', body: { tag: 'slow', note: 'a test' } },
  resumeJobs: { method: 'POST', path: 'resume', body: { pattern: 'b*' } },
  getMe: { path: 'me' },
  getMetrics: { path: 'metrics' },
  getVersion: { path: 'version' },
  getLive: { path: 'health/live' },
  getHealth: { path: 'health' },
  getReady: { path: 'health/ready' },
};
/** What a route answers to a caller who may call it: a run that is over cannot be cancelled, nor a job resumed. */
const ANSWERS: Readonly<Record<string, number>> = {
  ...{ acknowledge: 409, unacknowledge: 409, startBackfill: 202, stopBackfill: 409 },
  ...{ runJob: 202, rerun: 202, cancelRun: 409, resumeJob: 409, uncordonDeployment: 409 },
};

function sentTo(id: string): Sent {
  const sent = SENT[id];
  if (sent === undefined) throw new Error(`there is no request for ${id}`);
  return sent;
}

describe('the route table', () => {
  it('has unique names and paths, none of which the host reserves', () => {
    const names = ROUTES.map(({ id }) => id);
    expect(new Set(names).size).toBe(names.length);
    expect(new Set(ROUTES.map(({ method, path }) => `${method} ${path}`)).size).toBe(names.length);
    for (const { path } of ROUTES) expect(path).not.toMatch(/^\/|^(admin|runtime|keyed)(\/|$)/);
    expect(names.toSorted()).toEqual(Object.keys(SENT).toSorted());
  });

  it('opens only health to anybody', () => {
    const open = ROUTES.filter(({ role }) => role === 'anybody').map(({ path }) => path);
    expect(open.toSorted()).toEqual(['health', 'health/live', 'health/ready']);
    for (const { method, role } of ROUTES) {
      if (method !== 'GET') expect(['operator', 'admin']).toContain(role);
    }
  });

  it.each(ROUTES.map((route) => [route.id, route] as const))('%s asks for its role', async (id, { role }) => {
    const { send, bugs } = await bench();
    const sent = sentTo(id);
    const good = ANSWERS[id] ?? 200;
    const without = await send(sent);
    const wrong = await send({ ...sent, headers: { 'x-cronlease-key': 'wrong' } });
    expect(without.status).toBe(role === 'anybody' ? good : 401);
    expect(wrong.status).toBe(role === 'anybody' ? good : 401);
    if (role === 'anybody') return;
    expect(without.headers['www-authenticate']).toBeTruthy();
    for (const one of ROLES) {
      const { status, text, json } = await send({ ...sent, as: one });
      expect([one, status, text]).toEqual([one, includes(one, role) ? good : 403, expect.anything() as unknown]);
      if (status >= 400) expect(Problem.safeParse(json).success).toBe(true);
      // The next role finds the job as this one did.
      if (id === 'pauseJob' && status === 200) await send({ method: 'POST', path: 'jobs/a/resume', as: 'admin' });
      if (id === 'startBackfill' && status === 202)
        await send({ method: 'DELETE', path: 'jobs/a/backfill', as: 'admin' });
      if (id === 'cordonDeployment' && status === 200) {
        await send({ method: 'POST', path: 'deployments/east/uncordon', as: 'admin' });
      }
    }
    expect(bugs).toEqual([]);
  });

  it.each(ROUTES.filter(({ method }) => method !== 'GET').map(({ id }) => id))(
    '%s changes nothing in a read-only app, nor without the header that forms cannot send',
    async (id) => {
      const locked = await bench({ access: accessWithKeys({ readOnly: true }) });
      expect((await locked.send({ ...sentTo(id), as: 'admin' })).json).toMatchObject({ status: 403, code: 'ReadOnly' });
      const { send } = await bench();
      for (const headers of [{ 'x-cronlease-request': '' }, { origin: 'https://example.com' }]) {
        const { json } = await send({ ...sentTo(id), as: 'admin', headers });
        expect(json).toMatchObject({ status: 403, code: 'NotFromHere' });
      }
      const { json } = await send({ path: 'jobs', as: 'viewer' });
      expect(json).toMatchObject({
        jobs: [
          { name: 'a', pause: null },
          { name: 'b', manualRuns: 0 },
        ],
      });
    },
  );
});

describe('a request that cannot be carried out', () => {
  const cases: readonly (readonly [string, Sent, number, string])[] = [
    ['an unknown route', { path: 'nothing' }, 404, 'NoRoute'],
    ['no route', { path: '' }, 404, 'NoRoute'],
    ['a deeper path', { path: 'jobs/a/why/not' }, 404, 'NoRoute'],
    ['an unknown job', { path: 'jobs/aa' }, 404, 'UnknownJob'],
    ['a job that cannot exist', { path: 'jobs/%2e%2e%2fa' }, 400, 'InvalidRequest'],
    ['a broken escape', { path: 'jobs/%E0%A4%A' }, 400, 'InvalidRequest'],
    ['an unknown run', { path: 'runs/a-19990101T000000Z' }, 404, 'UnknownRun'],
    ['a run that cannot exist', { path: 'runs/a-20261399T000000Z' }, 404, 'UnknownRun'],
    ['another method', { method: 'DELETE', path: 'jobs' }, 405, 'WrongMethod'],
    ['an unknown parameter', { path: 'jobs?key=1' }, 400, 'InvalidRequest'],
    ['a parameter given twice', { path: 'jobs?tag=a&tag=b' }, 400, 'InvalidRequest'],
    ['a wrong time', { path: 'jobs/a/why?time=yesterday' }, 400, 'InvalidRequest'],
    ['a time before all records', { path: 'jobs/a/why?time=1969-01-01T00:00:00Z' }, 400, 'InvalidRequest'],
    ['a wrong cursor', { path: 'runs?cursor=abc' }, 400, 'InvalidRequest'],
    ['text', { method: 'POST', path: 'jobs/a/pause', body: 'note' }, 400, 'InvalidRequest'],
    ['no object', { method: 'POST', path: 'jobs/a/pause', body: '[]' }, 400, 'InvalidRequest'],
    ['no note', { method: 'POST', path: 'jobs/a/pause', body: {} }, 400, 'InvalidRequest'],
    ['a long note', { method: 'POST', path: 'jobs/a/pause', body: { note: 'x'.repeat(201) } }, 400, 'InvalidRequest'],
    ['an unknown member', { method: 'POST', path: 'jobs/a/runs', body: { inpt: 1 } }, 400, 'InvalidRequest'],
    [
      'deep JSON',
      { method: 'POST', path: 'jobs/a/runs', body: '['.repeat(9000) + ']'.repeat(9000) },
      400,
      'InvalidRequest',
    ],
    ['a large body', { method: 'POST', path: 'jobs/a/pause', body: { note: 'x'.repeat(70_000) } }, 413, 'BodyTooLarge'],
    [
      'a form',
      {
        method: 'POST',
        path: 'jobs/a/pause',
        body: 'note=x',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      },
      415,
      'WrongContentType',
    ],
    [
      'no type',
      { method: 'POST', path: 'jobs/a/pause', body: '{}', headers: { 'content-type': '' } },
      415,
      'WrongContentType',
    ],
    [
      'an old version',
      { method: 'POST', path: 'jobs/a/pause', body: { note: 'x' }, headers: { 'if-match': '"0x1"' } },
      412,
      'Changed',
    ],
    [
      'a version without quotes',
      { method: 'POST', path: 'jobs/a/pause', body: { note: 'x' }, headers: { 'if-match': 'none' } },
      400,
      'InvalidRequest',
    ],
  ];

  it.each(cases)('is answered with the place, the value and the remedy: %s', async (_what, sent, status, code) => {
    const { send, bugs } = await bench();
    const { json, headers, status: answered } = await send({ ...sent, as: 'admin' });
    expect(json).toMatchObject({ status, code });
    expect(answered).toBe(status);
    expect(headers).toMatchObject({
      'content-type': 'application/problem+json; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    const problem = Problem.parse(json);
    expect([problem.place, problem.detail, problem.remedy].every((text) => text.length > 1)).toBe(true);
    expect(bugs).toEqual([]);
  });

  it('names all its errors', async () => {
    const { send } = await bench();
    const { json } = await send({ path: 'runs?limit=0&outcome=fine&x=1', as: 'viewer' });
    expect(json).toMatchObject({
      errors: [
        { place: 'query: outcome', value: 'fine', remedy: expect.stringContaining('succeeded') as string },
        { place: 'query: limit', value: '0', remedy: 'use at least 1' },
        { place: 'query: x', value: '1', remedy: 'leave it out' },
      ],
    });
  });

  it('is repeated without markup', async () => {
    const { send } = await bench();
    const { text } = await send({
      path: `runs?outcome=${encodeURIComponent('<script>alert(1)</script>\u202e')}`,
      as: 'viewer',
    });
    expect(text).toContain('alert(1)');
    expect(text).not.toMatch(/[<>\u202e]/);
  });

  it('shows neither what storage said nor what a bug is', async () => {
    const failing = (list: ManageBench['desk']['store']['list']) => ({ store: { list } });
    for (const [error, status] of [
      [new StoreUnavailableError('AccountKey=secret'), 503],
      [new StoreDeniedError('AccountKey=secret'), 503],
      [new Error('AccountKey=secret'), 500],
    ] as const) {
      const { send, bugs } = await bench(
        failing(async () => {
          throw error;
        }),
      );
      const answer = await send({ path: 'jobs', as: 'viewer' });
      expect(answer.status).toBe(status);
      expect(answer.text).not.toContain('secret');
      expect(answer.headers['retry-after']).toBe(status === 503 ? '5' : undefined);
      expect(bugs).toHaveLength(status === 500 ? 1 : 0);
    }
  });

  it('ends where storage does not answer', async () => {
    const { send, sim } = await bench({ store: { list: () => new Promise(() => undefined) } });
    const answer = send({ path: 'jobs', as: 'viewer' });
    await sim.clock.advance(31_000);
    expect((await answer).json).toMatchObject({ status: 503, code: 'StoreUnavailable' });
  });
});

describe('the OpenAPI document', () => {
  it('names where keys work on Azure, and where logins do', async () => {
    const { send } = await bench();
    const { json } = await send({ path: 'openapi.json', as: 'viewer' });
    expect(json).toMatchObject({
      servers: [
        { url: '{origin}/{routePrefix}/manage', description: expect.stringContaining('login') as string },
        { url: '{origin}/{routePrefix}/manage/keyed', description: 'With a key' },
      ],
    });
  });
});

describe('a page that follows', () => {
  it('gets 304 until there is news, and the time between two polls', async () => {
    const { send, sim } = await bench();
    const first = await send({ path: 'jobs/b', as: 'viewer' });
    const etag = first.headers['etag'] ?? '';
    expect(etag).toMatch(/^W\/"/);
    expect(first.headers['x-cronlease-poll-ms']).toBe('5000');
    await sim.clock.advance(6_000);
    const again = await send({ path: 'jobs/b', as: 'viewer', headers: { 'if-none-match': `"x", ${etag}` } });
    expect(again).toMatchObject({ status: 304, text: '', headers: { etag, 'x-cronlease-poll-ms': '5000' } });
    await send({ method: 'POST', path: 'jobs/b/pause', body: { note: 'x' }, as: 'operator' });
    const news = await send({ path: 'jobs/b', as: 'viewer', headers: { 'if-none-match': etag } });
    expect(news.json).toMatchObject({ state: 'paused', pause: { by: 'of-operator', note: 'x', until: null } });
  });

  it('costs a listing of the jobs and one of the deployments a sweep, however many follow', async () => {
    const { send, sim, calls } = await bench();
    const fiftyFollow = (): Promise<unknown> =>
      Promise.all(
        Array.from({ length: 50 }, (_, index) => send({ path: index % 2 ? 'jobs' : 'jobs/a', as: 'viewer' })),
      );
    await fiftyFollow();
    await fiftyFollow();
    expect(Object.fromEntries(calls)).toEqual({ list: 1, listPresences: 1 });
    const perSweep: (readonly [number | undefined, number | undefined])[] = [];
    for (let sweep = 1; sweep <= 11; sweep += 1) {
      await sim.clock.advance(5_000);
      await fiftyFollow();
      perSweep.push([calls.get('list'), calls.get('listPresences')]);
    }
    expect(perSweep).toEqual(Array.from({ length: 11 }, (_, sweep) => [sweep + 2, sweep + 2]));
  });

  it('sees a change at once, and the deployments in time', async () => {
    const { send, sim, calls } = await bench();
    await send({ path: 'jobs', as: 'viewer' });
    await send({ method: 'POST', path: 'jobs/b/pause', body: { note: 'x' }, as: 'operator' });
    const lists = calls.get('list') ?? 0;
    expect((await send({ path: 'jobs/b', as: 'viewer' })).json).toMatchObject({ state: 'paused' });
    expect(calls.get('list')).toBe(lists + 1);
    // No one looked for a while: both are asked for again.
    await sim.clock.advance(60_000);
    const before = { ...Object.fromEntries(calls) };
    await send({ path: 'jobs', as: 'viewer' });
    expect(calls.get('list')).toBe((before['list'] ?? 0) + 1);
    expect(calls.get('listPresences')).toBe((before['listPresences'] ?? 0) + 1);
  });

  it('shows within two minutes that a deployment is dead, while somebody looks once a minute', async () => {
    const made = manageBench({ jobs: [], deployments: 1, sweepIntervalMs: 60_000 });
    const { sim, send } = made;
    const stateNow = async (): Promise<unknown> => {
      const { json } = await send({ path: 'deployments', as: 'viewer' });
      return (json as { deployments: { state: string }[] }).deployments[0]?.state;
    };
    const report = (): Promise<unknown> =>
      sim.store.writePresence('east', encodePresence({ ...EAST, tickedAt: sim.clock.now() }), undefined);
    const states: unknown[] = [];
    for (let minute = 0; minute < 10; minute += 1) {
      await report();
      await sim.clock.advance(59_000);
      states.push(await stateNow());
      await sim.clock.advance(1_000);
    }
    expect(new Set(states)).toEqual(new Set(['live']));
    await sim.clock.advance(50_000);
    expect([await stateNow(), await sim.clock.advance(10_000)].at(0)).toBe('late');
    expect(await stateNow()).toBe('silent');
  });

  it('asks again after a failure', async () => {
    let fails = true;
    const holder: { list?: ManageBench['desk']['store']['list'] } = {};
    const made = await bench({
      store: {
        list: (options) =>
          fails ? Promise.reject(new StoreUnavailableError('503')) : (holder.list ?? (() => Promise.reject()))(options),
      },
    });
    holder.list = made.sim.store.list;
    expect((await made.send({ path: 'jobs', as: 'viewer' })).status).toBe(503);
    fails = false;
    expect((await made.send({ path: 'jobs', as: 'viewer' })).status).toBe(200);
  });
});

describe('a change', () => {
  it('is refused if somebody else has changed the job since it was read', async () => {
    const { send } = await bench();
    const { json } = await send({ path: 'jobs/a', as: 'viewer' });
    const { controlVersion } = json as { controlVersion: string };
    expect(controlVersion).toBe('none');
    const headers = { 'if-match': `"${controlVersion}"` };
    const pause: Sent = { method: 'POST', path: 'jobs/a/pause', body: { note: 'x' }, as: 'operator', headers };
    expect((await send(pause)).status).toBe(200);
    const resumed = await send({ method: 'POST', path: 'jobs/a/resume', as: 'operator', headers });
    expect(resumed.json).toMatchObject({ status: 412, code: 'Changed' });
    const fresh = (await send({ path: 'jobs/a', as: 'viewer' })).json as { controlVersion: string };
    const good = { 'if-match': `"${fresh.controlVersion}"` };
    expect((await send({ method: 'POST', path: 'jobs/a/resume', as: 'operator', headers: good })).status).toBe(200);
  });

  it('by a run that was requested is seen in the runs of the job', async () => {
    const { send, sim } = await bench();
    const { json } = await send({ method: 'POST', path: 'jobs/b/runs', as: 'operator' });
    const { runId } = json as { runId: string };
    expect((await send({ path: 'jobs/b', as: 'viewer' })).json).toMatchObject({ manualRuns: 1, waiting: [{ runId }] });
    await sim.clock.advance(30_000);
    const run = await send({ path: `runs/${runId}`, as: 'viewer' });
    expect(run.json).toMatchObject({
      runId,
      job: 'b',
      outcome: 'succeeded',
      trigger: 'manual',
      attempts: [{ attempt: 1 }],
    });
    expect((await send({ path: 'runs?job=b', as: 'viewer' })).json).toMatchObject({ runs: [{ runId }], cursor: null });
  });
});

describe('a job that the jobs file no longer has', () => {
  it('is explained by its row and the ledger', async () => {
    const { sim, send } = await bench({ jobs: [jobSpec('b', '@manual')] });
    const ran = await send({ path: `jobs/a/why?time=${DUE}`, as: 'viewer' });
    expect(ran).toMatchObject({
      status: 200,
      json: { job: 'a', due: true, outcome: 'succeeded', reason: 'completed', runId: 'a-20260101T000100Z' },
    });
    expect(ran.json).toMatchObject({ warnings: [expect.stringContaining(`job "a" is not in this app's jobs file`)] });
    const later = await send({ path: 'jobs/a/why?time=2026-01-01T00:09:00Z', as: 'viewer' });
    expect(later.json).toMatchObject({ due: false, outcome: 'notDue', reason: 'notInFile', runId: null });
    const unknown = await send({ path: `jobs/c/why?time=${DUE}`, as: 'viewer' });
    expect(unknown.status).toBe(404);
    expect(await sim.records('a')).not.toEqual([]);
  });
});
