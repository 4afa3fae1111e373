import { describe, expect, it } from 'vitest';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { kindOfCall } from '../../src/stores/azure-blob/count-calls';

const BLOB = 'https://account.blob.core.windows.net/cronlease/jobs/nightly/lease';
const CONTAINER = 'https://account.blob.core.windows.net/cronlease?restype=container';
const SETTINGS = { CRONLEASE_STORAGE: 'UseDevelopmentStorage=true' };

describe('the kind of a call to storage', () => {
  it.each([
    ['GET', `${CONTAINER}&comp=list&prefix=jobs%2F`, undefined, 'listing'],
    ['PUT', CONTAINER, undefined, 'container'],
    ['GET', BLOB, undefined, 'read'],
    ['HEAD', BLOB, undefined, 'properties'],
    ['PUT', BLOB, undefined, 'write'],
    ['DELETE', BLOB, undefined, 'delete'],
    ['PUT', `${BLOB}?comp=metadata`, undefined, 'metadata'],
    ['PUT', `${BLOB}?comp=appendblock`, undefined, 'append'],
    ['PUT', `${BLOB}?comp=lease`, 'acquire', 'acquire'],
    ['PUT', `${BLOB}?comp=lease`, 'renew', 'renew'],
    ['PUT', `${BLOB}?comp=lease`, 'change', 'change'],
    ['PUT', `${BLOB}?comp=lease`, 'release', 'release'],
    ['PUT', `${BLOB}?comp=lease`, 'break', 'break'],
  ])('%s %s with lease action %s is %s', (method, url, leaseAction, kind) => {
    expect(kindOfCall({ method, url, leaseAction })).toBe(kind);
  });

  it('is refused where it is unknown, so that no call goes uncounted', () => {
    expect(() => kindOfCall({ method: 'PATCH', url: `${BLOB}?comp=new`, leaseAction: undefined })).toThrow('comp=new');
  });
});

it('adds nothing to the pipeline where nobody counts', () => {
  const factories = (sending?: Parameters<typeof connectContainer>[2]): number => {
    const { pipeline } = connectContainer(SETTINGS, 'cronlease', sending) as unknown as {
      readonly pipeline: { readonly factories: readonly unknown[] };
    };
    return pipeline.factories.length;
  };
  expect(factories({ onCall: () => undefined })).toBe(factories() + 1);
});
