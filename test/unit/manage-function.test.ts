import { HttpRequest, InvocationContext } from '@azure/functions';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { manageHandler } from '../../src/functions/manage';
import { accessSettings, environmentSetting } from '../../src/functions/manage-settings';
import { coordinatorsOf } from '../support/coordinators';
import { jobSpec } from '../support/job';
import { settledBy } from '../support/manage';
import { rivalTicks } from '../support/rival-ticks';
import { scratchFolder } from '../support/scratch';

const DIGEST = createHash('sha256').update('the key').digest('hex');
const SCRIPT = 'let x = 1';
const FILES = {
  'main-0.js': { type: 'text/javascript; charset=utf-8', gzip: gzipSync(SCRIPT).toString('base64') },
};
const KEYS = { CRONLEASE_API_KEYS: `ci:operator:${DIGEST}` };

/** The function of an app with this host.json. */
function functionOf(
  hostJson: object | undefined,
  env: Readonly<Record<string, string>> = {},
  common: Record<string, string> = { 'x-cronlease-key': 'the key' },
) {
  const appFolder = scratchFolder('manage');
  mkdirSync(appFolder, { recursive: true });
  if (hostJson !== undefined) writeFileSync(path.join(appFolder, 'host.json'), JSON.stringify(hostJson));
  const sim = rivalTicks({ jobs: [jobSpec('a', '@daily')], deployments: 1 });
  const handler = manageHandler({
    coordinators: () => coordinatorsOf(sim.instances[0]?.coordinator),
    isReady: () => Promise.resolve(true),
    access: accessSettings({ ...KEYS, ...env }),
    environment: environmentSetting(env),
    poke: () => Promise.resolve(undefined),
    dashboard: () => Promise.resolve({ index: '<link href="assets/a.css">', files: FILES }),
    ...{ env, appFolder },
  });
  return async (
    url: string,
    init: { method?: string; body?: string; headers?: Record<string, string>; matched?: string } = {},
  ) => {
    const request = new HttpRequest({
      url: `https://app.example.net${url}`,
      method: init.method ?? 'GET',
      headers: { ...common, ...init.headers },
      ...(init.matched === undefined ? {} : { params: { path: init.matched } }),
      ...(init.body === undefined ? {} : { body: { string: init.body } }),
    });
    const answer = await settledBy(sim, Promise.resolve(handler(request, new InvocationContext())));
    if (answer === undefined || !('status' in answer)) throw new Error('there is no answer');
    const headers = answer.headers as Record<string, string>;
    return { status: answer.status, headers, body: answer.body as string | undefined };
  };
}

