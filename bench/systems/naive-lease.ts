import { BlobServiceClient, type BlockBlobClient, RestError } from '@azure/storage-blob';
import { inParallel } from '../../src/core/in-parallel';
import { handle } from '../record';
import { endProcess, onCron } from './on-cron';
import { work } from './worker';

const LEASE_S = 15;

/** Whether another worker holds the lease. */
function isHeld(error: unknown): boolean {
  return error instanceof RestError && error.statusCode === 409;
}

// At each tick of each job, every worker tries to lease the job's blob. The one that gets it runs the job and releases.
work(async ({ jobs, address }) => {
  const container = BlobServiceClient.fromConnectionString(address).getContainerClient('naive');
  await container.createIfNotExists();
  const blobs = new Map<string, BlockBlobClient>();
  for (const { name } of jobs) blobs.set(name, container.getBlockBlobClient(name));
  await inParallel(blobs.values(), async (blob) => {
    await blob.upload('', 0, { conditions: { ifNoneMatch: '*' } }).catch((error: unknown) => {
      if (!isHeld(error)) throw error;
    });
  });
  onCron(
    jobs,
    async (job, due) => {
      const lease = blobs.get(job.name)?.getBlobLeaseClient();
      try {
        await lease?.acquireLease(LEASE_S);
      } catch (error) {
        if (isHeld(error)) return;
        throw error;
      }
      await handle(job.name, due, job.handlerMs);
      await lease?.releaseLease();
    },
    endProcess,
  );
});
