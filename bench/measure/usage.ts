import type { Backend } from '../backends/backend';
import { cpuMs, residentMb } from '../figures/processes';
import type { Running } from '../systems/system';

/** What a stretch of a run has used. */
export interface Usage {
  readonly seconds: number;
  /** CPU of all workers, in ms. */
  readonly workersCpuMs: number;
  readonly backendCpuMs: number;
  /** Resident memory of the largest worker at its largest, in MB. */
  readonly workerMb: number;
  /** Requests to the server, by kind; undefined if it does not count. */
  readonly calls: Readonly<Record<string, number>> | undefined;
}

const SAMPLE_MS = 500;

/** Begins to measure; the returned function ends it. */
export async function startUsage(running: Running, backend: Backend): Promise<() => Promise<Usage>> {
  const pids = running.pids();
  let workerMb = 0;
  const sample = (): void => {
    workerMb = Math.max(workerMb, ...pids.map(residentMb));
  };
  const callsBefore = await backend.calls();
  const workersBefore = cpuMs(pids);
  const backendBefore = cpuMs(backend.pids);
  const startedAt = performance.now();
  const timer = setInterval(sample, SAMPLE_MS);
  return async () => {
    clearInterval(timer);
    sample();
    const workersCpuMs = cpuMs(pids) - workersBefore;
    const backendCpuMs = cpuMs(backend.pids) - backendBefore;
    const seconds = (performance.now() - startedAt) / 1000;
    const calls = difference(await backend.calls(), callsBefore);
    return { seconds, workersCpuMs, backendCpuMs, workerMb, calls };
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
