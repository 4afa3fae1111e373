import { RestError } from '@azure/storage-blob';
import { describe, expect, it } from 'vitest';
import { failure as failureOfBlobs } from '../../src/stores/azure-blob/ask';
import { ConsulError, FAULTS as OF_CONSUL } from '../../src/stores/consul/errors';
import { EtcdError, FAULTS as OF_ETCD } from '../../src/stores/etcd/errors';
import { FAULTS as OF_POSTGRES } from '../../src/stores/postgres/errors';
import { FAULTS as OF_REDIS } from '../../src/stores/redis/errors';

describe('an answer of PostgreSQL that it lacks something', () => {
  const answer = (code: string, message: string): Error =>
    Object.assign(new Error(message), { code, severity: 'ERROR' });

  it.each([
    ['53300', 'sorry, too many clients already', 'throttled', /Raise max_connections/],
    [
      '53100',
      'could not extend file "base/5/16384": No space left on device',
      'error',
      /The disk of the server is full/,
    ],
    ['53200', 'out of memory', 'error', /may or may not have taken effect/],
  ])('%s says what: %s', (code, message, result, remedy) => {
    const error = answer(code, message);
    expect(OF_POSTGRES.failure(error, 'list jobs').message).toMatch(remedy);
    expect(OF_POSTGRES.resultOf(error)).toBe(result);
  });
});

describe('a refusal of Blob Storage', () => {
  const refusal = (code: string): string =>
    failureOfBlobs(new RestError(code, { code, statusCode: 403 }), 'list jobs').message;

  it.each([
    ['AccountIsDisabled', /The account is disabled/],
    ['AuthorizationPermissionMismatch', /Assign the role/],
  ])('%s leads to its remedy', (code, remedy) => {
    expect(refusal(code)).toMatch(remedy);
  });
});

describe('an answer that is too long to be shown', () => {
  const long = 'rpc error: '.repeat(40);

  it.each([
    [
      'Consul',
      OF_CONSUL.failure(new ConsulError(500, `${long}Missing node registration`), 'list jobs'),
      /removed from/,
    ],
    [
      'Consul',
      OF_CONSUL.failure(new ConsulError(500, 'rpc error\nPermission denied'), 'list jobs'),
      /Grant this token/,
    ],
    ['etcd', OF_ETCD.failure(new EtcdError(500, 8, `${long}database space exceeded`), 'list jobs'), /database of the/],
  ])('leads to its remedy whatever is shown of it: %s', (_store, error, remedy) => {
    expect(error.message).toMatch(remedy);
  });
});

describe('an identity without a token', () => {
  it.each([
    ['PostgreSQL', OF_POSTGRES.failure],
    ['Redis', OF_REDIS.failure],
  ])('of a store that takes only a managed identity is told what else it takes: %s', (_store, failure) => {
    const error = Object.assign(new Error('no managed identity endpoint'), { name: 'CredentialUnavailableError' });
    const { message } = failure(error, 'list jobs');
    expect(message).toMatch(/endpoint\. Give the app a managed identity; a person names a URL with a password/);
    // Which would be of no use.
    expect(message).not.toContain('az login');
  });
});

describe('a token service that is down', () => {
  it.each([
    ['blobs', failureOfBlobs],
    ['PostgreSQL', OF_POSTGRES.failure],
    ['Redis', OF_REDIS.failure],
  ])('is no refusal of the caller: %s', (_store, failure) => {
    const error = (statusCode: number): Error =>
      Object.assign(new Error('token service'), { name: 'AuthenticationError', statusCode });
    expect(failure(error(503), 'list jobs').code).toBe('StoreUnavailable');
    expect(failure(error(429), 'list jobs').code).toBe('StoreUnavailable');
    expect(failure(error(400), 'list jobs').code).toBe('StoreDenied');
  });
});
