import { describe, expect, it } from 'vitest';
import { parseCron } from '../../src/core/schedule/parse';
import { zoneOf } from '../../src/core/schedule/zone';
import { jobsDocument } from '../../src/import/jobs-document';
import { nextOfTimer } from '../../src/import/timer-clock';
import { type TimerOptions, readTimers } from '../../src/import/timers';

const OPTIONS: TimerOptions = { now: Date.UTC(2026, 0, 1), timeZone: 'UTC', settings: undefined };
const HEAD = "import { app } from '@azure/functions';\n";

function read(code: string, options: Partial<TimerOptions> = {}, file = 'timers.ts') {
  return readTimers(file, code, { ...OPTIONS, ...options });
}

function timer(members: string, options?: Partial<TimerOptions>) {
  return read(`${HEAD}app.timer('Nightly', { ${members}, handler: () => undefined });\n`, options);
}

const functionJson = (content: object): string => JSON.stringify(content, null, 2);

describe('timers in sources', () => {
  it.each([
    ['an import', "import { app } from '@azure/functions';", 'app.timer'],
    ['an import by another name', "import { app as host } from '@azure/functions';", 'host.timer'],
    ['the whole package', "import * as functions from '@azure/functions';", 'functions.app.timer'],
    ['the default import', "import functions from '@azure/functions';", "functions['app'].timer"],
    ['require', "const { app } = require('@azure/functions');", 'app.timer'],
    ['require by another name', "const { app: host } = require('@azure/functions');", 'host.timer'],
    ['require of the whole', "const functions = require('@azure/functions');", 'functions.app.timer'],
    ['require in a call', '', "require('@azure/functions').app.timer"],
    ['a bundle', 'var import_functions = __toESM(require("@azure/functions"), 1);', '(0, import_functions.app.timer)'],
    ['an interop of Babel', 'var f = _interopRequireWildcard(require("@azure/functions"));', 'f.default.app.timer'],
    ['a dynamic import', "const { app } = await import('@azure/functions');", 'app.timer'],
    ['a dynamic import by a name', "const functions = await import('@azure/functions');", 'functions.app.timer'],
    ['a member of require', "const host = require('@azure/functions').app;", 'host.timer'],
    ['another name of app', "import { app } from '@azure/functions';const host = app;", 'host.timer'],
    ['a name of app.timer', "import { app } from '@azure/functions';const { timer } = app;", 'timer'],
  ])('are found by %s', (_, head, callee) => {
    const { drafts } = read(
      `${head}\nfunction register() {\n  ${callee}('A', { schedule: '0 0 3 * * *' });\n}\n`,
      {},
      'timers.js',
    );
    expect(drafts).toEqual([{ file: 'timers.js', line: 3, name: 'A', settings: { schedule: '0 0 3 * * *' } }]);
  });

  it('are found where the package is imported for them alone', () => {
    const options = "{ schedule: '0 0 3 * * *', handler }";
    const lines = [
      `(await import('@azure/functions')).app.timer('A', ${options});`,
      `import('@azure/functions').then(({ app: host }) => host.timer('B', ${options}));`,
    ];
    expect(read(lines.join('\n'), {}, 'timers.mjs')).toMatchObject({
      drafts: [{ name: 'A' }, { name: 'B' }],
      notes: [],
    });
  });

  it('are not found in text, in comments, and in calls without a schedule', () => {
    const code = `${HEAD}// app.timer('A', { schedule: '0 0 3 * * *' });\nconst text = "app.timer('B', {})";\n`;
    expect(read(code)).toMatchObject({ drafts: [], notes: [] });
    expect(read("stopwatch.app.timer('C', { precise: true });\napp.timer('D', () => 1);\n")).toMatchObject({
      drafts: [],
      notes: [],
    });
  });

  it.each([
    ["import { app } from './host';", 'app.timer'],
    ["import { app as host } from './host';", 'host.timer'],
    ["import * as host from './host';", 'host.app.timer'],
    ["const { app } = require('./host');", 'app.timer'],
    ['export function register(app) {}', 'app.timer'],
  ])('are found of an app that another module hands on, with a note: %s', (head, callee) => {
    const { drafts, notes } = read(`${head}\n${callee}('A', { schedule: '0 0 3 * * *', handler });\n`);
    expect(drafts).toMatchObject([{ name: 'A', line: 2, settings: { schedule: '0 0 3 * * *' } }]);
    expect(notes).toMatchObject([{ line: 2, leftOut: false, what: `A: ${callee}` }]);
  });

  it('are found in app.generic, with their trigger', () => {
    const head =
      "import { app, trigger } from '@azure/functions';\nconst when = trigger.timer({ schedule: '0 0 2 * * *' });\n";
    const calls = [
      "app.generic('A', { trigger: trigger.timer({ schedule: '0 0 3 * * *', useMonitor: false }), handler });",
      "app.generic('B', { trigger: { type: 'timerTrigger', name: 't', schedule: '0 0 4 * * *' }, retry, handler });",
      "app.generic('C', { trigger: when, handler });",
      "app.generic('D', { trigger: trigger.http({ route: 'x' }), handler });",
      "app.generic('E', { trigger: trigger.timer(options), handler });",
    ];
    const { drafts, notes } = read(head + calls.join('\n'));
    expect(drafts.map(({ name, line, settings }) => [name, line, settings])).toEqual([
      ['A', 3, { schedule: '0 0 3 * * *', catchUp: 'none' }],
      ['B', 4, { schedule: '0 0 4 * * *' }],
      ['C', 5, { schedule: '0 0 2 * * *' }],
    ]);
    expect(notes.map(({ line, what, leftOut }) => [line, what, leftOut])).toEqual([
      [4, 'B: retry', false],
      [7, 'E', true],
    ]);
  });

  it.each([
    ["other.timer('C', { schedule: '0 0 3 * * *' });", 'other.timer(…)'],
    [
      "import { trigger } from '@azure/functions'; export const t = trigger.timer({ schedule: '0 0 3 * * *' });",
      'trigger.timer(…)',
    ],
    ["a1.timer('C', { schedule: '0 0 3 * * *' });", 'a1.timer(…)'],
    ["register('C', { type: 'timerTrigger', schedule: '0 0 3 * * *' });", 'a timerTrigger'],
    ["import { app } from '@azure/functions'; names.forEach(app.timer);", 'app.timer'],
    ["import { app } from '@azure/functions'; app.generic('C', { ...options });", 'app.generic(…)'],
  ])('that only look like some are left out with a note: %s', (code, what) => {
    const { drafts, notes } = read(`\n${code}\n`);
    expect(drafts).toEqual([]);
    expect(notes).toMatchObject([{ line: 2, leftOut: true, what }]);
  });

  it.each([
    [
      'two constants of one name',
      "function a() { const when = '0 0 1 * * *'; app.timer('A', { schedule: when }); }\nfunction b() { const when = '0 0 2 * * *'; }",
    ],
    ['a parameter', "const when = '0 0 1 * * *';\nfunction a(when) { app.timer('A', { schedule: when }); }"],
    ['a later value', "let when = '0 0 1 * * *';\nif (far) when = '0 0 2 * * *';\napp.timer('A', { schedule: when });"],
    [
      'a later member',
      "const options = { schedule: '0 0 1 * * *' };\noptions.schedule = '0 0 2 * * *';\napp.timer('A', options);",
    ],
  ])('have no schedule of a name that may have another value: %s', (_, code) => {
    const { drafts, notes } = read(HEAD + code);
    expect(drafts).toEqual([]);
    expect(notes).toMatchObject([{ what: 'A', leftOut: true }]);
  });

  it('are read in .tsx and .jsx without markup, and left out of those with some', () => {
    const plain = `${HEAD}app.timer('A', { schedule: '0 0 3 * * *', handler: handler as Handler });\n`;
    expect(read(plain, {}, 'timers.tsx').drafts).toMatchObject([{ name: 'A' }]);
    const { drafts, notes } = read(
      `${HEAD}const page = <p>1</p>;\napp.timer('A', { schedule: '0 0 3 * * *' });\n`,
      {},
      'timers.jsx',
    );
    expect(drafts).toEqual([]);
    expect(notes).toMatchObject([{ line: 3, leftOut: true, why: 'the file has markup (JSX), which is not read' }]);
    expect(read('const page = <p>1</p>;\n', {}, 'page.tsx')).toMatchObject({ drafts: [], notes: [] });
  });

  it('have constants, templates, and types around them', () => {
    const code = `${HEAD}const EVERY: string = \`0 */5 * * * *\`;\nconst options: TimerFunctionOptions = { schedule: EVERY as string, handler };\napp.timer('A', options);\n`;
    expect(read(code).drafts[0]).toMatchObject({ line: 4, settings: { schedule: '0 */5 * * * *' } });
  });

  it('keep their lines beside an enum, which Node rewrites', () => {
    const code = `${HEAD}enum Kind {\n  A,\n  B,\n}\n\napp.timer('A', { schedule: '0 0 3 * * *', handler });\n`;
    expect(read(code).drafts[0]).toMatchObject({ line: 7 });
  });

  it('print no warning of Node', () => {
    const { emitWarning } = process;
    const seen: unknown[] = [];
    process.emitWarning = (warning: unknown) => void seen.push(warning);
    try {
      timer("schedule: '0 0 3 * * *'");
    } finally {
      process.emitWarning = emitWarning;
    }
    expect(seen).toEqual([]);
  });

  it('have schedules of app settings, if those are known', () => {
    const settings = new Map([['WHEN', '0 0 5 * * *']]);
    for (const schedule of [
      "'%WHEN%'",
      'process.env.WHEN',
      "process.env['WHEN'] ?? '0 0 6 * * *'",
      'process.env.WHEN!',
    ]) {
      const { drafts, notes } = timer(`schedule: ${schedule}`, { settings });
      expect(drafts[0]?.settings.schedule, schedule).toBe('0 0 5 * * *');
      expect(notes).toEqual([expect.objectContaining({ leftOut: false, what: 'Nightly: app setting WHEN' })]);
    }
    expect(timer("schedule: process.env.OTHER || '0 0 6 * * *'", { settings }).drafts[0]?.settings.schedule).toBe(
      '0 0 6 * * *',
    );
    expect(timer("schedule: '%OTHER%'", { settings }).notes).toEqual([expect.objectContaining({ leftOut: true })]);
    expect(timer('schedule: process.env.WHEN').notes).toEqual([expect.objectContaining({ leftOut: true })]);
  });

  it.each([
    ['a computed schedule', "app.timer('A', { schedule: hour + ' 0 0 * * *' });"],
    ['a computed name', "app.timer(name, { schedule: '0 0 3 * * *' });"],
    ['computed options', "app.timer('A', { ...defaults, schedule: '0 0 3 * * *' });"],
    ['options of a call', "app.timer('A', optionsOf(3));"],
    ['no schedule', "app.timer('A', { handler });"],
    ['a template with values', 'app.timer("A", { schedule: `0 0 ${hour} * * *` });'],
  ])('are left out with %s', (_, call) => {
    const { drafts, notes } = read(HEAD + call);
    expect(drafts).toEqual([]);
    expect(notes).toEqual([expect.objectContaining({ line: 2, leftOut: true })]);
  });

  it('are refused with their file if it cannot be parsed', () => {
    expect(() => read('let a;\n\nconst b: number = ;\n')).toThrow(/^timers\.ts:3: it cannot be parsed: Expression/);
    expect(() => read('let a;\nconst b = ;\n', {}, 'timers.js')).toThrow(/^timers\.js:2: it cannot be parsed/);
    expect(read('with (a) { b(); }\n', {}, 'timers.js').drafts).toEqual([]);
  });
});

