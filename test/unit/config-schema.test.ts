import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { jobsJsonSchema } from '../../src/config/json-schema';
import { loadJobs } from '../../src/config/load';
import { jobSchema } from '../../src/config/schema';

interface Property {
  readonly description?: string;
  readonly default?: unknown;
  readonly pattern?: string;
  readonly examples?: readonly unknown[];
}

const schema = JSON.parse(jobsJsonSchema()) as {
  properties: { jobs: { additionalProperties: { properties: Record<string, Property>; required: string[] } } };
};
const job = schema.properties.jobs.additionalProperties;

describe('the JSON Schema', () => {
  it('is fresh: npm run schema writes it', () => {
    expect(readFileSync('schema/jobs.schema.json', 'utf8')).toBe(jobsJsonSchema());
  });

  it('describes every setting, and requires the schedule alone', () => {
    expect(Object.keys(job.properties)).toEqual(Object.keys(jobSchema.shape));
    for (const [name, property] of Object.entries(job.properties)) expect(property.description, name).toBeTruthy();
    expect(job.required).toEqual(['schedule']);
  });

  it('has examples and defaults that are valid, by its patterns and when they are read', () => {
    for (const [name, { examples = [], default: preset, pattern = '' }] of Object.entries(job.properties)) {
      for (const value of [...examples, preset].filter((each) => each !== undefined)) {
        loadJobs({
          groups: { db: { maxParallel: 3 } },
          jobs: { a: { schedule: '@daily', [name]: value }, extract: { schedule: '@daily' } },
        });
        if (typeof value === 'string') expect(value).toMatch(new RegExp(pattern));
      }
    }
  });

  it.each(['0 3 * * *', '  0 0 3 1,15 * MON#2 ', '@every 1h30m', '@at 2026-12-31T23:00:00+01:00', '@manual'])(
    'takes %j for a schedule',
    (text) => {
      expect(text).toMatch(new RegExp(job.properties['schedule']?.pattern ?? ''));
    },
  );

  it.each(['', '* * *', '0 3 * * * * *', '@dayly', '@at tomorrow', '@every'])(
    'does not take %j for a schedule',
    (text) => {
      expect(text).not.toMatch(new RegExp(job.properties['schedule']?.pattern ?? ''));
    },
  );
});
