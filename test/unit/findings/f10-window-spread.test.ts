import { expect, it } from 'vitest';
import { loadJobs } from '../../../src/config/load';
import { actualTime } from '../../../src/core/job';

// semantics.md, spread: "overlap, windows and lateness [use] the actual one".
it('nothing really starts outside of `between`, whatever the spread', () => {
  const { jobsFile } = loadJobs(
    {
      jobs: {
        'nightly-report': {
          schedule: '30,55 * * * *',
          spread: '25m',
          between: { from: '2026-01-01T09:00', to: '2026-01-01T18:00' },
        },
      },
    },
    {},
  );
  const job = jobsFile.jobs[0]!;
  const last = job.timetable.previous(Date.UTC(2026, 0, 2))!;
  expect(new Date(actualTime(job, last)).toISOString() < '2026-01-01T18:00:00.000Z').toBe(true);
  // and what would start inside is not left out: the nominal 08:30 really comes at 08:30 + offset
});
