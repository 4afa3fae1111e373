import { handle } from '../record';
import { endProcess, onCron } from './on-cron';
import { work } from './worker';

// Each job belongs to one worker permanently: no lock and no fail-over, hence the floor.
work(({ jobs, index, workers }) => {
  const own = jobs.filter((_, position) => position % workers === index);
  onCron(own, (job, due) => handle(job.name, due, job.handlerMs), endProcess);
});
