import { describe, expect, it } from 'vitest';
import { loadJobs, type LoadedJobs } from '../../src/config/load';

const job = (settings: object): LoadedJobs => loadJobs({ jobs: { job: settings } });

describe('warnings', () => {
  it.each<[object, string, RegExp]>([
    [{ schedule: '0 0 13 * 5' }, 'schedule', /either/],
    [{ schedule: '@daily', lease: '15s' }, 'lease', /hand-over/],
    [{ schedule: '@daily', lease: '19s' }, 'lease', /hand-over/],
    [{ schedule: '*/5 * * * *', spread: '6m' }, 'spread', /5m, the shortest gap/],
    [{ schedule: '0 0,23 * * *', spread: '2h' }, 'spread', /1h, the shortest gap/],
    [{ schedule: '@every 1h', spread: '61m' }, 'spread', /shortest gap/],
    [{ schedule: '@daily', alertAfter: '24h' }, 'alertAfter', /1d, a gap/],
    [{ schedule: '0 3 * * *', timeZone: 'Europe/Berlin', alertAfter: '25h' }, 'alertAfter', /1d1h, a gap/],
    [{ schedule: '0 9 * * 1-5', alertAfter: '26h' }, 'alertAfter', /not longer than 3d, a gap/],
    [{ schedule: '*/5 * 9-16 * * *', alertAfter: '1h' }, 'alertAfter', /16h5s, a gap/],
    [{ schedule: '0 0 29 2 *', alertAfter: '400d' }, 'alertAfter', /1461d/],
    [{ schedule: '@daily', catchUpWindow: '49s' }, 'catchUpWindow', /failed hand-over.*lease of 30s/],
    [{ schedule: '@daily', catchUpWindow: '1m', lease: '60s' }, 'catchUpWindow', /failed hand-over.*lease of 1m/],
    [{ schedule: '@daily', timeout: '1m', stallAfter: '1m' }, 'stallAfter', /no effect/],
    [{ schedule: '@daily', retry: { backoff: '6m' } }, 'retry.backoff', /5m/],
    [{ schedule: '@always', overlap: 'skip' }, 'overlap', /no effect/],
    [{ schedule: '@always', catchUp: 'all' }, 'catchUp', /no effect/],
    [{ schedule: '@always', catchUpWindow: '2h' }, 'catchUpWindow', /no effect/],
    [{ schedule: '@always', spread: '5m' }, 'spread', /no effect/],
    [{ schedule: '@manual', between: { from: '2026-01-01' } }, 'between', /no effect/],
    [{ schedule: '@manual', except: ['2026-01-01'] }, 'except', /no effect/],
    [{ schedule: '@every 1h', dst: { gap: 'skip' } }, 'dst', /no effect/],
    [{ schedule: '0 * * * *', dst: { gap: 'skip' } }, 'dst', /elapsed/],
  ])('%j: %s', (settings, path, message) => {
    expect(job(settings).warnings).toMatchObject([
      { path: `jobs.job.${path}`, message: expect.stringMatching(message) },
    ]);
  });

  it.each([
    { schedule: '@daily', lease: '20s' },
    { schedule: '*/5 * * * *', spread: '5m' },
    { schedule: '@daily', alertAfter: '24h1s' },
    { schedule: '0 9 * * 1-5', alertAfter: '73h' },
    { schedule: '@at 2026-05-01T00:00:00Z', alertAfter: '1m' },
    { schedule: '@always', alertAfter: '1m' },
    { schedule: '@manual', overlap: 'cancel', catchUpWindow: '2h' },
    { schedule: '0 3 * * *', dst: { gap: 'skip' } },
    { schedule: '@daily', grace: '0s', retry: { backoff: '0s', maxBackoff: '0s' } },
  ])('%j: none', (settings) => {
    expect(job(settings).warnings).toEqual([]);
  });

  const NOW = Date.UTC(2026, 5, 1);
  const now = (settings: object, clockChanges = true): LoadedJobs =>
    loadJobs({ jobs: { job: settings } }, { now: NOW, clockChanges });

  it.each<[object, string, RegExp]>([
    [{ schedule: '@at 2026-05-31T22:59:59Z' }, 'schedule', /in the past by more than catchUpWindow \(1h\)/],
    [{ schedule: '@daily', between: { to: '2026-05-31' } }, 'between.to', /never due again/],
    [{ schedule: '@daily', between: { from: '2020-01-01', to: '2026-06-01T00:00' } }, 'between.to', /never due again/],
  ])('of what is over: %j: %s', (settings, path, message) => {
    expect(now(settings).warnings).toMatchObject([
      { path: `jobs.job.${path}`, message: expect.stringMatching(message) },
    ]);
    expect(job(settings).warnings).toEqual([]);
  });

  const lisbon = { schedule: '30 1 * * *', timeZone: 'Europe/Lisbon' };

  it('of the changes of clocks within a year that touch the schedule', () => {
    expect(now(lisbon).warnings).toMatchObject([
      {
        path: 'jobs.job.schedule',
        message:
          'on 2026-10-25 the clocks show 01:30 twice: it is due in the first pass; ' +
          'on 2027-03-28 the clocks skip 01:30: it is due right after the gap',
      },
    ]);
    // It takes a look at a year of each schedule: only who checks a file pays for that.
    expect(now(lisbon, false).warnings).toEqual([]);
  });

  it.each([
    { ...lisbon, dst: { gap: 'skip' } },
    { ...lisbon, dst: {} },
    { ...lisbon, enabled: false },
    { ...lisbon, timeZone: 'Asia/Tokyo' },
    { ...lisbon, schedule: '30 2 * * *' },
    { ...lisbon, schedule: '30 * * * *' },
    { ...lisbon, schedule: '30 0-5 * * *' },
    { ...lisbon, between: { to: '2026-10-01' } },
  ])('%j: none of clocks', (settings) => {
    expect(now(settings).warnings).toEqual([]);
  });

  it.each([
    { schedule: '@at 2026-05-31T23:00:01Z' },
    { schedule: '@at 2026-06-02T00:00:00Z' },
    { schedule: '@daily', between: { from: '2026-01-01', to: '2026-06-03' } },
    { schedule: '@daily', between: { from: '2031-07-01', to: '2031-08-01' } },
    { schedule: '@manual' },
    { schedule: '@always' },
  ])('%j: none of what is over', (settings) => {
    expect(now(settings).warnings).toEqual([]);
  });

  it('come with the errors of a file that is wrong', () => {
    const load = (): unknown => loadJobs({ jobs: { a: { schedule: '0 0 13 * 5' }, b: {} } });
    expect(load).toThrow(expect.objectContaining({ warnings: [expect.objectContaining({ path: 'jobs.a.schedule' })] }));
  });
});
