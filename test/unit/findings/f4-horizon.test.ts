import { describe, expect, it } from 'vitest';
import { NO_CONTROL } from '../../../src/core/control';
import { decide } from '../../../src/core/decide';
import { firstCursor, newRow } from '../../../src/core/row';
import { loadJobs } from '../../../src/config/load';

const SEEN = Date.UTC(2026, 10, 21);

describe('what is first due more than 5 years after the job was first seen', () => {
  it.each([
    ['@at', { schedule: '@at 2032-01-01T00:00:00Z' }, Date.UTC(2032, 0, 1)],
    ['between', { schedule: '@daily', between: { from: '2032-01-01' } }, Date.UTC(2032, 0, 1)],
    ['except', { schedule: '@daily', except: [{ from: '2026-11-01', to: '2032-01-01' }] }, Date.UTC(2032, 0, 1)],
  ])('%s is claimed when it is due', (_what, settings, due) => {
    const { jobsFile, warnings } = loadJobs({ jobs: { a: settings } }, {});
    expect(warnings).toEqual([]); // nobody is told
    const job = jobsFile.jobs[0]!;
    const row = newRow(firstCursor(job, SEEN), 0, job.scheduleHash);
    const decision = decide({
      job,
      revision: 0,
      row,
      lease: 'available',
      control: NO_CONTROL,
      listedAt: due + 1_000,
      now: due + 1_000,
      record: 'unread',
      lookAheadMs: 5_000,
      sweepIntervalMs: 60_000,
    });
    expect(decision.kind).toBe('claim');
  });
});
