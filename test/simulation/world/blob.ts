import type { FencedBlob } from '../../../src/lease/fence';

/** A blob that a job's handlers write through their fences. */
export interface TargetBlob {
  read(): Promise<{ etag: string; metadata: Record<string, string> }>;
  write(metadata: Record<string, string>, conditions: { ifMatch?: string; ifNoneMatch?: string }): Promise<void>;
}

/** An error of the storage SDK. */
class BlobError extends Error {
  constructor(readonly statusCode: number) {
    super(`status ${String(statusCode)}`);
  }
}

/** @param written called with each write that is applied */
export function createTarget(written: (token: number) => void): TargetBlob {
  let stored: { etag: string; metadata: Record<string, string> } | undefined;
  let writes = 0;
  return {
    async read() {
      if (stored === undefined) throw new BlobError(404);
      return stored;
    },
    async write(metadata, { ifMatch, ifNoneMatch }) {
      if (ifNoneMatch === '*' && stored !== undefined) throw new BlobError(409);
      if (ifMatch !== undefined && stored?.etag !== ifMatch) throw new BlobError(412);
      writes += 1;
      stored = { etag: `"${String(writes)}"`, metadata };
      written(Number(metadata['cronleasetoken']));
    },
  };
}

/**
 * As the storage SDK, it gives a call up when its signal is aborted: a fence that closes ends a write that storage never
 * answers. The call may take effect all the same.
 *
 * @param over makes a call over the network
 * @param sent called with the token of each write as its process sends it
 */
export function blobOver(
  target: TargetBlob,
  over: <T>(kind: string, apply: () => Promise<T>) => Promise<T>,
  sent: (token: number) => void,
): FencedBlob {
  return {
    url: 'simulated://target',
    getProperties: (options) =>
      unlessAborted(
        options?.abortSignal,
        over('getProperties', () => target.read()),
      ),
    upload: (_body, _length, options) => {
      sent(Number(options?.metadata?.['cronleasetoken']));
      const { metadata = {}, conditions = {}, abortSignal } = options ?? {};
      return unlessAborted(
        abortSignal,
        over('upload', () => target.write(metadata, conditions)),
      );
    },
  };
}

function unlessAborted<T>(signal: AbortSignal | undefined, call: Promise<T>): Promise<T> {
  if (signal === undefined) return call;
  return new Promise((resolve, reject) => {
    const aborted = (): void => {
      reject(new DOMException('The operation was aborted.', 'AbortError'));
    };
    signal.addEventListener('abort', aborted, { once: true });
    call.then(resolve, reject).finally(() => {
      signal.removeEventListener('abort', aborted);
    });
  });
}
