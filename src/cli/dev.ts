import { parseDuration } from '../core/duration';
import type { DevOptions } from '../local/cluster/dev';
import { UsageError } from './cli-error';
import { putSamples, readSamples } from './samples';

/** The options of `cronlease dev`, as written. */
export interface DevArguments extends Omit<DevOptions, 'durationMs' | 'prepare'> {
  readonly duration?: string;
  /** A folder whose files go into the container of its name. */
  readonly samples?: string;
}

/** `cronlease dev`: a local cluster, until it is stopped. */
export async function dev({ duration, samples, ...options }: DevArguments): Promise<number> {
  const durationMs = duration === undefined ? undefined : parseDuration(duration);
  if (duration !== undefined && (durationMs === undefined || durationMs === 0)) {
    throw new UsageError(`--duration ${JSON.stringify(duration)} is no duration: write it as 30s, 10m or 1h30m`);
  }
  const found = samples === undefined ? undefined : readSamples(samples);
  const { runDev } = await import('../local/cluster/dev.js');
  return runDev({
    ...options,
    ...(durationMs === undefined ? {} : { durationMs }),
    ...(found === undefined ? {} : { prepare: (storage: string) => putSamples(storage, found) }),
  });
}
