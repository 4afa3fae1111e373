import type { ContainerClient } from '@azure/storage-blob';
import type { ControlStore } from '../../lease/store';
import { STORE_LIMITS } from '../limits';
import type { JobRowCalls } from '../port';
import type { Ask } from './ask';
import { NO } from './errors';
import { gatherer } from './gather';
import { jobPrefix, partName } from './layout';
import { listerOfAll, type Pages } from './list-all';
import { rowCalls } from './rows';

/** The rows of jobs, listed with their controls, whose blobs are beside them. */
export function jobRowsIn(
  container: ContainerClient,
  ask: Ask,
  pages: Pages,
  readControl: ControlStore['readControl'],
): JobRowCalls {
  const listAll = listerOfAll(pages, readControl);
  return {
    ...rowCalls(container, ask, (job) => partName(job, 'lease')),
    async list(options) {
      if (options?.job === undefined) return listAll(options);
      const gathered = gatherer();
      let continuation: string | undefined;
      let last = '';
      do {
        const request = { prefix: jobPrefix(options.job), continuation };
        const answer = await pages.askPage('list jobs', request, options);
        gathered.page({ blobs: answer.value.blobs, date: answer.date });
        last = answer.value.blobs.at(-1)?.name ?? last;
        continuation = answer.value.continuation;
        // Blobs after the job's row belong to other jobs.
      } while (continuation !== undefined && last < partName(options.job, 'lease'));
      return gathered.listing();
    },
    async breakLease(job, ifMatch, options) {
      const answer = await ask({
        what: `break the lease of ${job}`,
        no: NO.lease,
        options,
        // The lease ends after its remaining time if that is shorter. Without a period, the service would end an
        // endless lease at once.
        send: (abortSignal) =>
          container
            .getBlobClient(partName(job, 'lease'))
            .getBlobLeaseClient()
            .breakLease(STORE_LIMITS.leaseMs.most / 1000, { conditions: { ifMatch }, abortSignal }),
      });
      if (answer.kind === 'no') return { kind: 'lost' };
      return { kind: 'broken', leftMs: (answer.value.leaseTime ?? 0) * 1000 };
    },
  };
}
