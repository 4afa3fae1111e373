import { defineJob, registerCoordinator } from '../../../src/index';
import { handle } from '../../record';

registerCoordinator({
  jobs: 'jobs.json',
  handlers: {
    bench: defineJob<{ ms: number }>({
      run: ({ job, scheduledFor, attempt }, { ms }) => handle(job, scheduledFor.getTime(), ms, attempt),
    }),
  },
});
