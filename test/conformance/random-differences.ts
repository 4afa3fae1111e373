import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BlockBlobClient } from '@azure/storage-blob';
import type { JobName, LeaseId, Millis } from '../../src/core/brand';
import type { LeaseState, LeaseStore } from '../../src/lease/store';
import { codeOf } from '../../src/stores/azure-blob/ask';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { startAzurite } from '../support/azurite';
import type { Asked } from './random-calls';

/** A blob on the emulator, and the emulator's clock. */
interface Probe {
  readonly blob: BlockBlobClient;
  pass(ms: Millis): void;
}

/** Where the emulator answers otherwise than Azure does, or may. */
interface KnownDifference {
  readonly name: string;
  /** What Azure does, and where that is said. */
  readonly azure: string;
  readonly source: string;
  readonly emulator: string;
  /** Shows that it is still so: a difference that is no more must leave this list. */
  occurs(probe: Probe): Promise<boolean>;
  /** Absent: it is not to be seen through the port, and excuses nothing. */
  readonly excuse?: Excuse;
}

/** What a difference excuses in a random sequence. */
export interface Excuse {
  /** Whether this call, on a row whose lease is so and was last taken by `holder`, makes the difference. */
  applies(call: Asked, lease: LeaseState | undefined, holder: LeaseId): boolean;
  /** Does to memory what the emulator has done to itself. */
  follow(memory: LeaseStore, job: JobName, holder: LeaseId): Promise<unknown>;
}

const LEASE_BLOB = 'https://learn.microsoft.com/rest/api/storageservices/lease-blob';
const A = '00000000-0000-4000-8000-00000000000a';
const B = '00000000-0000-4000-8000-00000000000b';

export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  {
    name: 'wrong-id-renews-expired',
    azure: 'a renewal with another id than the lease’s is refused with 409, also when the lease has expired',
    source: `${LEASE_BLOB}#outcomes-of-lease-operations-on-blobs-by-lease-state`,
    emulator: 'an expired lease is renewed whatever id is sent, and the answer carries the id that it had',
    async occurs({ blob, pass }) {
      await blob.getBlobLeaseClient(A).acquireLease(15);
      pass(16_000);
      const { leaseId } = await blob.getBlobLeaseClient(B).renewLease();
      return leaseId === A && (await leaseState(blob)) === 'leased';
    },
    excuse: {
      applies: (call, lease, holder) => call.kind === 'renew' && lease === 'expired' && call.leaseId !== holder,
      follow: (memory, job, holder) => memory.renew(job, holder),
    },
  },
  {
    name: 'write-after-expiry',
    azure:
      'documented as here: a write with the id of an expired lease is refused with 412. A user saw it pass. Neither ' +
      'can harm: every write of a row brings If-Match as well',
    source: `${LEASE_BLOB}#outcomes-of-use-attempts-on-blobs-by-lease-state, https://github.com/Azure/Azurite/issues/2352`,
    emulator: 'it is refused with 412',
    async occurs({ blob, pass }) {
      await blob.getBlobLeaseClient(A).acquireLease(15);
      pass(16_000);
      return refused(blob.setMetadata({ a: '1' }, { conditions: { leaseId: A } }), 'LeaseNotPresentWithBlobOperation');
    },
  },
  {
    name: 'create-on-leased',
    azure: 'creating a blob that is there and leased, with If-None-Match: *, is refused with 412 LeaseIdMissing',
    source: 'https://github.com/Azure/Azurite/issues/2637',
    emulator: 'it is refused with 409 BlobAlreadyExists, as if it were not leased',
    async occurs({ blob }) {
      await blob.getBlobLeaseClient(A).acquireLease(15);
      return refused(blob.upload('', 0, { conditions: { ifNoneMatch: '*' } }), 'BlobAlreadyExists');
    },
  },
  {
    name: 'any-lease-id',
    azure: 'a lease id that is no GUID is refused with 400',
    source: 'https://github.com/Azure/Azurite/issues/2367',
    emulator: 'it is taken',
    async occurs({ blob }) {
      const { leaseId } = await blob.getBlobLeaseClient('mine').acquireLease(15);
      return leaseId === 'mine';
    },
  },
  {
    name: 'metadata-unlimited',
    azure: 'more than 8 KB of metadata are refused with 400',
    source:
      'https://learn.microsoft.com/rest/api/storageservices/setting-and-retrieving-properties-and-metadata-for-blob-resources',
    emulator: 'they are taken; the stores refuse them before the call',
    async occurs({ blob }) {
      await blob.setMetadata({ a: 'x'.repeat(9000) });
      return true;
    },
  },
  {
    name: 'range-at-end',
    azure: 'a range that begins at the end of a blob is refused with 416 InvalidRange',
    source: 'https://learn.microsoft.com/rest/api/storageservices/get-blob',
    emulator: 'it is empty; further behind the end it is refused; the store answers with nothing either way',
    async occurs({ blob }) {
      await blob.upload('12', 2);
      const { contentLength } = await blob.download(2);
      return contentLength === 0 && refused(blob.download(3), 'InvalidRange');
    },
  },
  {
    name: 'lease-ends-on-time',
    azure: 'a lease that has run out may be kept from others for up to a minute',
    source: `${LEASE_BLOB}#remarks, https://github.com/Azure/azure-sdk-for-java/issues/23294`,
    emulator: 'it can be taken by another to the millisecond; in memory too, where nothing may rest on that',
    async occurs({ blob, pass }) {
      await blob.getBlobLeaseClient(A).acquireLease(15);
      pass(14_999);
      const held = await refused(blob.getBlobLeaseClient(B).acquireLease(15), 'LeaseAlreadyPresent');
      pass(1);
      const { leaseId } = await blob.getBlobLeaseClient(B).acquireLease(15);
      return held && leaseId === B;
    },
  },
  {
    name: 'forgets-at-restart',
    azure: 'leases outlast whatever restarts there',
    source: 'https://learn.microsoft.com/azure/storage/common/storage-redundancy',
    emulator: 'a lease that is held reads as expired after a restart on the same files',
    async occurs() {
      const folder = mkdtempSync(path.join(tmpdir(), 'azurite-'));
      try {
        const before = await onEmulatorOf(folder, async (blob) => {
          await blob.upload('', 0);
          await blob.getBlobLeaseClient(A).acquireLease(60);
          return leaseState(blob);
        });
        const after = await onEmulatorOf(folder, leaseState);
        return before === 'leased' && after === 'expired';
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  },
];

async function leaseState(blob: BlockBlobClient): Promise<string | undefined> {
  return (await blob.getProperties()).leaseState;
}

async function refused(call: Promise<unknown>, code: string): Promise<boolean> {
  try {
    await call;
    return false;
  } catch (error) {
    if (codeOf(error) !== code) throw error;
    return true;
  }
}

async function onEmulatorOf<T>(folder: string, use: (blob: BlockBlobClient) => Promise<T>): Promise<T> {
  const azurite = await startAzurite(folder);
  try {
    const container = connectContainer({ CRONLEASE_STORAGE: azurite.connectionString }, 'restarted');
    await container.createIfNotExists();
    return await use(container.getBlockBlobClient('blob'));
  } finally {
    await azurite.stop();
  }
}
