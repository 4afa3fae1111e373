import { describe, expect, it } from 'vitest';
import { ConfigError, type ConfigIssue } from '../../src/config/config-error';
import { loadJobs } from '../../src/config/load';

const DAILY = { schedule: '@daily' };
const DB = { db: { maxParallel: 3 } };

function errorsOf(file: object): readonly ConfigIssue[] {
  try {
    loadJobs(file);
  } catch (error) {
    if (error instanceof ConfigError) return error.errors;
    throw error;
  }
  return [];
}

describe('groups of jobs in the jobs file', () => {
  it('come with the jobs that name them, and change no schedule', () => {
    const { jobsFile, warnings } = loadJobs({
      groups: DB,
      jobs: { extract: { ...DAILY, group: 'db' }, other: DAILY },
    });
    expect(jobsFile.jobs.map(({ group }) => group)).toEqual([{ name: 'db', maxParallel: 3 }, undefined]);
    const [extract, other] = jobsFile.jobs;
    expect(extract?.scheduleHash).toBe(other?.scheduleHash);
    expect(warnings).toEqual([]);
  });

  it.each<[string, object, Partial<ConfigIssue>]>([
    [
      'a group that the file lacks',
      { jobs: { a: { ...DAILY, group: 'db' } } },
      {
        path: 'jobs.a.group',
        value: 'db',
        message: 'is not a group of this file',
        remedy: 'declare it in "groups" of the file: {"db": {"maxParallel": 3}}',
      },
    ],
    [
      'one that is almost there',
      { groups: { warehouse: { maxParallel: 1 } }, jobs: { a: { ...DAILY, group: 'warehose' } } },
      { path: 'jobs.a.group', remedy: 'did you mean "warehouse"?' },
    ],
    [
      'one that is not near any',
      { groups: DB, jobs: { a: { ...DAILY, group: 'warehouse' } } },
      { path: 'jobs.a.group', remedy: 'use one of db' },
    ],
    [
      'a name that every object has',
      { groups: DB, jobs: { a: { ...DAILY, group: 'constructor' } } },
      { path: 'jobs.a.group', message: 'is not a group of this file' },
    ],
    [
      'a leader job',
      { groups: DB, jobs: { a: { schedule: '@always', group: 'db' } } },
      { path: 'jobs.a.group', value: 'db', remedy: 'leave it out' },
    ],
    [
      'a group that is no text',
      { groups: DB, jobs: { a: { ...DAILY, group: 3 } } },
      {
        path: 'jobs.a.group',
        value: 3,
        remedy: 'must be the name of one of the file\'s groups, such as "db", or left out',
      },
    ],
    [
      'no room',
      { groups: { db: { maxParallel: 0 } }, jobs: { a: { ...DAILY, group: 'db' } } },
      { path: 'groups.db.maxParallel', value: 0, remedy: 'must be a whole number from 1 to 1000' },
    ],
    [
      'no number',
      { groups: { db: 3 }, jobs: { a: { ...DAILY, group: 'db' } } },
      { path: 'groups.db', value: 3, remedy: 'must be an object such as {"maxParallel": 3}' },
    ],
    [
      'a setting that there is not',
      { groups: { db: { maxParallel: 3, limit: 3 } }, jobs: { a: { ...DAILY, group: 'db' } } },
      { path: 'groups.db.limit', message: 'is not a setting' },
    ],
    [
      'a list',
      { groups: [], jobs: { a: DAILY } },
      { path: 'groups', remedy: 'must be an object of groups by name: {"db": {"maxParallel": 3}}' },
    ],
  ])('are refused with place, value and remedy: %s', (_, file, issue) => {
    expect(errorsOf(file)).toEqual([expect.objectContaining(issue)]);
  });

  it('without a job are worth a warning', () => {
    const { warnings } = loadJobs({
      groups: { ...DB, api: { maxParallel: 1 } },
      jobs: { a: { ...DAILY, group: 'db' } },
    });
    expect(warnings).toEqual([expect.objectContaining({ path: 'groups.api', message: 'is the group of no job' })]);
  });
});
