import { join } from 'node:path';
import { BlobServiceClient } from '@azure/storage-blob';
import { build } from 'esbuild';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { connectContainer, connectService, type Settings, tokenOf } from '../../src/stores/azure-blob/connection';

/** The credentials that were made, with their options. */
const made = vi.hoisted((): unknown[][] => []);

vi.mock('@azure/identity', () => {
  const credential = (name: string) =>
    class {
      constructor(options?: object) {
        made.push([name, options]);
      }
      getToken = () => Promise.resolve({ token: 'the-token' });
    };
  return {
    DefaultAzureCredential: credential('default'),
    ManagedIdentityCredential: credential('managed'),
  };
});

const KEY = 'c2VjcmV0LXNlY3JldC1zZWNyZXQ=';
const ACCOUNT = `DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=${KEY};EndpointSuffix=core.windows.net`;

function urlOf(connectionString: string): string {
  return connectService({ CRONLEASE_STORAGE: connectionString }).url;
}

function problemOf(settings: Settings): { code: unknown; message: string } {
  try {
    connectContainer(settings);
  } catch (error) {
    if (error instanceof Error && 'code' in error) return { code: error.code, message: error.message };
    throw error;
  }
  return { code: 'none', message: '' };
}

describe('a connection string', () => {
  it.each([
    ['the emulator', 'UseDevelopmentStorage=true', 'http://127.0.0.1:10000/devstoreaccount1'],
    [
      'the emulator, as Windows tools write it',
      ' usedevelopmentstorage=True; ',
      'http://127.0.0.1:10000/devstoreaccount1',
    ],
    [
      'an emulator on another machine, as the host of Functions reads it',
      'UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://azurite',
      'http://azurite:10000/devstoreaccount1',
    ],
    ['an account', ACCOUNT, 'https://acme.blob.core.windows.net/'],
    [
      'another cloud',
      `AccountName=acme;AccountKey=${KEY};EndpointSuffix=core.chinacloudapi.cn`,
      'https://acme.blob.core.chinacloudapi.cn/',
    ],
    ['an account, shortest', `AccountName=acme;AccountKey=${KEY}`, 'https://acme.blob.core.windows.net/'],
    [
      'an endpoint of its own',
      `AccountName=acme;AccountKey=${KEY};BlobEndpoint=http://azurite:10000/acme/`,
      'http://azurite:10000/acme',
    ],
    [
      'a SAS',
      'BlobEndpoint=https://acme.blob.core.windows.net/;SharedAccessSignature=?sv=2024&sig=a%3D',
      'https://acme.blob.core.windows.net/?sv=2024&sig=a%3D',
    ],
  ])('of %s names its service', (_title, connectionString, url) => {
    expect(urlOf(connectionString)).toBe(url);
  });

  it.each([
    ['hello', 'not name=value'],
    ['UseDevelopmentStorage=true;DevelopmentStorageProxyUri=azurite', 'DevelopmentStorageProxyUri is not a URL'],
    [`AccountKey=${KEY}`, 'neither BlobEndpoint nor AccountName'],
    ['AccountName=acme', 'neither AccountKey nor SharedAccessSignature'],
    [`BlobEndpoint=https://acme.blob.core.windows.net;AccountKey=${KEY}`, 'AccountName is missing'],
    [`AccountName=acme;AccountKey=${KEY} and more`, 'AccountKey is not Base64'],
    ['AccountName=acme;AccountKey=', 'AccountKey is not Base64'],
    [`AccountName=acmeAccountKey=${KEY}`, 'AccountName is not'],
    [`AccountName=acme;AccountKey=${KEY};BlobEndpoint=acme`, 'BlobEndpoint is not a URL'],
    [`DefaultEndpointsProtocol=ftp;AccountName=acme;AccountKey=${KEY}`, 'DefaultEndpointsProtocol'],
    [`AccountName=acme;AccountKey=${KEY};EndpointSuffix=not a host`, 'EndpointSuffix'],
  ])('that is malformed is refused without showing it: %s', (connectionString, text) => {
    const { code, message } = problemOf({ CRONLEASE_STORAGE: connectionString });
    expect(code).toBe('ConnectionStringInvalid');
    expect(message).toContain(text);
    expect(message).not.toContain(KEY);
  });

  it('means what the SDK takes it for', () => {
    for (const text of ['UseDevelopmentStorage=true', ACCOUNT]) {
      expect(urlOf(text)).toBe(BlobServiceClient.fromConnectionString(text).url);
    }
  });
});