describe('the function below manage/', () => {
  it.each([
    ['/api', undefined],
    ['/api', {}],
    ['/custom', { extensions: { http: { routePrefix: 'custom' } } }],
    ['/custom/path', { extensions: { http: { routePrefix: '/custom/path/' } } }],
    ['', { extensions: { http: { routePrefix: '' } } }],
  ])('is served below %s', async (prefix, hostJson) => {
    const send = functionOf(hostJson);
    expect(await send(`${prefix}/manage/jobs/a`)).toMatchObject({ status: 200 });
    expect(await send(`${prefix.toUpperCase()}/MANAGE/jobs?tag=none`)).toMatchObject({ status: 200 });
    expect(await send(`${prefix}/manage?job=a`)).toMatchObject({
      ...{ status: 302, headers: { location: 'manage/?job=a' } },
    });
    expect(await send(`${prefix}/manage/`)).toMatchObject({ status: 200, body: '<link href="assets/a.css">' });
    expect(await send(`${prefix}/manage/keyed/jobs`)).toMatchObject({ status: 200 });
    expect((await send(`${prefix}/manage/jobs`, { headers: { 'x-cronlease-key': 'no' } })).status).toBe(401);
  });

  it('heeds the prefix of an app setting, as the host does', async () => {
    const send = functionOf({}, { AzureFunctionsJobHost__extensions__http__routePrefix: 'jobs-api' });
    expect(await send('/jobs-api/manage/me')).toMatchObject({ status: 200 });
  });

  it('compresses large answers for callers that accept it', async () => {
    const send = functionOf({});
    const headers = { 'accept-encoding': 'br, gzip' };
    const plain = await send('/api/manage/next?count=200');
    expect(plain.body?.length).toBeGreaterThan(16_384);
    expect((await send('/api/manage/next?count=200', { headers: { 'accept-encoding': 'gzip;q=0, br' } })).body).toEqual(
      plain.body,
    );
    const small = await send('/api/manage/next?count=200', { headers });
    expect(gunzipSync(Buffer.from(small.body as never)).toString()).toMatch(/^\{"now":/);
    expect((await send('/api/manage/me', { headers })).body).toContain('"actor":"ci"');
  });

  it('carries a change out', async () => {
    const send = functionOf({});
    const headers = { 'content-type': 'application/json', 'x-cronlease-request': '1' };
    const body = JSON.stringify({ note: 'a test' });
    const paused = await send('/api/manage/jobs/a/pause', { method: 'POST', headers, body });
    expect(paused.status).toBe(200);
    expect(JSON.parse(paused.body ?? '')).toMatchObject({ job: 'a', pause: { by: 'ci', note: 'a test' } });
    expect(await send('/api/manage/jobs/a/resume', { method: 'HEAD' })).toMatchObject({ status: 405, body: undefined });
  });

  it('serves the dashboard to everybody, its page never stored and its files for ever', async () => {
    const send = functionOf({});
    const nobody = { 'x-cronlease-key': 'no' };
    const page = await send('/api/manage/?job=a', { headers: nobody });
    expect(page.status).toBe(200);
    expect(page.headers['cache-control']).toBe('no-store');
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    expect(page.headers['content-security-policy']).toContain("require-trusted-types-for 'script'");
    expect(page.headers['strict-transport-security']).toBe('max-age=31536000');
    const api = await send('/api/manage/me');
    expect(api.headers['content-security-policy']).toContain("trusted-types 'none'");
    expect(api.headers['strict-transport-security']).toBe('max-age=31536000');
    const plain = await send('/api/manage/assets/main-0.js', {
      headers: { ...nobody, 'accept-encoding': 'br, gzip;q=0' },
    });
    expect(Buffer.from(plain.body ?? '').toString()).toBe(SCRIPT);
    expect(plain.headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-type': 'text/javascript; charset=utf-8',
    });
    const small = await send('/api/manage/assets/main-0.js', { headers: { ...nobody, 'accept-encoding': 'gzip, br' } });
    expect(small.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(Buffer.from(small.body ?? '')).toString()).toBe(SCRIPT);
    for (const name of ['main-1.js', '__proto__', '']) {
      expect(await send(`/api/manage/assets/${name}`, { headers: nobody })).toMatchObject({ status: 404 });
    }
    expect(await send('/api/manage/assets/..%2f..%2fjobs', { headers: nobody })).toMatchObject({ status: 400 });
    expect(await send('/api/manage/', { method: 'POST', headers: nobody })).toMatchObject({ status: 401 });
  });
});