describe('the options of a timer', () => {
  it('become settings, or notes', () => {
    expect(timer("schedule: '0 0 3 * * *', useMonitor: false").drafts[0]?.settings).toEqual({
      schedule: '0 0 3 * * *',
      catchUp: 'none',
    });
    const { drafts, notes } = timer("schedule: '0 0 3 * * *', runOnStartup: true, extraOutputs: [queue], return: blob");
    expect(drafts).toHaveLength(1);
    expect(notes.map(({ what }) => what)).toEqual(['Nightly: runOnStartup', 'Nightly: extraOutputs, return']);
  });

  it.each([
    [
      '{ strategy: "fixedDelay", maxRetryCount: 2, delayInterval: { minutes: 1, seconds: 30 } }',
      { attempts: 3, backoff: '1m30s', factor: 1, maxBackoff: '1m30s', jitter: 'none' },
    ],
    ['{ strategy: "fixedDelay", maxRetryCount: 0, delayInterval: 5000 }', { attempts: 1, backoff: '5s' }],
    [
      '{ strategy: "exponentialBackoff", maxRetryCount: 4, minimumInterval: 10000, maximumInterval: { hours: 1 } }',
      { attempts: 5, backoff: '10s', maxBackoff: '1h' },
    ],
  ])('retry %s', (retry, expected) => {
    expect(timer(`schedule: '0 0 3 * * *', retry: ${retry}`).drafts[0]?.settings.retry).toMatchObject(expected);
  });

  it('bring a note where a retry policy has no form', () => {
    for (const retry of ['policy', '{ strategy: "fixedDelay", maxRetryCount: -1, delayInterval: 10 }']) {
      const { drafts, notes } = timer(`schedule: '0 0 3 * * *', retry: ${retry}`);
      expect(drafts[0]?.settings).not.toHaveProperty('retry');
      expect(notes).toEqual([expect.objectContaining({ what: 'Nightly: retry' })]);
    }
  });
});

