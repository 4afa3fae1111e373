import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CallHttpOptions } from 'durable-functions';
import { planActions } from '../../src/local/durable/actions';
import { EventType, type HistoryEvent, historyEvent, orchestratorPayload } from '../../src/local/durable/history';
import { nextPoll } from '../../src/local/durable/http';
import { isFinished } from '../../src/local/durable/instances';
import { loadRealPackages, NO_FILES } from '../support/local-host';

const packages = loadRealPackages();
const { app, ManagedIdentityTokenSource } = packages.durable;

app.activity('echo', { handler: (input: unknown) => input });
app.orchestration('calls', function* (context) {
  return (yield context.df.callHttp(context.df.getInput())) as unknown;
});
app.orchestration('callsBeside', function* (context) {
  const all: unknown[] = yield context.df.Task.all([
    context.df.callHttp(context.df.getInput()),
    context.df.callActivity('echo', 'beside'),
  ]);
  return [
    (all[0] as { statusCode: number }).statusCode,
    all[1],
    (yield context.df.callActivity('echo', 'after')) as unknown,
  ];
});
app.orchestration('catches', function* (context) {
  try {
    yield context.df.callHttp(context.df.getInput());
    return 'no error';
  } catch (error) {
    return (error as Error).message;
  }
});
app.orchestration('needsToken', function* (context) {
  const tokenSource = new ManagedIdentityTokenSource('https://management.core.windows.net');
  yield context.df.callHttp({ method: 'GET', url: origin, tokenSource });
});

let origin = '';
let polls = 0;
let seen: {
  readonly method: string | undefined;
  readonly url: string;
  readonly headers: object;
  readonly body: string;
}[] = [];
const server = http.createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    const { method, url = '', headers } = request;
    seen.push({ method, url, headers, body: Buffer.concat(parts).toString() });
    if (url === '/start')
      return response.writeHead(202, { location: `${origin}/state`, 'retry-after': '0' }).end('began');
    if (url === '/state' && ++polls < 3) {
      return response.writeHead(202, { location: `${origin}/state`, 'retry-after': '0' }).end();
    }
    return response.writeHead(url === '/missing' ? 404 : 200, { 'x-own': 'yes' }).end('{"ok":true}');
  });
});

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
});
afterAll(() => void server.close());
beforeEach(() => {
  polls = 0;
  seen = [];
});

async function run(
  name: string,
  input: CallHttpOptions | null,
  save: (history: readonly HistoryEvent[]) => void = () => undefined,
) {
  const hub = packages.hub({ files: { ...NO_FILES, save: ({ history }) => save([...history]) } });
  const { id } = hub.start(name, undefined, JSON.stringify(input));
  const { status, output } = await vi.waitFor(
    () => {
      const instance = hub.get(id);
      if (instance === undefined || !isFinished(instance.status)) throw new Error('not ended');
      return instance;
    },
    { timeout: 10_000, interval: 5 },
  );
  return { status, output: JSON.parse(output ?? 'null') as unknown };
}

describe('callHttp of the real durable-functions on the embedded hub', () => {
  it('gives the response, of whatever status', async () => {
    const { status, output } = await run('calls', {
      ...{ method: 'POST', url: `${origin}/missing`, body: 'text' },
      headers: { 'x-team': 'billing' },
    });
    expect(status).toBe('Completed');
    expect(output).toMatchObject({ statusCode: 404, content: '{"ok":true}', headers: { 'x-own': 'yes' } });
    expect(seen).toMatchObject([
      { method: 'POST', body: 'text', headers: { 'x-team': 'billing', 'content-type': 'text/plain' } },
    ]);
  });

  it('polls an accepted request until it ends, and only the first one has a body', async () => {
    let history: readonly HistoryEvent[] = [];
    const input = {
      method: 'POST',
      url: `${origin}/start`,
      body: { n: 1 },
      headers: { 'x-functions-key': 'k', accept: 'a/b' },
    };
    const { output } = await run('calls', input, (now) => {
      if (now.length > history.length) history = now;
    });
    expect(output).toMatchObject({ statusCode: 200 });
    expect(seen.map(({ method, url, body }) => `${String(method)} ${url} ${body}`)).toEqual([
      'POST /start {"n":1}',
      ...Array.from({ length: 3 }, () => 'GET /state '),
    ]);
    expect(seen[0]?.headers).toMatchObject({ 'x-functions-key': 'k' });
    expect(seen[1]?.headers).toMatchObject({ accept: 'a/b' });
    expect(seen[1]?.headers).not.toHaveProperty('x-functions-key');
    // As the extension writes it: its own activity, a timer, and the activity again.
    const tasks = history.filter(({ EventId }) => EventId >= 0);
    expect(tasks.slice(0, 3)).toMatchObject([
      { EventType: EventType.TaskScheduled, EventId: 0, Name: 'BuiltIn::HttpActivity' },
      { EventType: EventType.TimerCreated, EventId: 1 },
      { EventType: EventType.TaskScheduled, EventId: 2, Name: 'BuiltIn::HttpActivity' },
    ]);
  });

  it('does not poll where the caller does not want it', async () => {
    const { output } = await run('calls', { method: 'GET', url: `${origin}/start`, enablePolling: false });
    expect(output).toMatchObject({ statusCode: 202, content: 'began' });
    expect(seen).toHaveLength(1);
  });

  it('keeps the numbers of tasks beside it', async () => {
    const { output } = await run('callsBeside', { method: 'GET', url: `${origin}/start` });
    expect(output).toEqual([200, 'beside', 'after']);
  });

  it('fails where no one answers', async () => {
    const { output } = await run('catches', { method: 'GET', url: 'http://127.0.0.1:1/' });
    expect(output).toMatch(/^GET http:\/\/127\.0\.0\.1:1\/ failed: /);
  });

  it('refuses a token of the managed identity, and names Core Tools', async () => {
    const { status, output } = await run('needsToken', null);
    expect([status, output]).toEqual([
      'Failed',
      expect.stringMatching(/tokenSource of callHttp\. Use Azure Functions Core/),
    ]);
  });
});

