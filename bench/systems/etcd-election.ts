import { Etcd3 } from 'etcd3';
import { handle } from '../record';
import { endProcess, onCron } from './on-cron';
import { work } from './worker';

/** As long as the shortest blob lease. */
const TTL_S = 15;

// The workers elect a leader, which runs all jobs.
work(({ jobs, index, address }) => {
  const election = new Etcd3({ hosts: address }).election('bench', TTL_S);
  const campaign = (): void => {
    let stop = (): void => undefined;
    election
      .campaign(String(index))
      .on('elected', () => {
        stop = onCron(jobs, (job, due) => handle(job.name, due, job.handlerMs), endProcess);
      })
      .on('error', (error: Error) => {
        console.error('The campaign has failed.', error);
        stop();
        campaign();
      });
  };
  campaign();
});
