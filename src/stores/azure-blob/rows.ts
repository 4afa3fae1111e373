import type { JobName } from '../../core/brand';
import type { ListedRow } from '../../lease/store';
import { checkMetadata, leaseSeconds } from '../limits';
import type { RowCalls } from '../port';
import type { Ask } from './ask';
import { download } from './download';
import { NO } from './errors';
import { quoted } from './layout';
import type { RowBlob, RowContainer } from './row-container';

/** @param blobName the blob that holds the row of this name */
export function rowCalls(
  container: RowContainer,
  ask: Ask,
  blobName: (name: JobName) => string,
): Omit<RowCalls, 'breakLease'> {
  const blob = (name: JobName): RowBlob => container.getBlockBlobClient(blobName(name));
  return {
    async createRow(job, metadata, options) {
      checkMetadata(metadata);
      const { kind } = await ask({ what: `create the row of ${job}`, no: NO.create, options }, (abortSignal) =>
        blob(job).upload('', 0, { metadata, conditions: { ifNoneMatch: '*' }, abortSignal }),
      );
      return kind === 'yes' ? 'created' : 'exists';
    },
    async readRow(job, options) {
      const answer = await ask({ what: `read the row of ${job}`, no: NO.read, options }, (abortSignal) =>
        download(blob(job), abortSignal),
      );
      if (answer.kind === 'no') return undefined;
      const { etag, lease, metadata } = answer.value;
      return { etag, ...leaseOf(lease), metadata };
    },
    async acquire(job, { leaseId, leaseMs, ifMatch }, options) {
      const seconds = leaseSeconds(leaseMs);
      const question = { what: `acquire the lease of ${job}`, no: NO.lease, options };
      const { kind, date } = await ask(question, (abortSignal) =>
        blob(job).getBlobLeaseClient(leaseId).acquireLease(seconds, { conditions: { ifMatch }, abortSignal }),
      );
      return kind === 'yes' ? { kind: 'acquired', date } : { kind: 'lost' };
    },
    async renew(job, leaseId, options) {
      const answer = await ask({ what: `renew the lease of ${job}`, no: NO.lease, options }, (abortSignal) =>
        blob(job).getBlobLeaseClient(leaseId).renewLease({ abortSignal }),
      );
      // The emulator renews an expired lease for any id, and returns the lease's real id.
      const ours = answer.kind === 'yes' && answer.value.leaseId?.toLowerCase() === leaseId.toLowerCase();
      return ours ? 'renewed' : 'lost';
    },
    async writeRow(job, metadata, { leaseId, ifMatch }, options) {
      checkMetadata(metadata);
      const answer = await ask({ what: `write the row of ${job}`, no: NO.lease, options }, (abortSignal) =>
        blob(job).setMetadata(metadata, { conditions: { leaseId, ifMatch }, abortSignal }),
      );
      if (answer.kind === 'no') return { kind: 'refused' };
      return { kind: 'written', etag: quoted(answer.value.etag ?? ''), date: answer.date };
    },
    async release(job, leaseId, options) {
      const { ifMatch } = options ?? {};
      const conditions = ifMatch === undefined ? {} : { ifMatch };
      const { kind } = await ask({ what: `release the lease of ${job}`, no: NO.lease, options }, (abortSignal) =>
        blob(job).getBlobLeaseClient(leaseId).releaseLease({ conditions, abortSignal }),
      );
      return kind === 'yes' ? 'released' : 'lost';
    },
  };
}

/** Translates the service's lease states into the port's terms. An unknown state counts as leased. */
export function leaseOf(state: string): Pick<ListedRow, 'lease' | 'isEnding'> {
  switch (state) {
    case 'available':
    case 'expired':
    case 'broken':
      return { lease: state };
    case 'breaking':
      return { lease: 'broken', isEnding: true };
    default:
      return { lease: 'leased' };
  }
}
