import type { FromWorker, ToWorker, WorkerOptions } from './messages';

const CANNOT_START = 3;
const PARENT_GONE = 5;

function send(message: FromWorker, sent?: () => void): void {
  process.send?.(message, undefined, undefined, () => sent?.());
}

/**
 * Makes this process a worker: it starts when the benchmark sends the options, and ends when the benchmark asks for it
 * or has ended itself.
 * @param start - resolves once the schedules are set
 */
export function work(start: (options: WorkerOptions) => Promise<void> | void): void {
  const begin = async (options: WorkerOptions): Promise<void> => {
    try {
      await start(options);
      send({ kind: 'ready' });
    } catch (error) {
      const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
      send({ kind: 'failed', message }, () => process.exit(CANNOT_START));
    }
  };
  process.on('message', (message: ToWorker) => {
    if (message.kind === 'start') void begin(message.options);
    // The server is a new one for each run: nothing has to be left in order.
    else process.exit(0);
  });
  process.on('disconnect', () => process.exit(PARENT_GONE));
  process.on('SIGINT', () => undefined);
}
