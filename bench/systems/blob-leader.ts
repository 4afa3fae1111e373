import { BlobServiceClient, RestError } from '@azure/storage-blob';
import { setTimeout } from 'node:timers/promises';
import { handle } from '../record';
import { endProcess, onCron } from './on-cron';
import { work } from './worker';

/** The shortest that blobs have, and renewals and attempts to match: the pattern's sample has 60 s, 45 s and 65 s. */
const LEASE_S = 15;
const EVERY_MS = 5_000;

// One worker leases one blob, and runs all jobs while it can renew the lease; the others try to get it.
work(async ({ jobs, address }) => {
  const container = BlobServiceClient.fromConnectionString(address).getContainerClient('leader');
  await container.createIfNotExists();
  const blob = container.getBlockBlobClient('leader');
  try {
    await blob.upload('', 0, { conditions: { ifNoneMatch: '*' } });
  } catch (error) {
    if (!(error instanceof RestError && (error.statusCode === 409 || error.statusCode === 412))) throw error;
  }
  const campaign = async (): Promise<never> => {
    for (;;) {
      const lease = blob.getBlobLeaseClient();
      try {
        await lease.acquireLease(LEASE_S);
      } catch (error) {
        if (!(error instanceof RestError && error.statusCode === 409)) throw error;
        await setTimeout(EVERY_MS);
        continue;
      }
      const stop = onCron(jobs, (job, due) => handle(job.name, due, job.handlerMs), endProcess);
      try {
        for (;;) {
          await setTimeout(EVERY_MS);
          await lease.renewLease();
        }
      } catch (error) {
        console.error('The lease is lost.', error);
        stop();
      }
    }
  };
  campaign().catch(endProcess);
});