describe('the dashboard below keyed/', () => {
  const basic = (password: string) => ({ authorization: `Basic ${Buffer.from(`any:${password}`).toString('base64')}` });

  it('asks a browser for a key, and serves the page to whoever has one', async () => {
    const send = functionOf({}, {}, {});
    const unknown = await send('/api/manage/keyed/');
    expect(unknown.status).toBe(401);
    expect(unknown.headers['www-authenticate']).toMatch(/^Basic realm="/);
    expect(await send('/api/manage/keyed/', { headers: basic('a guess') })).toMatchObject({ status: 401 });
    const page = await send('/api/manage/keyed/?job=a', { headers: basic('the key') });
    expect(page).toMatchObject({ status: 200, body: '<link href="assets/a.css">' });
    expect(page.headers['cache-control']).toBe('no-store');
    expect(await send('/api/manage/keyed?job=a', { headers: basic('the key') })).toMatchObject({
      ...{ status: 302, headers: { location: 'keyed/?job=a' } },
    });
    expect(await send('/api/manage/keyed/assets/main-0.js')).toMatchObject({ status: 200 });
    expect(await send('/api/manage/keyed/me', { headers: basic('the key') })).toMatchObject({ status: 200 });
  });

  it('lets no page of another site use the key that the browser remembers', async () => {
    const send = functionOf({}, {}, { ...basic('the key'), 'content-type': 'application/json' });
    const pause = (headers: Record<string, string>) =>
      send('/api/manage/keyed/jobs/a/pause', { method: 'POST', headers, body: '{"note":"a test"}' });
    expect(await pause({})).toMatchObject({ status: 403 });
    expect(await pause({ 'x-cronlease-request': '1', 'sec-fetch-site': 'cross-site' })).toMatchObject({ status: 403 });
    expect(await pause({ 'x-cronlease-request': '1', 'sec-fetch-site': 'same-origin' })).toMatchObject({ status: 200 });
  });

  it('asks nobody for a key where there is none, nor where a key would not help', async () => {
    const without = await functionOf({}, { CRONLEASE_API_KEYS: '' }, {})('/api/manage/keyed/');
    expect(without.headers['www-authenticate']).toBe('CronleaseKey');
    expect(without.body).toContain('CRONLEASE_API_KEYS');
    const send = functionOf({}, {}, {});
    expect((await send('/api/manage/jobs')).headers['www-authenticate']).toBe('CronleaseKey');
  });

  it('says what is there where a route is not', async () => {
    const answer = await functionOf({})('/api/manage/keyed/job/a');
    expect(answer.status).toBe(404);
    expect(answer.body).toContain('keyed/openapi.json');
  });
});

describe('the environment', () => {
  it('has a name and a colour, which has a default', () => {
    expect(environmentSetting({})).toBeUndefined();
    expect(environmentSetting({ CRONLEASE_ENVIRONMENT: ' test ' })).toEqual({ name: 'test', color: 'gray' });
    const red = { CRONLEASE_ENVIRONMENT: 'production', CRONLEASE_ENVIRONMENT_COLOR: 'red' };
    expect(environmentSetting(red)).toEqual({ name: 'production', color: 'red' });
    expect(() => environmentSetting({ ...red, CRONLEASE_ENVIRONMENT_COLOR: '#f00' })).toThrow(
      'App setting CRONLEASE_ENVIRONMENT_COLOR is "#f00": use one of red, orange',
    );
    expect(() => environmentSetting({ CRONLEASE_ENVIRONMENT: 'x'.repeat(41) })).toThrow('use at most 40 characters');
  });
});

describe('the settings of access', () => {
  it('believe logins only where Azure states that it checks them', () => {
    expect(accessSettings({}).platformAuth).toBe(false);
    for (const text of ['True', 'true']) expect(accessSettings({ WEBSITE_AUTH_ENABLED: text }).platformAuth).toBe(true);
    for (const text of ['False', '', '1', 'yes']) {
      expect(accessSettings({ WEBSITE_AUTH_ENABLED: text }).platformAuth).toBe(false);
    }
  });

  it('refuse what cannot be used, without a secret', () => {
    const secret = 'a'.repeat(32);
    expect(() => accessSettings({ CRONLEASE_API_KEYS: `${KEYS.CRONLEASE_API_KEYS},x:y` })).toThrow(
      'App setting CRONLEASE_API_KEYS is "entry 2": it has 2 parts instead of 3',
    );
    expect(() => accessSettings({ CRONLEASE_MANAGE_READ_ONLY: 'yes' })).toThrow('use "true" or "false"');
    expect(() => accessSettings({ CRONLEASE_DEV_SECRET: 'short' })).toThrow('too short');
    for (const setting of [() => accessSettings({ CRONLEASE_DEV_SECRET: secret, WEBSITE_SITE_NAME: 'app' })]) {
      expect(setting).toThrow('only for "cronlease dev"');
      expect(setting).not.toThrow(secret);
    }
    expect(accessSettings({ CRONLEASE_DEV_SECRET: secret }).devSecret).toBe(secret);
    expect(accessSettings({ CRONLEASE_DEV_SECRET: '' }).devSecret).toBeUndefined();
    expect(accessSettings({ CRONLEASE_MANAGE_READ_ONLY: 'True' }).readOnly).toBe(true);
    expect(accessSettings({ CRONLEASE_MANAGE_READ_ONLY: 'false' }).readOnly).toBe(false);
  });

  it('believes no login below a path that is normalised away, as the real host hands it over', async () => {
    const login = Buffer.from(
      JSON.stringify({ auth_typ: 'aad', claims: [{ typ: 'roles', val: 'admin' }], role_typ: 'roles' }),
    ).toString('base64');
    const send = functionOf({}, { WEBSITE_AUTH_ENABLED: 'True' }, { 'x-ms-client-principal': login });
    expect(await send('/api/manage/me', { matched: 'me' })).toMatchObject({ status: 200 });
    // `%252e%252e` on the wire: the host decodes it once, and the request's URL loses it.
    expect(await send('/api/manage/keyed/%2e%2e/me', { matched: 'keyed/%2e%2e/me' })).toMatchObject({ status: 400 });
    expect(await send('/api/manage/keyed/../me', { matched: 'keyed/../me' })).toMatchObject({ status: 400 });
    for (const spelled of ['keyed/me', 'KEYED/me', '%6beyed/me', 'keyed']) {
      const matched = decodeURIComponent(spelled);
      expect(await send(`/api/manage/${spelled}`, { matched })).toMatchObject({ status: 401 });
    }
    const sent = { 'x-waws-unencoded-url': '/api/manage/keyed/%2e%2e/me?x=..' };
    expect(await send('/api/manage/me', { matched: 'me', headers: sent })).toMatchObject({ status: 400 });
    expect(
      await send('/api/manage/me', { matched: 'me', headers: { 'x-original-url': '/api/manage/me?x=..' } }),
    ).toMatchObject({ status: 200 });
  });
});
