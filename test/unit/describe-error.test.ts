import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { callHandler, describeError } from '../../src/coordinator/attempt/call-handler';
import type { JobName } from '../../src/core/brand';
import { type LedgerRecord, parseRecord, storeRecord } from '../../src/core/record';
import { recordKey } from '../../src/core/key';
import { errorText, errorTrace, firstLine, isRecordedError, MOST_CAUSES } from '../../src/core/recorded-error';
import { NonRetryableError } from '../../src/handler/handler';

const JOB = 'a' as JobName;
const hostile = (): never => {
  throw new Error('hands off');
};
const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};
const opaque = (): object =>
  new Proxy(new Error('no'), { get: hostile, has: hostile, getPrototypeOf: hostile, ownKeys: hostile });

describe('a handler that throws', () => {
  const getters = (): object =>
    Object.defineProperties(new Error('no'), {
      ...{ name: { get: hostile }, message: { get: hostile }, stack: { get: hostile } },
      ...{ code: { get: hostile }, cause: { get: hostile }, errors: { get: hostile } },
    });
  it.each([
    ['a revoked proxy', revoked, 'NotAnError'],
    ['a proxy that allows nothing', opaque, 'NotAnError'],
    ['an error whose members throw', getters, 'Error'],
    ['an error whose cause is a revoked proxy', () => new Error('no', { cause: revoked() }), 'Error'],
    ['an object that throws while it becomes text', () => ({ toJSON: hostile, toString: hostile }), 'NotAnError'],
    ['an object without a prototype', () => Object.assign(Object.create(null), { toJSON: hostile }), 'NotAnError'],
    ['an object whose code throws', () => Object.defineProperty({}, 'code', { get: hostile }), 'NotAnError'],
    ['a symbol', () => Symbol('x'), 'NotAnError'],
    ['nothing', () => undefined, 'NotAnError'],
  ])('%s fails its attempt like any other', async (_what, thrown, name) => {
    const fence = { check: () => undefined };
    const end = await callHandler(JOB, fence, () => Promise.reject(thrown()));
    expect(end).toMatchObject({ kind: 'threw', retryable: true, reason: 'handlerError', error: { name } });
    if (end.kind === 'threw') expect(isRecordedError(end.error)).toBe(true);
  });

  it.each([
    ['an object that throws while it becomes JSON', () => ({ toJSON: opaqueThrow })],
    ['an object with a revoked proxy in it', () => ({ inner: revoked() })],
  ])('is refused %s as a result', async (_what, result) => {
    const end = await callHandler(JOB, { check: () => undefined }, result);
    expect(end).toMatchObject({ kind: 'threw', retryable: false, reason: 'invalidResult' });
  });
});

function opaqueThrow(): never {
  // What is thrown is hostile itself.
  throw opaque();
}

describe('the cause of an error', () => {
  it('is kept with its code, as that of a failed fetch', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await new Promise((resolve) => server.close(resolve));
    const thrown: unknown = await fetch(`http://127.0.0.1:${String(port)}/`).catch((error: unknown) => error);
    const described = describeError(thrown);
    expect(described).toMatchObject({
      ...{ name: 'TypeError', message: 'fetch failed' },
      cause: { name: 'Error', code: 'ECONNREFUSED', message: `connect ECONNREFUSED 127.0.0.1:${String(port)}` },
    });
    expect(errorText(described)).toBe(
      `TypeError: fetch failed, caused by Error: connect ECONNREFUSED 127.0.0.1:${String(port)}`,
    );
    expect(errorTrace(described)).toContain(
      `\nCaused by: Error: connect ECONNREFUSED 127.0.0.1:${String(port)}\n    at `,
    );
  });

  it('is kept with the errors that it holds, the code where one has no message', () => {
    const tries = ['::1', '127.0.0.1'].map((ip) => new Error(`connect ECONNREFUSED ${ip}:1`));
    const all = Object.assign(new AggregateError(tries), { code: 'ECONNREFUSED' });
    const described = describeError(new NonRetryableError('no database', { cause: all }));
    expect(errorText(described)).toBe(
      'NonRetryableError: no database, caused by AggregateError: ECONNREFUSED ' +
        '(Error: connect ECONNREFUSED ::1:1; Error: connect ECONNREFUSED 127.0.0.1:1)',
    );
  });

  it('is on the one line that lists show: the innermost that says more', () => {
    const line = (error: unknown, most?: number) => firstLine(describeError(error), most);
    const tries = ['127.0.0.1', '::1'].map((ip) => new Error(`connect ECONNREFUSED ${ip}:5432`));
    const all = Object.assign(new AggregateError(tries), { code: 'ECONNREFUSED' });
    const refused = new TypeError('fetch failed', { cause: all });
    expect(line(refused)).toBe('TypeError: fetch failed: connect ECONNREFUSED 127.0.0.1:5432');
    expect(line(new Error('no rates', { cause: refused }))).toBe(
      'Error: no rates: connect ECONNREFUSED 127.0.0.1:5432',
    );
    expect(line(new Error('wrapped: inner\nmore', { cause: new Error('inner\nmore') }))).toBe('Error: wrapped: inner');
    expect(line(new Error('silent', { cause: new Error('') }))).toBe('Error: silent');
    expect(line(Object.assign(new Error(''), { code: 'EPIPE' }))).toBe('Error: EPIPE');
    expect(line(new Error('a'.repeat(500), { cause: new Error('b'.repeat(500)) }))).toBe(
      `Error: ${'a'.repeat(93)}: ${'b'.repeat(98)}`,
    );
    expect(line(new Error('a'.repeat(500), { cause: new Error('full disk') }), 40)).toBe(
      `Error: ${'a'.repeat(22)}: full disk`,
    );
  });

  it('may be any value, or the error itself', () => {
    const self = new Error('mine');
    self.cause = self;
    expect(describeError(self)).not.toHaveProperty('cause');
    expect(describeError(new Error('a', { cause: { status: 503 } })).cause).toEqual({
      ...{ name: 'NotAnError', message: '{"status":503}' },
    });
  });

  it('of a chain without end is cut, and can be stored and read', () => {
    let deep: Error = new AggregateError(Array.from({ length: 20 }, () => new Error('x'.repeat(9_000))));
    for (let level = 0; level < 20; level += 1) deep = new Error('y'.repeat(9_000), { cause: deep });
    const error = describeError(deep);
    let depth = 0;
    for (let at = error.cause; at !== undefined; at = at.cause) depth += 1;
    expect(depth).toBe(MOST_CAUSES);
    expect(JSON.stringify(error).length).toBeLessThan(16_500 + MOST_CAUSES * 4_200);
    const key = recordKey(Date.UTC(2026, 0, 1));
    const attempt = {
      ...{ attempt: 1, token: 1, deployment: 'east', startedAt: null, endedAt: null, outcome: 'failed' as const },
      error,
    };
    const record: LedgerRecord = {
      ...{ job: 'a', scheduledFor: '2026-01-01T00:00:00.000Z', state: 'final', outcome: 'failed' },
      ...{ reason: 'handlerError', trigger: 'schedule', token: 1, runId: 'a-20260101T000000Z' },
      ...{ claimedAt: null, startedAt: null, endedAt: null, latenessMs: null, attempts: [attempt] },
    };
    expect(parseRecord(JOB, key, storeRecord(record).body)).toEqual(record);
  });

  it('of a foreign record may be of any depth', () => {
    const nest = (depth: number): string =>
      depth === 0 ? '{}' : `{"name":"","message":"","cause":${nest(depth - 1)}}`;
    expect(isRecordedError(JSON.parse(nest(5_000)))).toBe(false);
  });
});
