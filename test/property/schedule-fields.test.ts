import { CronExpressionParser } from 'cron-parser';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileSchedule } from '../../src/core/schedule/compile';
import { parseCron, parseSchedule } from '../../src/core/schedule/parse';
import { nextWall, previousWall } from '../../src/core/schedule/wall';
import { zoneOf } from '../../src/core/schedule/zone';
import { runs } from '../support/runs';

/** A field's list of values, ranges and steps in which no value comes twice, because cron-parser refuses that. */
function field(min: number, max: number): fc.Arbitrary<string> {
  const step = fc.integer({ min: 1, max: max - min + 2 });
  const span = fc.tuple(fc.integer({ min, max }), fc.integer({ min, max })).map((ends) => ends.sort((a, b) => a - b));
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant('*') },
    fc.uniqueArray(fc.integer({ min, max }), { minLength: 1, maxLength: 5 }).map((values) => values.join(',')),
    span.map(([from, to]) => `${from}-${to}`),
    fc.tuple(span, step).map(([[from, to], size]) => `${from}-${to}/${size}`),
    step.map((size) => `*/${size}`),
    fc.tuple(fc.integer({ min, max }), step).map(([from, size]) => `${from}/${size}`),
  );
}

const weekday = fc.oneof(
  field(0, 6),
  field(1, 7),
  fc.constantFrom('?', 'MON', 'sun', 'MON-FRI', 'Fri,SAT', '5L', 'MONL', '7L', '1,3L', '0L,2L'),
  fc
    .tuple(fc.constantFrom('0', '3', '7', 'TUE', '*'), fc.integer({ min: 1, max: 5 }))
    .map(([day, nth]) => `${day}#${nth}`),
);
const dayOfMonth = fc.oneof(field(1, 31), fc.constantFrom('L', '15,L', '?', '1-31', '28-31'));
const month = fc.oneof(field(1, 12), fc.constantFrom('JAN', 'feb', 'MAR-MAY', 'feb,NOV', '2'));
const expressions = fc
  .tuple(field(0, 59), field(0, 59), field(0, 23), dayOfMonth, month, weekday)
  .map((fields) => fields.join(' '));
const instants = fc.integer({ min: Date.UTC(1995, 0, 1) / 1000, max: Date.UTC(2110, 0, 1) / 1000 });

const YEARS = 40 * 366 * 86_400;

function parsed(text: string, currentDate: number): ReturnType<typeof CronExpressionParser.parse> | undefined {
  try {
    return CronExpressionParser.parse(text, { tz: 'UTC', currentDate });
  } catch {
    return undefined;
  }
}

describe('matching, against cron-parser going through UTC', () => {
  it('finds the same times, forwards and backwards', () => {
    fc.assert(
      fc.property(expressions, instants, (text, start) => {
        const forwards = parsed(text, start * 1000);
        const backwards = parsed(text, start * 1000);
        fc.pre(forwards !== undefined && backwards !== undefined);
        const { fields } = parseCron(text);
        let [after, before] = [start, start];
        for (let count = 0; count < 12; count += 1) {
          after = nextWall(fields, after + 1, after + YEARS) ?? NaN;
          before = previousWall(fields, before - 1, before - YEARS) ?? NaN;
          expect([after, before]).toEqual([forwards.next().getTime() / 1000, backwards.prev().getTime() / 1000]);
        }
      }),
      { numRuns: runs(2000) },
    );
  });

  it('refuses what cron-parser refuses', () => {
    const characters = fc.constantFrom(...'0123456789*,-/?L#'.split(''), 'MON', 'JAN');
    const anyField = fc.array(characters, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.array(anyField, { minLength: 5, maxLength: 6 }), (fields) => {
        const text = fields.join(' ');
        if (parsed(text, 0) !== undefined) return;
        expect(() => parseCron(text)).toThrow();
      }),
      { numRuns: runs(3000) },
    );
  });
});

describe('next and previous', () => {
  const schedules = fc.oneof(
    expressions,
    fc.integer({ min: 1, max: 100_000 }).map((seconds) => `@every ${seconds}s`),
    fc.constantFrom('@hourly', '@daily', '@weekly', '@monthly', '@yearly'),
  );
  const zones = fc.constantFrom(
    'UTC',
    'Europe/Lisbon',
    'Australia/Lord_Howe',
    'America/Havana',
    'Africa/Monrovia',
    'Pacific/Apia',
  );
  const policies = fc.record({
    gap: fc.constantFrom('forward' as const, 'skip' as const),
    overlap: fc.constantFrom('first' as const, 'second' as const, 'both' as const),
  });
  const at = fc.integer({ min: -1, max: Date.UTC(2060, 0, 1) });
  const span = fc.tuple(fc.integer({ min: 0, max: Date.UTC(2060, 0, 1) }), fc.integer({ min: 1, max: 10 ** 11 }));

  it('are strict, undo each other, and leave out what is excluded and nothing else', () => {
    fc.assert(
      fc.property(schedules, zones, policies, at, span, (text, name, policy, start, [from, length]) => {
        fc.pre(text.startsWith('@') || parsed(text, 0) !== undefined);
        const [schedule, zone, excluded] = [parseSchedule(text), zoneOf(name), { from, to: from + length }];
        const all = compileSchedule(schedule, zone, policy, []).timetable;
        const { timetable } = compileSchedule(schedule, zone, policy, [excluded]);
        const isOut = (due: number): boolean => due >= excluded.from && due < excluded.to;
        const due = timetable.next(start);
        if (due === undefined) return;
        expect(due).toBeGreaterThan(start);
        expect(isOut(due)).toBe(false);
        const previous = timetable.previous(due);
        if (previous !== undefined) {
          expect(previous).toBeLessThanOrEqual(start);
          expect(isOut(previous)).toBe(false);
          expect(timetable.next(previous)).toBe(due);
        }
        let skipped = all.next(start) ?? due;
        for (let count = 0; count < 50 && skipped < due; count += 1) {
          expect(isOut(skipped)).toBe(true);
          skipped = all.next(skipped) ?? due;
        }
      }),
      { numRuns: runs(2000) },
    );
  });
});
