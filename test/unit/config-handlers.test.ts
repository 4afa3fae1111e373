import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { checkHandlers } from '../../src/config/handlers';
import { loadJobs } from '../../src/config/load';
import type { StandardSchema } from '../../src/core/standard-schema';

type Registry = Parameters<typeof checkHandlers>[1];

const run = (): void => undefined;

const check = (settings: object, handlers: Registry, functionTimeoutMs?: number): ReturnType<typeof checkHandlers> =>
  checkHandlers(
    loadJobs({ jobs: { job: { schedule: '@daily', ...settings } } }).jobsFile.jobs,
    Object.fromEntries(Object.entries(handlers).map(([name, handler]) => [name, { run, ...handler }])),
    functionTimeoutMs,
  );

const validating = (validate: StandardSchema['~standard']['validate']): StandardSchema => ({
  '~standard': { version: 1, vendor: 'test', validate },
});

describe('handlers', () => {
  it('are found by the name of the job, or by its own setting', () => {
    expect(check({}, { job: {} }).errors).toEqual([]);
    expect(check({ handler: 'other' }, { other: {} }).errors).toEqual([]);
  });

  it('that are unknown are an error, also for a disabled job, with those that are known', () => {
    expect(check({ enabled: false, handler: 'reprot' }, { report: {}, purge: {} }).errors).toEqual([
      {
        path: ['jobs', 'job', 'handler'],
        value: 'reprot',
        message: 'is not in the registry of handlers, which holds "report", "purge"',
        remedy: 'did you mean "report"?',
      },
    ]);
    expect(check({}, {}).errors).toMatchObject([{ value: 'job', message: expect.stringMatching(/holds none/) }]);
  });

  it.each([
    [{}, 'has no function "run" in the registry', 'defineJob({ run:'],
    [{ run: 'later' }, 'has no function "run" in the registry', 'defineJob({ run:'],
    [{ plan: run, each: run }, 'has no function "run" in the registry', 'defineJob({ run:'],
    [run, 'is a function in the registry, and not a handler', 'defineJob({ run:'],
    [undefined, 'is undefined in the registry of handlers', 'correct its import'],
  ])('that cannot be run are an error with the remedy: %j', (handler, message, remedy) => {
    const { jobsFile } = loadJobs({ jobs: { job: { schedule: '@daily' } } });
    const { errors } = checkHandlers(jobsFile.jobs, { job: handler } as Registry, undefined);
    expect(errors).toMatchObject([{ path: ['jobs', 'job', 'handler'], value: 'job' }]);
    expect(errors[0]?.message).toContain(message);
    expect(errors[0]?.remedy).toContain(remedy);
  });

  it('are not taken from the prototype of the registry', () => {
    expect(check({ handler: 'constructor' }, {}).errors).toHaveLength(1);
  });
});

describe('input', () => {
  it('is given as the schema puts it out', () => {
    const input = z.object({ container: z.string(), days: z.number().default(30) });
    const { inputs, errors } = check({ input: { container: 'x' } }, { job: { input } });
    expect(errors).toEqual([]);
    expect([...inputs]).toEqual([['job', { container: 'x', days: 30 }]]);
  });

  it('is given as it is without a schema', () => {
    expect([...check({ input: [1] }, { job: {} }).inputs]).toEqual([['job', [1]]]);
    expect([...check({}, { job: {} }).inputs]).toEqual([['job', undefined]]);
  });

  it('that the schema refuses is an error for each thing that is wrong', () => {
    const input = z.object({ container: z.string(), list: z.array(z.number()) });
    expect(check({ input: { container: 5, list: [1, 'x'] } }, { job: { input } }).errors).toMatchObject([
      { path: ['jobs', 'job', 'input', 'container'], value: 5, remedy: expect.stringMatching(/handler "job"/) },
      { path: ['jobs', 'job', 'input', 'list', 1], value: 'x' },
    ]);
    expect(check({}, { job: { input } }).errors).toMatchObject([
      { path: ['jobs', 'job', 'input'], value: null, message: expect.stringMatching(/^is missing/) },
    ]);
  });

  it('may have issues whose path is made of objects, or none', () => {
    const input = validating(() => ({ issues: [{ message: 'no', path: [{ key: 'a' }, 0] }, { message: 'never' }] }));
    expect(check({ input: { a: [7] } }, { job: { input } }).errors).toMatchObject([
      { path: ['jobs', 'job', 'input', 'a', 0], value: 7, message: 'no' },
      { path: ['jobs', 'job', 'input'], value: { a: [7] }, message: 'never' },
    ]);
  });

  it.each([() => Promise.resolve({ value: 1 }), () => Promise.reject(new Error('late'))])(
    'must be checked synchronously',
    (validate) => {
      const input = validating(validate);
      expect(check({}, { job: { input } }).errors).toMatchObject([
        {
          path: ['jobs', 'job', 'input'],
          message: expect.stringMatching(/asynchronous/),
          remedy: 'make it synchronous',
        },
      ]);
    },
  );

  it('whose schema throws is an error', () => {
    const input = validating(() => {
      throw new Error('broken');
    });
    expect(check({}, { job: { input } }).errors).toMatchObject([
      { message: expect.stringMatching(/threw Error: broken/) },
    ]);
  });

  it('that fan out are refused for leader jobs', () => {
    const fanOut = { policy: { itemTimeoutMs: undefined } };
    expect(check({}, { job: fanOut }).errors).toEqual([]);
    expect(check({ schedule: '@always' }, { job: fanOut }).errors).toEqual([
      {
        path: ['jobs', 'job', 'handler'],
        value: 'job',
        message: 'fans out, which a leader job (@always) cannot',
        remedy: 'give the job due times, or use defineJob',
      },
    ]);
  });

  it('that fan out have an item timeout that fits, with the grace, into what the host allows', () => {
    const fanOut = (itemTimeoutMs: number): Registry => ({ job: { policy: { itemTimeoutMs } } });
    expect(check({}, fanOut(595_000), 600_000).errors).toEqual([]);
    expect(check({}, fanOut(595_001)).errors).toEqual([]);
    expect(check({}, fanOut(600_000), 600_000).errors).toMatchObject([
      {
        path: ['jobs', 'job', 'handler'],
        message:
          'has an itemTimeout of 10m, which with the grace of 5s does not fit into the functionTimeout of host.json (10m)',
        remedy: 'lower itemTimeout, or raise functionTimeout',
      },
    ]);
  });
});
