import type { Token } from '../core/brand';
import { isObject } from '../core/metadata';
import type { Trust } from './trust';

/** Metadata that marks a blob as written under a job's or an election's fence. */
const JOB_MARK = 'cronleasejob';
const TOKEN_MARK = 'cronleasetoken';
/** How often a write is repeated when another writer wrote between its read and its write. */
const TRIES = 5;
/**
 * The answers by which the target has changed since it was read. A lease, a policy and a missing container are refused
 * with the same statuses, and another try would be refused again.
 *
 * @see https://learn.microsoft.com/rest/api/storageservices/blob-service-error-codes
 */
const CHANGED = ['ConditionNotMet', 'BlobAlreadyExists', 'BlobNotFound'];
const ELECTION = 'election/';

/** This attempt is no longer the leader: its lease is lost, or a successor has its run. Nothing was written. */
export class StaleLeaderError extends Error {
  readonly code = 'StaleLeader';
  override readonly name = 'StaleLeaderError';
}

/** The target of a fenced write belongs to another job's fence or to the coordination, or its metadata is unusable. */
export class FenceConflictError extends Error {
  readonly code = 'FenceConflict';
  override readonly name = 'FenceConflictError';
}

/** The target of a fenced write is no longer the version of `ifMatch`. Read it again. */
export class BlobChangedError extends Error {
  readonly code = 'BlobChanged';
  override readonly name = 'BlobChangedError';
}

/** Options of a fenced write. */
export interface FencedWriteOptions {
  /** Default: the blob's own, or `application/octet-stream` for a new one. */
  readonly contentType?: string;
  /** Replace only this version, by its ETag. Use it if the new content was computed from the old. */
  readonly ifMatch?: string;
}

/**
 * The part of a blob client that a fenced write needs: a `BlockBlobClient` of `@azure/storage-blob`, any version 12.
 */
export interface FencedBlob {
  readonly url: string;
  getProperties(options?: { abortSignal?: AbortSignal }): Promise<{
    etag?: string | undefined;
    metadata?: Record<string, string> | undefined;
    contentType?: string | undefined;
  }>;
  upload(
    body: string | Uint8Array,
    contentLength: number,
    options?: {
      abortSignal?: AbortSignal;
      conditions?: { ifMatch?: string; ifNoneMatch?: string };
      metadata?: Record<string, string>;
      blobHTTPHeaders?: { blobContentType?: string };
    },
  ): Promise<unknown>;
}

/**
 * Prevents a leader that was paused, or wrongly taken for dead, from undoing its successor's work. It rejects writes
 * of a lower token after a higher one; it does not stop a successor from overwriting an earlier leader.
 */
export interface Fence {
  /**
   * Fencing token: grows with every claim of the job, and with every term of an election. To fence a write to SQL or a
   * similar store, compare it in the same statement: `… SET token = @token WHERE token <= @token`.
   */
  readonly token: number;
  /** Throws {@link StaleLeaderError} once this attempt must no longer believe that it leads. */
  check(): void;
  /**
   * Writes a whole blob with If-Match, unless a higher token has written it. The blob's metadata holds the token
   * (`cronleasejob`, `cronleasetoken`); its other metadata is kept.
   *
   * @param blob a `BlockBlobClient`
   * @throws StaleLeaderError if the trust is over, or the blob has a higher token
   * @throws FenceConflictError if the blob has another job's mark, or is in the coordination container
   * @throws BlobChangedError if the blob is not the version of `ifMatch`
   */
  write(blob: FencedBlob, body: string | Uint8Array, options?: FencedWriteOptions): Promise<void>;
}

/** Stops the activities of an orchestration whose run was cancelled, has timed out or was taken over. */
export interface OrchestrationFence {
  /** As that of a handler's fence: it grows with every claim of the job. */
  readonly token: number;
  /** Rejects with {@link StaleLeaderError} in that case. It reads the job's row at most every 10 s. */
  check(): Promise<void>;
  /** As that of a handler's fence, after a {@link check}. */
  write(blob: FencedBlob, body: string | Uint8Array, options?: FencedWriteOptions): Promise<void>;
}

/** A fence that is closed at the end of its attempt. */
export interface ClosableFence extends Fence {
  close(): void;
}

/** The mark of an election's fence. No job can have this name. */
export function electionMark(name: string): string {
  return ELECTION + name;
}

/**
 * @param mark a job's name, or an {@link electionMark}
 * @param kept the URLs of the containers or folders that coordinate: an input that names a blob there would let its
 *   author stop every job. Those of other stores than blobs have no effect
 */
