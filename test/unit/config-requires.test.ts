import { describe, expect, it } from 'vitest';
import { ConfigError, type ConfigIssue } from '../../src/config/config-error';
import { loadJobs } from '../../src/config/load';
import { runJob } from '../../src/testing/run-job';

type Jobs = Readonly<Record<string, object>>;

const NOW = Date.UTC(2026, 0, 1);
const DAILY = { schedule: '@daily' };

function errorsOf(jobs: Jobs): readonly ConfigIssue[] {
  try {
    loadJobs({ jobs });
  } catch (error) {
    if (error instanceof ConfigError) return error.errors;
    throw error;
  }
  return [];
}

describe('requires', () => {
  it('is empty by default, and has a limit of time only where it is not', () => {
    const { jobsFile } = loadJobs({
      jobs: {
        extract: DAILY,
        load: { ...DAILY, requires: ['extract'], catchUpWindow: '10h' },
        report: { ...DAILY, requires: ['extract', 'load'], requireWithin: '20m' },
      },
    });
    expect(jobsFile.jobs.map(({ requires, requireWithinMs }) => [requires, requireWithinMs])).toEqual([
      [[], 0],
      [['extract'], 9 * 3_600_000],
      [['extract', 'load'], 20 * 60_000],
    ]);
  });

  it('does not change the schedule of the job', () => {
    const { jobsFile } = loadJobs({ jobs: { extract: DAILY, load: { ...DAILY, requires: ['extract'] } } });
    const [extract, load] = jobsFile.jobs;
    expect(load?.scheduleHash).toBe(extract?.scheduleHash);
  });

  it.each<[string, Jobs, Partial<ConfigIssue>]>([
    [
      'an unknown job',
      { extract: DAILY, load: { ...DAILY, requires: ['extrakt'] } },
      { path: 'jobs.load.requires[0]', value: 'extrakt', remedy: 'did you mean "extract"?' },
    ],
    [
      'a job that no name comes near',
      { extract: DAILY, load: { ...DAILY, requires: ['nightly-report'] } },
      { path: 'jobs.load.requires[0]', message: 'is not a job of this file' },
    ],
    ['itself', { load: { ...DAILY, requires: ['load'] } }, { path: 'jobs.load.requires[0]', value: 'load' }],
    [
      'a job twice',
      { extract: DAILY, load: { ...DAILY, requires: ['extract', 'extract'] } },
      { path: 'jobs.load.requires[1]', message: 'is in the list twice' },
    ],
    [
      'a leader job',
      { extract: { schedule: '@always' }, load: { ...DAILY, requires: ['extract'] } },
      { path: 'jobs.load.requires[0]', message: expect.stringContaining('leader job') as string },
    ],
    [
      'a job that is due once',
      { extract: { schedule: '@at 2026-05-01T00:00:00Z' }, load: { ...DAILY, requires: ['extract'] } },
      { path: 'jobs.load.requires[0]', message: expect.stringContaining('only once') as string },
    ],
    [
      'a job, as a leader job',
      { extract: DAILY, load: { schedule: '@always', requires: ['extract'] } },
      { path: 'jobs.load.requires', message: expect.stringContaining('@always') as string },
    ],
    [
      'a job, and runs on request only',
      { extract: DAILY, load: { schedule: '@manual', requires: ['extract'] } },
      { path: 'jobs.load.requires', message: expect.stringContaining('@manual') as string },
    ],
    [
      'a job, and is due once',
      { extract: DAILY, load: { schedule: '@at 2026-05-01T00:00:00Z', requires: ['extract'] } },
      { path: 'jobs.load.requires', message: expect.stringContaining('due once') as string },
    ],
    [
      'a job, and cancels its runs',
      { extract: DAILY, load: { ...DAILY, requires: ['extract'], overlap: 'cancel' } },
      { path: 'jobs.load.overlap', value: 'cancel', remedy: 'must be "skip" or "queue"' },
    ],
    [
      'a text in place of a list',
      { extract: DAILY, load: { ...DAILY, requires: 'extract' } },
      { path: 'jobs.load.requires', remedy: expect.stringContaining('["extract"]') as string },
    ],
    [
      'a number',
      { extract: DAILY, load: { ...DAILY, requires: [7] } },
      { path: 'jobs.load.requires[0]', remedy: 'must be the name of a job of this file' },
    ],
    [
      'too many jobs',
      {
        ...Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`e${String(index)}`, DAILY])),
        load: { ...DAILY, requires: Array.from({ length: 17 }, (_, index) => `e${String(index)}`) },
      },
      { path: 'jobs.load.requires' },
    ],
    [
      'a time that is no duration',
      { extract: DAILY, load: { ...DAILY, requires: ['extract'], requireWithin: 'soon' } },
      { path: 'jobs.load.requireWithin', value: 'soon' },
    ],
  ])('refuses a job that requires %s', (_what, jobs, issue) => {
    expect(errorsOf(jobs)).toMatchObject([issue]);
  });

  it('refuses each circle once, and names its jobs', () => {
    const errors = errorsOf({
      a: { ...DAILY, requires: ['b'] },
      b: { ...DAILY, requires: ['c', 'x'] },
      c: { ...DAILY, requires: ['a'] },
      x: { ...DAILY, requires: ['y'] },
      y: { ...DAILY, requires: ['x'] },
    });
    expect(errors).toMatchObject([
      {
        ...{ path: 'jobs.c.requires[0]', value: 'a', remedy: 'leave one of them out' },
        message: expect.stringContaining('"a" requires "b" requires "c" requires "a"') as string,
      },
      { path: 'jobs.y.requires[0]', message: expect.stringContaining('"x" requires "y" requires "x"') as string },
    ]);
  });

  it('accepts jobs that several jobs require, and long chains', () => {
    const chain = Object.fromEntries(
      Array.from({ length: 3_000 }, (_, index) => [
        `j${String(index)}`,
        { ...DAILY, requires: [index + 1, index + 2].filter((at) => at < 3_000).map((at) => `j${String(at)}`) },
      ]),
    );
    expect(errorsOf(chain)).toEqual([]);
  });

  it('names the errors of a job that has others too', () => {
    const errors = errorsOf({ load: { schedule: 'never', requires: ['extract'] } });
    expect(errors.map(({ path }) => path)).toEqual(['jobs.load.schedule', 'jobs.load.requires[0]']);
  });

  const warned: readonly (readonly [string, Jobs, Partial<ConfigIssue>])[] = [
    [
      'a disabled job',
      { extract: { ...DAILY, enabled: false }, load: { ...DAILY, requires: ['extract'] } },
      { path: 'jobs.load.requires[0]', message: expect.stringContaining('is disabled') as string },
    ],
    [
      'a job that is due more seldom',
      { extract: { schedule: '0 0 * * 1' }, load: { ...DAILY, requires: ['extract'] } },
      { path: 'jobs.load.requires[0]', message: expect.stringContaining('2026-01-02T00:00:00.000Z') as string },
    ],
    [
      'nothing, but has a limit of time',
      { load: { ...DAILY, requireWithin: '5m' } },
      { path: 'jobs.load.requireWithin', message: expect.stringContaining('no effect') as string },
    ],
    [
      'a job for longer than its window',
      { extract: DAILY, load: { ...DAILY, requires: ['extract'], requireWithin: '2h' } },
      { path: 'jobs.load.requireWithin', message: expect.stringContaining('catchUpWindow (1h) first') as string },
    ],
    [
      'a job for nearly as long as its window',
      { extract: DAILY, load: { ...DAILY, requires: ['extract'], requireWithin: '59m30s' } },
      { path: 'jobs.load.requireWithin', remedy: 'set catchUpWindow to 1h20s or more, or use less here' },
    ],
  ];

  it.each(warned)('warns of a job that requires %s', (_what, jobs, issue) => {
    expect(loadJobs({ jobs }, { now: NOW }).warnings).toMatchObject([issue]);
  });

  it.each<[string, Jobs]>([
    ['as often', { extract: DAILY, load: { ...DAILY, requires: ['extract'] } }],
    ['later, within the time', { extract: { schedule: '30 0 * * *' }, load: { ...DAILY, requires: ['extract'] } }],
    ['more often', { extract: { schedule: '@hourly' }, load: { ...DAILY, requires: ['extract'] } }],
    ['on request', { extract: { schedule: '@manual' }, load: { ...DAILY, requires: ['extract'] } }],
  ])('warns of no job that requires one which is due %s', (_what, jobs) => {
    expect(loadJobs({ jobs }, { now: NOW }).warnings).toEqual([]);
  });

  it('is left out of a test of a handler, which runs alone', async () => {
    const settings = { schedule: '@daily', requires: ['extract'] };
    const tested = await runJob({ run: () => 'loaded' }, { settings });
    expect(tested).toMatchObject({ outcome: 'succeeded', result: 'loaded' });
  });
});
