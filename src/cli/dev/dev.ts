import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { given } from '../../core/given';
import { machineZone } from '../../core/show-time';
import { StoreError } from '../../lease/store';
import { isServer } from '../../local/servers/servers';
import { deploymentsOf } from '../../operator/views/deployments';
import { CONTAINER_NAME_RULE, connectService, isContainerName } from '../../stores/azure-blob/connection';
import { isStoreUrl } from '../../stores/open';
import { OK, UsageError } from '../output';
import { openStore } from '../storage';
import { spanOf, type TimeOptions } from '../time';
import { devJobs, fileInSettings } from './dev-jobs';
import type { DevOptions, DevStorage } from './run-dev';

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.txt': 'text/plain; charset=utf-8',
  '.json': 'application/json',
  '.csv': 'text/csv; charset=utf-8',
};

const CLOCKS_DIFFER_MS = 2_000;

/** The options of `cronlease dev`, as written. */
export interface DevArguments
  extends Omit<DevOptions, 'durationMs' | 'openStorage' | 'jobs' | 'timeZone'>, TimeOptions {
  readonly duration?: string;
  readonly file?: string;
  readonly moreJobs?: string;
  readonly samples?: string;
}

export async function dev({ duration, samples, file, moreJobs, local, ...options }: DevArguments): Promise<number> {
  const durationMs = duration === undefined ? undefined : spanOf(duration, '--duration');
  if (samples !== undefined && (isServer(options.storage ?? '') || isStoreUrl(options.storage ?? ''))) {
    throw new UsageError('--samples uploads files to blobs, which this storage does not have: leave out --samples');
  }
  const found = samples === undefined ? undefined : readSamples(samples);
  const app = path.resolve(options.app ?? '.');
  const jobs = devJobs({ app, file: file ?? fileInSettings(app, process.env), more: moreJobs });
  const { runDev } = await import('./run-dev.js');
  await runDev({
    ...options,
    ...given({ durationMs }),
    ...(local === true ? { timeZone: machineZone() } : {}),
    jobs,
    openStorage: (storage, container) => openDevStorage(storage, container, found),
  });
  return OK;
}

/** Opens the storage of `dev`. Its `prepare` creates the coordination container before it is needed. */
function openDevStorage(storage: string, container: string, samples: Samples | undefined): DevStorage {
  const store = openStore({ storage, container });
  let since = 0;
  return {
    async prepare() {
      // Presences have the service's time, which may be a little behind.
      since = Date.now() - CLOCKS_DIFFER_MS;
      await Promise.all([store.prepare(), samples === undefined ? undefined : putSamples(storage, samples)]);
    },
    async ticking() {
      try {
        const { deployments } = deploymentsOf(await store.listPresences());
        return new Set(deployments.filter(({ tickedAt }) => tickedAt >= since).map(({ name }) => name));
      } catch (error) {
        // The instances report it themselves.
        if (error instanceof StoreError) return new Set();
        throw error;
      }
    },
  };
}

/** The files of a folder, by their blob names. The container has the folder's name. */
interface Samples {
  readonly container: string;
  readonly files: readonly { readonly name: string; readonly file: string }[];
}

/** @throws {@link UsageError} when there is no such folder, or its name cannot be a container's */
export function readSamples(folder: string): Samples {
  if (!existsSync(folder) || !statSync(folder).isDirectory()) {
    throw new UsageError(`--samples ${JSON.stringify(folder)}: there is no such folder`);
  }
  const container = path.basename(path.resolve(folder));
  if (!isContainerName(container)) {
    throw new UsageError(
      `--samples ${JSON.stringify(folder)}: the folder's name becomes the container's, so ${CONTAINER_NAME_RULE}`,
    );
  }
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .map((file) => ({ name: path.relative(folder, file).split(path.sep).join('/'), file }));
  return { container, files };
}

export async function putSamples(connectionString: string, { container, files }: Samples): Promise<void> {
  const service = connectService({ CRONLEASE_STORAGE: connectionString }, { retryOptions: { maxTries: 4 } });
  const client = service.getContainerClient(container);
  await client.createIfNotExists();
  await Promise.all(
    files.map(({ name, file }) =>
      client.getBlockBlobClient(name).uploadData(readFileSync(file), {
        blobHTTPHeaders: { blobContentType: CONTENT_TYPES[path.extname(name)] ?? 'application/octet-stream' },
      }),
    ),
  );
}
