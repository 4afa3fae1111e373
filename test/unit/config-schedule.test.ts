import { describe, expect, it } from 'vitest';
import { loadJobs } from '../../src/config/load';
import { decide } from '../../src/core/decide/decide';
import { type JobSpec, actualTime } from '../../src/core/job';
import { firstCursor, newRow } from '../../src/core/row';
import { situation } from '../support/situation';

const MINUTE = 60_000;

function jobOf(name: string, settings: object): JobSpec {
  const { jobsFile } = loadJobs({ jobs: { [name]: settings } });
  return jobsFile.jobs[0] ?? expect.fail('no job');
}

/** The due times in [from, to], by nominal time. */
function dueTimes({ timetable }: JobSpec, from: number, to: number): number[] {
  const due: number[] = [];
  for (let at = timetable.next(from - 1); at !== undefined && at <= to; at = timetable.next(at)) due.push(at);
  return due;
}

// A look-up in a timetable reaches 5 years.
describe('a job whose first due time is further away than a look-up reaches', () => {
  const due = Date.UTC(2032, 0, 1);

  it.each([
    ['@at', { schedule: '@at 2032-01-01T00:00:00Z' }],
    ['between', { schedule: '@daily', between: { from: '2032-01-01' } }],
    ['except', { schedule: '@daily', except: [{ from: '2026-11-01', to: '2032-01-01' }] }],
  ])('is claimed when it is due (%s)', (_what, settings) => {
    const job = jobOf('a', settings);
    const row = newRow(firstCursor(job, Date.UTC(2026, 10, 21)), 0, job.scheduleHash);
    expect(decide(situation(job, due - MINUTE, { row })).kind).not.toBe('claim');
    expect(decide(situation(job, due + 1_000, { row }))).toMatchObject({
      ...{ kind: 'claim', claim: { run: { scheduledFor: due } } },
    });
  });
});

describe('a window of a job with a spread', () => {
  const day = Date.UTC(2026, 0, 1);
  const from = day + 9 * 60 * MINUTE;
  const to = day + 18 * 60 * MINUTE;
  const spread = { schedule: '30,55 * * * *', spread: '25m' };
  const starts = (settings: object): number[] => {
    const job = jobOf('nightly-report', { ...spread, ...settings });
    return dueTimes(job, day, day + 24 * 60 * MINUTE).map((due) => actualTime(job, due));
  };

  it('lets start what really starts inside of it, and nothing else', () => {
    const all = starts({});
    const inside = all.filter((at) => from <= at && at < to);
    // By nominal time it would be another set.
    expect(jobOf('nightly-report', spread).offsetMs).toBeGreaterThan(5 * MINUTE);
    expect(starts({ between: { from: '2026-01-01T09:00', to: '2026-01-01T18:00' } })).toEqual(inside);
    expect(starts({ except: [{ from: '2026-01-01T09:00', to: '2026-01-01T18:00' }] })).toEqual(
      all.filter((at) => !inside.includes(at)),
    );
  });
});
