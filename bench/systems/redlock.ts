import Redis from 'ioredis';
import Redlock from 'redlock';
import { handle } from '../record';
import { endProcess, onCron } from './on-cron';
import { work } from './worker';

/** Longer than clocks are apart, and never released: no one else gets the lock of this due time. */
const LOCK_MS = 60_000;

// At each due time of each job, every worker tries to lock "job:due time". The one that gets the lock runs the job.
work(({ jobs, address }) => {
  const [host = '', port] = address.split(':');
  const redlock = new Redlock([new Redis(Number(port), host)], { retryCount: 0 });
  onCron(
    jobs,
    async (job, due) => {
      try {
        await redlock.lock(`${job.name}:${String(due)}`, LOCK_MS);
      } catch (error) {
        if (error instanceof Error && error.name === 'LockError') return;
        throw error;
      }
      await handle(job.name, due, job.handlerMs);
    },
    endProcess,
  );
});
