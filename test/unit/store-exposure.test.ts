import { describe, expect, it, vi } from 'vitest';
import { openElectionStore, openShards, openStore, type Settings } from '../../src/stores/open';
import { checkStorage } from '../../src/operator/doctor/storage';
import { exposedTo } from '../../src/stores/exposure';
import { databaseOf, scopeOf } from '../../src/stores/postgres/settings';
import type { Trial } from '../../src/lease/trial';
import { systemClock } from '../../src/system-clock';

const CREDENTIAL = { CRONLEASE_STORAGE__credential: 'managedidentity' };

function opening(url: string, more: Settings = {}): () => unknown {
  return () => openStore({ settings: { CRONLEASE_STORAGE: url, ...more }, container: undefined, clock: systemClock });
}

const refused = expect.objectContaining({ code: 'StorageInsecure' });

const PLAIN = [
  'postgres://u:s3cret@db.example/app',
  'postgresql://u:s3cret@10.0.0.1/app?sslmode=disable',
  // libpq, and pg from version 9 on, verify nothing then.
  'postgres://u:s3cret@db.example/app?sslmode=require',
  'postgres://u:s3cret@db.example/app?sslmode=prefer',
  'postgres://u:s3cret@db.example/app?sslmode=no-verify',
  'postgres://u:s3cret@db.example/app?ssl=no-verify',
  'postgres:///app?host=db.example',
  // pg takes the last one.
  'postgres://u:s3cret@db.example/app?sslmode=verify-full&sslmode=disable',
  'postgres:///app?host=127.0.0.1&host=db.example',
  'postgres://u:s3cret@db.example/app?sslrootcert=',
  // Then pg takes a certificate of any host, as libpq does.
  'postgres://u:s3cret@db.example/app?uselibpqcompat=true&sslmode=verify-ca&sslrootcert=ca.pem',
  'redis://:s3cret@cache.example',
  'valkey://cache.example:6380/1?waitReplicas=1',
  'etcd://u:s3cret@127.0.0.1,b.example:2379/p',
  'consul://:s3cret@agent.example',
  'zk://u:s3cret@127.0.0.1:2181,[2001:db8::1]:2181/apps',
];

const VERIFIED = [
  'postgres://u:s3cret@db.example/app?sslmode=verify-full',
  'postgres://u:s3cret@db.example/app?sslmode=verify-ca&sslrootcert=ca.pem',
  'postgres://u:s3cret@db.example/app?ssl=true',
  'postgres://u:s3cret@db.example/app?sslnegotiation=direct',
  'rediss://:s3cret@cache.example',
  'etcds://u:s3cret@a.example,b.example',
  'consuls://:s3cret@agent.example',
  'zks://u:s3cret@a.example/apps',
];

const HERE = [
  'postgres://u:s3cret@127.0.0.1/app',
  'postgres:///app?host=/var/run/postgresql',
  'postgres://%2Fvar%2Frun%2Fpostgresql/app',
  'redis://:s3cret@localhost',
  'etcd://127.0.0.1:2379,[::1]:2380',
  'consul://:s3cret@127.0.1.1',
  'zk://u:s3cret@LOCALHOST/apps',
];

