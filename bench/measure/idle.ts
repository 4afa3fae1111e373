import { pause } from '../../test/chaos/time';
import type { BenchJob } from '../load';
import { type System, WORKERS } from '../systems/system';
import { usageDuring } from './usage';
import { inWorld, type WorldOptions } from './world';

/** What jobs cost of which none is due. */
export interface IdleResult {
  readonly system: string;
  readonly jobs: number;
  readonly seconds: number;
  /** Share of one core, for each worker. */
  readonly workerShare: number;
  /** Share of one core. */
  readonly serverShare: number;
  readonly workerMb: number;
  /** Of all workers together. */
  readonly callsPerHour: number | undefined;
}

export interface IdleOptions extends Pick<WorldOptions, 'scratch' | 'guard'> {
  readonly system: System;
  readonly jobs: number;
  readonly seconds: number;
  readonly signal: AbortSignal;
}

/** What a start leaves to be done is over by then. */
const WARM_MS = 30_000;
/** Nothing is due before. */
const FAR_MS = 6 * 3_600_000;

export async function idleOnce(options: IdleOptions): Promise<IdleResult> {
  const { system, seconds, signal } = options;
  const at = Math.ceil((Date.now() + FAR_MS) / 60_000) * 60_000;
  const jobs = Array.from({ length: options.jobs }, (_, index): BenchJob => ({
    name: `idle-${String(index + 1)}`,
    schedule: { kind: 'once', at },
    handlerMs: 0,
  }));
  return inWorld({ ...options, jobs, clockShiftsMs: [0, 0, 0] }, async (world) => {
    await world.running.settled();
    await pause(WARM_MS, signal);
    const usage = await usageDuring(world.running, world.backend, () => pause(seconds * 1000, signal));
    const calls = usage.calls && Object.values(usage.calls).reduce((sum, count) => sum + count, 0);
    return {
      ...{ system: system.name, jobs: options.jobs, seconds: usage.seconds, workerMb: usage.workerMb },
      workerShare: usage.workersCpuMs / WORKERS / (usage.seconds * 1000),
      serverShare: usage.backendCpuMs / (usage.seconds * 1000),
      callsPerHour: calls === undefined ? undefined : (calls * 3_600) / usage.seconds,
    };
  });
}
