import type { ContainerClient } from '@azure/storage-blob';
import type { ETag, JobName } from '../../core/brand';
import type { CallOptions, LeaseStore, Metadata, StoredRecord } from '../../lease/store';
import { checkBody, checkMetadata } from '../limits';
import type { Ask } from './ask';
import { download } from './download';
import { NO } from './errors';
import { partName, piecePrefix, quoted, recordPrefix } from './layout';

interface Put {
  readonly what: string;
  readonly blobName: string;
  readonly body: string;
  readonly metadata: Metadata;
  /** Undefined: only if there is none. */
  readonly ifMatch: ETag | undefined;
  readonly options: CallOptions | undefined;
}

/** Control, ledger records and pieces: whole blobs, each written by one conditional PUT. */
export function recordCalls(
  container: ContainerClient,
  ask: Ask,
): Pick<
  LeaseStore,
  | 'readControl'
  | 'writeControl'
  | 'createRecord'
  | 'replaceRecord'
  | 'readRecord'
  | 'createPiece'
  | 'readPiece'
  | 'touchPiece'
  | 'pieceWritten'
  | 'deletePiece'
> {
  /** The new ETag; undefined: the condition did not hold. */
  const put = async ({ what, blobName, body, metadata, ifMatch, options }: Put): Promise<ETag | undefined> => {
    checkMetadata(metadata);
    const answer = await ask({
      what,
      no: ifMatch === undefined ? NO.create : NO.replace,
      options,
      send: (abortSignal) =>
        container.getBlockBlobClient(blobName).upload(body, Buffer.byteLength(body), {
          metadata,
          conditions: ifMatch === undefined ? { ifNoneMatch: '*' } : { ifMatch },
          ...(body !== '' && { blobHTTPHeaders: { blobContentType: 'application/json' } }),
          abortSignal,
        }),
    });
    return answer.kind === 'yes' ? quoted(answer.value.etag ?? '') : undefined;
  };
  const get = (what: string, blobName: string, options: CallOptions | undefined) =>
    ask({
      what: `read ${what}`,
      no: NO.read,
      options,
      send: (abortSignal) => download(container.getBlobClient(blobName), abortSignal),
    });
  const putRecord = (job: JobName, key: string, record: StoredRecord, ifMatch?: ETag, options?: CallOptions) =>
    put({
      what: `write record ${key} of ${job}`,
      blobName: recordPrefix(job) + key,
      body: record.body,
      metadata: record.summary,
      ifMatch,
      options,
    });
  return {
    async readControl(job, options) {
      const answer = await ask({
        what: `read control of ${job}`,
        no: NO.read,
        options,
        send: (abortSignal) => download(container.getBlobClient(partName(job, 'control')), abortSignal),
      });
      if (answer.kind === 'no') return { control: undefined, date: answer.date };
      const { etag, metadata } = answer.value;
      return { control: { etag, metadata }, date: answer.date };
    },
    async writeControl(job, metadata, ifMatch, options) {
      const what = `write control of ${job}`;
      const etag = await put({ what, blobName: partName(job, 'control'), body: '', metadata, ifMatch, options });
      return etag === undefined ? 'refused' : 'written';
    },
    async createRecord(job, key, record, options) {
      const etag = await putRecord(job, key, record, undefined, options);
      return etag === undefined ? { kind: 'exists' } : { kind: 'created', etag };
    },
    async replaceRecord(job, key, record, ifMatch, options) {
      const etag = await putRecord(job, key, record, ifMatch, options);
      return etag === undefined ? { kind: 'refused' } : { kind: 'replaced', etag };
    },
    async readRecord(job, key, options) {
      const answer = await get(`record ${key} of ${job}`, recordPrefix(job) + key, options);
      if (answer.kind === 'no') return undefined;
      const { body, etag } = answer.value;
      return { body: checkBody(`ledger record "${key}" of job "${job}"`, body), etag };
    },
    async createPiece(job, key, name, { body, summary: metadata }, options) {
      const blobName = piecePrefix(job, key) + name;
      const what = `write ${blobName}`;
      const etag = await put({ what, blobName, body, metadata, ifMatch: undefined, options });
      return etag === undefined ? 'exists' : 'created';
    },
    async readPiece(job, key, name, options) {
      const blobName = piecePrefix(job, key) + name;
      const answer = await get(blobName, blobName, options);
      return answer.kind === 'yes' ? checkBody(blobName, answer.value.body) : undefined;
    },
    async touchPiece(job, key, name, options) {
      const blobName = piecePrefix(job, key) + name;
      const answer = await ask({
        what: `touch ${blobName}`,
        no: NO.read,
        options,
        send: (abortSignal) => container.getBlobClient(blobName).setMetadata({}, { abortSignal }),
      });
      return answer.kind === 'yes' ? 'touched' : 'gone';
    },
    async pieceWritten(job, key, name, options) {
      const blobName = piecePrefix(job, key) + name;
      const answer = await get(blobName, blobName, options);
      if (answer.kind === 'no') return undefined;
      return { writtenAt: answer.value.lastModified?.getTime() ?? answer.date, date: answer.date };
    },
    async deletePiece(job, key, name, options) {
      const blobName = piecePrefix(job, key) + name;
      await ask({
        what: `delete ${blobName}`,
        no: NO.read,
        options,
        send: (abortSignal) => container.getBlobClient(blobName).delete({ abortSignal }),
      });
    },
  };
}