describe('the poll of an accepted request', () => {
  const request = {
    ...{ method: 'POST', uri: 'https://a.example/run', content: 'x', asynchronousPatternEnabled: true },
    headers: { Authorization: 'Bearer t', Cookie: 'c', 'X-Functions-Key': 'k', Accept: 'a/b' },
  };
  const answered = (location: string, more: object = {}): string =>
    JSON.stringify({ statusCode: 202, headers: { Location: location, ...more }, content: '' });

  it('has the credentials only for the same origin, and never the key of the function', () => {
    const same = nextPoll(request, answered('https://a.example/state'), 0)?.request;
    expect(same).toMatchObject({ method: 'GET', headers: { Authorization: 'Bearer t', Cookie: 'c', Accept: 'a/b' } });
    const other = nextPoll(request, answered('https://b.example/state'), 0)?.request;
    expect(other?.headers).toEqual({ Accept: 'a/b' });
    expect(other).not.toHaveProperty('content');
  });

  it.each([
    [{ 'Retry-After': '7' }, 7_000],
    [{}, 30_000],
  ])('comes after %j', (more, at) => {
    expect(nextPoll(request, answered('https://a.example/state', more), 0)?.at).toBe(at);
  });

  it('is made where durable-functions makes it, by the documented history', async () => {
    const fired = { EventType: EventType.TimerFired, TimerId: 1, FireAt: '2026-01-01T00:00:30.000Z' } as const;
    const documented = [
      historyEvent({ EventType: EventType.OrchestratorStarted, IsPlayed: true }),
      historyEvent({ EventType: EventType.ExecutionStarted, Name: 'calls', Input: 'null', IsPlayed: true }),
      historyEvent({ EventType: EventType.TaskScheduled, EventId: 0, Name: 'BuiltIn::HttpActivity', IsPlayed: true }),
      historyEvent({ EventType: EventType.OrchestratorCompleted, IsPlayed: true }),
      historyEvent({ EventType: EventType.OrchestratorStarted, IsPlayed: true }),
      historyEvent({
        ...{ EventType: EventType.TaskCompleted, TaskScheduledId: 0, IsPlayed: true },
        Result: answered('https://a.example/state'),
      }),
      historyEvent({ EventType: EventType.TimerCreated, EventId: 1, FireAt: fired.FireAt, IsPlayed: true }),
      historyEvent({ EventType: EventType.OrchestratorCompleted, IsPlayed: true }),
      historyEvent({ EventType: EventType.OrchestratorStarted, IsPlayed: true }),
      historyEvent({ ...fired, IsPlayed: true }),
      historyEvent({ EventType: EventType.TaskScheduled, EventId: 2, Name: 'BuiltIn::HttpActivity', IsPlayed: true }),
      historyEvent({ EventType: EventType.OrchestratorCompleted, IsPlayed: true }),
      historyEvent({ EventType: EventType.OrchestratorStarted }),
      historyEvent({
        ...{ EventType: EventType.TaskCompleted, TaskScheduledId: 2 },
        Result: JSON.stringify({ statusCode: 200, headers: {}, content: 'done' }),
      }),
    ];
    const input = JSON.stringify({ method: 'POST', url: request.uri, body: 'x' });
    const state = await packages.play(
      'calls',
      orchestratorPayload({ id: 'one', input, parent: undefined }, documented),
    );
    expect(state).toMatchObject({ isDone: true, output: { statusCode: 200, content: 'done' } });
    expect(planActions(state.actions.flat(), documented).commands).toMatchObject([
      { kind: 'http', id: 0, request: { method: 'POST', uri: request.uri } },
      { kind: 'timer', id: 1 },
      { kind: 'http', id: 2, request: { method: 'GET', uri: 'https://a.example/state' } },
    ]);
  });
});
