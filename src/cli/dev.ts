import { parseDuration } from '../core/duration';
import type { DevOptions } from '../local/cluster/dev';
import { UsageError } from './cli-error';

/** The options of `cronlease dev`, as written. */
export interface DevArguments extends Omit<DevOptions, 'durationMs'> {
  readonly duration?: string;
}

/** `cronlease dev`: a local cluster, until it is stopped. */
export async function dev({ duration, ...options }: DevArguments): Promise<number> {
  const durationMs = duration === undefined ? undefined : parseDuration(duration);
  if (duration !== undefined && (durationMs === undefined || durationMs === 0)) {
    throw new UsageError(`--duration ${JSON.stringify(duration)} is no duration: write it as 30s, 10m or 1h30m`);
  }
  const { runDev } = await import('../local/cluster/dev.js');
  return runDev({ ...options, ...(durationMs === undefined ? {} : { durationMs }) });
}
