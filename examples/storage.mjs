// The storage of the examples: CRONLEASE_STORAGE, or the emulator of an `npm start` that runs in this folder.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ContainerClient } from '@azure/storage-blob';

/** The container of an example: `EXAMPLE_CONTAINER`, or its own name. */
export function connect(example) {
  const storage = process.env.CRONLEASE_STORAGE ?? storageOfNpmStart();
  if (storage === undefined) {
    console.error(
      'No storage: run "npm start" in another terminal, or set CRONLEASE_STORAGE to a connection string ' +
        '(UseDevelopmentStorage=true for an emulator of your own).',
    );
    process.exit(2);
  }
  const container = process.env.EXAMPLE_CONTAINER ?? example;
  return new ContainerClient(storage, container, { retryOptions: { maxTries: 2, retryDelayInMs: 500 } });
}

function storageOfNpmStart() {
  try {
    const file = path.join(import.meta.dirname, '../.cronlease/dev.json');
    return JSON.parse(readFileSync(file, 'utf8')).storage;
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** A blob's JSON with its ETag. Creates the blob with `initial` if it is absent. */
export async function readJson(blob, initial) {
  for (;;) {
    try {
      const { etag } = await blob.getProperties();
      const body = await blob.downloadToBuffer(0, undefined, { conditions: { ifMatch: etag } });
      return { value: JSON.parse(body.toString()), etag };
    } catch (error) {
      if (error.statusCode === 404) await createJson(blob, initial);
      // 412: changed between the two calls.
      else if (error.statusCode !== 412) throw error;
    }
  }
}

/** Creates the blob if it is absent. Returns whether it was. */
export async function createJson(blob, value) {
  const body = JSON.stringify(value);
  try {
    await blob.upload(body, Buffer.byteLength(body), { conditions: { ifNoneMatch: '*' } });
    return true;
  } catch (error) {
    if (error.statusCode === 409) return false;
    throw error;
  }
}

/** Replaces the version that was read. Returns false if the blob has changed since. */
export async function replaceJson(blob, value, etag) {
  const body = JSON.stringify(value);
  try {
    await blob.upload(body, Buffer.byteLength(body), { conditions: { ifMatch: etag } });
    return true;
  } catch (error) {
    if (error.statusCode === 412) return false;
    throw error;
  }
}