describe('the schedule of a timer', () => {
  it.each([
    ['0 */5 * * * *', '0 */5 * * * *'],
    ['*/5 * * * *', '*/5 * * * *'],
    ['0 0 9 1-7 * Monday', '0 9 * * 1#1'],
    ['0 0 9 29-31 * Fri', '0 9 * * 5#5'],
    ['0 0 9 * January-March Mo', '0 9 * 1-3 1'],
    ['0 0 17-9 * * *', '0 9-17 * * *'],
    ['0 5/20 * * * *', '0 5/20 * * * *'],
    ['00:05:00', '@every 5m'],
    ['1.12:00:00', '@every 1d12h'],
  ])('%s becomes %s', (text, schedule) => {
    expect(timer(`schedule: '${text}'`).drafts[0]?.settings.schedule).toBe(schedule);
  });

  it.each([
    ['0 0 9 15 * Mon', 'match both'],
    ['0 0 9 * * 7', 'has "7" for day-of-week'],
    ['0 0 9 * *  ? *', 'has 7 fields'],
    ['0 0 9 L * *', 'has "L" for day-of-month'],
    ['00:00:00', 'has a period of 0s'],
    ['00:00:01.5', 'has a period of 1.5s'],
  ])('%s is left out', (text, why) => {
    const { drafts, notes } = timer(`schedule: '${text}'`);
    expect(drafts).toEqual([]);
    expect(notes).toEqual([expect.objectContaining({ leftOut: true, why: expect.stringContaining(why) as string })]);
  });

  it('brings a note for a gap that moves it by less', () => {
    const { drafts, notes } = timer("schedule: '0 30 2 * * *'", { timeZone: 'Europe/Berlin' });
    expect(drafts[0]?.settings).toEqual({ schedule: '0 30 2 * * *', timeZone: 'Europe/Berlin' });
    expect(notes[0]?.why).toBe(
      'on 2026-03-29 the clocks of Europe/Berlin change: the timer is due at 2026-03-29T03:30+02:00 (extension 5.1.0), the job is due at 2026-03-29T03:00+02:00',
    );
    expect(timer("schedule: '0 0 2 * * *'", { timeZone: 'Europe/Berlin' }).notes).toEqual([]);
  });

  it('goes through both passes of a repeated hour if it repeats, and else through the first', () => {
    for (const schedule of ['0 */15 * * * *', '0 30 * * * *', '*/10 * * * * *']) {
      expect(timer(`schedule: '${schedule}'`, { timeZone: 'Europe/Berlin' })).toMatchObject({
        notes: [],
        drafts: [{ settings: { schedule, timeZone: 'Europe/Berlin' } }],
      });
    }
    // NCrontab prints 1,2 as 1-2, so the listener takes it for an interval; 0,20,40 it prints as they are.
    const settings = (schedule: string) =>
      timer(`schedule: '${schedule}'`, { timeZone: 'America/Los_Angeles' }).drafts[0]?.settings;
    expect(settings('0 30 0,1,3 * * *')).toMatchObject({ schedule: '0 30 0,1,3 * * *', dst: { overlap: 'both' } });
    expect(settings('0 */20 1 * * *')).toEqual({ schedule: '0 */20 1 * * *', timeZone: 'America/Los_Angeles' });
  });

  it('brings a note where the listener moves the next day into an hour that it does not match', () => {
    // From 01:10 in the first pass, the listener goes to 01:00 of the next day, less the hour that the clocks went back.
    const { notes } = timer("schedule: '0 0-10 1 * * *'", { timeZone: 'America/Los_Angeles' });
    expect(notes[0]?.why).toContain(
      'on 2026-11-01 the clocks of America/Los_Angeles change: the timer is due at 2026-11-02T00:00-08:00',
    );
  });

  it('brings a note for times that fall into its wait for a skipped one', () => {
    // Chatham's clocks skip 02:45 to 03:45. The timer waits from 03:00 until 04:00, and 03:50 is skipped.
    const { notes } = timer("schedule: '0 0,50 3,4 * 9 *'", { timeZone: 'Pacific/Chatham' });
    expect(notes[0]?.why).toContain('the timer is not due (extension 5.1.0), the job is due at 2026-09-27T03:50+13:45');
  });

  /** The cases that the tests of the extension document, around 2 a.m. on 2018-11-04, and 2018-03-11, in Los Angeles. */
  it.each([
    ['0 30 * * * *', '2018-11-04T01:31-07:00', ['2018-11-04T01:30-08:00']],
    ['0 * * * * *', '2018-11-04T01:59-07:00', ['2018-11-04T01:00-08:00']],
    ['0 * * * * *', '2018-11-04T01:30-07:00', ['2018-11-04T01:31-07:00']],
    ['0 0,30 1-2 * * *', '2018-11-04T01:45-07:00', ['2018-11-04T01:00-08:00']],
    ['0 0,30 1-3 * * *', '2018-11-04T01:45-08:00', ['2018-11-04T02:00-08:00']],
    ['0 * 1-3 * * *', '2018-11-04T01:30-07:00', ['2018-11-04T01:31-07:00']],
    ['0 * * * * *', '2018-11-04T00:59-07:00', ['2018-11-04T01:00-07:00']],
    ['0 30 * * * *', '2018-11-04T01:31-08:00', ['2018-11-04T02:30-08:00']],
    ['0 0 18 * * 5', '2018-11-02T18:00-07:00', ['2018-11-09T18:00-08:00']],
    ['0 0 18 * * 5', '2018-03-09T18:00-08:00', ['2018-03-16T18:00-07:00']],
    ['0 30 1 * * *', '2018-11-04T01:30-07:00', ['2018-11-05T01:30-08:00']],
    ['0 30 1 * * *', '2018-11-04T00:30-07:00', ['2018-11-04T01:30-07:00']],
    ['0 30 1 * * *', '2018-11-04T01:29-07:00', ['2018-11-04T01:30-07:00']],
    ['0 30 1 * * *', '2018-11-04T01:29-08:00', ['2018-11-05T01:30-08:00']],
    ['0 30 1 * * *', '2018-11-04T01:31-07:00', ['2018-11-05T01:30-08:00']],
    ['0 30 * * * *', '2018-03-11T01:30-08:00', ['2018-03-11T03:30-07:00', '2018-03-11T04:30-07:00']],
    ['0 30 1 * * *', '2018-03-10T01:30-08:00', ['2018-03-11T01:30-08:00', '2018-03-12T01:30-07:00']],
    [
      '0 */20 * * * *',
      '2018-11-04T00:40-07:00',
      ['01:00-07', '01:20-07', '01:40-07', '01:00-08', '01:20-08', '01:40-08', '02:00-08', '02:20-08'].map(
        (time) => `2018-11-04T${time}:00`,
      ),
    ],
  ])('%s after %s is due as the listener computes it', (text, from, expected) => {
    const interval = /[-*/]/.test(text.split(' ').slice(0, 3).join(' '));
    const { fields } = parseCron(text);
    let at: number | undefined = Date.parse(from) / 1000;
    const due = expected.map(() => {
      at = at === undefined ? undefined : nextOfTimer(fields, interval, zoneOf('America/Los_Angeles'), at);
      return at;
    });
    expect(due).toEqual(expected.map((time) => Date.parse(time) / 1000));
  });

  it('is a time span of days if it begins with 24 or more', () => {
    const scheduleOf = (text: string) => timer(`schedule: '${text}'`).drafts[0]?.settings.schedule;
    expect(['24:00:00', '23:59:59', '01:30'].map(scheduleOf)).toEqual([
      '@every 24d',
      '@every 23h59m59s',
      '@every 1h30m',
    ]);
    expect(['00:61:00', '1.24:00:00', '24:00'].map(scheduleOf)).toEqual([undefined, undefined, undefined]);
  });
});

