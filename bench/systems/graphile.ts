import { Logger, run } from 'graphile-worker';
import type { Schedule } from '../load';
import { handle } from '../record';
import { work } from './worker';

/** 3,600 handlers of 20 ms every second in all. More would poll more, and cost more idle. */
const CONCURRENCY = 24;
/** Of PostgreSQL's 100 connections, those that each of three workers may use. */
const CONNECTIONS = 25;

function crontabTime(schedule: Schedule): string {
  if (schedule.kind === 'second') throw new Error('graphile-worker has no seconds');
  if (schedule.kind === 'minute') return '* * * * *';
  const at = new Date(schedule.at);
  return [at.getUTCMinutes(), at.getUTCHours(), at.getUTCDate(), at.getUTCMonth() + 1, '*'].join(' ');
}

interface Payload {
  readonly job: string;
  readonly ms: number;
  readonly _cron: { readonly ts: string };
}

// Each job is a line of the crontab, and all workers take from one queue.
work(async ({ jobs, address }) => {
  await run({
    connectionString: address,
    crontab: jobs
      .map(({ name, schedule, handlerMs }) => {
        const payload = JSON.stringify({ job: name, ms: handlerMs });
        return `${crontabTime(schedule)} bench ?id=${name} ${payload}`;
      })
      .join('\n'),
    concurrency: CONCURRENCY,
    maxPoolSize: CONNECTIONS,
    noHandleSignals: true,
    // Its default prints a line for each job.
    logger: new Logger(() => (level, message) => {
      if (level === 'error' || level === 'warning') console.error(message);
    }),
    taskList: {
      bench: (payload, { job }) => {
        const { job: name, ms, _cron } = payload as Payload;
        return handle(name, Date.parse(_cron.ts), ms, job.attempts);
      },
    },
  });
});
