import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type CallMeans, runCall, hiding } from '../../src/call/call';
import type { CallSpec, RequestOutcome } from '../../src/core/call';
import { CallError } from '../../src/handler/handlers';
import { AttemptAbortedError, type JobContext } from '../../src/handler/handler';
import type { Guard } from '../../src/notices/guard';
import { StaleLeaderError } from '../../src/lease/fence';
import { guardedRequest } from '../../src/notices/request';
import { systemClock } from '../../src/system-clock';
import { type CallTarget, callTarget } from '../support/call-target';

const guard: Guard = {
  setting: 'CRONLEASE_CALL_HOSTS',
  hosts: [{ pattern: '127.0.0.1', networks: [] }],
  isLocal: true,
};
const KEY = 'a "secret" key/ö';
const ODD_KEY = String.raw`q+/ü\"7==`;
const SETTINGS: Readonly<Record<string, string>> = { KEY: 'plain-secret-key', ODD: KEY };

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function target(answer: Parameters<typeof callTarget>[0]): Promise<CallTarget> {
  const made = await callTarget(answer);
  closing.push(made.close);
  return made;
}

interface Played {
  readonly result?: unknown;
  readonly error?: CallError;
  readonly kept: readonly string[];
  readonly progress: readonly (readonly [string | undefined, number | undefined])[];
  readonly waits: readonly number[];
  readonly logs: readonly string[];
}

interface Play {
  readonly attempt?: number;
  readonly kept?: string;
  /** How many writes of what is kept storage refuses. */
  readonly refusals?: number;
  readonly input?: unknown;
  readonly aborter?: AbortController;
  readonly means?: Partial<CallMeans>;
  /** The fence's look at the trust. */
  readonly check?: () => void;
  /** Takes what is kept, for a call that throws another error than its own. */
  readonly keeps?: string[];
}

/** Plays one attempt. Its waits pass at once. */
async function play(call: Partial<CallSpec> & { readonly url: string }, options: Play = {}): Promise<Played> {
  const { attempt = 1, aborter = new AbortController(), input } = options;
  let { refusals = 0 } = options;
  const kept = options.keeps ?? [];
  const progress: [string | undefined, number | undefined][] = [];
  const waits: number[] = [];
  const logs: string[] = [];
  const log = (...message: unknown[]): void => void logs.push(message.map(String).join(' '));
  const means: CallMeans = {
    clock: {
      ...systemClock,
      after: (delay, run) => {
        waits.push(delay);
        // The limit of a cancel never ends here.
        const timer = delay === 10_000 && aborter.signal.aborted ? undefined : setTimeout(run, 1);
        return () => clearTimeout(timer);
      },
    },
    guard,
    readSetting: (name) => SETTINGS[name],
    send: (asked, limits) => guardedRequest(asked, { ...limits, guard }),
    tokenFor: async (audience) => `token-for-${audience}`,
    ...options.means,
  };
  const context = {
    job: 'close-day',
    runId: 'close-day/7',
    scheduledFor: new Date('2026-03-28T03:00:00Z'),
    attempt,
    fence: { token: 9, check: options.check ?? (() => undefined) },
    signal: aborter.signal,
    traceparent: '00-1-2-01',
    progress: (note?: string, fraction?: number) => void progress.push([note, fraction]),
    log: Object.assign(log, { debug: log, info: log, warn: log, error: log }),
  } as unknown as JobContext;
  const keeper = {
    read: async () => options.kept,
    keep: async (text: string) => {
      if (refusals-- > 0) throw new Error('storage is away');
      kept.push(text);
    },
  };
  const seen = { kept, progress, waits, logs };
  const spec: CallSpec = { method: 'POST', headers: {}, ...call };
  try {
    const result = await runCall({ call: spec, timeZone: 'UTC' }, { means, context, kept: keeper, input });
    return { result, ...seen };
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    return { error, ...seen };
  }
}

