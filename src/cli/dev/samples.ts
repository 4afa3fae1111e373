import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { connectService } from '../../stores/azure-blob/connection';
import { UsageError } from '../cli-error';

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.txt': 'text/plain; charset=utf-8',
  '.json': 'application/json',
  '.csv': 'text/csv; charset=utf-8',
};

/** The files of a folder, by their blob names. The container has the folder's name. */
export interface Samples {
  readonly container: string;
  readonly files: readonly { readonly name: string; readonly file: string }[];
}

/**
 * @throws {@link UsageError} when there is no such folder, or its name cannot be a container's
 */
export function readSamples(folder: string): Samples {
  if (!existsSync(folder) || !statSync(folder).isDirectory()) {
    throw new UsageError(`--samples ${JSON.stringify(folder)}: there is no such folder`);
  }
  const container = path.basename(path.resolve(folder));
  if (!/^(?=.{3,63}$)[a-z0-9]+(-[a-z0-9]+)*$/.test(container)) {
    throw new UsageError(
      `--samples ${JSON.stringify(folder)}: the folder's name becomes the container's, so use 3 to 63 of a-z, 0-9 and ` +
        'single hyphens between them',
    );
  }
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .map((file) => ({ name: path.relative(folder, file).split(path.sep).join('/'), file }));
  return { container, files };
}

/** Uploads the files, over those that exist. */
export async function putSamples(connectionString: string, { container, files }: Samples): Promise<void> {
  const client = connectService(
    { CRONLEASE_STORAGE: connectionString },
    { retryOptions: { maxTries: 4 } },
  ).getContainerClient(container);
  await client.createIfNotExists();
  await Promise.all(
    files.map(({ name, file }) =>
      client.getBlockBlobClient(name).uploadData(readFileSync(file), {
        blobHTTPHeaders: { blobContentType: CONTENT_TYPES[path.extname(name)] ?? 'application/octet-stream' },
      }),
    ),
  );
}
