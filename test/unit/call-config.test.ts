import { describe, expect, it } from 'vitest';
import type { CallSurroundings } from '../../src/core/call';
import { ConfigError, formatIssue } from '../../src/config/config-error';
import { loadJobs } from '../../src/config/load';

const URL_OK = 'https://billing.example.com/api/close';

function load(job: object, calls?: CallSurroundings) {
  const file = { jobs: { close: { schedule: '0 3 * * *', ...job } } };
  return loadJobs(file, { handlers: {}, ...(calls && { calls: () => calls }) });
}

function errorsOf(job: object, calls?: CallSurroundings): readonly string[] {
  try {
    load(job, calls);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.errors.map(formatIssue);
  }
}

describe('a job with a call', () => {
  it('needs no handler, and keeps its call as the file has it', () => {
    const { jobsFile } = load({ call: { url: `${URL_OK}/{runId}?k=%KEY%`, body: { day: '{scheduledFor:date}' } } });
    expect(jobsFile.jobs[0]?.call).toEqual({
      url: `${URL_OK}/{runId}?k=%KEY%`,
      method: 'POST',
      headers: {},
      body: { day: '{scheduledFor:date}' },
    });
  });

  it('refuses an integer in its body that JavaScript has rounded', () => {
    const call: unknown = JSON.parse(`{"url": "${URL_OK}", "body": {"ids": [1, 9007199254740993]}}`);
    expect(errorsOf({ call })).toEqual([
      'jobs.close.call.body.ids[1] = 9007199254740992: is an integer beyond 2^53; it was read as this one; put it in double quotes, as text',
    ]);
  });

  it.each([
    [{ url: 'billing' }, 'jobs.close.call.url', 'is not an address'],
    [{ url: 'ftp://a.example/x' }, 'jobs.close.call.url', 'is not an address'],
    [{ url: 'https://me:pw@a.example/x' }, 'jobs.close.call.url', 'has a user name'],
    [{ url: 'https://{runId}/x' }, 'jobs.close.call.url', 'has a template in its host'],
    [{ url: '%HOST%{attempt}/x' }, 'jobs.close.call.url', 'has a template in its host'],
    [{ url: URL_OK, method: 'post' }, 'jobs.close.call.method', 'did you mean "POST"?'],
    [{ url: URL_OK, method: 'GET', body: {} }, 'jobs.close.call.body', 'cannot be sent by GET'],
    [{ url: URL_OK, headers: { 'x-run': 1 } }, 'jobs.close.call.headers', 'is not text'],
    [
      { url: URL_OK, headers: { 'X-Cronlease-Run': 'a' } },
      'jobs.close.call.headers',
      'is a header that cronlease sets',
    ],
    [
      { url: URL_OK, headers: { 'idempotency-KEY': 'a' } },
      'jobs.close.call.headers',
      'is a header that cronlease sets',
    ],
    [{ url: URL_OK, headers: { 'a b': 'a' } }, 'jobs.close.call.headers', 'no header can have'],
    [{ url: URL_OK, headers: { a: 'x\r\ny: z' } }, 'jobs.close.call.headers.a', 'a header cannot contain'],
    [{ url: URL_OK, headers: { a: '1', A: '2' } }, 'jobs.close.call.headers.A', 'occurs twice'],
    [
      { url: URL_OK, identity: 'api://b', headers: { Authorization: 'x' } },
      'jobs.close.call.headers.Authorization',
      '"identity" sets',
    ],
    [{ url: URL_OK, identity: 'api://{runId}' }, 'jobs.close.call.identity', 'must be the audience'],
    [{ url: URL_OK, body: { a: ['{dueTime}'] } }, 'jobs.close.call.body.a[0]', 'use {scheduledFor}'],
    [{ url: `${URL_OK}?d={scheduledFor:time}` }, 'jobs.close.call.url', 'use {scheduledFor}'],
    [{ url: URL_OK, body: '{input.day}' }, 'jobs.close.call.body', 'no such member'],
    [{ url: URL_OK, expect: [99] }, 'jobs.close.call.expect[0]', 'must be a status from 200 to 599'],
    [{ url: URL_OK, verb: 'GET' }, 'jobs.close.call.verb', 'is not a setting'],
    [{}, 'jobs.close.call.url', 'is missing'],
    ['https://x', 'jobs.close.call', 'is not an object'],
  ])('refuses %j with path, value and remedy', (call, path, text) => {
    const errors = errorsOf({ call });
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain(path);
    expect(errors[0]).toContain(text);
  });

  it.each([
    { url: 'https://me:s3cr3t-word@a.example/x' },
    { url: 'ftp://a.example/x?code=s3cr3t-word' },
    { url: `${URL_OK}?code=s3cr3t-word&d={dueTime}` },
    { url: URL_OK, identity: 'api://b', headers: { Authorization: 'Bearer s3cr3t-word' } },
    { url: URL_OK, headers: { 'my token': 's3cr3t-word' } },
    { url: URL_OK, headers: { 'x-api-key': 's3cr3t-word {dueTime}' } },
  ])('is refused without its secret: %j', (call) => {
    const errors = errorsOf({ call });
    expect(errors).not.toEqual([]);
    expect(errors.join()).not.toContain('s3cr3t-word');
  });

  it('refuses a handler beside it, and a leader job', () => {
    expect(errorsOf({ call: { url: URL_OK }, handler: 'close' }).join()).toContain('cannot be used with "call"');
    expect(errorsOf({ call: { url: URL_OK }, schedule: '@always' }).join()).toContain('leader job');
  });

  it('takes a member of the input, which a manual job may get later', () => {
    const call = { url: URL_OK, body: '{input.day.first}' };
    expect(errorsOf({ call, input: { day: { first: 1 } } })).toEqual([]);
    expect(errorsOf({ call, schedule: '@manual' })).toEqual([]);
  });

  it('warns of what looks like a secret, and does not show it', () => {
    const { warnings } = load({
      call: {
        url: `${URL_OK}?code=abcdefgh12345678`,
        headers: { 'x-api-key': 'abcdefgh12345678', 'x-functions-key': 'abcdefgh' },
      },
    });
    expect(warnings.map(({ path }) => path)).toEqual([
      'jobs.close.call.url',
      'jobs.close.call.headers.x-api-key',
      'jobs.close.call.headers.x-functions-key',
    ]);
    expect(JSON.stringify(warnings)).not.toContain('abcdefgh');
    expect(load({ call: { url: `${URL_OK}?code=%KEY%`, headers: { 'x-api-key': '%KEY%' } } }).warnings).toEqual([]);
  });

  it('warns of a stall limit that is no longer than the wait between two polls', () => {
    const call = { url: URL_OK };
    expect(load({ call, stallAfter: '1m' }).warnings).toMatchObject([{ path: 'jobs.close.stallAfter' }]);
    expect(load({ call, stallAfter: '61s' }).warnings).toEqual([]);
  });

  it('checks settings and host where the app starts, without their values', () => {
    const settings: Readonly<Record<string, string>> = { HOST: 'https://other.example', KEY: 'se\ncret', EMPTY: '' };
    const calls: CallSurroundings = {
      readSetting: (name) => settings[name],
      whyForbidden: ({ hostname }) => (hostname === 'billing.example.com' ? undefined : 'add it'),
    };
    expect(errorsOf({ call: { url: URL_OK, body: '%HOST%' } }, calls)).toEqual([]);
    const [unset] = errorsOf({ call: { url: URL_OK, headers: { a: 'k %EMPTY%' } } }, calls);
    expect(unset).toContain('names the app setting EMPTY, which is not set');
    const [broken] = errorsOf({ call: { url: URL_OK, headers: { a: '%KEY%' } } }, calls);
    expect(broken).toContain('a header cannot contain');
    expect(broken).not.toContain('cret');
    expect(errorsOf({ call: { url: '%HOST%/x' } }, calls).join()).toContain('must not be called');
    expect(errorsOf({ call: { url: '%KEY%/x' } }, calls).join()).toContain('is not an address with its app settings');
  });
});
