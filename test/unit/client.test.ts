import { buildSync } from 'esbuild';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ApiError, createClient, type ClientOptions } from '../../src/client/index';
import { ROUTES } from '../../src/manage/routes';
import { type ManageRequest, createManage } from '../../src/manage/serve';
import { jobSpec } from '../support/job';
import { manageBench } from '../support/manage';

const BASE = 'https://app.example.net/api/manage';

interface Seen {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly status: number;
}

/** A client over the API in this process. */
async function clientOf(options: Partial<ClientOptions> = {}) {
  const jobs = [jobSpec('a', '* * * * *', { tags: ['fast'] }), jobSpec('b', '@manual')];
  const { sim, desk } = manageBench({ jobs, deployments: 1, sweepIntervalMs: 5_000 });
  await sim.clock.advance(125_000);
  const manage = createManage(desk);
  const seen: Seen[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const url = new URL(request.url);
    const path = url.pathname.replace('/api/manage/', '');
    const body = new Uint8Array(await request.arrayBuffer());
    const sent: ManageRequest = {
      ...{ method: request.method, path, query: url.searchParams },
      header: (name) => request.headers.get(name) ?? undefined,
      body: () => Promise.resolve(body),
      poke: () => Promise.resolve(undefined),
      reportRefusal: () => undefined,
      reportBug: (_what, error) => {
        throw error;
      },
    };
    const answer = await manage(sent);
    seen.push({ url: request.url, method: request.method, headers: request.headers, status: answer.status });
    return new Response(answer.body ?? null, { status: answer.status, headers: { ...answer.headers } });
  };
  return { sim, seen, client: createClient({ baseUrl: BASE, key: 'key of admin', fetch, ...options }) };
}

/** A client whose every request gets this answer. */
function clientGetting(answer: Response | Error): ReturnType<typeof createClient> {
  const fetch = (): Promise<Response> =>
    answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer.clone());
  return createClient({ baseUrl: BASE, fetch });
}

async function errorOf(call: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof ApiError) return error;
  throw new Error('there was no ApiError', { cause: error });
}

