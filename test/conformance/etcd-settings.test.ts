import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { StoreDeniedError, StoreUnavailableError } from '../../src/lease/store';
import { NoContainerError } from '../../src/stores/client-error';
import { EtcdError, FAULTS } from '../../src/stores/etcd/errors';
import { exchangesWith } from '../../src/stores/etcd/members';
import { clusterOf } from '../../src/stores/http/url';
import { isStoreUrl, openElectionStore, openStore } from '../../src/stores/open';
import { systemClock } from '../../src/system-clock';

function open(url: string) {
  return openStore({ settings: { CRONLEASE_STORAGE: url }, container: undefined, clock: systemClock });
}

describe('a URL of etcd', () => {
  it.each([
    ['etcd://h', { location: 'etcd://h:2379', members: [{ host: 'h', port: 2379 }], prefix: '', tls: undefined }],
    ['etcds://ann:p%40ss@h:1/', { location: 'etcds://h:1', user: 'ann', password: 'p@ss', prefix: '', tls: {} }],
    ['etcd://a:p:w@[::1]:1,b', { location: 'etcd://[::1]:1,b:2379', password: 'p:w', members: [{ host: '::1' }, {}] }],
    ['ETCD://h/team/jobs/', { location: 'etcd://h:2379/team/jobs', prefix: '/team/jobs' }],
    ['etcds://h?cacert=%2Fca.pem&cert=c&key=k', { tls: { cacert: '/ca.pem', cert: 'c', key: 'k' } }],
  ])('%s is read', (url, expected) => {
    expect(clusterOf(url)).toMatchObject(expected);
  });

  it.each(['', 'h#x', 'h?x=y', 'h?cacert=f', 'h:0', 'h:70000', 'h h', 'a,,b', 'h:1:2', '[h', 'h/é', 'x@h'])(
    'is refused if its place is "%s", without its password',
    (place) => {
      const secret = 's3cret-of-mine';
      const wrong = `etcd://u:${secret}@${place}`;
      expect(() => open(wrong)).toThrow(expect.objectContaining({ code: 'ConnectionStringInvalid' }));
      expect(() => open(wrong)).toThrow(/is not a URL of etcd: .*\. It looks like etcds:\/\//);
      expect(() => open(wrong)).not.toThrow(new RegExp(secret));
    },
  );

  it('is refused if its password has a "%" that escapes nothing', () => {
    expect(() => open('etcd://u:100%@h')).toThrow(/escapes nothing/);
  });

  it('names a store and its elections, by a location without credentials', () => {
    const url = 'etcd://u:s3cret@h,b:3/p?insecure=allow';
    expect(isStoreUrl(url)).toBe(true);
    expect(open(url).location).toBe('etcd://h:2379,b:3/p/cronlease');
    const connection = { settings: { CRONLEASE_STORAGE: url }, container: 'other', clock: systemClock };
    expect(openElectionStore(connection).location).toBe('etcd://h:2379,b:3/p/other');
  });
});

describe('an error of etcd', () => {
  it.each([
    [new EtcdError(403, 7, 'etcdserver: permission denied'), 'role', 'denied', 'prefix of the container'],
    [new EtcdError(400, 3, 'etcdserver: user name is empty'), 'credentials', 'denied', 'Check both'],
    [new EtcdError(400, 3, 'etcdserver: authentication failed, …'), 'credentials', 'denied', 'Check both'],
    [new EtcdError(412, 9, 'etcdserver: authentication is not enabled'), 'credentials', 'denied', 'Check both'],
    [new EtcdError(401, 16, 'etcdserver: invalid auth token'), 'credentials', 'denied', 'Check both'],
    [new EtcdError(503, 14, 'etcdserver: no leader'), undefined, 'error', 'may or may not'],
    [new EtcdError(429, 8, 'etcdserver: too many requests'), undefined, 'throttled', 'may or may not'],
    [new EtcdError(429, 8, 'etcdserver: mvcc: database space exceeded'), undefined, 'throttled', 'auto-compaction'],
    [new EtcdError(404, undefined, 'no answer of etcd'), undefined, 'error', 'enable-grpc-gateway'],
    [new NoContainerError('there is no key'), undefined, 'error', 'container does not exist'],
    [new Error('connect ECONNREFUSED'), undefined, 'noAnswer', 'both use TLS'],
  ])('%s', (error, why, result, remedy) => {
    const translated = FAULTS.failure(error, 'list jobs at etcd://h');
    expect(translated.message).toMatch(/^list jobs at etcd:\/\/h: /);
    expect(translated.message).toContain(remedy);
    expect(translated).toBeInstanceOf(why === undefined ? StoreUnavailableError : StoreDeniedError);
    expect(translated instanceof StoreDeniedError ? translated.why : undefined).toBe(why);
    expect(FAULTS.resultOf(error)).toBe(result);
  });
});

describe('a sign-in to etcd', () => {
  const servers: http.Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.close();
      server.closeAllConnections();
    }
  });

  it('that another caller has given up keeps no one from a call', async () => {
    let signIns = 0;
    const server = http.createServer((request, response) => {
      const isSignIn = request.url === '/v3/auth/authenticate';
      if (isSignIn) signIns += 1;
      // The first one is answered late.
      void wait(isSignIn && signIns === 1 ? 1_000 : 0).then(() =>
        response.writeHead(200).end(JSON.stringify(isSignIn ? { token: 't' } : { header: {} })),
      );
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const exchange = exchangesWith(clusterOf(`etcd://u:p@127.0.0.1:${String(port)}`));
    const hasty = exchange('kv/txn', {}, AbortSignal.timeout(100));
    const calls = [1, 2, 3].map(() => exchange('kv/txn', {}, AbortSignal.timeout(5_000)));
    await expect(hasty).rejects.toThrow();
    await expect(Promise.all(calls)).resolves.toHaveLength(3);
    expect(signIns).toBe(2);
  });
});
