import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import type { CallMeans } from '../../src/call/call';
import type { JobName } from '../../src/core/brand';
import type { LedgerRecord } from '../../src/core/record';
import type { Guard } from '../../src/notices/guard';
import { guardedRequest } from '../../src/notices/request';
import { type Got, callTarget } from '../support/call-target';
import { callHandler } from '../support/called';
import { jobSpec } from '../support/job';
import { rivalTicks } from '../support/rival-ticks';

const guard: Guard = {
  setting: 'CRONLEASE_CALL_HOSTS',
  hosts: [{ pattern: '127.0.0.1', networks: [] }],
  isLocal: true,
};
const MOST_MINUTES = 20;

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** Runs the job once against a real server, on a clock that runs ahead, until the run is over. */
async function ranAgainst(url: string): Promise<LedgerRecord> {
  const call = { url: `${url}/close`, method: 'POST', headers: {}, body: { n: 1 } } as const;
  const send: CallMeans['send'] = (asked, limits) => guardedRequest(asked, { ...limits, guard });
  const sim = rivalTicks({
    jobs: [
      jobSpec('close', '@hourly', {
        ...{ call, timeoutMs: 120_000 },
        retry: { attempts: 2, backoffMs: 10_000, factor: 2, maxBackoffMs: 300_000, jitter: 'none' },
      }),
    ],
    fanOut: { close: callHandler(call, { send, guard }) },
    start: Date.UTC(2026, 0, 1, 0, 59, 30),
  });
  for (let seconds = 0; seconds < MOST_MINUTES * 60; seconds += 1) {
    await sim.clock.advance(1_000);
    // The network runs on real time.
    await pause(2);
    const { records } = await sim.store.listRecords('close' as JobName, { limit: 5 });
    if (records.length === 0) continue;
    const [record] = await sim.records('close');
    if (record?.state === 'final') return record;
  }
  throw new Error('the run did not end');
}

type Answer = Parameters<typeof callTarget>[0];

const json =
  (value: unknown, status = 200, headers: Record<string, string> = {}): Answer =>
  (_got, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(value));
  };

/** Answers the call with an operation, and its looks like this. */
const operation =
  (look: Answer): Answer =>
  (got, response, count) => {
    const start = json({}, 202, { 'operation-location': '/state', 'retry-after': '1' });
    (got.method === 'POST' ? start : look)(got, response, count);
  };

const HUGE = 'x'.repeat(10_000_000);

