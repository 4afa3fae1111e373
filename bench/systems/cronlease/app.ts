import { defineJob, registerCoordinator } from '../../../src/index';
import { setTimeout } from 'node:timers/promises';
import { handle } from '../../record';
import { countHubWork } from './count-hub-work';

countHubWork(process.env['BENCH_RECORDS'] ?? '');

registerCoordinator({
  jobs: 'jobs.json',
  handlers: {
    bench: defineJob<{ ms: number }>({
      run: ({ job, scheduledFor, attempt }, { ms }) => handle(job, scheduledFor.getTime(), ms, attempt),
    }),
    talk: defineJob<{ ms: number; lines: number }>({
      async run({ log }, { ms, lines }) {
        const until = performance.now() + ms;
        for (let line = 1; line <= lines; line += 1) {
          // Short enough that the limit in lines is reached before that in bytes.
          log(`line ${String(line)}: the customer was charged`);
          const left = until - performance.now();
          if (line % 10 === 0 && left > 0) await setTimeout((left * 10) / (lines - line + 10));
        }
      },
    }),
  },
});
