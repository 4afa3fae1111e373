import type { BlobClient } from '@azure/storage-blob';
import type { ETag } from '../../core/brand';
import type { Metadata } from '../../lease/store';
import { BODY_BYTES } from '../limits';
import type { TextRange } from '../port';
import { codeOf, dateOf } from './ask';
import { quoted } from './layout';
import type { RowBlob } from './row-container';

export interface Downloaded {
  /** Undefined if it is larger than any body that cronlease writes; the rest was not read. */
  readonly body: string | undefined;
  readonly etag: ETag;
  readonly metadata: Metadata;
  /** The lease state in the service's terms. */
  readonly lease: string;
  readonly lastModified?: Date;
  readonly date?: Date;
}

/**
 * Reads a blob and all its properties by one GET. A HEAD would not do, even for an empty body: a HEAD that finds
 * nothing costs Node its connection, and returns the reason only in a header.
 */
export async function download(blob: Pick<RowBlob, 'download'>, abortSignal: AbortSignal): Promise<Downloaded> {
  // Without `maxRetryRequests: 0` the stream would repeat the request after a broken connection. Repeats are up to the
  // caller.
  const response = await blob.download(0, undefined, { abortSignal, maxRetryRequests: 0 });
  const {
    readableStreamBody: stream,
    etag = '',
    metadata = {},
    leaseState: lease = 'available',
    date,
    lastModified,
  } = response;
  const body = stream === undefined ? '' : (await read(stream, BODY_BYTES))?.toString('utf8');
  return { body, etag: quoted(etag), metadata, lease, ...(lastModified && { lastModified }), ...(date && { date }) };
}

/**
 * Reads a part of a blob, a character for each byte. The service refuses a range that begins at or behind the end; it
 * is an empty one.
 */
export async function downloadPart(
  blob: Pick<BlobClient, 'download'>,
  { from, limit }: TextRange,
  abortSignal: AbortSignal,
): Promise<{ readonly text: string; readonly date?: Date }> {
  try {
    const { readableStreamBody: stream, date } = await blob.download(from, limit, { abortSignal, maxRetryRequests: 0 });
    const bytes = stream === undefined ? undefined : await read(stream, limit);
    return { text: bytes?.toString('latin1') ?? '', ...(date && { date }) };
  } catch (error) {
    if (codeOf(error) !== 'InvalidRange') throw error;
    return { text: '', date: new Date(dateOf(error) ?? NaN) };
  }
}

/** Leaving the loop ends the connection and discards the rest. A range request would fail on an empty blob. */
async function read(stream: NodeJS.ReadableStream, limit: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    size += bytes.length;
    if (size > limit) return undefined;
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}
