import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Timetable } from '../../src/core/job';
import { compileSchedule, type DstPolicy } from '../../src/core/schedule/compile';
import { parseSchedule } from '../../src/core/schedule/parse';
import { zoneOf } from '../../src/core/schedule/zone';
import { dueTimes, wallClock, wallReader, type PlainCron, type WallClock } from './schedule-reference';
import { runs, shareOf } from '../support/runs';

/** Years in which a zone's clocks did something odd. */
const ODD_YEARS: [zone: string, year: number, oddity: string, step?: number][] = [
  ['Australia/Lord_Howe', 2025, 'half an hour of summer time'],
  ['Africa/Cairo', 2014, 'four changes, Ramadan taken out of summer time'],
  ['Africa/Cairo', 2024, 'a gap and an overlap at midnight'],
  ['America/Sao_Paulo', 2018, 'a gap at midnight: the day begins at 01:00'],
  ['Antarctica/Troll', 2025, 'two hours of summer time'],
  ['Pacific/Chatham', 2025, 'an offset of 12:45, changes at 02:45'],
  ['Africa/Casablanca', 2025, 'summer time all year but in Ramadan'],
  ['Pacific/Apia', 2011, 'no 30 December at all'],
  ['Pacific/Kwajalein', 1993, 'no 21 August at all'],
  ['Africa/Monrovia', 1972, 'an offset of -00:44:30 until 7 January', 30],
  ['America/Havana', 2025, 'changes at midnight, both ways'],
  ['Asia/Kathmandu', 1986, 'a change of a quarter of an hour at the new year'],
  ['Europe/Dublin', 2025, 'negative summer time'],
  ['Asia/Gaza', 2025, 'changes with Ramadan'],
  ['America/Recife', 2000, 'summer time for a single week'],
  ['America/St_Johns', 1988, 'two hours of summer time, changes at 00:01'],
  ['Asia/Pyongyang', 2018, 'half an hour forward at 23:30'],
  ['Europe/Lisbon', 2025, 'plain'],
];

const POLICIES: readonly DstPolicy[] = (['forward', 'skip'] as const).flatMap((gap) =>
  (['first', 'second', 'both'] as const).map((overlap) => ({ gap, overlap })),
);

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const values = (min: number, max: number, most: number): fc.Arbitrary<number[]> =>
  fc.uniqueArray(fc.integer({ min, max }), { minLength: 1, maxLength: most });

/** Hours as a list (the policies apply), a range, or steps (elapsed time). Small hours more often: there it changes. */
const hourField: fc.Arbitrary<{ text: string; hours: number[] }> = fc.oneof(
  values(0, 4, 3).map((hours) => ({ text: hours.join(','), hours })),
  values(0, 23, 4).map((hours) => ({ text: hours.join(','), hours })),
  fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 8 })).map(([from, length]) => ({
    text: `${from}-${from + length}`,
    hours: range(from, from + length),
  })),
  fc
    .integer({ min: 1, max: 5 })
    .map((step) => ({ text: `*/${step}`, hours: range(0, 23).filter((hour) => hour % step === 0) })),
);

const dayFields: fc.Arbitrary<{ text: string; dayMatches: (date: Date) => boolean }> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ text: '* * *', dayMatches: () => true }) },
  values(1, 28, 10).map((days) => ({
    text: `${days.join(',')} * *`,
    dayMatches: (date: Date) => days.includes(date.getUTCDate()),
  })),
  values(0, 6, 4).map((weekdays) => ({
    text: `* * ${weekdays.join(',')}`,
    dayMatches: (date: Date) => weekdays.includes(date.getUTCDay()),
  })),
);

const crons: fc.Arbitrary<PlainCron> = fc
  .record({
    minutes: fc.oneof(values(0, 59, 3), fc.constant([0]), fc.constant([0, 15, 30, 45])),
    hour: hourField,
    day: dayFields,
  })
  .map(({ minutes, hour, day }) => ({
    text: `${minutes.join(',')} ${hour.text} ${day.text}`,
    elapsed: /[*-]/.test(hour.text),
    minutes,
    hours: hour.hours,
    dayMatches: day.dayMatches,
  }));

function timetable(text: string, zone: string, policy: DstPolicy): Timetable {
  return compileSchedule(parseSchedule(text), zoneOf(zone), policy, []).timetable;
}

