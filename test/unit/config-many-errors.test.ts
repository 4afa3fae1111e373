import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/config/config-error';
import type { Registry } from '../../src/config/handlers';
import { loadJobs } from '../../src/config/load';

/** The error of a file with this many jobs, each with two errors. */
function errorOf(jobs: number): ConfigError {
  const broken = Array.from({ length: jobs }, (_, index) => [`job-${String(index)}`, { schedule: 'x', colour: 'red' }]);
  try {
    loadJobs({ revision: 1, jobs: Object.fromEntries(broken) as object });
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('the file was taken');
}

describe('a jobs file with many errors', () => {
  it('lists them all up to a hundred', () => {
    const { errors, count, message } = errorOf(50);
    expect([errors.length, count]).toEqual([100, 100]);
    expect(message.split('\n')).toHaveLength(101);
    expect(message).not.toContain('more');
  });

  it('lists the first hundred, in order, and counts the others', () => {
    const { errors, count, message } = errorOf(2_000);
    expect([errors.length, count]).toEqual([100, 4_000]);
    expect(errors.map(({ path }) => /\d+/.exec(path)?.[0])).toEqual(
      Array.from({ length: 100 }, (_, index) => String(Math.floor(index / 2))),
    );
    expect(message).toMatch(/^4000 errors in the jobs object/);
    expect(message).toMatch(/\nand 3900 more errors$/);
    expect(message.length).toBeLessThan(50_000);
  });
});

describe('mistakes in different places', () => {
  const RIGHT = {
    revision: 1,
    notify: { to: ['ops'] },
    groups: { db: { maxParallel: 1 } },
    calendars: { holidays: ['2026-12-25'] },
    jobs: {
      a: { schedule: '@daily', group: 'db', except: [{ calendar: 'holidays' }] },
      b: { schedule: '@daily', requires: ['a'] },
    },
  };
  /** Each is wrong by itself, at these paths. */
  const MISTAKES: readonly (readonly [errors: readonly string[], change: (file: typeof RIGHT) => object])[] = [
    [['revision'], (file) => ({ ...file, revision: 'x' })],
    [['notify.to[0]'], (file) => ({ ...file, notify: { to: ['OPS!'] } })],
    [['groups.db.maxParallel'], (file) => ({ ...file, groups: { db: { maxParallel: 0 } } })],
    [['calendars.holidays[0]'], (file) => ({ ...file, calendars: { holidays: ['Christmas'] } })],
    [['jobs.a.group'], (file) => ({ ...file, jobs: { ...file.jobs, a: { ...file.jobs.a, group: 'dbs' } } })],
    [['jobs.b.schedule'], (file) => ({ ...file, jobs: { ...file.jobs, b: { ...file.jobs.b, schedule: 'x' } } })],
    [['jobs.b.requires[0]'], (file) => ({ ...file, jobs: { ...file.jobs, b: { ...file.jobs.b, requires: ['z'] } } })],
    [
      ['jobs.c.except[0].calendar', 'jobs.c.timeout'],
      (file) => ({
        ...file,
        jobs: { ...file.jobs, c: { schedule: '@daily', except: [{ calendar: 'none' }], timeout: 'x', handler: 'h' } },
      }),
    ],
    [['jobs.d.handler'], (file) => ({ ...file, jobs: { ...file.jobs, d: { schedule: '@daily', handler: 'no' } } })],
    [['color'], (file) => ({ ...file, color: 'red' })],
  ];
  const run = (): void => undefined;
  const errorsOf = (file: object): readonly string[] => {
    try {
      loadJobs(file, { handlers: { a: { run }, b: { run }, h: { run } } as object as Registry });
      return [];
    } catch (error) {
      if (error instanceof ConfigError) return error.errors.map(({ path }) => path);
      throw error;
    }
  };

  it('are found together, as each is found alone', () => {
    expect(errorsOf(RIGHT)).toEqual([]);
    fc.assert(
      fc.property(fc.subarray([...MISTAKES.keys()]), (places) => {
        const some = places.map((place) => MISTAKES[place]).filter((one) => one !== undefined);
        const file = some.reduce<object>((made, [, change]) => change(made as typeof RIGHT), RIGHT);
        const expected = some.flatMap(([errors]) => errors);
        expect([...errorsOf(file)].toSorted()).toEqual([...expected].toSorted());
      }),
      { numRuns: 300 },
    );
  });

  it('of a job include its handler, whatever else is wrong in it', () => {
    const job = { schedule: '@daily', handler: 'no', timeout: 'x' };
    expect(errorsOf({ ...RIGHT, jobs: { job } }).toSorted()).toEqual(['jobs.job.handler', 'jobs.job.timeout']);
  });
});
