import { defineJob, registerCoordinator } from '../../../src/index';
import { setTimeout } from 'node:timers/promises';
import { handle } from '../../record';

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
          log(`line ${String(line)} of a run that says what it does with each of its customers, as such a job would`);
          const left = until - performance.now();
          if (line % 10 === 0 && left > 0) await setTimeout((left * 10) / (lines - line + 10));
        }
      },
    }),
  },
});
