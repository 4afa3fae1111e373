import { Readable } from 'node:stream';
import type { StoragePipelineOptions } from '@azure/storage-blob';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { UsageError } from '../../src/cli/output';
import { openStore } from '../../src/cli/storage';
import type { Trial } from '../../src/lease/trial';
import { checkStorage } from '../../src/operator/doctor/storage';
import { callerIn, callerOf, connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobTrial } from '../../src/stores/azure-blob/trial';
import { systemClock } from '../../src/system-clock';

const ACCOUNT = 'https://acme.blob.core.windows.net';
const SETTINGS = { CRONLEASE_STORAGE__blobServiceUri: ACCOUNT };
const OID = '11111111-2222-4333-8444-555555555555';
const TENANT = '99999999-2222-4333-8444-555555555555';
const ID = 'aaaaaaaa-0000-4000-8000-000000000000';
const USER = { oid: OID, tid: TENANT, upn: 'ada@example.com' };

/** What whoever asks is signed in with. */
const login: { claims: object | undefined; asked: string[] } = { claims: USER, asked: [] };

vi.mock('@azure/identity', () => {
  class CredentialUnavailableError extends Error {
    override readonly name = 'CredentialUnavailableError';
  }
  class DefaultAzureCredential {
    async getToken(scopes: string | string[]) {
      login.asked.push(String(scopes));
      if (login.claims === undefined) throw new CredentialUnavailableError('nobody is signed in.');
      return { token: tokenOf(login.claims), expiresOnTimestamp: Date.now() + 3_600_000 };
    }
  }
  return { DefaultAzureCredential, ManagedIdentityCredential: DefaultAzureCredential };
});

function tokenOf(claims: object): string {
  return ['e30', Buffer.from(JSON.stringify(claims)).toString('base64url'), 'signature'].join('.');
}

type Client = NonNullable<StoragePipelineOptions['httpClient']>;

/** The account, as far as a trial sees it: it refuses what it is told to, with that status and code. */
const service = { refuses: (_call: string): string | undefined => undefined, tokens: new Set<string>() };
const EMPTY = '<?xml version="1.0"?><EnumerationResults><Blobs/><NextMarker/></EnumerationResults>';
const STATUS: Readonly<Record<string, number>> = { 'PUT metadata': 200, 'PUT release': 200, DELETE: 202 };

const client: Client = {
  async sendRequest(request) {
    const comp = new URL(request.url).searchParams.get('comp') ?? '';
    const call = [request.method, request.headers.get('x-ms-lease-action') ?? comp].filter(Boolean).join(' ');
    service.tokens.add(request.headers.get('authorization') ?? 'none');
    const headers = request.headers.clone();
    for (const { name } of headers.headersArray()) headers.remove(name);
    headers.set('date', new Date().toUTCString());
    headers.set('etag', '"0x1"');
    headers.set('x-ms-lease-id', ID);
    const [status, code] = service.refuses(call)?.split(' ') ?? [];
    if (code !== undefined) {
      headers.set('x-ms-error-code', code);
      return { request, status: Number(status), headers };
    }
    if (call === 'GET list') {
      headers.set('content-type', 'application/xml');
      return { request, status: 200, headers, readableStreamBody: Readable.from([EMPTY]) };
    }
    if (request.method === 'GET') {
      headers.set('x-ms-error-code', 'BlobNotFound');
      return { request, status: 404, headers };
    }
    return { request, status: STATUS[call] ?? 201, headers };
  },
};

async function tryOut(): Promise<Trial> {
  const container = connectContainer(SETTINGS, 'cronlease', { httpClient: client });
  const whoCalls = () => callerOf(SETTINGS);
  return azureBlobTrial({ container, clock: systemClock, callTimeoutMs: 10_000, id: ID, whoCalls });
}

/** What is not well. */
async function found() {
  const findings = checkStorage(`${ACCOUNT}/cronlease`, await tryOut());
  return findings.filter(({ status }) => status !== 'ok');
}

beforeEach(() => {
  Object.assign(login, { claims: USER, asked: [] });
  Object.assign(service, { refuses: () => undefined, tokens: new Set() });
});

