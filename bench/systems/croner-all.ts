import { handle } from '../record';
import { endProcess, onCron } from './on-cron';
import { work } from './worker';

// Every worker runs every job: croner in each of several instances, without a lock.
work(({ jobs }) => {
  onCron(jobs, (job, due) => handle(job.name, due, job.handlerMs), endProcess);
});
