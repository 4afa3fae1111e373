import type { Backend } from '../backends/backend';
import os from 'node:os';
import type { HubWork } from '../../src/core/batch';
import { cpuMs, machineCpuMs, residentMb } from '../figures/processes';
import type { Running } from '../systems/system';

/** What a stretch of a run has used. */
export interface Usage {
  /** By the monotonic clock that all processes of the machine share, in microseconds. */
  readonly fromUs: number;
  readonly seconds: number;
  /** CPU of all workers, in ms. */
  readonly workersCpuMs: number;
  readonly backendCpuMs: number;
  /** The share of all processors' time that went to anything but workers, server and the benchmark itself. */
  readonly othersShare: number;
  /** Resident memory of the largest worker at its largest, in MB. */
  readonly workerMb: number;
  /** Requests to the server, by kind; undefined if it does not count. */
  readonly calls: Readonly<Record<string, number>> | undefined;
  /** Of the workers' task hubs; absent if the system has none. */
  readonly hubWork?: HubWork | undefined;
}

const SAMPLE_MS = 500;

/** What the workers and the server use while `work` lasts. */
export async function usageDuring(running: Running, backend: Backend, work: () => Promise<void>): Promise<Usage> {
  const pids = running.pids();
  let workerMb = 0;
  const sample = (): void => {
    workerMb = Math.max(workerMb, ...pids.map(residentMb));
  };
  const callsBefore = await backend.calls();
  const hubBefore = running.hubWork?.();
  const workersBefore = cpuMs(pids);
  const backendBefore = cpuMs(backend.pids);
  const ownBefore = cpuMs([process.pid]);
  const machineBefore = machineCpuMs();
  const startedAt = performance.now();
  const fromUs = Number(process.hrtime.bigint() / 1000n);
  const timer = setInterval(sample, SAMPLE_MS);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  sample();
  const workersCpuMs = cpuMs(pids) - workersBefore;
  const backendCpuMs = cpuMs(backend.pids) - backendBefore;
  // All of these are children of this process.
  const ownCpuMs = cpuMs([process.pid]) - ownBefore;
  const machineMs = machineCpuMs() - machineBefore;
  const seconds = (performance.now() - startedAt) / 1000;
  const othersShare = Math.max(0, machineMs - ownCpuMs) / (seconds * 1000 * os.cpus().length);
  const calls = difference(await backend.calls(), callsBefore);
  const hubWork = hubBefore && addedTo(hubBefore, running.hubWork?.());
  return { fromUs, seconds, workersCpuMs, backendCpuMs, othersShare, workerMb, calls, hubWork };
}

function addedTo(before: HubWork, after: HubWork = before): HubWork {
  return {
    orchestrations: after.orchestrations - before.orchestrations,
    activities: after.activities - before.activities,
    turns: after.turns - before.turns,
  };
}

type Counts = Readonly<Record<string, number>>;

/** What has been added to each count; counts without news are left out. */
export function difference(after: Counts | undefined, before: Counts | undefined): Counts | undefined {
  if (after === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(after)
      .map(([kind, count]) => [kind, count - (before?.[kind] ?? 0)] as const)
      .filter(([, count]) => count > 0),
  );
}