const rows: readonly (readonly [what: string, answer: Answer, ended: Partial<LedgerRecord>, attempts: unknown[]])[] = [
  [
    'answers what is not the JSON that it claims',
    (_got, response) => void response.setHeader('content-type', 'application/json').end('{"a":'),
    { outcome: 'failed', reason: 'nonRetryable' },
    ['CallGarbled'],
  ],
  [
    'answers 10 MB',
    (_got, response) => void response.end(HUGE),
    { outcome: 'failed', reason: 'nonRetryable' },
    ['CallTooLarge'],
  ],
  [
    'refuses with 10 MB',
    (_got, response) => void response.writeHead(400).end(HUGE),
    { outcome: 'failed', reason: 'nonRetryable' },
    ['CallRefused'],
  ],
  [
    'answers nothing for the whole timeout',
    () => undefined,
    { outcome: 'timedOut', reason: 'timeout' },
    ['timedOut', 'timedOut'],
  ],
  [
    'begins an answer, and never ends it',
    (_got, response) => void response.write('{'),
    { outcome: 'timedOut', reason: 'timeout' },
    ['timedOut', 'timedOut'],
  ],
  [
    'redirects',
    json({}, 307, { location: '/elsewhere' }),
    { outcome: 'failed', reason: 'nonRetryable' },
    ['CallRedirected'],
  ],
  [
    'hangs up',
    (_got, response) => void response.destroy(),
    { outcome: 'failed', reason: 'handlerError' },
    ['CallUnanswered', 'CallUnanswered'],
  ],
  [
    'hangs up in mid-answer',
    (_got, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('x', () => response.destroy());
    },
    { outcome: 'failed', reason: 'handlerError' },
    ['CallUnanswered', 'CallUnanswered'],
  ],
  [
    'is always busy',
    json({}, 503, { 'retry-after': '30' }),
    { outcome: 'failed', reason: 'handlerError' },
    ['CallBusy', 'CallBusy'],
  ],
  [
    'starts an operation on another host',
    json({}, 202, { location: 'https://evil.example/state' }),
    { outcome: 'failed', reason: 'nonRetryable' },
    ['CallPollForbidden'],
  ],
  [
    'starts an operation on this host without its name',
    json({}, 202, { location: 'http://[::ffff:127.0.0.1]/state' }),
    { outcome: 'failed', reason: 'nonRetryable' },
    ['CallPollForbidden'],
  ],
  [
    'starts an operation at what is not an address',
    json({}, 202, { location: 'file:///etc/passwd' }),
    { outcome: 'failed', reason: 'nonRetryable' },
    ['CallPollForbidden'],
  ],
  [
    'has an operation that never ends',
    operation((_, response) => void response.writeHead(202).end()),
    { outcome: 'timedOut', reason: 'timeout' },
    ['timedOut', 'timedOut'],
  ],
  [
    'has an operation that moves for ever',
    operation((got, response, count) =>
      json({}, 202, { 'operation-location': `/${String(count)}` })(got, response, count),
    ),
    { outcome: 'timedOut', reason: 'timeout' },
    ['timedOut', 'timedOut'],
  ],
  [
    'has an operation that is silent',
    operation(() => undefined),
    { outcome: 'timedOut', reason: 'timeout' },
    ['timedOut', 'timedOut'],
  ],
  [
    'has an operation that answers 10 MB',
    operation((_, response) => void response.end(HUGE)),
    { outcome: 'failed', reason: 'nonRetryable' },
    ['CallTooLarge'],
  ],
  [
    'has an operation without a state',
    operation(json({ a: 1 })),
    { outcome: 'failed', reason: 'nonRetryable' },
    ['CallGarbled'],
  ],
  [
    'has an operation that redirects',
    operation(json({}, 302, { location: '/elsewhere' })),
    { outcome: 'failed', reason: 'nonRetryable' },
    ['CallRedirected'],
  ],
  [
    'has an operation that is gone',
    operation(json({}, 404)),
    { outcome: 'failed', reason: 'nonRetryable' },
    ['CallRefused'],
  ],
  [
    'has an operation that failed',
    operation(json({ status: 'Failed' })),
    { outcome: 'failed', reason: 'handlerError' },
    ['CallFailed', 'CallFailed'],
  ],
  [
    'has an operation that was cancelled',
    operation(json({ status: 'Canceled' })),
    { outcome: 'failed', reason: 'nonRetryable' },
    ['CallCanceled'],
  ],
];

it.each(rows)(
  'a target that %s ends the run with its own reason, and is called once by each attempt',
  async (_what, answer, ended, errors) => {
    const target = await callTarget(answer);
    closing.push(target.close);
    const { outcome, reason, attempts } = await ranAgainst(target.url);
    expect({ outcome, reason }).toEqual(ended);
    expect(attempts.map(({ error, outcome: one }) => (one === 'timedOut' ? one : error?.code))).toEqual(errors);
    const calls = target.got.filter(({ method }: Got) => method === 'POST');
    // Each attempt calls once, and says which it is.
    expect(calls.map(({ headers }) => headers['x-cronlease-attempt'])).toEqual(
      errors.map((_, index) => String(index + 1)),
    );
    expect(new Set(calls.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    expect(new Set(calls.map(({ headers }) => headers['x-cronlease-token'])).size).toBe(calls.length);
    expect(target.got.every(({ path }) => path !== '/elsewhere')).toBe(true);
  },
  60_000,
);

it.each([
  ['speaks another protocol', 'SSH-2.0-OpenSSH_9.7\r\n', 'CallGarbled', 1],
  ['answers a header without end', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}`, 'CallGarbled', 1],
  ['answers nothing and hangs up', '', 'CallUnanswered', 2],
])(
  'a target that %s ends the run',
  async (_what, text, code, times) => {
    let calls = 0;
    const server = createServer((socket) => {
      socket.once('data', () => {
        calls += 1;
        socket.end(text);
      });
      socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing.push(() => server.close());
    const record = await ranAgainst(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}`);
    expect(record.outcome).toBe('failed');
    expect(record.attempts.map(({ error }) => error?.code)).toEqual(Array(times).fill(code));
    expect(calls).toBe(times);
  },
  60_000,
);