const json = (value: unknown, status = 200, headers: Record<string, string> = {}) =>
  ((_got, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(value));
  }) satisfies Parameters<typeof callTarget>[0];

describe('a call', () => {
  it('is sent once, with the headers of its run, and returns the JSON of its answer', async () => {
    const { url, got } = await target(json({ closed: 3 }));
    const { result } = await play({
      url: `${url}/api/close?k=%KEY%`,
      headers: { 'X-Functions-Key': '%KEY%' },
      body: { day: '{scheduledFor:date}' },
      identity: 'api://billing',
    });
    expect(result).toEqual({ closed: 3 });
    expect(got).toHaveLength(1);
    expect(got[0]).toMatchObject({
      method: 'POST',
      path: '/api/close?k=plain-secret-key',
      body: '{"day":"2026-03-28"}',
      headers: {
        'content-type': 'application/json',
        'content-length': '20',
        'x-functions-key': 'plain-secret-key',
        authorization: 'Bearer token-for-api://billing',
        'idempotency-key': 'close-day/7',
        traceparent: '00-1-2-01',
        'x-cronlease-job': 'close-day',
        'x-cronlease-run': 'close-day/7',
        'x-cronlease-attempt': '1',
        'x-cronlease-token': '9',
        'x-cronlease-scheduled-for': '2026-03-28T03:00:00.000Z',
      },
    });
  });

  it('tells what came of each request, and no host that a setting has', async () => {
    const outcomes: RequestOutcome[] = [];
    const means = { onOutcome: (outcome: RequestOutcome) => void outcomes.push(outcome) };
    const { url, port } = await target(json({}, 503));
    await play({ url }, { means });
    await play({ url: 'https://%KEY%.example/x' }, { means });
    expect(outcomes).toMatchObject([
      { method: 'POST', host: '127.0.0.1', port, status: 503, error: '503' },
      { method: 'POST', host: '***', port: 443, status: undefined, error: 'ForbiddenAddress' },
    ]);
    expect(outcomes.every(({ ms }) => ms >= 0)).toBe(true);
  });

  it('tells a second attempt by its header, under the same key', async () => {
    const { url, got } = await target(json({}));
    await play({ url }, { attempt: 2 });
    expect(got[0]?.headers).toMatchObject({
      'x-cronlease-attempt': '2',
      'idempotency-key': 'close-day/7',
      'content-length': '0',
    });
  });

  it.each([
    [204, undefined, undefined],
    [200, 'text/plain', undefined],
    [200, 'application/problem+json; charset=utf-8', { a: 1 }],
  ])('succeeds with %i of %s', async (status, type, result) => {
    const { url } = await target((_, response) => {
      response.writeHead(status, type === undefined ? {} : { 'content-type': type });
      response.end(status === 204 ? undefined : '{"a":1}');
    });
    expect((await play({ url, method: 'GET' })).result).toEqual(result);
  });

  it.each([
    [400, {}, 'CallRefused', false, 0],
    [404, {}, 'CallRefused', false, 0],
    [408, {}, 'CallBusy', true, 0],
    [425, {}, 'CallBusy', true, 0],
    [429, { 'retry-after': '120' }, 'CallBusy', true, 120_000],
    [503, { 'retry-after': '999999999' }, 'CallBusy', true, 86_400_000],
    [500, {}, 'CallBusy', true, 0],
    [302, { location: '/elsewhere' }, 'CallRedirected', false, 0],
  ])('ends with %i as its status says, and calls no second time', async (status, headers, code, retryable, wait) => {
    const { url, got } = await target(json({ why: 'bad day' }, status, headers));
    const { error } = await play({ url });
    expect(error).toMatchObject({ code, retryable, retryAfterMs: wait });
    expect(got).toHaveLength(1);
    if (status !== 302) expect(error?.message).toBe(`it answered ${String(status)}: {"why":"bad day"}`);
  });

  it('counts only what it expects, if it says so', async () => {
    const { url } = await target((got, response) => {
      response.writeHead(Number(got.path.slice(1)));
      response.end();
    });
    expect((await play({ url: `${url}/409`, expect: [200, 409] })).error).toBeUndefined();
    expect((await play({ url: `${url}/201`, expect: [200, 409] })).error).toMatchObject({ code: 'CallRefused' });
    expect((await play({ url: `${url}/202`, expect: [200, 409] })).error).toMatchObject({ code: 'CallRefused' });
  });

  it('keeps every digit of a large integer', async () => {
    const body = '{"id":9007199254740993,"ids":[-9007199254740993],"count":9007199254740991,"share":0.5,"far":1e21}';
    const { url } = await target((_one, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(body);
    });
    expect((await play({ url, method: 'GET' })).result).toEqual({
      ...{ id: '9007199254740993', ids: ['-9007199254740993'] },
      ...{ count: 9007199254740991, share: 0.5, far: 1e21 },
    });
  });

  it('hides settings and tokens in results and errors, however they are written', async () => {
    const echo = await target((got, response) => {
      const status = Number(got.path.slice(1, 4));
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ seen: got.body, auth: got.headers.authorization, [got.body]: 1 }));
    });
    for (const status of [200, 400]) {
      const { result, error } = await play({ url: `${echo.url}/${String(status)}`, body: 'x %ODD%', identity: 'a' });
      const said = JSON.stringify(result ?? error?.message);
      expect(said).toContain('***');
      expect(said).not.toMatch(/secret|token-for/);
    }
  });

  it.each([
    ['JSON of PHP', String.raw`{"key":"q+\/ü\\\"7=="}`],
    ['JSON of .NET', String.raw`{"key":"q\u002B/\u00FC\\\u00227=="}`],
    ['JSON in JSON', String.raw`{"said":"{\"key\":\"q+\\/\\u00fc\\\\\\\"7==\"}"}`],
    ['an address', '/?key=q%2b%2f%c3%bc%5c%227%3d%3d'],
    ['an address in an address', '/?back=%2F%3Fkey%3Dq%252B%252F%25C3%25BC%255C%25227%253D%253D'],
    ['HTML', String.raw`<p>q&#x2B;/&#252;\&quot;7==</p>`],
    ['base64 of an address', `x${Buffer.from(ODD_KEY).toString('base64url')}`],
  ])('hides a setting as %s has it', async (_what, body) => {
    const { url } = await target((_, response) => {
      response.writeHead(400);
      response.end(body);
    });
    const means = { readSetting: () => ODD_KEY };
    const { error } = await play({ url, headers: { 'x-key': 'k' }, body: '%KEY%' }, { means });
    expect(error?.message).toMatch(/^it answered 400: [^q]*\*\*\*/);
    expect(error?.message).not.toMatch(/7(?:=|%|$)/);
  });

  it('searches many backslashes for a setting in little time', () => {
    const text = `${'\\'.repeat(500_000)} \\/key`;
    expect(hiding(['/key', '"key', '\\key'])([text], Infinity)).toEqual([`${'\\'.repeat(500_000)} ***`]);
  });

  it.each([
    ['not JSON', 'CallGarbled', '{"a":', 'application/json'],
    ['10 MB', 'CallTooLarge', 'x'.repeat(10_000_000), 'text/plain'],
  ])('ends with its own reason for an answer that is %s', async (_what, code, body, type) => {
    const { url } = await target((_, response) => {
      response.writeHead(200, { 'content-type': type });
      response.end(body);
    });
    expect((await play({ url })).error).toMatchObject({ code, retryable: false });
  });

  it('shows 8 KB of what refused it', async () => {
    const { url } = await target((_, response) => {
      response.writeHead(400);
      response.end('y'.repeat(20_000));
    });
    expect((await play({ url })).error?.message).toBe(`it answered 400: ${'y'.repeat(8_192)}`);
  });

  it('is retried after a lost connection, and not after what is not HTTP', async () => {
    const listen = async (text: string): Promise<string> => {
      const server = createServer((socket) => {
        socket.once('data', () => socket.end(text));
        socket.on('error', () => undefined);
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      closing.push(() => server.close());
      const address = server.address();
      return `http://127.0.0.1:${String(typeof address === 'object' ? address?.port : 0)}`;
    };
    expect((await play({ url: await listen('') })).error).toMatchObject({ code: 'CallUnanswered', retryable: true });
    expect((await play({ url: await listen('hello\r\n\r\n') })).error).toMatchObject({
      code: 'CallGarbled',
      retryable: false,
    });
  });

  it('goes to no host that is not allowed, and names no host that a setting has', async () => {
    const { error } = await play({ url: 'https://other.example/x' });
    expect(error).toMatchObject({ code: 'CallForbidden', retryable: false });
    expect(error?.message).toContain('CRONLEASE_CALL_HOSTS');
    const hidden = await play({ url: 'https://%KEY%.example/x' });
    expect(hidden.error?.message).not.toContain('plain-secret');
  });

  it('ends at once with its signal', async () => {
    const aborter = new AbortController();
    const { url } = await target(() => aborter.abort(new AttemptAbortedError('timedOut', 'late')));
    await expect(play({ url }, { aborter })).rejects.toThrow('late');
  });

  it('is retried where its identity gets no token', async () => {
    const tokenFor = () => Promise.reject(new Error('no such audience: token'));
    const { error } = await play({ url: 'https://127.0.0.1', identity: 'x' }, { means: { tokenFor } });
    expect(error).toMatchObject({ code: 'CallIdentity', retryable: true });
  });
});

