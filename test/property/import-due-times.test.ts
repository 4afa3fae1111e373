import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadJobs } from '../../src/config/load';
import type { Found } from '../../src/import/draft';
import { readCrontab } from '../../src/import/crontab';
import { jobsDocument } from '../../src/import/jobs-document';
import { readK8s } from '../../src/import/k8s';
import { readQuartzFile } from '../../src/import/quartz';
import { readTimers } from '../../src/import/timers';
import {
  type MinuteClock,
  type PlainCron,
  cronDaemon,
  eachMatch,
  lastPass,
  matcher,
  minuteClock,
  timerListener,
} from './import-reference';
import { runs, shareOf } from '../support/runs';

const ZONES = ['Europe/Berlin', 'America/New_York', 'America/Havana', 'Africa/Cairo', 'Pacific/Chatham', 'UTC'];
const YEARS = [2025, 2026, 2027];
const clocks = fc.tuple(fc.constantFrom(...ZONES), fc.constantFrom(...YEARS));
/** Random runs, beside those around each change of clocks. Each compares a year, minute by minute. */
const RANDOM_RUNS = runs(12);

const range = (from: number, to: number, step = 1): number[] =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step);

/** A field as text, and its values. */
interface Field {
  readonly text: string;
  readonly values: ReadonlySet<number>;
}

interface Dialect {
  readonly openStep?: boolean;
  readonly backwards?: 'wrap' | 'swap';
}

/** Fields of every form of a dialect: lists of values, ranges and steps, and all. */
function field(least: number, most: number, { openStep = false, backwards }: Dialect = {}): fc.Arbitrary<Field> {
  const value = fc.integer({ min: least, max: most });
  const step = fc.integer({ min: 1, max: Math.min(9, most - least) });
  const items: fc.Arbitrary<{ text: string; values: number[] }>[] = [
    value.map((one) => ({ text: String(one), values: [one] })),
    fc.tuple(value, value).map(([a, b]) => {
      const [from, to] = [Math.min(a, b), Math.max(a, b)];
      if (a <= b || backwards === undefined) return { text: `${from}-${to}`, values: range(from, to) };
      const values = backwards === 'swap' ? range(b, a) : [...range(a, most), ...range(least, b)];
      return { text: `${a}-${b}`, values };
    }),
    fc.tuple(value, value, step).map(([a, b, by]) => {
      const [from, to] = [Math.min(a, b), Math.max(a, b)];
      return { text: `${from}-${to}/${by}`, values: range(from, to, by) };
    }),
  ];
  if (openStep)
    items.push(fc.tuple(value, step).map(([from, by]) => ({ text: `${from}/${by}`, values: range(from, most, by) })));
  const list = fc.array(fc.oneof(...items), { minLength: 1, maxLength: 3 }).map((parts) => ({
    text: parts.map(({ text }) => text).join(','),
    values: new Set(parts.flatMap(({ values }) => values)),
  }));
  const stars = step.map((by) => ({ text: `*/${by}`, values: new Set(range(least, most, by)) }));
  return fc.oneof(list, stars, fc.constant({ text: '*', values: new Set(range(least, most)) }));
}

/** Small hours more often: there the clocks change. */
function hourField(dialect: Dialect = {}): fc.Arbitrary<Field> {
  const small = fc
    .uniqueArray(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 3 })
    .map((hours) => ({ text: hours.join(','), values: new Set(hours) }));
  return fc.oneof(small, field(0, 23, dialect));
}

const VALUES = new Map([
  ['0', [0]],
  ['0,30', [0, 30]],
  ['*/15', [0, 15, 30, 45]],
  ['0,1,2,3,4', range(0, 4)],
  ['2-3', [2, 3]],
]);

const star = fc.constant<Field>({ text: '*', values: new Set(range(0, 59)) });
/** A few minutes more often than many, so that a year has gaps in it. */
const minuteField = (dialect: Dialect = {}): fc.Arbitrary<Field> =>
  fc.oneof(
    fc.constantFrom(0, 15, 30, 45).map((minute) => ({ text: String(minute), values: new Set([minute]) })),
    fc.constant({ text: '0,30', values: new Set([0, 30]) }),
    star,
    field(0, 59, dialect),
  );