describe('a service URI', () => {
  const uri = 'https://acme.blob.core.windows.net';

  it.each([
    [{ CRONLEASE_STORAGE__blobServiceUri: uri }],
    [{ CRONLEASE_STORAGE__blobServiceUri: `${uri}/` }],
    [{ CRONLEASE_STORAGE__blobServiceUri: uri, CRONLEASE_STORAGE__credential: 'managedidentity' }],
    [
      {
        CRONLEASE_STORAGE__blobServiceUri: uri,
        CRONLEASE_STORAGE__credential: 'managedIdentity',
        CRONLEASE_STORAGE__clientId: '3f2504e0-4f89-11d3-9a0c-0305e82c3301',
      },
    ],
    [{ CRONLEASE_STORAGE: '', CRONLEASE_STORAGE__blobServiceUri: uri }],
  ])('names the service: %o', (settings) => {
    expect(connectContainer(settings, 'jobs-eu').url).toBe(`${uri}/jobs-eu`);
  });

  it.each([
    ['acme', 'ServiceUriInvalid', /not a URL/],
    ['http://127.0.0.1:10000/devstoreaccount1', 'ServiceUriInvalid', /not https/],
    [`${uri}?sv=2024&sig=secret`, 'ServiceUriInvalid', /query/],
  ])('that cannot be used is refused: %s', (value, code, message) => {
    const problem = problemOf({ CRONLEASE_STORAGE__blobServiceUri: value });
    expect(problem).toMatchObject({ code, message: expect.stringMatching(message) });
    expect(problem.message).not.toContain('secret');
  });

  it('with a credential that is not known is refused', () => {
    const settings = { CRONLEASE_STORAGE__blobServiceUri: uri, CRONLEASE_STORAGE__credential: 'workloadidentity' };
    expect(problemOf(settings)).toMatchObject({
      code: 'CredentialUnknown',
      message: expect.stringMatching(/"workloadidentity".*managedidentity/),
    });
  });

  describe('takes the identity that the settings choose', () => {
    const resourceId = '/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/i';
    const named = (members: Readonly<Record<string, string>>): Settings =>
      Object.fromEntries(Object.entries(members).map(([name, value]) => [`CRONLEASE_STORAGE__${name}`, value]));

    beforeEach(() => made.splice(0));

    it.each([
      [{ credential: 'managedidentity' }, ['managed', undefined]],
      [{ credential: 'managedidentity', clientId: 'c' }, ['managed', { clientId: 'c' }]],
      [{ credential: 'managedidentity', managedIdentityResourceId: resourceId }, ['managed', { resourceId }]],
    ])('%o', async (members, expected) => {
      expect(await tokenOf(named(members), 'scope')?.()).toBe('the-token');
      expect(made).toEqual([expected]);
    });

    it.each([
      [{ clientId: 'c', managedIdentityResourceId: resourceId }, /__managedIdentityResourceId are set/],
      [{ tenantId: 't', clientId: 'c', clientSecret: 's3cret' }, /__clientSecret.*AZURE_CLIENT_SECRET/],
      [{ credential: 'managedidentity', managedIdentityObjectId: 'o' }, /__managedIdentityObjectId/],
    ])('and refuses what would be another one: %o', (members, message) => {
      const problem = problemOf(named({ blobServiceUri: uri, ...members }));
      expect(problem).toMatchObject({ code: 'CredentialUnknown', message: expect.stringMatching(message) });
      expect(problem.message).not.toContain('s3cret');
    });
  });

  it('is what alone leads to @azure/identity, and that when a token is wanted', async () => {
    const { metafile } = await build({
      entryPoints: [
        join(__dirname, '../../src/stores/azure-blob/store.ts'),
        join(__dirname, '../../src/stores/azure-blob/connection.ts'),
      ],
      outdir: 'nowhere',
      bundle: true,
      platform: 'node',
      packages: 'external',
      write: false,
      metafile: true,
    });
    const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
    const identity = imports.filter(({ path }) => path === '@azure/identity');
    expect(identity.map(({ kind }) => kind)).toStrictEqual(['dynamic-import']);
  });
});

describe('settings', () => {
  it('with neither are refused, and the near misses named', () => {
    expect(problemOf({})).toMatchObject({
      code: 'StorageNotSet',
      message: expect.stringMatching(/CRONLEASE_STORAGE .*CRONLEASE_STORAGE__blobServiceUri/),
    });
    expect(problemOf({ CRONLEASE_STORAGE__serviceUri: 'https://x', CRONLEASE_STORAGE: '' }).message).toContain(
      'CRONLEASE_STORAGE__serviceUri',
    );
  });

  it('with both are refused', () => {
    const both = {
      CRONLEASE_STORAGE: ACCOUNT,
      CRONLEASE_STORAGE__blobServiceUri: 'https://acme.blob.core.windows.net',
    };
    const { code, message } = problemOf(both);
    expect(code).toBe('StorageSetTwice');
    expect(message).not.toContain(KEY);
  });

  it('name a container by the service’s rules', () => {
    const settings = { CRONLEASE_STORAGE: ACCOUNT };
    expect(connectContainer(settings).containerName).toBe('cronlease');
    for (const name of ['abc', 'a-1-b', 'x'.repeat(63)])
      expect(connectContainer(settings, name).containerName).toBe(name);
    for (const name of ['', 'ab', 'Cronlease', 'a--b', '-ab', 'ab-', 'a_b', 'x'.repeat(64), '$root']) {
      expect(() => connectContainer(settings, name)).toThrow(expect.objectContaining({ code: 'ContainerNameInvalid' }));
    }
  });
});
