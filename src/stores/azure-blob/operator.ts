import type { ContainerClient } from '@azure/storage-blob';
import type { LeaseStore } from '../../lease/store';
import { checkMetadata, LONGEST_LEASE_MS } from '../limits';
import type { Ask } from './ask';
import { NO } from './errors';
import { partName, presenceName, quoted } from './layout';

/** What operators do beside writing control records, and what deployments tell them. */
export function operatorCalls(
  container: ContainerClient,
  ask: Ask,
): Pick<LeaseStore, 'breakLease' | 'removeControl' | 'writePresence'> {
  return {
    async breakLease(job, ifMatch, options) {
      const answer = await ask({
        what: `break the lease of ${job}`,
        no: NO.lease,
        options,
        // The service takes what remains of the lease if that is less. Without a period it would end an endless one now.
        send: (abortSignal) =>
          container
            .getBlobClient(partName(job, 'lease'))
            .getBlobLeaseClient()
            .breakLease(LONGEST_LEASE_MS / 1000, { conditions: { ifMatch }, abortSignal }),
      });
      if (answer.kind === 'no') return { kind: 'lost' };
      return { kind: 'breaking', leftMs: (answer.value.leaseTime ?? 0) * 1000 };
    },
    async removeControl(job, ifMatch, options) {
      const { kind } = await ask({
        what: `remove the control of ${job}`,
        no: NO.replace,
        options,
        send: (abortSignal) =>
          container.getBlobClient(partName(job, 'control')).delete({ conditions: { ifMatch }, abortSignal }),
      });
      return kind === 'yes' ? 'removed' : 'refused';
    },
    async writePresence(deployment, metadata, ifMatch, options) {
      checkMetadata(metadata);
      const answer = await ask({
        what: `write the presence of ${deployment}`,
        no: ifMatch === undefined ? [] : NO.replace,
        options,
        send: (abortSignal) =>
          container.getBlockBlobClient(presenceName(deployment)).upload('', 0, {
            metadata,
            ...(ifMatch !== undefined && { conditions: { ifMatch } }),
            abortSignal,
          }),
      });
      return answer.kind === 'no' ? { kind: 'refused' } : { kind: 'written', etag: quoted(answer.value.etag ?? '') };
    },
  };
}