it('is left out if the app gives functions less time than a job has by default', () => {
  const found = timer("schedule: '0 0 3 * * *'");
  const { jobs, notes } = jobsDocument([found], { revision: 1, functionTimeoutMs: 300_000 });
  expect(jobs).toEqual([]);
  expect(notes).toEqual([
    expect.objectContaining({ leftOut: true, why: expect.stringContaining('its timeout is 10m by default') as string }),
  ]);
});

describe('function.json', () => {
  const file = 'app/NightlyReport/function.json';
  const trigger = { type: 'timerTrigger', name: 'timer', direction: 'in', schedule: '0 0 3 * * *' };

  it('gives a job with the name of its folder', () => {
    const content = { bindings: [trigger, { type: 'queue', name: 'out' }], disabled: true };
    const { drafts, notes } = read(functionJson(content), {}, file);
    expect(drafts).toEqual([
      { file, line: 4, name: 'NightlyReport', settings: { schedule: '0 0 3 * * *', enabled: false } },
    ]);
    expect(notes).toEqual([expect.objectContaining({ what: 'NightlyReport: queue' })]);
  });

  it('has retries, and a setting that disables it', () => {
    const retry = { strategy: 'fixedDelay', maxRetryCount: 1, delayInterval: '00:00:10' };
    const { drafts, notes } = read(functionJson({ bindings: [trigger], retry, disabled: 'IS_OFF' }), {}, file);
    expect(drafts[0]?.settings.retry).toMatchObject({ attempts: 2, backoff: '10s' });
    expect(notes).toEqual([expect.objectContaining({ what: 'NightlyReport: disabled' })]);
  });

  it('may have comments, as the host allows', () => {
    const text =
      '{\n  // Each night\n  "bindings": [\n    { "type": "timerTrigger", "schedule": "0 0 3 * * *" }, /* no more */\n  ],\n}\n';
    expect(read(text, {}, file).drafts).toMatchObject([{ line: 4, settings: { schedule: '0 0 3 * * *' } }]);
    expect(() => read('{\n  "bindings": [\n    oops }\n', {}, file)).toThrow(`${file}:3: this is not JSON`);
  });

  it('of another trigger is skipped, and anything else is refused', () => {
    expect(read(functionJson({ bindings: [{ type: 'httpTrigger' }] }), {}, file)).toMatchObject({
      drafts: [],
      notes: [],
    });
    expect(() => read('{', {}, file)).toThrow(`${file}:1: this is not JSON`);
    expect(() => read('{}', {}, file)).toThrow(`${file}:1: this is not a function.json`);
  });
});
