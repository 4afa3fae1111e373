import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type AccessSettings, callerOf, checkCall, type Knock } from '../../src/manage/access';
import { RequestError } from '../../src/manage/problem';
import { readKeys } from '../../src/manage/keys';
import { type Role, ROLES } from '../../src/manage/rights';

type Headers = Readonly<Record<string, string>>;

const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
const KEYS = ROLES.map((role) => `of-${role}:${role}:${sha(`key of ${role}`)}`).join(',');

/** On Azure, with authentication by the platform, and a key for each role. */
const AZURE: AccessSettings = { platformAuth: true, keys: keysOf(KEYS), devSecret: undefined, readOnly: false };
const DEV: AccessSettings = { platformAuth: false, keys: [], devSecret: 'the secret', readOnly: false };
const OPEN: AccessSettings = { platformAuth: false, keys: [], devSecret: undefined, readOnly: false };

function keysOf(text: string): AccessSettings['keys'] {
  const keys = readKeys(text);
  if ('problem' in keys) throw new Error(keys.problem);
  return keys;
}

function knock(headers: Headers, keyed = false): Knock {
  return { header: (name) => headers[name], keyed };
}

/** What a check returns, or the error that refuses the request. */
function outcome<Result>(check: () => Result): Result | RequestError {
  try {
    return check();
  } catch (error) {
    if (error instanceof RequestError) return error;
    throw error;
  }
}

function who(settings: AccessSettings, headers: Headers, keyed = false): string {
  const caller = outcome(() => callerOf(settings, knock(headers, keyed)));
  return caller instanceof RequestError
    ? `${caller.status} ${caller.code}`
    : `${caller.role} ${caller.actor} by ${caller.channel}`;
}

function base64(value: unknown): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64');
}

interface Claims {
  readonly [typ: string]: string | readonly string[];
}

function principal(claims: Claims, changes: object = {}): string {
  const list = Object.entries(claims).flatMap(([typ, value]) => [value].flat().map((val) => ({ typ, val })));
  return base64({ auth_typ: 'aad', claims: list, name_typ: 'name', role_typ: 'roles', ...changes });
}

const login = (role: string): Headers => ({ 'x-ms-client-principal': principal({ name: 'Ann', roles: role }) });

