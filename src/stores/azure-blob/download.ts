import type { ETag } from '../../core/brand';
import type { Metadata } from '../../lease/store';
import { BODY_BYTES } from '../limits';
import { quoted } from './layout';
import type { RowBlob } from './row-container';

export interface Downloaded {
  /** Undefined: larger than anything of ours, and not read to its end. */
  readonly body: string | undefined;
  readonly etag: ETag;
  readonly metadata: Metadata;
  /** The service's own lease state. */
  readonly lease: string;
  readonly lastModified?: Date;
  readonly date?: Date;
}

/**
 * A blob with everything about it, by one GET. Not a HEAD, even where the body is empty: a HEAD that finds nothing
 * costs Node its connection, and says why in a header only.
 */
export async function download(blob: Pick<RowBlob, 'download'>, abortSignal: AbortSignal): Promise<Downloaded> {
  // The stream would ask again for what is cut off; here asking again is the caller's business.
  const response = await blob.download(0, undefined, { abortSignal, maxRetryRequests: 0 });
  const {
    readableStreamBody: stream,
    etag = '',
    metadata = {},
    leaseState: lease = 'available',
    date,
    lastModified,
  } = response;
  const body = stream === undefined ? '' : await text(stream);
  return { body, etag: quoted(etag), metadata, lease, ...(lastModified && { lastModified }), ...(date && { date }) };
}

/** Leaving the loop ends the connection, whatever is still to come. A range would fail where the blob is empty. */
async function text(stream: NodeJS.ReadableStream): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    size += bytes.length;
    if (size > BODY_BYTES) return undefined;
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString('utf8');
}
