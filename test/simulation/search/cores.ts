import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { Found, Request } from './worker';

/** What a history allocates is of no use after it. With more room, less of it is copied: some 5 % of the time. */
const YOUNG_MB = 64;
/**
 * A worker does so many tasks. What the killed processes of a history wait for is never collected, and makes each
 * collection longer; a new worker plays slowly at first, until its code is compiled.
 */
const TASKS = 150;

/** One task for any core. */
export interface Task {
  /** The bundled worker that does it. */
  readonly bundle: string;
  readonly request: Request;
}

/**
 * Runs tasks on all cores, and starts them in order.
 *
 * @param next the next task; undefined: there are no more
 * @param done called with each answer
 */
export async function onAllCores<T extends Task>(
  next: () => T | undefined | Promise<T | undefined>,
  done: (task: T, found: Found) => void,
): Promise<void> {
  const core = async (): Promise<void> => {
    let current: { readonly bundle: string; readonly worker: Worker; tasks: number } | undefined;
    try {
      for (let task = await next(); task !== undefined; task = await next()) {
        if (current?.bundle !== task.bundle || current.tasks === TASKS) {
          await current?.worker.terminate();
          const worker = new Worker(task.bundle, { resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB } });
          current = { bundle: task.bundle, worker, tasks: 0 };
        }
        current.tasks += 1;
        done(task, await ask(current.worker, task.request));
      }
    } finally {
      await current?.worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, core));
}

function ask(worker: Worker, request: Request): Promise<Found> {
  return new Promise((resolve, reject) => {
    const exited = (code: number): void => {
      settle(() => {
        reject(new Error(`a worker ended with code ${String(code)} while it was ${describe(request)}`));
      });
    };
    const failed = (cause: unknown): void => {
      settle(() => {
        reject(new Error(`a worker failed while it was ${describe(request)}: ${String(cause)}`, { cause }));
      });
    };
    const answered = (found: Found): void => {
      settle(() => {
        resolve(found);
      });
    };
    const settle = (end: () => void): void => {
      worker.off('exit', exited);
      worker.off('error', failed);
      worker.off('message', answered);
      end();
    };
    worker.on('exit', exited);
    worker.on('error', failed);
    worker.on('message', answered);
    worker.postMessage(request, []);
  });
}

function describe(request: Request): string {
  return request.kind === 'explain'
    ? `replaying seed ${String(request.seed)}`
    : `running ${String(request.count)} histories from seed ${String(request.first)}`;
}