describe('who a caller is', () => {
  it.each(ROLES)('has the role %s by a login of Entra, or by a key', (role) => {
    expect(who(AZURE, login(role))).toBe(`${role} Ann by app`);
    expect(who(AZURE, { ...login(role), 'sec-fetch-site': 'same-origin' })).toBe(`${role} Ann by browser`);
    expect(who(AZURE, { 'x-cronlease-key': `key of ${role}` })).toBe(`${role} of-${role} by key`);
  });

  it('is identified by object and tenant, whatever name the person has chosen', () => {
    const [oid, tid] = ['5D4F0D3A-6c0e-4f52-9c53-0b9b5f0b6a01', '0b9b5f0b-6c0e-4f52-9c53-5d4f0d3a6a02'];
    const of = (claims: Claims): unknown =>
      callerOf(AZURE, knock({ 'x-ms-client-principal': principal({ name: 'The Chief', roles: 'viewer', ...claims }) }));
    const identity = `${tid}/${oid}`.toLowerCase();
    expect(of({ oid, tid, preferred_username: 'ann@example.com' })).toMatchObject({
      actor: 'ann@example.com',
      identity,
    });
    const mapped = 'http://schemas.microsoft.com/identity/claims/';
    expect(of({ [`${mapped}objectidentifier`]: oid, [`${mapped}tenantid`]: tid })).toMatchObject({
      ...{ actor: 'The Chief', identity },
    });
    for (const claims of [{}, { oid }, { oid, tid: 'common' }]) expect(of(claims)).not.toHaveProperty('identity');
  });

  it('sees inputs and results by the role payloads, or as an operator', () => {
    const of = (...roles: string[]): unknown =>
      callerOf(AZURE, knock({ 'x-ms-client-principal': principal({ name: 'Ann', roles }) }));
    expect(of('viewer')).toMatchObject({ role: 'viewer', payloads: false });
    expect(of('payloads')).toMatchObject({ role: 'viewer', payloads: true });
    expect(of('payloads', 'viewer')).toMatchObject({ role: 'viewer', payloads: true });
    expect(of('operator')).toMatchObject({ role: 'operator', payloads: true });
  });

  it('is nobody without a login and a key, whatever the settings are', () => {
    for (const settings of [AZURE, DEV, OPEN, { ...AZURE, readOnly: true }]) {
      expect(who(settings, {})).toBe('401 NotAuthenticated');
      expect(who(settings, { host: 'localhost:7071' })).toBe('401 NotAuthenticated');
    }
  });

  it('is not taken from keys of the host, a query, a cookie or a bearer token, which the platform checks', () => {
    const headers = {
      'x-functions-key': 'key of admin',
      cookie: 'x-cronlease-key=key of admin; AppServiceAuthSession=abc',
      authorization: 'Bearer key of admin',
      'x-ms-client-principal-name': 'Ann',
      'x-ms-client-principal-id': '1',
      'x-ms-token-aad-id-token': 'abc',
    };
    expect(who(AZURE, headers)).toBe('401 NotAuthenticated');
  });

  describe('by a login', () => {
    it('is believed only where the platform authenticates callers', () => {
      expect(who({ ...AZURE, platformAuth: false }, login('admin'))).toBe('401 NotAuthenticated');
      expect(who(DEV, login('admin'))).toBe('401 NotAuthenticated');
    });

    it('has the highest of its roles, from the claims of role_typ and "roles" alone', () => {
      const of = (claims: Claims, changes: object = {}): string =>
        who(AZURE, { 'x-ms-client-principal': principal({ name: 'Ann', ...claims }, changes) });
      const long = 'http://schemas.microsoft.com/ws/2008/06/identity/claims/role';
      expect(of({ roles: ['viewer', 'admin', 'operator'] })).toBe('admin Ann by app');
      expect(of({ [long]: 'operator' }, { role_typ: long })).toBe('operator Ann by app');
      expect(of({ roles: 'operator' }, { role_typ: long })).toBe('operator Ann by app');
      expect(of({ [long]: 'admin' })).toBe('403 NoRole');
      expect(of({ groups: 'admin', role: 'admin', scp: 'admin', wids: 'admin' })).toBe('403 NoRole');
      for (const role of ['Admin', 'admin,viewer', 'admin x', 'owner', '', '__proto__']) {
        expect(of({ roles: role })).toBe('403 NoRole');
      }
    });

    it('names a person, or else an application, on one line', () => {
      const of = (claims: Claims): string =>
        who(AZURE, { 'x-ms-client-principal': principal({ roles: 'viewer', ...claims }) });
      expect(of({ preferred_username: 'ann@example.com' })).toBe('viewer ann@example.com by app');
      expect(of({ appid: '0000-1111' })).toBe('viewer 0000-1111 by app');
      expect(of({})).toBe('viewer unknown by app');
      expect(of({ name: 'Ann\r\nadmin\u202e' })).toBe('viewer Ann\\u000d\\nadmin\\u202e by app');
      expect(of({ name: 'x'.repeat(5000) }).length).toBeLessThan(130);
    });

    it.each([
      ['the shape of Static Web Apps', base64({ identityProvider: 'aad', userId: '1', userRoles: ['admin'] })],
      [
        'that shape, dressed up',
        base64({ identityProvider: 'aad', userRoles: ['admin'], claims: [{ typ: 'roles', val: 'admin' }] }),
      ],
      ['another provider', principal({ roles: 'admin' }, { auth_typ: 'github' })],
      ['no provider', principal({ roles: 'admin' }, { auth_typ: undefined })],
      ['a list of providers', principal({ roles: 'admin' }, { auth_typ: ['aad'] })],
      ['claims that are no list', principal({}, { claims: { typ: 'roles', val: 'admin' } })],
      ['no JSON', base64('roles=admin')],
      ['JSON without base64', '{"auth_typ":"aad"}'],
      ['null', base64('null')],
      ['a list', base64('[]')],
      ['nothing', ''],
      ['two headers, joined', `${principal({ roles: 'viewer' })}, ${principal({ roles: 'admin' })}`],
      ['a text that is too long', 'A'.repeat(70_000)],
    ])('is refused: %s', (_what, header) => {
      expect(who(AZURE, { 'x-ms-client-principal': header })).toBe('401 NotAuthenticated');
    });

    it.each([
      ['members that are no claims', { claims: [null, 'roles', ['roles', 'admin'], { typ: 'roles', val: ['admin'] }] }],
      ['a role_typ that is no text', { claims: [{ val: 'admin' }], role_typ: undefined }],
    ])('has no role: %s', (_what, changes) => {
      expect(who(AZURE, { 'x-ms-client-principal': principal({}, changes) })).toBe('403 NoRole');
    });
  });

  describe('by a key', () => {
    it('is refused with a wrong one, even beside a login', () => {
      for (const key of ['', 'key of nobody', 'key of admin ', sha('key of admin'), 'x'.repeat(100_000)]) {
        expect(who(AZURE, { ...login('admin'), 'x-cronlease-key': key })).toBe('401 WrongKey');
      }
      expect(who(OPEN, { 'x-cronlease-key': 'key of admin' })).toBe('401 WrongKey');
    });

    it('has the role of the key, even beside a login with a higher one', () => {
      expect(who(AZURE, { ...login('admin'), 'x-cronlease-key': 'key of viewer' })).toBe('viewer of-viewer by key');
    });

    it('is the only way in on a path that the platform lets through', () => {
      expect(who(AZURE, login('admin'), true)).toBe('401 NotAuthenticated');
      expect(who(DEV, { 'x-cronlease-dev': 'the secret', host: 'localhost:7071' }, true)).toBe('401 NotAuthenticated');
      expect(who(AZURE, { 'x-cronlease-key': 'key of viewer' }, true)).toBe('viewer of-viewer by key');
    });
  });

  describe('under cronlease dev', () => {
    const SECRET = { 'x-cronlease-dev': 'the secret' };

    it.each(['localhost:7071', '127.0.0.1:7071', '[::1]:7071', 'LOCALHOST:80'])('may do everything at %s', (host) => {
      expect(who(DEV, { ...SECRET, host })).toBe('admin developer by app');
      const origin = `http://${host.toLowerCase()}`;
      expect(who(DEV, { ...SECRET, host, origin })).toBe('admin developer by browser');
    });

    it.each([
      '',
      'localhost',
      'example.com:7071',
      'localhost.example.com:7071',
      '127.0.0.1.nip.io:7071',
      'localhost:7071, example.com',
      'localhost:7071@example.com',
      '0.0.0.0:7071',
      '192.168.0.5:7071',
    ])('is refused at the host "%s"', (host) => {
      expect(who(DEV, { ...SECRET, host })).toBe('403 NotFromHere');
    });

    it.each(['null', 'http://example.com', 'http://localhost:7072', 'https://localhost:7071', 'http://127.0.0.1:7071'])(
      'is refused from the page %s',
      (origin) => {
        expect(who(DEV, { ...SECRET, host: 'localhost:7071', origin })).toBe('403 NotFromHere');
      },
    );

    it('is refused without its secret, with another one, or where no secret was set', () => {
      const host = 'localhost:7071';
      expect(who(DEV, { 'x-cronlease-dev': 'the secre', host })).toBe('401 NotAuthenticated');
      expect(who(DEV, { 'x-cronlease-dev': '', host })).toBe('401 NotAuthenticated');
      for (const secret of ['', 'undefined', 'the secret']) {
        expect(who(OPEN, { 'x-cronlease-dev': secret, host })).toBe('401 NotAuthenticated');
      }
    });
  });
});

