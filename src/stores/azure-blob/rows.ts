import type { JobName } from '../../core/brand';
import type { ListedRow } from '../../lease/store';
import type { Rows } from '../port';
import { type Ask, NO } from './ask';
import { download } from './download';
import { quoted } from './layout';
import type { RowBlob, RowContainer } from './row-container';

/** @param blobName the blob that holds the row of this name */
export function rowsAt(container: RowContainer, ask: Ask, blobName: (name: JobName) => string): Omit<Rows, 'break'> {
  const blob = (name: JobName): RowBlob => container.getBlockBlobClient(blobName(name));
  return {
    async create({ job, ...question }, metadata) {
      const answer = await ask({ ...question, no: NO.create }, (abortSignal) =>
        blob(job).upload('', 0, { metadata, conditions: { ifNoneMatch: '*' }, abortSignal }),
      );
      return answer.kind === 'yes' ? quoted(answer.value.etag ?? '') : undefined;
    },
    async read({ job, ...question }) {
      const answer = await ask({ ...question, no: NO.read }, (abortSignal) => download(blob(job), abortSignal));
      if (answer.kind === 'no') return undefined;
      const { etag, lease, metadata } = answer.value;
      return { etag, ...leaseOf(lease), metadata };
    },
    async acquire({ job, ...question }, { leaseId, leaseMs, ifMatch }) {
      const { kind, date } = await ask({ ...question, no: NO.lease }, (abortSignal) =>
        blob(job)
          .getBlobLeaseClient(leaseId)
          .acquireLease(leaseMs / 1000, { conditions: { ifMatch }, abortSignal }),
      );
      return kind === 'yes' ? date : undefined;
    },
    async renew({ job, ...question }, leaseId) {
      const answer = await ask({ ...question, no: NO.lease }, (abortSignal) =>
        blob(job).getBlobLeaseClient(leaseId).renewLease({ abortSignal }),
      );
      // The emulator renews an expired lease for any id, and returns the lease's real id.
      return answer.kind === 'yes' && answer.value.leaseId?.toLowerCase() === leaseId.toLowerCase();
    },
    async write({ job, ...question }, metadata, { leaseId, ifMatch }) {
      const answer = await ask({ ...question, no: NO.lease }, (abortSignal) =>
        blob(job).setMetadata(metadata, { conditions: { leaseId, ifMatch }, abortSignal }),
      );
      return answer.kind === 'no' ? undefined : { etag: quoted(answer.value.etag ?? ''), date: answer.date };
    },
    async release({ job, ...question }, leaseId, ifMatch) {
      const conditions = ifMatch === undefined ? {} : { ifMatch };
      const { kind } = await ask({ ...question, no: NO.lease }, (abortSignal) =>
        blob(job).getBlobLeaseClient(leaseId).releaseLease({ conditions, abortSignal }),
      );
      return kind === 'yes';
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