interface Parts {
  readonly minute: Field;
  readonly hour: Field;
  readonly day: Field;
  readonly month: Field;
  readonly weekday: Field;
}

const parts = (dialect: Dialect, weekdays: readonly [number, number]): fc.Arbitrary<Parts> =>
  fc.record({
    minute: minuteField(dialect),
    hour: hourField(dialect),
    day: fc.oneof({ weight: 2, arbitrary: star }, field(1, 31, dialect)),
    month: fc.oneof(
      { weight: 2, arbitrary: fc.constant({ text: '*', values: new Set(range(1, 12)) }) },
      field(1, 12, dialect),
    ),
    weekday: fc.oneof({ weight: 2, arbitrary: star }, field(...weekdays, dialect)),
  });

/** Crons that are due around every change of clocks, in each zone: chance rarely meets one. */
const AROUND_CHANGES: [[string, number], Parts][] = ZONES.flatMap((zone, index) =>
  [
    ['0,30', '0,1,2,3,4'],
    ['*/15', '*'],
    ['0', '2-3'],
  ].map(([minute = '', hour = ''], cron): [[string, number], Parts] => {
    const day = { text: '*', values: new Set(range(0, 59)) };
    const values = (text: string, most: number): Field => ({
      text,
      values: new Set(VALUES.get(text) ?? range(0, most)),
    });
    const month = { text: '*', values: new Set(range(1, 12)) };
    const year = YEARS[(index + cron) % YEARS.length] ?? 2026;
    return [[zone, year], { minute: values(minute, 59), hour: values(hour, 23), day, month, weekday: day }];
  }),
);
const EXAMPLES = shareOf(AROUND_CHANGES);
const RUNS = { numRuns: EXAMPLES.length + RANDOM_RUNS, examples: EXAMPLES };

function plain(text: string, { minute, hour, month }: Parts, isDay: (date: Date) => boolean): PlainCron {
  return {
    text,
    minutes: minute.values,
    hours: hour.values,
    dayMatches: (date) => month.values.has(date.getUTCMonth() + 1) && isDay(date),
  };
}

const inMonth = ({ day }: Parts, date: Date): boolean => day.text === '*' || day.values.has(date.getUTCDate());
const inWeek = ({ weekday }: Parts, date: Date): boolean =>
  weekday.text === '*' || weekday.values.has(date.getUTCDay()) || (weekday.values.has(7) && date.getUTCDay() === 0);

/** The due times of the imported job in the year of a clock, in minutes; undefined if it was left out. */
function imported(found: Found, { first, walls }: MinuteClock): number[] | undefined {
  const { document, jobs } = jobsDocument([found], { revision: 1, functionTimeoutMs: 1_800_000 });
  if (jobs.length === 0) {
    expect(found.notes.some(({ leftOut }) => leftOut)).toBe(true);
    return undefined;
  }
  const [spec] = loadJobs(document).jobsFile.jobs;
  const due: number[] = [];
  const end = (first + walls.length) * 60_000;
  let next = spec?.timetable.next(first * 60_000 - 1);
  while (next !== undefined && next < end) {
    due.push(next / 60_000);
    next = spec?.timetable.next(next);
  }
  return due;
}

/** As `toEqual`, with the first difference as a time. The borders of the table are left out: it begins at a guess. */
function expectSame(found: readonly number[], expected: readonly number[], clock: MinuteClock): void {
  const inside = (minute: number): boolean =>
    minute >= clock.first + 1440 && minute < clock.first + clock.walls.length - 1440;
  const [ours, theirs] = [found.filter(inside), expected.filter(inside)];
  const index = Array.from({ length: Math.max(ours.length, theirs.length) }).findIndex(
    (_, at) => ours[at] !== theirs[at],
  );
  const show = (minute: number | undefined): string =>
    minute === undefined ? 'nothing' : new Date(minute * 60_000).toISOString();
  if (index >= 0) expect.fail(`imported ${show(ours[index])}, the source has ${show(theirs[index])}`);
}

