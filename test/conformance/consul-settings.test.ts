import { describe, expect, it } from 'vitest';
import { StoreDeniedError, StoreUnavailableError } from '../../src/lease/store';
import { NoContainerError } from '../../src/stores/client-error';
import { ConsulError, FAULTS } from '../../src/stores/consul/errors';
import { agentsOf } from '../../src/stores/http/url';
import { transactionIn } from '../../src/stores/consul/wire';
import { isStoreUrl, openElectionStore, openStore } from '../../src/stores/open';
import { systemClock } from '../../src/system-clock';

function open(url: string) {
  return openStore({ settings: { CRONLEASE_STORAGE: url }, container: undefined, clock: systemClock });
}

describe('a URL of Consul', () => {
  it.each([
    ['consul://h', { location: 'consul://h:8500', members: [{ host: 'h', port: 8500 }], token: undefined }],
    ['consuls://:t%40ken@h:1/', { location: 'consuls://h:1', token: 't@ken', prefix: '', tls: {} }],
    ['CONSUL://h,[::1]:2/team/jobs/', { location: 'consul://h:8500,[::1]:2/team/jobs', prefix: '/team/jobs' }],
    ['consuls://h?cacert=%2Fca.pem&cert=c&key=k', { tls: { cacert: '/ca.pem', cert: 'c', key: 'k' } }],
  ])('%s is read', (url, expected) => {
    expect(agentsOf(url)).toMatchObject(expected);
  });

  it.each([
    ['h#x', /must be %23/],
    ['h?cacert=f', /are for consuls:\/\//],
    ['h:0', /port/],
    ['a,,b', /HOST or HOST:PORT/],
  ])('is refused if its place is "%s", without its token', (place, why) => {
    const wrong = `consul://:s3cret-of-mine@${place}`;
    expect(() => open(wrong)).toThrow(expect.objectContaining({ code: 'ConnectionStringInvalid' }));
    expect(() => open(wrong)).toThrow(why);
    expect(() => open(wrong)).not.toThrow(/s3cret/);
  });

  it('is refused if it names a user, which Consul does not know', () => {
    expect(() => open('consul://s3cret@h')).toThrow(/give the token of the ACL as :TOKEN@\. It looks like consuls:/);
    expect(() => open('consul://s3cret@h')).not.toThrow(/s3cret/);
  });

  it('names a store and its elections, by a location without credentials', () => {
    const url = 'consul://:s3cret@h,b:3/p?insecure=allow';
    expect(isStoreUrl(url)).toBe(true);
    expect(open(url).location).toBe('consul://h:8500,b:3/p/cronlease');
    const connection = { settings: { CRONLEASE_STORAGE: url }, container: 'other', clock: systemClock };
    expect(openElectionStore(connection).location).toBe('consul://h:8500,b:3/p/other');
  });
});

describe('an error of Consul', () => {
  it.each([
    [new ConsulError(403, 'Permission denied'), 'role', 'denied', 'sessions on that'],
    [new ConsulError(403, 'ACL not found'), 'credentials', 'denied', 'Check it'],
    [new ConsulError(500, 'No cluster leader'), undefined, 'error', 'may or may not'],
    [new ConsulError(500, 'Missing node registration'), undefined, 'error', 'Restart an app'],
    [new ConsulError(429, 'Your IP is issuing too many requests'), undefined, 'throttled', 'may or may not'],
    [new ConsulError(413, 'Request body too large'), undefined, 'error', 'txn_max_req_len'],
    [new ConsulError(404, 'no answer of Consul'), undefined, 'error', '1.8 or later'],
    [new NoContainerError('there is no key'), undefined, 'error', 'container does not exist'],
    [new Error('connect ECONNREFUSED'), undefined, 'noAnswer', 'both use TLS'],
  ])('%s', (error, why, result, remedy) => {
    const translated = FAULTS.failure(error, 'list jobs at consul://h');
    expect(translated.message).toMatch(/^list jobs at consul:\/\/h: /);
    expect(translated.message).toContain(remedy);
    expect(translated).toBeInstanceOf(why === undefined ? StoreUnavailableError : StoreDeniedError);
    expect(translated instanceof StoreDeniedError ? translated.why : undefined).toBe(why);
    expect(FAULTS.resultOf(error)).toBe(result);
  });
});

describe('a transaction of Consul that was not carried out', () => {
  const answered = (what: string) => transactionIn(409, { Results: null, Errors: [{ OpIndex: 1, What: what }] });

  it.each(['cronlease/jobs/oracle-sync/', 'acl-denied/jobs/nightly/'])(
    'is a lost race whatever the key is called: %s',
    (key) => {
      const refused = { found: undefined, refused: [1] };
      expect(answered(`failed to set key "${key}", index is stale`)).toEqual(refused);
      expect(answered(`failed index check for key "${key}", current modify index 7 != 6`)).toEqual(refused);
      expect(answered(`key "${key}" doesn't exist`)).toEqual(refused);
    },
  );

  it.each([
    'Permission denied',
    `Permission denied: token with AccessorID '7' lacks permission 'key:write' on "cronlease/jobs/nightly/"`,
    'ACL not found',
  ])('is a refusal of the token: %s', (what) => {
    expect(() => answered(what)).toThrow(ConsulError);
  });
});
