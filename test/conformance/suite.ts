import { describe, it } from 'vitest';
import type { EpochMs, ETag, JobName, LeaseId, Millis } from '../../src/core/brand';
import type { LeaseBreaking, LeaseStore, Metadata } from '../../src/lease/store';
import { auditCases } from './cases/audits';
import { noticeCases } from './cases/notices';
import { brokenCases } from './cases/broken';
import { controlCases } from './cases/control';
import { expiryCases } from './cases/expiry';
import { ledgerCases } from './cases/ledger';
import { groupCases } from './cases/groups';
import { leaseCases } from './cases/lease';
import { listingCases } from './cases/listing';
import { logCases } from './cases/logs';
import { metadataCases } from './cases/metadata';
import { presenceCases, removalCases } from './cases/operator';
import { pieceCases } from './cases/pieces';
import { requestCases } from './cases/requests';
import { rowCases } from './cases/row';
import { signalCases } from './cases/signal';

/** A storage service without content, as one test sees it. */
export interface Harness {
  /** A handle of one instance, with its own client. All handles see the same rows. */
  open(options?: { readonly pageSize?: number }): LeaseStore;
  /** `writeRow`, made by another process (where the store can be used from several), that knows the guard only. */
  writeRowElsewhere(
    job: JobName,
    metadata: Metadata,
    guard: { readonly leaseId: LeaseId; readonly ifMatch: ETag },
  ): ReturnType<LeaseStore['writeRow']>;
  /** Lets time pass for the service. */
  pass(ms: Millis): Promise<void>;
  /** The service's clock, within a second. */
  now(): EpochMs;
  close(): Promise<void>;
}

/** Of a store whose leases someone else than their holder can end. */
export interface BreakingHarness extends Harness {
  open(options?: { readonly pageSize?: number }): LeaseStore & LeaseBreaking;
  /** Breaks a row's lease from outside, as a person may. */
  breakLease(job: JobName, periodMs: Millis): Promise<void>;
}

type TestOf<Given> = (title: string, body: (harness: Given) => Promise<void>) => void;
export type BreakingTest = TestOf<BreakingHarness>;
export type Test = TestOf<Harness>;

/**
 * What every LeaseStore must do. The test file of an adapter calls this with a way to open an empty service of its
 * kind. A store with `breakLease` passes {@link brokenLeaseConformance} as well, and one that is reached over a network
 * `remoteStoreConformance`. No case looks behind the port.
 *
 * The service's own cases run one after another. Those that wait for leases to end share one wait of 16 s, because a
 * real service has no clock to set.
 *
 * The emulator (Azurite) differs from Azure in these points. The cases allow for both, but where leases
 * last longer than asked for, the wait of 16 s must be longer too:
 * - `wrong-id-renews-expired`: a renewal of an expired lease with any other id answers 200, with the lease's own id.
 * - `create-on-leased`: `If-None-Match: *` on a leased blob answers 409 BlobAlreadyExists, Azure 412 LeaseIdMissing.
 * - `missing-with-if-match`: a missing blob asked for with If-Match may answer 412, Azure 404.
 * - `lease-ends-on-time`: a lease ends within 10 ms of its length; Azure may keep it from others up to a minute longer.
 * - `metadata-unlimited`: more than 8 KB of metadata are taken; the adapters refuse them before the call.
 * - `range-at-end`: a range that begins right at the end of a blob is empty; Azure refuses it with 416.
 * - `slow-pages`: a listing page of more than 500 blobs keeps the emulator busy for half a second.
 * - `forgets-at-restart`: a restart loses lease deadlines and the last seconds' writes; no case restarts it.
 */
export function leaseStoreConformance(name: string, open: () => Promise<Harness>): void {
  const test = testOf(open);
  describe(`${name} is a LeaseStore`, () => {
    claimCases(test);
    describe('lease that ends', () => {
      expiryCases(open);
    });
    describe('listing', () => {
      listingCases(test);
    });
    describe('logs', () => {
      logCases(test);
    });
    describe('pieces', () => {
      pieceCases(test);
    });
    describe('input of a request', () => {
      requestCases(test);
    });
    describe('removal', () => {
      removalCases(test);
    });
    describe('presence', () => {
      presenceCases(test);
    });
    describe('notices', () => {
      noticeCases(test);
    });
    describe('audit', () => {
      auditCases(test);
    });
    describe('signal', () => {
      signalCases(test);
    });
    describe('metadata', () => {
      metadataCases(test);
    });
  });
}

/** The share of {@link leaseStoreConformance} that `npm test` plays on servers: all that a claim relies on. */
export function leaseStoreShare(name: string, open: () => Promise<Harness>): void {
  describe(`${name} is a LeaseStore, in what a claim relies on`, () => {
    claimCases(testOf(open));
  });
}

function claimCases(test: Test): void {
  describe('row', () => {
    rowCases(test);
  });
  describe('lease', () => {
    leaseCases(test);
  });
  describe('control', () => {
    controlCases(test);
  });
  describe('ledger', () => {
    ledgerCases(test);
  });
  describe('group', () => {
    groupCases(test);
  });
}

/** What a store with `breakLease` must do beside {@link leaseStoreConformance}. */
export function brokenLeaseConformance(name: string, open: () => Promise<BreakingHarness>): void {
  describe(`${name} has leases that can be broken`, () => {
    brokenCases(testOf(open));
  });
}

function testOf<Given extends Harness>(open: () => Promise<Given>): TestOf<Given> {
  return (title, body) => {
    it(title, async () => {
      const harness = await open();
      try {
        await body(harness);
      } finally {
        await harness.close();
      }
    });
  };
}
