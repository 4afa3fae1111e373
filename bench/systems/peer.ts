import type { BackendName } from '../backends/backend';
import type { FromWorker, ToWorker } from './messages';
import { type System, WORKERS } from './system';
import { allStarted, startWorker, type WorkerProcess } from './workers';

interface PeerOptions {
  readonly name: string;
  readonly title: string;
  readonly backend: BackendName;
  /** The file of its workers, without extension. */
  readonly entry: string;
  readonly minutesOnly?: boolean;
  /** Whether the first worker prepares the server for the others. */
  readonly firstAlone?: boolean;
}

/** A system whose workers are small programs around a package. */
export function peer({ entry, firstAlone = false, ...system }: PeerOptions): System {
  return {
    ...system,
    async start(options) {
      const { jobs, backend } = options;
      const start = (index: number): WorkerProcess =>
        startWorker<ToWorker, FromWorker>(options, {
          entry,
          index,
          start: { kind: 'start', options: { index, workers: WORKERS, jobs, address: backend.address } },
          stop: { kind: 'stop' },
          isReady: (message) => (message.kind === 'ready' ? true : message.message),
        });
      const workers = [start(0)];
      if (firstAlone) await allStarted(workers);
      for (let index = 1; index < WORKERS; index += 1) workers.push(start(index));
      // A peer's worker is ready once its schedules are set.
      return { ...(await allStarted(workers)), settled: () => Promise.resolve() };
    },
  };
}
