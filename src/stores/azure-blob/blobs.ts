import type { ContainerClient } from '@azure/storage-blob';
import type { ETag } from '../../core/brand';
import type { CallOptions, Metadata } from '../../lease/store';
import { checkMetadata } from '../limits';
import type { Answer, Ask } from './ask';
import { type Downloaded, download } from './download';
import { NO } from './errors';
import { quoted } from './layout';

interface Put {
  readonly what: string;
  readonly blobName: string;
  readonly body: string;
  readonly metadata: Metadata;
  /** Undefined: write only if there is no such blob. */
  readonly ifMatch: ETag | undefined;
  readonly options: CallOptions | undefined;
}

/** Whole blobs, each written by one conditional PUT and read by one GET. */
export interface Blobs {
  /** The new ETag; undefined: the condition did not hold. */
  put(request: Put): Promise<ETag | undefined>;
  /** `no`: there is no such blob. */
  get(what: string, blobName: string, options: CallOptions | undefined): Promise<Answer<Downloaded>>;
}

export function blobsOf(container: ContainerClient, ask: Ask): Blobs {
  return {
    async put({ what, blobName, body, metadata, ifMatch, options }) {
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
    },
    get: (what, blobName, options) =>
      ask({
        what: `read ${what}`,
        no: NO.read,
        options,
        send: (abortSignal) => download(container.getBlobClient(blobName), abortSignal),
      }),
  };
}
