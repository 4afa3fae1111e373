import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ConfigError, formatIssue, type ConfigIssue } from '../../src/config/config-error';
import type { Registry } from '../../src/config/handlers';
import { loadJobs, type LoadedJobs, type LoadOptions } from '../../src/config/load';
import type { JobSpec } from '../../src/core/job';
import { cpuTime } from '../support/cpu';

function refusal(source: string | object, options?: LoadOptions): ConfigError {
  try {
    loadJobs(source, options);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  return expect.fail('accepted');
}

/** As an app loads its jobs: the store's limits are known. */
const LEASES: LoadOptions = { leaseMs: { least: 15_000, most: 60_000 } };

const job = (settings: object, options?: LoadOptions): LoadedJobs => loadJobs({ jobs: { job: settings } }, options);
const errorsOf = (settings: object, options?: LoadOptions): readonly ConfigIssue[] =>
  refusal({ jobs: { job: settings } }, { ...LEASES, ...options }).errors;
const specOf = (settings: object): JobSpec => job(settings).jobsFile.jobs[0] ?? expect.fail();

describe('a file that is right', () => {
  it('refuses an integer in an input that JavaScript has rounded', () => {
    const settings = (id: string): object =>
      JSON.parse(`{"schedule": "@daily", "input": {"ids": [1, ${id}]}}`) as object;
    expect(() => job(settings('9007199254740993'))).toThrow(
      'jobs.job.input.ids[1] = 9007199254740992: is an integer beyond 2^53; it was read as this one; put it in double quotes, as text',
    );
    expect(() => job(settings('-9007199254740991'))).not.toThrow();
    expect(() => job(settings('1e300'))).not.toThrow();
  });

  it('has every default of a job filled in', () => {
    expect(specOf({ schedule: '0 3 * * *' })).toEqual({
      name: 'job',
      schedule: '0 3 * * *',
      kind: 'timed',
      timeZone: 'UTC',
      timetable: { next: expect.any(Function), previous: expect.any(Function) },
      offsetMs: 0,
      catchUp: 'latest',
      catchUpWindowMs: 3_600_000,
      overlap: 'skip',
      requires: [],
      requireWithinMs: 0,
      priority: 5,
      timeoutMs: 600_000,
      stallAfterMs: undefined,
      graceMs: 5_000,
      retry: { attempts: 3, backoffMs: 10_000, factor: 2, maxBackoffMs: 300_000, jitter: 'full' },
      leaseMs: 30_000,
      pauseAfterFailures: undefined,
      alertAfterMs: undefined,
      keepMs: 7_776_000_000,
      logs: 'keep',
      input: undefined,
      handler: 'job',
      description: undefined,
      tags: [],
      enabled: true,
      scheduleHash: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
  });

  it('has every setting of a job taken over', () => {
    const spec = specOf({
      schedule: '0 3 * * *',
      timeZone: 'Europe/Lisbon',
      dst: { gap: 'skip' },
      between: { from: '2026-01-01', to: '2027-01-01T12:00:00Z' },
      except: ['2026-12-25', { from: '2026-08-01', to: '2026-09-01T00:00' }],
      catchUp: 'all',
      catchUpWindow: '2h',
      overlap: 'queue',
      priority: 9,
      spread: '5m',
      timeout: '20m',
      stallAfter: '2m',
      grace: '7s',
      retry: { attempts: 5, jitter: 'none' },
      lease: '45s',
      pauseAfterFailures: 3,
      alertAfter: '2d',
      keep: '30d',
      input: { container: 'x' },
      handler: 'nightlyReport',
      description: 'a report',
      tags: ['nightly'],
      enabled: false,
    });
    expect(spec).toMatchObject({
      timeZone: 'Europe/Lisbon',
      catchUp: 'all',
      catchUpWindowMs: 7_200_000,
      overlap: 'queue',
      priority: 9,
      timeoutMs: 1_200_000,
      stallAfterMs: 120_000,
      graceMs: 7_000,
      retry: { attempts: 5, backoffMs: 10_000, factor: 2, maxBackoffMs: 300_000, jitter: 'none' },
      leaseMs: 45_000,
      pauseAfterFailures: 3,
      alertAfterMs: 172_800_000,
      keepMs: 2_592_000_000,
      input: { container: 'x' },
      handler: 'nightlyReport',
      description: 'a report',
      tags: ['nightly'],
      enabled: false,
    });
    expect(spec.offsetMs).toBeGreaterThan(0);
    expect(spec.timetable.next(Date.UTC(2026, 6, 31, 12))).toBe(Date.UTC(2026, 8, 1, 2));
  });

  it('gives kinds, and no timeout to a leader job', () => {
    expect(specOf({ schedule: '@always' })).toMatchObject({ kind: 'always', timeoutMs: undefined });
    expect(specOf({ schedule: '@always', timeout: '1h' })).toMatchObject({ timeoutMs: 3_600_000 });
    expect(specOf({ schedule: '@manual' })).toMatchObject({ kind: 'manual', timeoutMs: 600_000 });
    expect(specOf({ schedule: '@at 2026-12-31T23:00:00Z' })).toMatchObject({
      kind: 'timed',
      at: Date.UTC(2026, 11, 31, 23),
    });
    expect(specOf({ schedule: '@always' }).timetable.next(0)).toBeUndefined();
  });

  it('may have a schema and a revision', () => {
    const file = { $schema: './schema/jobs.schema.json', revision: 7, jobs: { a: { schedule: '@daily' } } };
    expect(loadJobs(file).jobsFile.revision).toBe(7);
    expect(loadJobs({ jobs: file.jobs })).toMatchObject({ jobsFile: { revision: 0 }, warnings: [] });
  });

  it('may name a job with digits and hyphens, and have settings that are undefined', () => {
    const name = 'a-1'.repeat(21);
    const { jobsFile } = loadJobs({ jobs: { [name]: { schedule: '@daily', timeout: undefined } } });
    expect(jobsFile.jobs[0]).toMatchObject({ name, handler: name, timeoutMs: 600_000 });
  });
});

describe('a job that is wrong', () => {
  it.each<[string, object, unknown, RegExp, RegExp]>([
    ['schedule', {}, null, /missing/, /cron expression/],
    ['schedule', { schedule: 5 }, 5, /not text/, /cron expression/],
    ['schedule', { schedule: '0 0 31 2 *' }, '0 0 31 2 *', /never comes/, /L for the last day/],
    [
      'schedule',
      { schedule: '@at 2026-01-01T00:00:00Z', except: ['2026-01-01'] },
      '@at 2026-01-01T00:00:00Z',
      /never due/,
      /widen/,
    ],
    ['scheduel', { schedule: '@daily', scheduel: 'x' }, 'x', /not a setting/, /did you mean "schedule"/],
    ['colour', { schedule: '@daily', colour: null }, null, /not a setting/, /known are "schedule", /],
    [
      'timeZone',
      { schedule: '@daily', timeZone: 'Europe/Lisboa' },
      'Europe/Lisboa',
      /not a time zone/,
      /"Europe\/Lisbon"/,
    ],
    [
      'timeZone',
      { schedule: '@daily', timeZone: 'W. Europe Standard Time' },
      'W. Europe Standard Time',
      /the name of a time zone on Windows/,
      /IANA name "Europe\/Berlin"/,
    ],
    ['timeZone', { schedule: '@daily', timeZone: '+02:00' }, '+02:00', /offset/, /IANA/],
    ['dst.gap', { schedule: '@daily', dst: { gap: 'foward' } }, 'foward', /not one of/, /did you mean "forward"/],
    ['dst.overlaps', { schedule: '@daily', dst: { overlaps: 'both' } }, 'both', /not a setting/, /"overlap"/],
    [
      'between',
      { schedule: '@daily', between: { from: '2026-01-02', to: '2026-01-02' } },
      { from: '2026-01-02', to: '2026-01-02' },
      /ends before/,
      /exclusive/,
    ],
    [
      'between',
      { schedule: '@daily', between: { from: '2026-01-02', to: '2026-01-01T23:00:00Z' } },
      { from: '2026-01-02', to: '2026-01-01T23:00:00Z' },
      /ends before/,
      /exclusive/,
    ],
    ['between.from', { schedule: '@daily', between: { from: 'soon' } }, 'soon', /not a date/, /2026-12-24/],
    ['except', { schedule: '@daily', except: '2026-12-25' }, '2026-12-25', /not a list/, /"2026-12-25"/],
    ['except[1]', { schedule: '@daily', except: ['2026-12-25', '2026-02-30'] }, '2026-02-30', /does not exist/, /date/],
    [
      'except[0]',
      { schedule: '@daily', except: ['2026-12-25T12:00'] },
      '2026-12-25T12:00',
      /a time, not a date/,
      /"from"/,
    ],
    ['except[0]', { schedule: '@daily', except: [5] }, 5, /neither/, /"from"/],
    ['except[0].to', { schedule: '@daily', except: [{ from: '2026-12-25' }] }, null, /missing/, /first day/],
    [
      'except[0].until',
      { schedule: '@daily', except: [{ from: '2026-12-25', to: '2026-12-26', until: 1 }] },
      1,
      /not a setting/,
      /"from", "to"/,
    ],
    ['catchUp', { schedule: '@daily', catchUp: 'every' }, 'every', /not one of/, /"latest", "all", "none"/],
    ['catchUpWindow', { schedule: '@daily', catchUpWindow: '0s' }, '0s', /shorter than 1s/, /1s or more/],
    ['overlap', { schedule: '@daily', overlap: true }, true, /not one of/, /"skip", "queue" or "cancel"/],
    ['priority', { schedule: '@daily', priority: 10 }, 10, /more than 9/, /from 0 to 9/],
    ['priority', { schedule: '@daily', priority: -1 }, -1, /less than 0/, /9 goes first/],
    ['priority', { schedule: '@daily', priority: 4.5 }, 4.5, /not a whole number/, /from 0 to 9/],
    ['priority', { schedule: '@daily', priority: 'high' }, 'high', /not a/, /from 0 to 9/],
    ['spread', { schedule: '@daily', spread: 300 }, 300, /not text/, /"5m"/],
    ['timeout', { schedule: '@daily', timeout: '10 minutes' }, '10 minutes', /not a duration/, /1h30m/],
    ['timeout', { schedule: '@daily', timeout: null }, null, /not text/, /left out/],
    // Its row would wait for so long that it counts as damaged.
    ['timeout', { schedule: '@daily', timeout: '366d' }, '366d', /longer than 365d/, /1s to 365d/],
    [
      'retry.maxBackoff',
      { schedule: '@daily', retry: { maxBackoff: '400d' } },
      '400d',
      /longer than 365d/,
      /0s to 365d/,
    ],
    ['stallAfter', { schedule: '@daily', stallAfter: '0s' }, '0s', /shorter/, /1s or more/],
    ['grace', { schedule: '@daily', grace: '17s' }, '17s', /lease of 30s/, /less than 17s/],
    ['grace', { schedule: '@daily', grace: '8s', lease: '15s' }, '8s', /lease of 15s/, /less than 8s/],
    ['retry', { schedule: '@daily', retry: 5 }, 5, /not an object/, /"attempts": 3/],
    ['retry.attempts', { schedule: '@daily', retry: { attempts: 0 } }, 0, /less than 1/, /from 1/],
    ['retry.attempts', { schedule: '@daily', retry: { attempts: 2.5 } }, 2.5, /not a whole number/, /from 1/],
    ['retry.attempts', { schedule: '@daily', retry: { attempts: '3' } }, '3', /not a/, /from 1/],
    ['retry.factor', { schedule: '@daily', retry: { factor: 0.5 } }, 0.5, /less than 1/, /from 1/],
    ['retry.backof', { schedule: '@daily', retry: { backof: '1s' } }, '1s', /not a setting/, /"backoff"/],
    ['lease', { schedule: '@daily', lease: '14s' }, '14s', /shorter than 15s/, /15s to 1m/],
    ['lease', { schedule: '@daily', lease: '61s' }, '61s', /longer than 1m/, /15s to 1m/],
    ['pauseAfterFailures', { schedule: '@daily', pauseAfterFailures: 0 }, 0, /less than 1/, /from 1/],
    ['alertAfter', { schedule: '@daily', alertAfter: 'never' }, 'never', /not a duration/, /units/],
    ['keep', { schedule: '@daily', keep: '0s' }, '0s', /shorter/, /or more/],
    ['handler', { schedule: '@daily', handler: '' }, '', /empty/, /registry/],
    ['description', { schedule: '@daily', description: 5 }, 5, /not text/, /text/],
    ['tags', { schedule: '@daily', tags: 'x' }, 'x', /not a list/, /list/],
    ['tags[1]', { schedule: '@daily', tags: ['x', ''] }, '', /empty/, /word/],
    ['enabled', { schedule: '@daily', enabled: 'yes' }, 'yes', /not true or false/, /true or false/],
  ])('%s of %j', (path, settings, value, message, remedy) => {
    expect(errorsOf(settings)).toEqual([
      {
        path: `jobs.job.${path}`,
        value,
        message: expect.stringMatching(message),
        remedy: expect.stringMatching(remedy),
      },
    ]);
  });

  it.each([() => 1, 10n, NaN, new Date(0), { deep: [Symbol('x')] }])('has an input that is not JSON', (input) => {
    expect(errorsOf({ schedule: '@daily', input })).toMatchObject([{ path: 'jobs.job.input', message: 'is not JSON' }]);
  });

  it('has an input that holds itself', () => {
    const input: { self?: object } = {};
    input.self = input;
    const error = refusal({ jobs: { job: { schedule: '@daily', input } } });
    expect(error.message).toContain('jobs.job.input');
  });

  it.each(['Nightly', 'a b', '', 'a.b', 'a'.repeat(64), 'ä', 'a_b', '__proto__'])('is called %j', (name) => {
    const file: unknown = JSON.parse(`{"jobs": {${JSON.stringify(name)}: {"schedule": "@daily"}}}`);
    const [error, ...more] = refusal(Object(file)).errors;
    expect(more).toEqual([]);
    expect(error).toMatchObject({
      message: expect.stringMatching(/name/),
      remedy: expect.stringMatching(/1 to 63 characters of a-z 0-9 -/),
    });
  });

  it.each(['-fleet', '-layout'])('is called %s, as cronlease calls a control of its own', (name) => {
    expect(refusal({ jobs: { [name]: { schedule: '@daily' } } }).errors).toMatchObject([
      { path: `jobs.${name}`, message: expect.stringContaining('is reserved') },
    ]);
  });

  it('is called as the command line calls all jobs', () => {
    expect(refusal({ jobs: { all: { schedule: '@daily' } } }).errors).toMatchObject([
      {
        path: 'jobs.all',
        message: expect.stringContaining('reads as all jobs'),
        remedy: expect.stringContaining('all-'),
      },
    ]);
  });

  it.each([null, 5, 'x', []])('is %j', (settings) => {
    expect(refusal({ jobs: { job: settings } }).errors).toMatchObject([
      { path: 'jobs.job', message: 'is not an object' },
    ]);
  });

  it('does not fit into the function timeout', () => {
    const options = { functionTimeoutMs: 1_800_000 };
    expect(errorsOf({ schedule: '@daily', timeout: '30m' }, options)).toMatchObject([
      {
        path: 'jobs.job.timeout',
        value: '30m',
        message: expect.stringMatching(/grace of 5s.*functionTimeout of 30m/),
        remedy: expect.stringMatching(/29m45s/),
      },
    ]);
    expect(errorsOf({ schedule: '@daily' }, { functionTimeoutMs: 300_000 })).toMatchObject([
      { path: 'jobs.job.timeout', value: null, message: expect.stringMatching(/10m by default/) },
    ]);
    expect(job({ schedule: '@daily', timeout: '29m45s' }, options).warnings).toEqual([]);
    expect(job({ schedule: '@daily', timeout: '29m55s' }, options).warnings).toMatchObject([
      { path: 'jobs.job.timeout' },
    ]);
    expect(job({ schedule: '@always' }, { functionTimeoutMs: 300_000 }).warnings).toEqual([]);
    expect(errorsOf({ schedule: '@always' }, { functionTimeoutMs: 60_000 })).toMatchObject([
      {
        path: 'jobs.job.schedule',
        message: expect.stringMatching(/no time for a term: it ends 35s before/),
        remedy: expect.stringMatching(/1m5s or more/),
      },
    ]);
  });
});

describe('every error at once', () => {
  it('of the file, of several jobs, of several settings of one, and between settings', () => {
    const error = refusal({
      revison: 2,
      revision: -1,
      jobs: {
        good: { schedule: '@daily' },
        'Bad Name': { schedule: '* * *' },
        one: {
          schedul: '@daily',
          timeZone: 'PST',
          except: ['x', { from: '2026-01-02', to: '2026-01-01' }],
          lease: '20s',
          grace: '20s',
          retry: { attempts: 0, factor: 0 },
        },
        two: { schedule: '@daily', between: { from: '2026-02-01', to: '2026-01-01' }, enabled: 1 },
      },
    });
    expect(error.errors.map(({ path }) => path).sort()).toEqual(
      [
        'revision',
        'revison',
        'jobs["Bad Name"]',
        'jobs["Bad Name"].schedule',
        'jobs.one.schedule',
        'jobs.one.schedul',
        'jobs.one.timeZone',
        'jobs.one.except[0]',
        'jobs.one.except[1]',
        'jobs.one.grace',
        'jobs.one.retry.attempts',
        'jobs.one.retry.factor',
        'jobs.two.between',
        'jobs.two.enabled',
      ].sort(),
    );
    expect(error.code).toBe('InvalidJobs');
    const lines = error.message.split('\n');
    expect(lines[0]).toMatch(/14 errors in the jobs object/);
    expect(lines.slice(1)).toHaveLength(14);
    // The host grades each line of standard error by such a word: with log level Warning the others are not shown.
    for (const line of lines.slice(1)) expect(line).toMatch(/^error: /);
    expect(lines).toContain('error: jobs.two.enabled = 1: is not true or false; must be true or false');
  });

  it('of groups, of what jobs require, and between both and the jobs', () => {
    const error = refusal({
      groups: { db: { maxParallel: 0 } },
      jobs: {
        one: { schedule: '0 25 * * *', group: 'warehouse' },
        two: { schedule: '@hourly', requires: ['nothing'] },
      },
    });
    expect(error.errors.map(({ path }) => path).sort()).toEqual([
      'groups.db.maxParallel',
      'jobs.one.group',
      'jobs.one.schedule',
      'jobs.two.requires[0]',
    ]);
  });

  it('takes the lengths of leases that the store gives', () => {
    const settings = { schedule: '@daily', lease: '5m', grace: '5s' };
    expect(errorsOf(settings)).toMatchObject([{ path: 'jobs.job.lease', remedy: 'must be 15s to 1m' }]);
    expect(job(settings, { leaseMs: { least: 1_000, most: 600_000 } }).jobsFile.jobs[0]?.leaseMs).toBe(300_000);
    expect(errorsOf(settings, { leaseMs: { least: 1_000, most: 60_000 } })).toHaveLength(1);
  });

  it('says nothing of what follows from a setting that is wrong', () => {
    expect(errorsOf({ schedule: '@daily', lease: '5s', grace: '25s' }).map(({ path }) => path)).toEqual([
      'jobs.job.lease',
    ]);
    expect(errorsOf({ schedule: 'x' }, { functionTimeoutMs: 60_000 }).map(({ path }) => path)).toEqual([
      'jobs.job.schedule',
    ]);
  });
});

describe('the top of a file', () => {
  it.each<[object, string]>([
    [[], '$'],
    [{}, 'jobs'],
    [{ jobs: [] }, 'jobs'],
    [{ jobs: null }, 'jobs'],
    [{ jobs: {}, revision: '7' }, 'revision'],
    [{ jobs: {}, revision: 1.5 }, 'revision'],
    [{ jobs: {}, $schema: 5 }, '$schema'],
    [{ jobs: {}, version: 1 }, 'version'],
  ])('%j is wrong at %s', (file, path) => {
    expect(refusal(file).errors).toMatchObject([{ path }]);
  });

  it('may hold no job, with a warning', () => {
    expect(loadJobs({ jobs: {} }).warnings).toMatchObject([{ path: 'jobs' }]);
  });
});

describe('files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cronlease-config-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const write = (content: string | Uint8Array): string => {
    writeFileSync(join(folder, 'jobs.json'), content);
    return join(folder, 'jobs.json');
  };

  it('are read by absolute path, or relative to a folder', () => {
    const file = write('{"jobs": {"a": {"schedule": "@daily"}}}');
    expect(loadJobs(file).jobsFile.jobs).toHaveLength(1);
    expect(loadJobs('jobs.json', { baseFolder: folder }).jobsFile.jobs).toHaveLength(1);
  });

  it('may begin with a byte order mark', () => {
    expect(loadJobs(write('\uFEFF{"jobs": {"a": {"schedule": "@daily"}}}')).jobsFile.jobs).toHaveLength(1);
  });

  it.each<[string, string | Uint8Array, RegExp]>([
    ['is empty', '', /is empty/],
    ['holds white space', ' \n\t', /is empty/],
    ['is UTF-16', new Uint8Array([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]), /UTF-8/],
    ['ends early', '{"jobs": {', /^.*jobs.json:1:11: the file is not JSON: .*ends/],
    [
      'has a comma too many',
      '{"jobs": {\n  "a": {"schedule": "@daily"},\n}}',
      /^.*jobs.json:3:1: the file is not JSON: a comma before "}"/,
    ],
    ['has a comma too few', '{"revision": 1\n "jobs": {}}', /^.*jobs.json:2:2: the file is not JSON: expected ","/],
    ['has a comment', '{\n  // jobs\n  "jobs": {}}', /^.*jobs.json:2:3: the file is not JSON: .*comment/],
    ['has single quotes', "{'jobs': {}}", /^.*jobs.json:1:2: the file is not JSON: .*single quote/],
    ['has a name without quotes', '{jobs: {}}', /^.*jobs.json:1:2: the file is not JSON: .*double quotes, found "j"/],
    ['has text over two lines', '{"$schema": "a\nb"}', /^.*jobs.json:1:13: the file is not JSON: text/],
    ['goes on after its end', '{"jobs": {}}\n{}', /^.*jobs.json:2:1: the file is not JSON: expected the end/],
    ['is nested without end', '['.repeat(100_000), /deeper/],
  ])('that %s is refused', (_what, content, message) => {
    const file = write(content);
    const error = refusal(file);
    expect(error.errors.map(({ path }) => path)).toEqual(['$']);
    expect(error.errors.map(formatIssue)).toEqual([expect.stringMatching(message)]);
    expect(error.message).toContain(file);
  });

  it('that is missing, or a folder, is refused', () => {
    expect(refusal('nope.json', { baseFolder: folder }).errors).toMatchObject([
      { path: '$', value: null, message: `${join(folder, 'nope.json')} does not exist` },
    ]);
    expect(refusal('nope.json', { baseFolder: folder }).message).toContain(
      `error: ${join(folder, 'nope.json')} does not exist; create it`,
    );
    expect(refusal(folder).errors).toMatchObject([{ path: '$', message: `${folder} is a folder` }]);
  });

  it('that cannot be read for another reason is refused with it', () => {
    expect(refusal('no\0name').errors).toMatchObject([
      { path: '$', message: expect.stringMatching(/cannot be read: .*null byte/) },
    ]);
  });

  it('that gives a member twice is refused, with its place', () => {
    const file = write(
      '{"jobs": {\n  "a": {"schedule": "@daily", "schedule": "@hourly"},\n  "a": {"schedule": "* *"}}}',
    );
    expect(refusal(file).errors.map((issue) => formatIssue(issue).replace(/;.*/, ''))).toEqual([
      `${file}:2:31: jobs.a.schedule = "@hourly": is a duplicate`,
      `${file}:3:3: jobs.a = {"schedule":"* *"}: is a duplicate`,
      `${file}:3:9: jobs.a.schedule = "* *": has 2 fields`,
    ]);
  });

  it('have a place for each error, and for each warning', () => {
    const lines = [
      '{',
      '  "revision": 3,',
      '  "calendars": {"c": ["2026-13-01"]},',
      '  "jobs": {',
      '    "a": {"lease": "15s", "schedule": "@daily",',
      '      "requires": ["b", "nobody"], "colour": "red"},',
      '    "b": {"schedule": "0 0 13 * 5", "requires": ["a"], "except": ["2026-01-01", {"calendar": "d"}]},',
      '    "c": {}, "d": {"schedule": "@daily", "handler": "d", "input": {"list": [1]}}',
      '  }',
      '}',
    ];
    const file = write(lines.join('\n'));
    const handlers = { a: { run: () => undefined }, b: { run: () => undefined } } as object as Registry;
    const places = (issues: ConfigError['errors']): string[] =>
      issues.map(({ place, path }) => `${place?.line}:${place?.column} ${path}`).toSorted();
    const { errors, warnings } = refusal(file, { handlers });
    expect(places(errors)).toEqual([
      '3:23 calendars.c[0]',
      '6:25 jobs.a.requires[1]',
      '6:36 jobs.a.colour',
      '7:50 jobs.b.requires[0]',
      '7:82 jobs.b.except[1].calendar',
      '8:42 jobs.d.handler',
      '8:5 jobs.c.schedule',
    ]);
    expect(places(warnings)).toEqual(['5:11 jobs.a.lease']);
  });
});

it('ten times as many jobs take about ten times as long to read', () => {
  const zones = ['UTC', 'Europe/Lisbon', 'America/New_York', 'Asia/Tokyo'];
  const entries = Array.from({ length: 10_000 }, (_, index) => [
    `job-${index}`,
    { schedule: `${index % 60} ${index % 24} * * *`, timeZone: zones[index % 4], spread: '5m', input: { index } },
  ]);
  const read = (count: number): void => {
    expect(loadJobs({ jobs: Object.fromEntries(entries.slice(0, count)) }).jobsFile.jobs).toHaveLength(count);
  };
  read(1_000);
  const few = cpuTime(() => read(1_000));
  const many = cpuTime(() => read(10_000));
  expect(many / few).toBeLessThan(40);
});