function walkForward(table: Timetable, clock: WallClock): number[] {
  const found: number[] = [];
  for (let at = table.next(clock.from * 1000 - 1); at !== undefined && at < clock.to * 1000; at = table.next(at)) {
    found.push(at / 1000);
  }
  return found;
}

function walkBack(table: Timetable, clock: WallClock): number[] {
  const found: number[] = [];
  for (let at = table.previous(clock.to * 1000); at !== undefined && at >= clock.from * 1000; at = table.previous(at)) {
    found.push(at / 1000);
  }
  return found.reverse();
}

/** As `toEqual`, fast for long lists, and with a message that can be read. */
function expectSame(found: readonly number[], expected: readonly number[]): void {
  const index = Array.from({ length: Math.max(found.length, expected.length) }).findIndex(
    (_, at) => found[at] !== expected[at],
  );
  if (index < 0) return;
  const [ours, theirs] = [found[index], expected[index]].map((second) =>
    second === undefined ? 'nothing' : new Date(second * 1000).toISOString(),
  );
  expect.fail(`found ${ours}, expected ${theirs}`);
}

describe('cron in a zone, against a walk over a whole year of what Intl says that the clock shows', () => {
  it.each(ODD_YEARS)('%s in %i: %s', (zone, year, _oddity, step) => {
    const clock = wallClock(zone, year, step);
    fc.assert(
      fc.property(crons, fc.constantFrom(...POLICIES), (cron, policy) => {
        const expected = dueTimes(clock, cron, policy);
        const table = timetable(cron.text, zone, policy);
        expectSame(walkForward(table, clock), expected);
        expectSame(walkBack(table, clock), expected);
      }),
      { numRuns: runs(20) },
    );
  });

  it('agrees minute by minute', () => {
    for (const [zone, year, , step] of ODD_YEARS.filter(([name]) => /Apia|Lord_Howe/.test(name))) {
      const clock = wallClock(zone, year, step);
      for (const hours of ['*', '0,1,2,3,4,22,23']) {
        const cron: PlainCron = {
          text: `* ${hours} * * *`,
          elapsed: hours === '*',
          minutes: range(0, 59),
          hours: hours === '*' ? range(0, 23) : hours.split(',').map(Number),
          dayMatches: () => true,
        };
        const policy = { gap: 'forward', overlap: 'first' } as const;
        expectSame(walkForward(timetable(cron.text, zone, policy), clock), dueTimes(clock, cron, policy));
      }
    }
  });
});

describe('cron in every zone that Intl lists', () => {
  it('has due times whose wall time matches or follows a gap, and next and previous undo each other', () => {
    const crons = ['30 0,1,2,3 * * *', '0 */2 * * *'];
    for (const zone of shareOf(Intl.supportedValuesOf('timeZone'))) {
      const shows = wallReader(zone);
      crons.forEach((text, elapsed) => {
        const table = timetable(text, zone, { gap: 'forward', overlap: 'first' });
        for (const start of [
          0,
          Date.UTC(1987, 2, 20),
          Date.UTC(2010, 9, 1),
          Date.UTC(2026, 2, 1),
          Date.UTC(2044, 9, 20),
        ]) {
          let before = table.next(start) ?? NaN;
          for (let count = 0; count < 40; count += 1) {
            const due = table.next(before) ?? NaN;
            if (table.previous(due) !== before)
              expect.fail(`${text} in ${zone}: previous of ${new Date(due).toISOString()}`);
            const wall = shows(due / 1000);
            const isAfterGap = shows(due / 1000 - 1) < wall - 1;
            const matches = elapsed === 1 ? wall % 7200 === 0 : wall % 3600 === 1800 && wall % 86_400 < 14_400;
            if (!matches && !(isAfterGap && elapsed === 0)) {
              expect.fail(
                `${text} in ${zone}: ${new Date(due).toISOString()} shows ${new Date(wall * 1000).toISOString()}`,
              );
            }
            before = due;
          }
        }
      });
    }
  });

  it('finds every change of offset that a walk by the hour finds', () => {
    for (const [zone, year] of ODD_YEARS) {
      const known = zoneOf(zone);
      const shows = wallReader(zone);
      for (let at = Date.UTC(year, 0, 1) / 1000; at < Date.UTC(year + 1, 0, 1) / 1000; at += 3600) {
        const { offset } = known.segmentAt(at);
        if (offset !== shows(at) - at) expect.fail(`${zone} at ${new Date(at * 1000).toISOString()}: ${offset}`);
      }
    }
  });
});