describe('a call that starts an operation', () => {
  const KEPT = (url: string, kind = 'status') => JSON.stringify({ kind, address: `${url}/state` });

  /** Answers the call, and then one look after another. The last one is repeated. */
  const operation = (first: Parameters<typeof json>, ...looks: Parameters<typeof json>[]): Promise<CallTarget> =>
    target((got, response, count) => {
      const answer = count === 1 ? first : looks[Math.min(count - 2, looks.length - 1)];
      if (answer !== undefined) json(...answer)(got, response);
    });

  it.each(['operation-location', 'azure-asyncoperation'])(
    'is polled at %s until its status says the end',
    async (header) => {
      const { url, got } = await operation(
        [{}, 202, { [header]: '/state', location: '/result' }],
        [{ status: 'Running', percentComplete: 40 }],
        [{ status: 'InProgress' }, 200, { 'retry-after': '3' }],
        [{ oops: 1 }, 503],
        [{ status: 'Succeeded', closed: 3 }],
      );
      const { result, kept, progress, waits } = await play({ url: `${url}/api`, headers: { 'x-key': '%KEY%' } });
      expect(result).toEqual({ status: 'Succeeded', closed: 3 });
      expect(got.map(({ method, path }) => `${method} ${path}`)).toEqual(['POST /api', ...Array(4).fill('GET /state')]);
      expect(got[1]?.headers).toMatchObject({ 'x-key': 'plain-secret-key', 'x-cronlease-run': 'close-day/7' });
      expect(got[1]?.headers['idempotency-key']).toBeUndefined();
      expect(kept.map((text) => JSON.parse(text))).toEqual([{ kind: 'status', address: `${url}/state` }]);
      expect(waits).toEqual([10_000, 15_000, 3_000, 33_750]);
      expect(progress).toEqual([
        ['the operation is at work: Running', 0.4],
        ['the operation is at work: InProgress', undefined],
        ['the operation is at work', undefined],
      ]);
    },
  );

  it('shows no part of a setting in a state that is too long', async () => {
    const { url } = await operation(
      [{}, 202, { 'operation-location': '/state' }],
      [{ status: `${'x'.repeat(45)}plain-secret-key` }],
      [{ status: 'Succeeded' }],
    );
    const { progress } = await play({ url, headers: { 'x-key': '%KEY%' } });
    expect(progress[0]?.[0]).toBe(`the operation is at work: ${'x'.repeat(45)}***`);
  });

  it('is polled at its location until that answers something else than 202', async () => {
    const { url, got } = await operation(
      [{}, 202, { location: '/state', 'retry-after': '2' }],
      [{}, 202, { location: '/moved' }],
      [{}, 202, { location: '/moved' }],
      [{ rows: 7 }],
    );
    const { result, waits, kept } = await play({ url: `${url}/api` });
    expect(result).toEqual({ rows: 7 });
    expect(got.map(({ path }) => path)).toEqual(['/api', '/state', '/moved', '/moved']);
    expect(waits).toEqual([2_000, 15_000, 22_500]);
    // A take-over polls where this attempt would.
    expect(kept.map((text) => (JSON.parse(text) as { address: string }).address)).toEqual([
      `${url}/state`,
      `${url}/moved`,
    ]);
  });

  it('of Durable is polled by its runtimeStatus, also where that comes with 500', async () => {
    const started = (url: string) => ({
      id: 'a',
      statusQueryGetUri: `${url}/state?code=k`,
      terminatePostUri: `${url}/end`,
    });
    let address = '';
    const { url } = await target((got, response, count) => {
      if (count === 1) json(started(address), 202, { location: '/other' })(got, response);
      else if (count === 2) json({ runtimeStatus: 'Running' }, 202)(got, response);
      else json({ runtimeStatus: 'Failed', output: 'no disk' }, 500)(got, response);
    });
    address = url;
    const { error, kept } = await play({ url: `${url}/api` });
    expect(error).toMatchObject({ code: 'CallFailed', message: 'its operation failed: no disk', retryable: true });
    expect(JSON.parse(kept[0] ?? '')).toMatchObject({ kind: 'durable', terminate: `${url}/end` });
    // The next attempt calls again.
    expect(kept.slice(1)).toEqual(['']);
    const done = await target(json({ runtimeStatus: 'Completed', output: { rows: 1 } }));
    expect((await play({ url: 'http://127.0.0.1:1' }, { attempt: 2, kept: KEPT(done.url, 'durable') })).result).toEqual(
      { rows: 1 },
    );
  });

  it('is continued by a later attempt, which does not call again', async () => {
    const { url, got } = await target(json({ status: 'Succeeded' }));
    const { result, waits } = await play({ url: `${url}/api` }, { attempt: 2, kept: KEPT(url) });
    expect(result).toEqual({ status: 'Succeeded' });
    expect(got.map(({ method, path }) => `${method} ${path}`)).toEqual(['GET /state']);
    expect(waits).toEqual([0]);
  });

  it('is not polled on a host that is not allowed', async () => {
    const { url, got } = await operation([{}, 202, { location: 'https://evil.example/state' }]);
    const { error, kept } = await play({ url });
    expect(error).toMatchObject({ code: 'CallPollForbidden', retryable: false });
    expect(kept).toEqual([]);
    expect(got).toHaveLength(1);
  });

  it('gives no key and no token to another host', async () => {
    const other = await target(json({ status: 'Succeeded' }));
    const { url } = await operation([{}, 202, { 'operation-location': `${other.url}/state` }]);
    await play({ url, headers: { 'x-key': '%KEY%' }, identity: 'a' });
    expect(other.got[0]?.headers['x-cronlease-run']).toBe('close-day/7');
    expect(JSON.stringify(other.got)).not.toMatch(/plain-secret|token-for/);
  });

  it.each([
    [{ status: 'Canceled' }, 200, {}, 'CallCanceled', false],
    [{ status: 'Failed', error: { code: 'NoDisk' } }, 200, {}, 'CallFailed', true],
    [{ nothing: 1 }, 200, {}, 'CallGarbled', false],
    [{}, 404, {}, 'CallRefused', false],
    [{}, 302, { location: '/x' }, 'CallRedirected', false],
    [{ x: 'x'.repeat(40_000) }, 200, {}, 'CallTooLarge', false],
  ])('ends the attempt with its own reason: %j', async (body, status, headers, code, retryable) => {
    const { url } = await operation([{}, 202, { 'operation-location': '/state' }], [body, status, headers]);
    expect((await play({ url })).error).toMatchObject({ code, retryable });
  });

  it('is polled on where an answer is lost', async () => {
    const { url } = await target((got, response, count) => {
      if (count === 1) json({}, 202, { 'operation-location': '/state' })(got, response);
      else if (count === 2) response.destroy();
      else json({ status: 'Succeeded' })(got, response);
    });
    const { result, logs } = await play({ url });
    expect(result).toEqual({ status: 'Succeeded' });
    expect(logs.join()).toContain('gave no answer');
  });

  it('is polled with the token of the moment, and polled on while there is none', async () => {
    const { url, got } = await operation([{}, 202, { location: '/state' }], [{}, 202], [{ done: 'token-3' }]);
    let asked = 0;
    const tokenFor = async (): Promise<string> => {
      asked += 1;
      if (asked === 2) throw new Error('the identity is away');
      return `token-${String(asked)}`;
    };
    const { result, logs } = await play({ url, identity: 'api://x' }, { means: { tokenFor } });
    expect(got.map(({ headers }) => headers.authorization)).toEqual([1, 3, 4].map((n) => `Bearer token-${String(n)}`));
    expect(result).toEqual({ done: expect.not.stringContaining('token') as string });
    expect(logs.join()).toContain('got no token');
  });

  it('is polled where its address could not be kept, which is tried again with each look', async () => {
    const { url } = await operation(
      [{}, 202, { 'operation-location': '/state' }],
      [{ status: 'Running' }],
      [{ status: 'Running' }],
      [{ status: 'Succeeded' }],
    );
    const { result, kept, logs } = await play({ url }, { refusals: 2 });
    expect(result).toEqual({ status: 'Succeeded' });
    expect(kept).toHaveLength(1);
    expect(logs.filter((line) => line.includes('could not be kept'))).toHaveLength(2);
  });

  it.each([
    ['cancelled', 'status', 'DELETE /state'],
    ['timedOut', 'location', 'DELETE /state'],
    ['stalled', 'durable', 'POST /end?reason=cronlease%3A%20stalled'],
    ['draining', 'status', undefined],
    ['leaseLost', 'durable', undefined],
  ] as const)('whose run is %s is ended, unless another attempt continues it', async (code, kind, request) => {
    const aborter = new AbortController();
    const { url, got } = await target((one, response) => {
      if (one.method === 'GET') aborter.abort(new AttemptAbortedError(code, code));
      json({ status: 'Running' })(one, response);
    });
    const kept = JSON.stringify({ kind, address: `${url}/state`, terminate: `${url}/end?reason={text}` });
    await expect(play({ url }, { attempt: 2, kept, aborter })).rejects.toThrow(code);
    expect(got.slice(1).map(({ method, path }) => `${method} ${path}`)).toEqual(request === undefined ? [] : [request]);
  });

  it('leaves the operation as it is once the grace of its run is over: the next attempt may follow it', async () => {
    const aborter = new AbortController();
    const { url, got } = await target((one, response) => {
      aborter.abort(new AttemptAbortedError('timedOut', 'timedOut'));
      json({ status: 'Running' })(one, response);
    });
    const check = (): void => {
      if (aborter.signal.aborted) throw new StaleLeaderError('the attempt is over');
    };
    const kept: string[] = [];
    const address = JSON.stringify({ kind: 'status', address: `${url}/state` });
    await expect(play({ url }, { attempt: 2, kept: address, aborter, check, keeps: kept })).rejects.toThrow('timedOut');
    expect(kept).toEqual([]);
    expect(got.map(({ method }) => method)).toEqual(['GET']);
  });
});