describe('the typed client', () => {
  it('has a method for each route, which calls it', async () => {
    const { client, seen } = await clientOf();
    const methods = client as unknown as Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>;
    for (const { id, method, path: route, contentType } of ROUTES) {
      // Prometheus reads text, and generators the document.
      if (['health', 'openapi.json'].includes(route) || contentType !== undefined) continue;
      const params = [...route.matchAll(/\{\w+\}/g)].map(() => 'a/b');
      await methods[id]?.(...params).catch(() => undefined);
      const [url] = seen.at(-1)?.url.split('?') ?? [];
      expect(`${String(seen.at(-1)?.method)} ${String(url)}`, id).toBe(
        `${method} ${BASE}/keyed/${route.replaceAll(/\{\w+\}/g, 'a%2Fb')}`,
      );
    }
  });

  it('reads everything', async () => {
    const { client } = await clientOf();
    expect((await client.listJobs({ tag: 'fast' })).jobs.map(({ name }) => name)).toEqual(['a']);
    expect((await client.getJob('a')).settings?.kind).toBe('timed');
    expect(
      (await client.listDueTimes({ job: 'a', from: new Date('2026-01-01T00:00:00Z'), count: 2 })).jobs,
    ).toMatchObject([
      { due: [{ scheduledFor: '2026-01-01T00:01:00.000Z' }, { scheduledFor: '2026-01-01T00:02:00.000Z' }] },
    ]);
    expect((await client.explain('a', '2026-01-01T00:01:00Z')).outcome).toBe('succeeded');
    const { runs, cursor } = await client.listRuns({ limit: 1, outcome: 'succeeded' });
    expect(runs).toMatchObject([{ runId: 'a-20260101T000200Z' }]);
    expect((await client.listRuns({ limit: 1, outcome: 'succeeded', cursor: cursor ?? '' })).runs).toMatchObject([
      { runId: 'a-20260101T000100Z' },
    ]);
    expect((await client.getRun('a-20260101T000100Z')).attempts).toHaveLength(1);
    expect((await client.listDeployments()).deployments).toEqual([]);
    expect(await client.getMe()).toEqual({
      actor: 'of-admin',
      role: 'admin',
      payloads: true,
      channel: 'key',
      readOnly: false,
    });
    expect((await client.getVersion()).version).toBe('1.2.3');
    expect([(await client.getReady()).status, (await client.getLive()).status]).toEqual(['healthy', 'healthy']);
  });

  it('changes jobs, on the version that was read', async () => {
    const { client } = await clientOf();
    const { controlVersion } = await client.getJob('a');
    expect((await client.pauseJob('a', 'a test', { ifVersion: controlVersion })).pause.by).toBe('of-admin');
    expect((await errorOf(client.resumeJob('a', { ifVersion: controlVersion }))).code).toBe('Changed');
    expect((await client.resumeJob('a')).pause.note).toBe('a test');
    const { runId } = await client.runJob('b');
    expect((await client.getJob('b')).waiting).toMatchObject([{ runId }]);
    expect((await errorOf(client.cancelRun(runId))).code).toBe('NothingRuns');
  });

  it('pokes, and names an instance that is being shut down', async () => {
    const { client, seen } = await clientOf();
    expect(await errorOf(client.poke())).toMatchObject({ status: 503, code: 'Stopping' });
    expect(seen.at(-1)).toMatchObject({ method: 'POST', url: `${BASE}/keyed/poke` });
  });

  it('plans, starts, shows and stops a back-fill', async () => {
    const { client } = await clientOf();
    const span = { from: new Date('2026-01-01T00:01:00Z'), includeSucceeded: true } as const;
    expect(await client.planBackfill('a', span)).toMatchObject({ job: 'a', skipped: 0, complete: true });
    const { id } = await client.startBackfill('a', span, { note: 'a test' });
    const { backfill } = await client.getBackfill('a');
    expect(backfill).toMatchObject({ id, state: 'active', origin: { note: 'a test' } });
    expect((await client.stopBackfill('a')).id).toBe(id);
    expect((await errorOf(client.stopBackfill('a'))).code).toBe('NoBackfill');
  });

  it('acknowledges failures, and takes that back', async () => {
    const { client, seen } = await clientOf();
    const { controlVersion } = await client.getJob('a');
    const options = { note: 'a test', until: '2027-01-01T00:00:00Z', ifVersion: controlVersion };
    expect((await errorOf(client.acknowledge('a', options))).code).toBe('NothingToAcknowledge');
    expect((await errorOf(client.unacknowledge('a', { ifVersion: 'other' }))).code).toBe('Changed');
    expect((await errorOf(client.unacknowledge('a'))).code).toBe('NotAcknowledged');
    const [made, changed, removed] = seen.slice(-3);
    expect([made?.method, changed?.method, removed?.method]).toEqual(['POST', 'DELETE', 'DELETE']);
    expect(changed?.headers.get('if-match')).toBe('"other"');
    expect(removed?.headers.get('content-type')).toBeNull();
  });

  it('returns the same object while nothing has changed, and the time between two polls', async () => {
    const { client, seen, sim } = await clientOf();
    expect(client.pollMs()).toBeUndefined();
    const first = await client.getJob('b');
    expect(client.pollMs()).toBe(5_000);
    await sim.clock.advance(6_000);
    expect(await client.getJob('b')).toBe(first);
    expect(seen.map(({ status }) => status)).toEqual([200, 304]);
    await client.pauseJob('b', 'news');
    expect((await client.getJob('b')).state).toBe('paused');
  });

  it('sends a key or a token in a header alone', async () => {
    const withKey = await clientOf();
    await withKey.client.getMe();
    expect(withKey.seen[0]).toMatchObject({ url: `${BASE}/keyed/me` });
    const withToken = await clientOf({ key: undefined as never, getToken: () => Promise.resolve('abc') });
    await errorOf(withToken.client.getMe());
    expect(withToken.seen[0]?.url).toBe(`${BASE}/me`);
    expect(withToken.seen[0]?.headers.get('authorization')).toBe('Bearer abc');
    expect(withToken.seen[0]?.headers.get('x-cronlease-key')).toBeNull();
  });

  it('rejects with the problem of the answer', async () => {
    const { client } = await clientOf();
    const error = await errorOf(client.getJob('aa'));
    expect(error).toMatchObject({ status: 404, code: 'UnknownJob', place: 'job', value: null });
    expect(error.message).toMatch(/^job: there is no job "aa".*Did you mean "a"\?.*use a name that GET jobs lists$/);
    const several = await errorOf(client.listRuns({ limit: 0, cursor: 'x'.repeat(400) }));
    expect(several.errors.map(({ place }) => place)).toEqual(['query: limit', 'query: cursor']);
  });

  it('does not take a login page, or the page of something in between, for an answer', async () => {
    const redirect = new Response(null, { status: 302, headers: { location: 'https://login.example.com' } });
    expect(await errorOf(clientGetting(redirect).getMe())).toMatchObject({ status: 401, code: 'NotAuthenticated' });
    const page = new Response('<html>', { status: 200 });
    expect(await errorOf(clientGetting(page).getMe())).toMatchObject({ status: 200, code: 'ForeignAnswer' });
    const busy = new Response('busy', { status: 503, headers: { 'retry-after': '7' } });
    expect(await errorOf(clientGetting(busy).getMe())).toMatchObject({ code: 'ForeignAnswer', retryAfterMs: 7_000 });
    const refused = new Response('', { status: 401 });
    expect(await errorOf(clientGetting(refused).getMe())).toMatchObject({ code: 'NotAuthenticated' });
    await expect(clientGetting(new TypeError('fetch failed')).getMe()).rejects.toThrow('fetch failed');
  });

  it('is one small file for browsers, without any package', () => {
    const { outputFiles, metafile } = buildSync({
      entryPoints: [path.join(__dirname, '../../src/client/index.ts')],
      ...{ bundle: true, minify: true, write: false, metafile: true, format: 'esm', platform: 'browser' },
    });
    expect(Object.keys(metafile.inputs).every((file) => file.includes('src/client/'))).toBe(true);
    expect(outputFiles[0]?.contents.length).toBeLessThan(6_000);
  });
});