describe('doctor, with the login of whoever asks', () => {
  it('needs nothing but a URL, and asks who that is only where something is refused', async () => {
    expect(await found()).toEqual([]);
    expect([...service.tokens]).toEqual([`Bearer ${tokenOf(USER)}`]);
    expect(login.asked).toEqual(['https://storage.azure.com/.default']);
  });

  it('says which role is missing, for whom, and where', async () => {
    service.refuses = () => '403 AuthorizationPermissionMismatch';
    const [clock, permissions] = await found();
    expect(clock).toMatchObject({ check: 'clock', status: 'warning' });
    expect(permissions).toMatchObject({
      check: 'permissions',
      status: 'problem',
      message: expect.stringMatching(
        `^the user ada@example.com \\(object id ${OID}\\) may not list blobs, read blobs, create blobs `,
      ) as unknown,
    });
    const { remedy } = permissions ?? {};
    expect(remedy).toContain('Storage Blob Data Contributor on container cronlease of account acme');
    expect(remedy).toContain(`--assignee-object-id ${OID} --assignee-principal-type User`);
    expect(remedy).toContain('/blobServices/default/containers/cronlease"');
  });

  it('lets a reader look, and says that it can do no more', async () => {
    service.refuses = (call) => (call.startsWith('GET') ? undefined : '403 AuthorizationPermissionMismatch');
    login.claims = { oid: OID, tid: TENANT, appid: 'pipeline', idtyp: 'app' };
    const [permissions] = await found();
    expect(permissions).toMatchObject({
      ...{ check: 'permissions', status: 'warning' },
      message: expect.stringMatching(
        /^the application pipeline .*create blobs.*read, but not change anything$/,
      ) as unknown,
      remedy: expect.stringContaining('--assignee-principal-type ServicePrincipal') as unknown,
    });
  });

  it.each<[string, string, RegExp, RegExp]>([
    ['a firewall', '403 AuthorizationFailure', /because of the network that the call comes from/, /virtual network/],
    ['another tenant', '401 InvalidAuthenticationInfo', new RegExp(`of tenant ${TENANT}`), /az login --tenant/],
    ['a token that is refused', '403 AuthenticationFailed', /does not accept/, /az login --tenant/],
  ])('tells %s from a missing role', async (_, refusal, message, remedy) => {
    service.refuses = () => refusal;
    const findings = await found();
    expect(findings).toMatchObject([{ check: 'storage', status: 'problem' }]);
    expect(findings[0]?.message).toMatch(message);
    expect(findings[0]?.remedy).toMatch(remedy);
  });

  it('says how to sign in where nobody is', async () => {
    login.claims = undefined;
    const findings = await found();
    expect(findings).toMatchObject([
      {
        check: 'storage',
        status: 'problem',
        message: `${ACCOUNT}/cronlease accepts only identities, and no one is signed in here`,
        remedy: expect.stringContaining('az login') as unknown,
      },
    ]);
    expect(service.tokens.size).toBe(0);
  });
});

describe('--storage', () => {
  it('may be the URL of a blob service, whatever the environment says of an app’s identity', () => {
    for (const storage of [ACCOUNT, `${ACCOUNT}/`, ` ${ACCOUNT}`, ACCOUNT.toUpperCase()]) {
      expect(openStore({ storage, container: 'jobs' }).location).toBe(`${ACCOUNT}/jobs`);
    }
    expect(openStore({ storage: 'https://127.0.0.1:10000/devstoreaccount1' }).location).toContain('/devstoreaccount1/');
  });

  it.each([
    [`${ACCOUNT}/jobs?sv=2024&sig=secret`, `--storage ${ACCOUNT} --container jobs`],
    [`${ACCOUNT}?sv=2024&sig=secret`, '--storage: the URL has a query'],
    ['http://acme.blob.core.windows.net', '--storage: the URL is not https'],
    ['https://', '--storage: the URL is not a URL'],
  ])('that is no such URL is refused, without showing a secret: %s', (storage, text) => {
    let refusal: unknown;
    try {
      openStore({ storage });
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toBeInstanceOf(UsageError);
    expect(String(refusal)).toContain(text);
    expect(String(refusal)).not.toContain('secret');
  });
});

describe('whose token it is', () => {
  it.each<[string, object, object]>([
    ['a user', USER, { kind: 'user', name: 'ada@example.com' }],
    ['a guest', { oid: OID, tid: TENANT, unique_name: 'ada' }, { kind: 'user', name: 'ada' }],
    ['an application', { oid: OID, tid: TENANT, appid: 'app' }, { kind: 'application', name: 'app' }],
    [
      'a managed identity',
      { oid: OID, tid: TENANT, azp: 'app', app_displayname: 'jobs', idtyp: 'app' },
      { kind: 'application', name: 'jobs' },
    ],
    ['one without a name', { oid: OID, tid: TENANT }, { kind: 'application', name: OID }],
  ])('is read for %s', (_, claims, expected) => {
    expect(callerIn(tokenOf(claims))).toEqual({ ...expected, objectId: OID, tenant: TENANT });
  });

  it.each(['', 'opaque', 'a.b.c', tokenOf({ sub: 'x' }), `e30.${Buffer.from('[]').toString('base64url')}.x`])(
    'is not made up: %j',
    (token) => {
      expect(callerIn(token)).toBeUndefined();
    },
  );

  it('is not told where calls are made with a key, or nobody is signed in', async () => {
    expect(await callerOf({ CRONLEASE_STORAGE: 'UseDevelopmentStorage=true' })).toBeUndefined();
    expect(await callerOf(SETTINGS)).toMatchObject({ name: 'ada@example.com' });
    login.claims = undefined;
    expect(await callerOf(SETTINGS)).toBeUndefined();
  });
});