describe('what a caller may do', () => {
  const CHANGE = { 'x-cronlease-request': '1', host: 'app.example.net' };

  function answer(settings: AccessSettings, role: Role, needed: Role, isChange: boolean, headers: Headers): string {
    const caller = { role, payloads: false, actor: 'Ann', channel: 'browser' } as const;
    return outcome(() => checkCall(settings, caller, needed, isChange, knock(headers)))?.code ?? 'yes';
  }

  it('depends on the role', () => {
    const table = ROLES.map((role) => ROLES.map((needed) => answer(AZURE, role, needed, false, {})));
    expect(table).toEqual([
      ['yes', 'RoleTooLow', 'RoleTooLow'],
      ['yes', 'yes', 'RoleTooLow'],
      ['yes', 'yes', 'yes'],
    ]);
  });

  it('excludes changes where the app is read-only, for every role', () => {
    for (const role of ROLES) {
      expect(answer({ ...AZURE, readOnly: true }, role, 'viewer', true, CHANGE)).toBe('ReadOnly');
      expect(answer({ ...AZURE, readOnly: true }, role, 'viewer', false, CHANGE)).toBe('yes');
    }
  });

  it('excludes changes that a form, a link or a page of another site could make', () => {
    const change = (headers: Headers): string => answer(AZURE, 'admin', 'operator', true, headers);
    expect(change(CHANGE)).toBe('yes');
    expect(change({ ...CHANGE, 'sec-fetch-site': 'same-origin' })).toBe('yes');
    expect(change({ ...CHANGE, origin: 'https://app.example.net' })).toBe('yes');
    // A front door rewrites the Host, and not what the browser states.
    expect(change({ ...CHANGE, 'sec-fetch-site': 'same-origin', origin: 'https://jobs.example.com' })).toBe('yes');

    expect(change({ host: 'app.example.net' })).toBe('NotFromHere');
    expect(change({ ...CHANGE, 'x-cronlease-request': 'true' })).toBe('NotFromHere');
    for (const site of ['cross-site', 'same-site', 'none', '']) {
      expect(change({ ...CHANGE, 'sec-fetch-site': site })).toBe('NotFromHere');
      expect(change({ ...CHANGE, 'sec-fetch-site': site, origin: 'https://app.example.net' })).toBe('NotFromHere');
    }
    for (const origin of ['null', '', 'https://example.com', 'https://app.example.net.example.com', 'file://']) {
      expect(change({ ...CHANGE, origin })).toBe('NotFromHere');
    }
  });
});

