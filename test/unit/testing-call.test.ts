import { describe, expect, it } from 'vitest';
import { runJob } from '../../src/testing/index';

const CALL = { url: 'https://billing.example.com/close', body: { day: '{scheduledFor:date}', size: '{input.size}' } };

describe('runJob with a call', () => {
  it('plays it against the fetch of the test', async () => {
    const requests: Request[] = [];
    const done = await runJob(
      { call: { ...CALL, headers: { 'x-functions-key': '%KEY%' }, identity: 'api://billing' } },
      {
        settings: { input: { size: 3 }, timeZone: 'Asia/Tokyo' },
        scheduledFor: '2026-03-01T20:00:00Z',
        attempt: 2,
        appSettings: { KEY: 'plain-secret-key' },
        fetch: async (url, init) => {
          requests.push(new Request(url, init));
          return Response.json({ closed: 3 });
        },
      },
    );
    expect(done).toMatchObject({ outcome: 'succeeded', result: { closed: 3 } });
    const [request] = requests;
    expect(await request?.json()).toEqual({ day: '2026-03-02', size: 3 });
    expect(Object.fromEntries(request?.headers ?? [])).toMatchObject({
      'x-functions-key': 'plain-secret-key',
      authorization: 'Bearer token-for-api://billing',
      'x-cronlease-attempt': '2',
    });
  });

  it('polls an operation without waiting for real, and tells the time that it took', async () => {
    const statuses = ['Running', 'Running', 'Succeeded'];
    const done = await runJob(
      { call: { url: 'https://billing.example.com/close' } },
      {
        fetch: async (_, init) =>
          init?.method === 'POST'
            ? new Response(null, { status: 202, headers: { 'operation-location': '/state' } })
            : Response.json({ status: statuses.shift() }),
      },
    );
    expect(done).toMatchObject({ outcome: 'succeeded', result: { status: 'Succeeded' } });
    expect(done.progress?.note).toContain('Running');
  });

  it('ends an endless operation with the timeout, and asks it to end', async () => {
    const methods: string[] = [];
    const done = await runJob(
      { call: { url: 'https://billing.example.com/close' } },
      {
        settings: { timeout: '10m' },
        fetch: async (_, init) => {
          methods.push(init?.method ?? '');
          return new Response(null, { status: 202, headers: { location: '/state' } });
        },
      },
    );
    expect(done).toMatchObject({ outcome: 'timedOut', reason: 'timeout' });
    expect(methods.filter((method) => method !== 'GET')).toEqual(['POST', 'DELETE']);
  });

  it('refuses a missing setting, a missing input, and a poll address on another host', async () => {
    await expect(runJob({ call: { ...CALL, body: '%KEY%' } })).rejects.toThrow(/KEY, which is not set/);
    const none = await runJob({ call: CALL }, { fetch: async () => Response.json({}) });
    expect(none).toMatchObject({ outcome: 'failed', error: { code: 'CallTemplate' } });
    const elsewhere = { status: 202, headers: { location: 'https://evil.example/state' } };
    const away = { fetch: async () => new Response(null, elsewhere) };
    const call = { url: 'https://billing.example.com/close' };
    expect(await runJob({ call }, away)).toMatchObject({ error: { code: 'CallPollForbidden' } });
  });
});