describe('a store at another host', () => {
  it.each(PLAIN)('is refused without TLS that is verified: %s', (url) => {
    expect(opening(url)).toThrow(refused);
    expect(opening(url)).toThrow(/example|10\.0\.0\.1|2001:db8::1/);
    expect(opening(url)).toThrow(/use (\w+s:\/\/|sslmode=verify-full), or add insecure=allow/);
    expect(opening(url)).not.toThrow(/s3cret/);
    const settings = { CRONLEASE_STORAGE: url };
    expect(() => openElectionStore({ settings, container: undefined, clock: systemClock })).toThrow(refused);
    expect(() => openShards({ settings: { EAST: url }, container: undefined, clock: systemClock }, ['EAST'])).toThrow(
      /^EAST would send/,
    );
  });

  it.each(PLAIN)('is used all the same if the URL allows it: %s', (url) => {
    expect(opening(`${url}${url.includes('?') ? '&' : '?'}insecure=allow`)).not.toThrow();
    expect(opening(url.includes('?') ? url.replace('?', '?insecure=allow&') : `${url}?insecure=allow`)).not.toThrow();
    expect(opening(`${url}${url.includes('?') ? '&' : '?'}insecure=yes`)).toThrow(refused);
  });

  it.each(VERIFIED)('is used over TLS that is verified, by an identity too: %s', (url) => {
    expect(opening(url, CREDENTIAL)).not.toThrow();
  });

  it.each(HERE)('is used without TLS where it is on this machine: %s', (url) => {
    expect(opening(url)).not.toThrow();
  });

  it('is that of the environment where the URL of PostgreSQL names none', () => {
    vi.stubEnv('PGHOST', 'db.example');
    expect(opening('postgres:///app')).toThrow(refused);
    vi.stubEnv('PGSSLMODE', 'verify-full');
    expect(opening('postgres:///app')).not.toThrow();
    vi.stubEnv('PGSSLMODE', 'require');
    expect(opening('postgres:///app')).toThrow(refused);
    vi.unstubAllEnvs();
    expect(opening('postgres:///app')).not.toThrow();
  });

  it('gets no shared access signature of a storage account without TLS', () => {
    const sas = 'SharedAccessSignature=sv=1&sig=s3cret';
    expect(opening(`BlobEndpoint=http://blobs.example/a;${sas}`)).toThrow(refused);
    expect(opening(`BlobEndpoint=http://blobs.example/a;${sas}`)).not.toThrow(/s3cret/);
    expect(opening(`DefaultEndpointsProtocol=http;AccountName=a;${sas}`)).toThrow(refused);
    expect(opening(`BlobEndpoint=https://blobs.example/a;${sas}`)).not.toThrow();
    expect(opening(`BlobEndpoint=http://127.0.0.1:10000/a;${sas}`)).not.toThrow();
  });
});

describe("an identity's token", () => {
  it.each([
    ['a.postgres.database.azure.com', 'windows.net'],
    ['a.postgres.database.usgovcloudapi.net', 'usgovcloudapi.net'],
    ['a.postgres.database.chinacloudapi.cn', 'chinacloudapi.cn'],
    ['db.example', 'windows.net'],
  ])('for PostgreSQL at %s is one of its cloud', (host, cloud) => {
    const database = databaseOf(`postgres://u@${host}/app?sslmode=verify-full`);
    expect(scopeOf(database)).toBe(`https://ossrdbms-aad.database.${cloud}/.default`);
  });

  it.each([
    'postgres://u@db.example/app',
    'postgres://u@127.0.0.1/app',
    'redis://u@cache.example',
    'redis://localhost',
  ])('is never sent without TLS that is verified: %s', (url) => {
    for (const allowed of [url, `${url}?insecure=allow`]) expect(opening(allowed, CREDENTIAL)).toThrow(refused);
  });
});

describe('doctor', () => {
  const trial = { container: 'there', failures: new Map(), untried: [], nouns: {}, remedies: {} } as unknown as Trial;
  const found = (message: string | undefined) =>
    checkStorage('here', { ...trial, exposed: { message, remedy: 'write rediss://' } }).filter(
      ({ check }) => check === 'encryption',
    );

  it('warns of a connection that the URL allows to be without TLS', () => {
    const { exposure } = databaseOf('postgres://u@db.example/app?sslmode=require');
    expect(found(exposedTo(exposure))).toMatchObject([
      { status: 'warning', message: expect.stringMatching(/to db\.example over TLS that need not/) as unknown },
    ]);
  });

  it('says that one is encrypted, or here', () => {
    expect(found(exposedTo(databaseOf('postgres://u@127.0.0.1/app').exposure))).toMatchObject([{ status: 'ok' }]);
  });
});
