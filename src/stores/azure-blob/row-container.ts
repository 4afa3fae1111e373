interface Call {
  readonly abortSignal: AbortSignal;
  readonly conditions?: { readonly leaseId?: string; readonly ifMatch?: string; readonly ifNoneMatch?: string };
}

interface Answer {
  readonly date?: Date;
  readonly etag?: string;
}

/** The part of a `BlockBlobClient` that a row needs, of any version 12 of `@azure/storage-blob`. */
export interface RowBlob {
  upload(body: string, length: number, options: Call & { readonly metadata: Record<string, string> }): Promise<Answer>;
  setMetadata(metadata: Record<string, string>, options: Call): Promise<Answer>;
  download(
    offset: number,
    count: undefined,
    options: Call & { readonly maxRetryRequests: number },
  ): Promise<
    Answer & {
      readonly metadata?: Record<string, string>;
      readonly leaseState?: string;
      readonly lastModified?: Date;
      readonly readableStreamBody?: NodeJS.ReadableStream;
    }
  >;
  getBlobLeaseClient(leaseId: string): {
    acquireLease(seconds: number, options: Call): Promise<Answer>;
    renewLease(options: Call): Promise<Answer & { readonly leaseId?: string }>;
    releaseLease(options: Call): Promise<Answer>;
  };
}

/**
 * The part of a `ContainerClient` that rows need, of any version 12 of `@azure/storage-blob`: a program may bring its
 * own copy.
 */
export interface RowContainer {
  readonly url: string;
  create(options: Call): Promise<Answer>;
  getBlockBlobClient(blobName: string): RowBlob;
}