const now = Date.UTC(2025, 0, 1);

describe('the due times of an imported schedule are those of its source', () => {
  it('of a crontab entry, as the loop of Vixie cron runs it', () => {
    let checked = 0;
    fc.assert(
      fc.property(clocks, parts({}, [0, 7]), ([zone, year], given) => {
        const { minute, hour, day, month, weekday } = given;
        const text = [minute, hour, day, month, weekday].map((one) => one.text).join(' ');
        const hasStar = day.text.startsWith('*') || weekday.text.startsWith('*');
        const domMatch = (date: Date): boolean => day.text === '*' || day.values.has(date.getUTCDate());
        const cron = plain(text, given, (date) =>
          hasStar ? domMatch(date) && inWeek(given, date) : domMatch(date) || inWeek(given, date),
        );
        const clock = minuteClock(zone, year);
        const found = readCrontab('crontab', `${text} run\n`, { now, timeZone: zone, userColumn: false });
        const due = imported(found, clock);
        if (due === undefined) {
          // Both must match, or no such day comes within the months.
          expect(day.text !== '*' && (weekday.text !== '*' || month.text !== '*'), text).toBe(true);
          return;
        }
        checked += 1;
        expectSame(due, cronDaemon(clock, cron, minute.text.startsWith('*') || hour.text.startsWith('*')), clock);
      }),
      RUNS,
    );
    expect(checked).toBeGreaterThan(RUNS.numRuns / 2);
  });

  it('of a crontab entry with CRON_TZ, as cronie compares each minute', () => {
    fc.assert(
      fc.property(clocks, parts({}, [0, 7]), ([zone, year], given) => {
        const text = [given.minute.text, given.hour.text, '*', given.month.text, given.weekday.text].join(' ');
        const clock = minuteClock(zone, year);
        const found = readCrontab('crontab', `CRON_TZ=${zone}\n${text} run\n`, {
          now,
          timeZone: 'UTC',
          userColumn: false,
        });
        expectSame(
          imported(found, clock) ?? [],
          eachMatch(
            clock,
            plain(text, given, (date) => inWeek(given, date)),
          ),
          clock,
        );
      }),
      RUNS,
    );
  });

  it('of a CronJob, as robfig/cron finds its times', () => {
    fc.assert(
      fc.property(clocks, parts({ openStep: true }, [0, 6]), ([zone, year], given) => {
        const { minute, hour, day, month, weekday } = given;
        const text = [minute, hour, day, month, weekday].map((one) => one.text).join(' ');
        const isOneAny = day.text === '*' || weekday.text === '*';
        const cron = plain(text, given, (date) =>
          isOneAny ? inMonth(given, date) && inWeek(given, date) : inMonth(given, date) || inWeek(given, date),
        );
        const clock = minuteClock(zone, year);
        const due = imported(readK8s('job.yaml', cronJob(text, zone), { now, timeZone: 'UTC' }), clock);
        if (due === undefined) {
          expect(day.text !== '*' && (/\*/.test(day.text + weekday.text) || month.text !== '*'), text).toBe(true);
        } else expectSame(due, eachMatch(clock, cron), clock);
      }),
      RUNS,
    );
  });

  it('of an expression of Quartz, which counts weekdays from 1 and runs a repeated time in its second pass', () => {
    const weekday = fc.oneof(
      field(1, 7, { openStep: true, backwards: 'wrap' }).map(({ text, values }) => ({
        text,
        isDay: (date: Date) => values.has(date.getUTCDay() + 1),
      })),
      fc.integer({ min: 1, max: 7 }).map((day) => ({
        text: `${day}L`,
        isDay: (date: Date) => date.getUTCDay() + 1 === day && new Date(+date + 7 * 86_400_000).getUTCDate() < 8,
      })),
      fc.tuple(fc.integer({ min: 1, max: 7 }), fc.integer({ min: 1, max: 4 })).map(([day, nth]) => ({
        text: `${day}#${nth}`,
        isDay: (date: Date) => date.getUTCDay() + 1 === day && Math.ceil(date.getUTCDate() / 7) === nth,
      })),
      fc.constant({ text: 'L', isDay: (date: Date) => date.getUTCDay() === 6 }),
    );
    const dialect = { openStep: true, backwards: 'wrap' } as const;
    fc.assert(
      fc.property(
        clocks,
        parts(dialect, [1, 7]),
        fc.option(weekday, { freq: 1 }),
        fc.option(fc.constantFrom(...YEARS), { freq: 1 }),
        ([zone, year], given, week, only) => {
          const { minute, hour, day, month } = given;
          const days = week === null ? `${day.text} ${month.text} ?` : `? ${month.text} ${week.text}`;
          const text = `0 ${minute.text} ${hour.text} ${days}${only === null ? '' : ` ${only}`}`;
          const cron = plain(text, given, (date) => {
            if (only !== null && date.getUTCFullYear() !== only) return false;
            return week === null ? inMonth(given, date) : week.isDay(date);
          });
          const clock = minuteClock(zone, year);
          const found = readQuartzFile('jobs.properties', `nightly = ${text}\n`, { now, timeZone: zone });
          const due = imported(found, clock);
          if (due === undefined) expect(week === null && day.text !== '*' && month.text !== '*', text).toBe(true);
          else expectSame(due, lastPass(clock, cron), clock);
        },
      ),
      {
        ...RUNS,
        examples: AROUND_CHANGES.map(([clock, given]): [[string, number], Parts, null, null] => [
          clock,
          given,
          null,
          null,
        ]),
      },
    );
  });

  it('of a timer with NCRONTAB, as its listener waits; a note names the change of clocks where a job cannot', () => {
    let exact = 0;
    fc.assert(
      fc.property(clocks, parts({ openStep: true, backwards: 'swap' }, [0, 6]), ([zone, year], given) => {
        const { minute, hour, day, month, weekday } = given;
        const text = `0 ${[minute, hour, day, month, weekday].map((one) => one.text).join(' ')}`;
        const cron = plain(text, given, (date) => inMonth(given, date) && inWeek(given, date));
        const clock = minuteClock(zone, year);
        const code = `import { app } from '@azure/functions';\napp.timer('Nightly', { schedule: '${text}', handler });\n`;
        const found = readTimers('timer.js', code, { now, timeZone: zone, settings: undefined });
        const due = imported(found, clock);
        if (due === undefined) {
          expect(day.text !== '*' && (weekday.text !== '*' || month.text !== '*'), text).toBe(true);
          return;
        }
        const expected = timerListener(clock, cron);
        const differs = found.notes.some(({ why }) => why.includes('the clocks of'));
        if (!differs) exact += 1;
        // An expression that the listener takes for an interval is moved an hour into a time that it does not match.
        const matches = matcher(cron);
        const isAlike = (at: number): boolean =>
          awayFromChanges(clock)(at) && matches(clock.walls[at - clock.first] ?? 0);
        expectSame(differs ? due.filter(isAlike) : due, differs ? expected.filter(isAlike) : expected, clock);
      }),
      { ...RUNS, numRuns: RUNS.numRuns + RANDOM_RUNS },
    );
    expect(exact).toBeGreaterThan(RUNS.numRuns / 3);
  });
});

const changesOf = new Map<MinuteClock, readonly number[]>();

/** Whether a minute is more than three hours from a change of the clock. */
function awayFromChanges(clock: MinuteClock): (minute: number) => boolean {
  const { first, walls } = clock;
  const known = changesOf.get(clock);
  const changes =
    known ?? [...walls.keys()].slice(1).flatMap((at) => (walls[at] === (walls[at - 1] ?? 0) + 1 ? [] : [first + at]));
  changesOf.set(clock, changes);
  return (minute) => changes.every((change) => Math.abs(minute - change) > 180);
}

function cronJob(schedule: string, timeZone: string): string {
  return `apiVersion: batch/v1
kind: CronJob
metadata: { name: nightly }
spec:
  schedule: "${schedule}"
  timeZone: ${timeZone}
  jobTemplate:
    spec:
      template:
        spec:
          containers: [{ name: one, image: busybox }]
          restartPolicy: Never
`;
}
