import { Queue, Worker } from 'bullmq';
import { inParallel } from '../../src/core/in-parallel';
import { cronOf } from '../load';
import { handle } from '../record';
import { endProcess } from './on-cron';
import { work } from './worker';

interface Data {
  readonly job: string;
  readonly ms: number;
}

const NAME = 'bench';
/** Enough for all that is due at once: what waits for the handler's 20 ms needs no processor. */
const CONCURRENCY = 2_000;

// Each job is a job scheduler, and all workers take from one queue.
work(async ({ jobs, index, address }) => {
  const [host, port] = address.split(':');
  const connection = { host, port: Number(port) };
  if (index === 0) {
    const queue = new Queue<Data>(NAME, { connection, defaultJobOptions: { removeOnComplete: true } });
    await inParallel(jobs, ({ name, schedule, handlerMs }) =>
      queue.upsertJobScheduler(
        name,
        { pattern: cronOf(schedule), tz: 'UTC' },
        { name, data: { job: name, ms: handlerMs }, opts: { removeOnComplete: true } },
      ),
    );
  }
  const worker = new Worker<Data>(
    NAME,
    async ({ data, opts, attemptsStarted }) => handle(data.job, opts.prevMillis ?? 0, data.ms, attemptsStarted),
    { connection, concurrency: CONCURRENCY },
  );
  worker.on('error', endProcess);
  await worker.waitUntilReady();
});