describe('the list of keys', () => {
  it('accepts commas, spaces and lines', () => {
    const entries = KEYS.split(',');
    expect(keysOf(`\n ${entries.join('\n')}\n`)).toEqual(AZURE.keys);
    expect(keysOf(entries.join(', '))).toEqual(AZURE.keys);
    expect(keysOf('')).toEqual([]);
    expect(keysOf(' ,')).toEqual([]);
  });

  const good = `ci:operator:${sha('a')}`;
  it.each([
    ['ci', 1, '1 parts'],
    [`${good},next`, 2, '1 parts'],
    [`${good}:x`, 1, '4 parts'],
    [`CI:operator:${sha('a')}`, 1, 'name cannot be used'],
    [`:operator:${sha('a')}`, 1, 'name cannot be used'],
    [`ci:owner:${sha('a')}`, 1, 'role is unknown'],
    ['the-key-itself:ci:operator', 1, 'role is unknown'],
    ['the-key-itself:operator:ci', 1, '2 characters'],
    ['ci:operator:the-key-itself', 1, '14 characters'],
    [`ci:operator:${sha('a').toUpperCase()}`, 1, '64 characters'],
    [`ci:operator:${sha('')}`, 1, 'empty key'],
    [`${good},ci:viewer:${sha('b')}`, 2, 'another key named "ci"'],
    [`${good},other:viewer:${sha('a')}`, 2, 'same key'],
  ])('refuses "%s"', (text, entry, problem) => {
    const refused = readKeys(text);
    expect(refused).toMatchObject({ entry, problem: expect.stringContaining(problem) as string });
    expect('remedy' in refused && refused.remedy).toBeTruthy();
    // Someone may have written the key itself.
    expect(JSON.stringify(refused)).not.toContain('the-key-itself');
    expect(JSON.stringify(refused)).not.toContain(sha('a'));
  });
});

it('suggests no login where none counts', () => {
  const key = { name: 'ci', rights: { role: 'viewer', payloads: false }, digest: Buffer.alloc(32) } as const;
  const settings = { platformAuth: true, keys: [key], devSecret: undefined, readOnly: false };
  const denied = outcome(() => callerOf(settings, knock({ 'x-ms-client-principal': 'x' }, true)));
  expect(denied).toMatchObject({ status: 401, issues: [{ place: 'x-cronlease-key' }] });
  expect(JSON.stringify(denied)).toContain('basic authentication');
  expect(JSON.stringify(denied)).not.toMatch(/log in|Entra/);
  expect(JSON.stringify(outcome(() => callerOf(settings, knock({}))))).toMatch(/log in/);
  const without = outcome(() => callerOf({ ...settings, keys: [] }, knock({}, true)));
  expect(without).toMatchObject({ status: 401, issues: [{ remedy: 'list keys in CRONLEASE_API_KEYS' }] });
});