export function createFence(
  mark: string,
  token: Token,
  trust: Pick<Trust, 'holds'>,
  kept: readonly string[],
): ClosableFence {
  let isClosed = false;
  // Most attempts write nothing under their fence.
  let writes: AbortController | undefined;
  const whose = nameOf(mark);
  const check = (): void => {
    if (isClosed) {
      throw new StaleLeaderError(
        `the attempt of ${whose} with token ${String(token)} has ended, so nothing was written`,
      );
    }
    if (!trust.holds) {
      throw new StaleLeaderError(
        `${whose} may have another leader than token ${String(token)}: the lease was not renewed in time`,
      );
    }
  };
  return {
    token,
    check,
    close: () => {
      isClosed = true;
      writes?.abort(new StaleLeaderError(`the attempt of ${whose} with token ${String(token)} has ended`));
    },
    async write(blob, body, options) {
      assertNotKept(whose, blob, kept);
      for (let tries = 0; tries < TRIES; tries += 1) {
        check();
        writes ??= new AbortController();
        const { signal } = writes;
        const target = await readTarget(blob, signal);
        assertMayWrite(mark, token, blob, target?.metadata);
        assertUnchanged(blob, target, options?.ifMatch);
        check();
        if (await put(blob, body, target, { mark, token, contentType: options?.contentType, signal })) {
          return;
        }
      }
      throw new FenceConflictError(
        `${withoutQuery(blob.url)} was changed ${String(TRIES)} times while ${whose} wrote it: ` +
          'let nothing else write to that blob',
      );
    },
  };
}

function nameOf(mark: string): string {
  return mark.startsWith(ELECTION) ? `election "${mark.slice(ELECTION.length)}"` : `job "${mark}"`;
}

/** By only the path. The account of a URL says little: each has further names, of a private link or its own domain. */
function assertNotKept(whose: string, blob: FencedBlob, kept: readonly string[]): void {
  const path = pathOf(blob.url);
  const own = kept.find((one) => /^https?:/i.test(one) && path.startsWith(`${pathOf(one)}/`));
  if (own === undefined) return;
  throw new FenceConflictError(
    `${withoutQuery(blob.url)} is in ${own}, which coordinates: ${whose} must write to another container`,
  );
}

/** As the service reads it: decoded, and without empty parts. */
function pathOf(url: string): string {
  const { pathname } = new URL(url);
  let decoded = pathname;
  try {
    decoded = decodeURIComponent(pathname);
  } catch {
    // It is not a valid encoding, so the service refuses it.
  }
  return `/${decoded.split('/').filter(Boolean).join('/')}`.toLowerCase();
}

interface Target {
  readonly etag: string | undefined;
  readonly metadata: Record<string, string>;
  readonly contentType: string | undefined;
}

async function readTarget(blob: FencedBlob, abortSignal: AbortSignal): Promise<Target | undefined> {
  try {
    const { etag, metadata, contentType } = await blob.getProperties({ abortSignal });
    return { etag, metadata: metadata ?? {}, contentType };
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}

function assertMayWrite(
  mark: string,
  token: Token,
  blob: FencedBlob,
  metadata: Record<string, string> | undefined,
): void {
  const owner = metadata?.[JOB_MARK];
  if (owner === undefined) return;
  if (owner !== mark) {
    throw new FenceConflictError(
      `${withoutQuery(blob.url)} is fenced by ${nameOf(owner)}, so ${nameOf(mark)} must not write it`,
    );
  }
  const seen = Number(metadata?.[TOKEN_MARK]);
  if (!Number.isSafeInteger(seen)) {
    throw new FenceConflictError(`${withoutQuery(blob.url)} has no valid "${TOKEN_MARK}" in its metadata`);
  }
  if (seen > token) {
    throw new StaleLeaderError(
      `${withoutQuery(blob.url)} was written with token ${String(seen)}: token ${String(token)} of ${nameOf(mark)} is stale`,
    );
  }
}

function assertUnchanged(blob: FencedBlob, target: Target | undefined, ifMatch: string | undefined): void {
  if (ifMatch === undefined || target?.etag === ifMatch) return;
  throw new BlobChangedError(
    `${withoutQuery(blob.url)} was ${target === undefined ? 'deleted' : 'changed'} after it was read: read it again`,
  );
}

/** False if the blob has changed since it was read. */
async function put(
  blob: FencedBlob,
  body: string | Uint8Array,
  target: Target | undefined,
  by: { mark: string; token: Token; contentType: string | undefined; signal: AbortSignal },
): Promise<boolean> {
  const contentType = by.contentType ?? target?.contentType;
  try {
    await blob.upload(body, typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength, {
      abortSignal: by.signal,
      conditions: target?.etag === undefined ? { ifNoneMatch: '*' } : { ifMatch: target.etag },
      metadata: { ...target?.metadata, [JOB_MARK]: by.mark, [TOKEN_MARK]: String(by.token) },
      ...(contentType === undefined ? {} : { blobHTTPHeaders: { blobContentType: contentType } }),
    });
    return true;
  } catch (error) {
    if (hasChanged(error)) return false;
    throw error;
  }
}

/** Whether a write was refused because its target has changed. Only the SDK's own errors have a code. */
function hasChanged(error: unknown): boolean {
  const status = statusOf(error);
  if (status !== 412 && status !== 409 && status !== 404) return false;
  const code = isObject(error) ? error['code'] : undefined;
  return typeof code !== 'string' || CHANGED.includes(code);
}

function statusOf(error: unknown): number | undefined {
  return isObject(error) && typeof error['statusCode'] === 'number' ? error['statusCode'] : undefined;
}

/** Messages must not contain a SAS. */
function withoutQuery(url: string): string {
  return url.split('?')[0] ?? url;
}
