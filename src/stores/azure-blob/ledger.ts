import type { ETag, JobName } from '../../core/brand';
import type { CallOptions, LedgerStore, StoredRecord } from '../../lease/store';
import { checkBody } from '../limits';
import type { Blobs } from './blobs';
import { quoted, recordPrefix } from './layout';
import type { AskPage } from './listing';

export function ledgerIn(blobs: Blobs, askPage: AskPage): LedgerStore {
  const putRecord = (job: JobName, key: string, record: StoredRecord, ifMatch?: ETag, options?: CallOptions) =>
    blobs.put({
      what: `write record ${key} of ${job}`,
      blobName: recordPrefix(job) + key,
      body: record.body,
      metadata: record.summary,
      ifMatch,
      options,
    });
  return {
    async createRecord(job, key, record, options) {
      const etag = await putRecord(job, key, record, undefined, options);
      return etag === undefined ? { kind: 'exists' } : { kind: 'created', etag };
    },
    async replaceRecord(job, key, record, ifMatch, options) {
      const etag = await putRecord(job, key, record, ifMatch, options);
      return etag === undefined ? { kind: 'refused' } : { kind: 'replaced', etag };
    },
    async readRecord(job, key, options) {
      const answer = await blobs.get(`record ${key} of ${job}`, recordPrefix(job) + key, options);
      if (answer.kind === 'no') return undefined;
      const { body, etag } = answer.value;
      return { body: checkBody(`ledger record "${key}" of job "${job}"`, body), etag };
    },
    async listRecords(job, { prefix = '', limit, continuation }, options) {
      const folder = recordPrefix(job);
      const request = { prefix: folder + prefix, limit, continuation };
      const { value } = await askPage(`list records of ${job}`, request, options);
      return {
        records: value.blobs.map((item) => ({
          key: item.name.slice(folder.length),
          etag: quoted(item.etag),
          summary: item.metadata,
        })),
        continuation: value.continuation,
      };
    },
  };
}
