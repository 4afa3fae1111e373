import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/config/config-error';
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
