import { given } from '../../core/given';
import path from 'node:path';
import { parseDuration } from '../../core/duration';
import { machineZone } from '../../core/show-time';
import { StoreError } from '../../lease/store';
import type { DevOptions, DevStorage } from '../../local/cluster/dev';
import { deploymentsOf } from '../../operator/views/deployments';
import { UsageError } from '../cli-error';
import { devJobs } from './dev-jobs';
import { type Samples, putSamples, readSamples } from './samples';
import { isStoreUrl } from '../../stores/open';
import { openStore } from '../storage';
import type { TimeOptions } from '../time';

const CLOCKS_DIFFER_MS = 2_000;

/** The options of `cronlease dev`, as written. */
export interface DevArguments
  extends Omit<DevOptions, 'durationMs' | 'openStorage' | 'jobs' | 'timeZone'>, TimeOptions {
  readonly duration?: string;
  /** The app's jobs file. */
  readonly file?: string;
  /** A file whose jobs run beside those of the app. */
  readonly moreJobs?: string;
  /** A folder whose files are uploaded to the container of the same name. */
  readonly samples?: string;
}

/** `cronlease dev`: a local cluster, until it is stopped. */
export async function dev({ duration, samples, file, moreJobs, local, ...options }: DevArguments): Promise<number> {
  const durationMs = duration === undefined ? undefined : parseDuration(duration);
  if (duration !== undefined && (durationMs === undefined || durationMs === 0)) {
    throw new UsageError(`--duration ${JSON.stringify(duration)} is not a duration: write it as 30s, 10m or 1h30m`);
  }
  if (
    samples !== undefined &&
    (['postgres', 'redis', 'zookeeper', 'etcd', 'consul'].includes(options.storage ?? '') ||
      isStoreUrl(options.storage ?? ''))
  ) {
    throw new UsageError('--samples uploads files to blobs, which this storage does not have: leave out --samples');
  }
  const found = samples === undefined ? undefined : readSamples(samples);
  const jobs = devJobs({ app: path.resolve(options.app ?? '.'), file, more: moreJobs });
  const { runDev } = await import('../../local/cluster/dev.js');
  return runDev({
    ...options,
    ...given({ durationMs }),
    ...(local === true ? { timeZone: machineZone() } : {}),
    jobs,
    openStorage: (storage, container) => openDevStorage(storage, container, found),
  });
}

/** Opens the storage of `dev`. Its `prepare` creates the coordination container before anybody needs it. */
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
