import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import type { Timetable } from '../../src/core/job';
import { compileSchedule, type DstPolicy } from '../../src/core/schedule/compile';
import { parseMoment } from '../../src/core/schedule/moment';
import { parseSchedule } from '../../src/core/schedule/parse';
import { ScheduleError } from '../../src/core/schedule/schedule-error';
import { spreadOffset } from '../../src/core/schedule/spread';
import { dateWindow, excludedSpans, spanOf, type Span } from '../../src/core/schedule/window';
import { zoneOf } from '../../src/core/schedule/zone';

import { cpuTime } from '../support/cpu';
interface Options extends Partial<DstPolicy> {
  readonly zone?: string;
  readonly between?: readonly [string | undefined, string | undefined];
  readonly except?: readonly (string | readonly [string, string])[];
}

function table(
  text: string,
  { zone = 'UTC', gap = 'forward', overlap = 'first', between, except = [] }: Options = {},
): Timetable {
  const where = zoneOf(zone);
  const border = (value: string | undefined) => (value === undefined ? undefined : parseMoment(value));
  const span = (entry: string | readonly [string | undefined, string | undefined]): Span => {
    if (typeof entry !== 'string') return spanOf({ from: border(entry[0]), to: border(entry[1]) }, where);
    const date = parseMoment(entry);
    return date.kind === 'date' ? spanOf(dateWindow(date), where) : expect.fail(`${entry} is not a date`);
  };
  const excluded = excludedSpans(between === undefined ? undefined : span(between), except.map(span), 0);
  return compileSchedule(parseSchedule(text), where, { gap, overlap }, excluded).timetable;
}

const at = (text: string): number => {
  const instant = Date.parse(text);
  return Number.isNaN(instant) ? expect.fail(`${text} is no instant`) : instant;
};

/** The due times in [from, to), found forwards; going back must find the same. */
function due(timetable: Timetable, from: string, to: string): string[] {
  const found: number[] = [];
  for (let next = timetable.next(at(from) - 1); next !== undefined && next < at(to); next = timetable.next(next))
    found.push(next);
  const back: number[] = [];
  for (let last = timetable.previous(at(to)); last !== undefined && last >= at(from); last = timetable.previous(last))
    back.push(last);
  expect(back.reverse()).toEqual(found);
  return found.map((instant) => new Date(instant).toISOString().replace('.000Z', 'Z'));
}

describe('clock changes', () => {
  const gapNight = ['2026-03-29T00:00:00Z', '2026-03-29T04:00:00Z'] as const;
  const overlapNight = ['2026-10-25T00:00:00Z', '2026-10-25T04:00:00Z'] as const;
  const zone = 'Europe/Lisbon';

  it('moves wall times that are skipped to the end of the gap, as one due time', () => {
    expect(due(table('15,30 1 * * *', { zone }), ...gapNight)).toEqual(['2026-03-29T01:00:00Z']);
    expect(due(table('30 1,2 * * *', { zone }), ...gapNight)).toEqual(['2026-03-29T01:00:00Z', '2026-03-29T01:30:00Z']);
    expect(due(table('0 1,2 * * *', { zone }), ...gapNight)).toEqual(['2026-03-29T01:00:00Z']);
  });

  it('drops them with skip', () => {
    expect(due(table('30 1 * * *', { zone, gap: 'skip' }), ...gapNight)).toEqual([]);
  });

  it('takes a repeated wall time in the first pass, the second, or both', () => {
    const passes = ['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z'];
    expect(due(table('30 1 * * *', { zone }), ...overlapNight)).toEqual(passes.slice(0, 1));
    expect(due(table('30 1 * * *', { zone, overlap: 'second' }), ...overlapNight)).toEqual(passes.slice(1));
    expect(due(table('30 1 * * *', { zone, overlap: 'both' }), ...overlapNight)).toEqual(passes);
  });

  it('does not touch schedules whose hours follow elapsed time', () => {
    for (const hours of ['*', '0-3', '*/1', '?']) {
      const timetable = table(`30 ${hours} * * *`, { zone });
      expect(due(timetable, ...gapNight)).toEqual(
        ['00', '01', '02', '03'].slice(0, hours === '0-3' ? 3 : 4).map((hour) => `2026-03-29T${hour}:30:00Z`),
      );
      expect(due(timetable, ...overlapNight)).toEqual(
        ['00', '01', '02', '03'].map((hour) => `2026-10-25T${hour}:30:00Z`),
      );
    }
  });

  it('does not touch @every and @at', () => {
    const every = due(table('@every 30m', { zone }), '2026-03-29T00:30:00Z', '2026-03-29T02:00:00Z');
    expect(every).toEqual(['2026-03-29T00:30:00Z', '2026-03-29T01:00:00Z', '2026-03-29T01:30:00Z']);
    expect(due(table('@at 2026-03-29T01:30:00+01:00', { zone }), ...gapNight)).toEqual(['2026-03-29T00:30:00Z']);
  });

  it('treats a day that was skipped as a gap', () => {
    const days = ['2011-12-29T12:00:00Z', '2011-12-31T12:00:00Z'] as const;
    const apia = { zone: 'Pacific/Apia' };
    // 29 December ends, and 31 December begins, at 10:00Z; 03:00 on the 31st is 13:00Z on the 30th.
    expect(due(table('0 3 * * *', apia), ...days)).toEqual([
      '2011-12-29T13:00:00Z',
      '2011-12-30T10:00:00Z',
      '2011-12-30T13:00:00Z',
    ]);
    expect(due(table('0 3 30 12 *', apia), ...days)).toEqual(['2011-12-30T10:00:00Z']);
    expect(due(table('0 3 30 12 *', { ...apia, gap: 'skip' }), ...days)).toEqual([]);
  });

  it('knows offsets that are not whole minutes', () => {
    const monrovia = { zone: 'Africa/Monrovia' };
    expect(due(table('0 12 * * *', monrovia), '1972-01-05T00:00:00Z', '1972-01-09T00:00:00Z')).toEqual([
      '1972-01-05T12:44:30Z',
      '1972-01-06T12:44:30Z',
      '1972-01-07T12:00:00Z',
      '1972-01-08T12:00:00Z',
    ]);
  });
});

describe('look-ups', () => {
  const fifth = table('@at 2031-06-01T00:00:00Z');

  it('are strict', () => {
    const timetable = table('0 3 * * *');
    expect(timetable.next(at('2026-01-01T03:00:00Z'))).toBe(at('2026-01-02T03:00:00Z'));
    expect(timetable.next(at('2026-01-01T02:59:59.999Z'))).toBe(at('2026-01-01T03:00:00Z'));
    expect(timetable.next(at('2026-01-01T03:00:00Z') - 0.5)).toBe(at('2026-01-01T03:00:00Z'));
    expect(timetable.previous(at('2026-01-02T03:00:00Z'))).toBe(at('2026-01-01T03:00:00Z'));
    expect(timetable.previous(at('2026-01-02T03:00:00Z') + 0.5)).toBe(at('2026-01-02T03:00:00Z'));
    expect(timetable.previous(at('2026-01-02T03:00:00.001Z'))).toBe(at('2026-01-02T03:00:00Z'));
  });

  it('reach 5 years, and no further', () => {
    expect(fifth.next(at('2026-06-01T00:00:00Z'))).toBe(at('2031-06-01T00:00:00Z'));
    expect(fifth.next(at('2026-05-31T23:59:59.999Z'))).toBeUndefined();
    expect(fifth.previous(at('2036-06-01T00:00:00Z'))).toBe(at('2031-06-01T00:00:00Z'));
    expect(fifth.previous(at('2036-06-01T00:00:00.001Z'))).toBeUndefined();
    const leapDay = table('0 0 29 2 *');
    expect(leapDay.next(at('2096-03-01T00:00:00Z'))).toBeUndefined();
    expect(leapDay.next(at('2024-02-29T00:00:00Z'))).toBe(at('2028-02-29T00:00:00Z'));
  });

  it('find nothing before 1970', () => {
    for (const schedule of ['0 0 * * *', '@every 1d', '@at 1970-01-01T00:00:00Z']) {
      expect(table(schedule).next(-86_400_000)).toBe(0);
      expect(table(schedule).previous(1)).toBe(0);
      expect(table(schedule).previous(0)).toBeUndefined();
    }
    expect(table('0 0 * * *', { zone: 'Asia/Tokyo' }).previous(at('1970-01-01T15:00:00Z'))).toBeUndefined();
  });

  it('answer for any number', () => {
    for (const zone of ['UTC', 'Europe/Lisbon']) {
      const timetable = table('0 3 * * *', { zone });
      for (const odd of [NaN, Infinity, -Infinity, 8.64e15]) {
        expect(timetable.next(odd)).toBeUndefined();
        expect(timetable.previous(-Math.abs(odd))).toBeUndefined();
      }
    }
  });

  it('of @every are whole periods since 1970', () => {
    expect(due(table('@every 7h'), '1970-01-01T00:00:00Z', '1970-01-02T00:00:00Z')).toHaveLength(4);
    const next = table('@every 90s').next(at('2026-05-05T05:05:05Z')) ?? NaN;
    expect(next % 90_000).toBe(0);
  });
});

describe('windows', () => {
  const days = ['2026-12-23T00:00:00Z', '2026-12-29T00:00:00Z'] as const;
  const noon = (...list: number[]): string[] => list.map((day) => `2026-12-${day}T12:00:00Z`);

  it('leave out dates and spans, whose end is exclusive', () => {
    expect(due(table('0 12 * * *', { except: ['2026-12-25'] }), ...days)).toEqual(noon(23, 24, 26, 27, 28));
    expect(due(table('0 12 * * *', { except: [['2026-12-24', '2026-12-26']] }), ...days)).toEqual(noon(23, 26, 27, 28));
    expect(due(table('0 12 * * *', { except: [['2026-12-24T12:00', '2026-12-26T12:00']] }), ...days)).toEqual(
      noon(23, 26, 27, 28),
    );
    expect(due(table('0 12 * * *', { except: [['2026-12-24T12:00:01', '2026-12-26T12:00:01Z']] }), ...days)).toEqual(
      noon(23, 24, 27, 28),
    );
  });

  it('overlap, touch and repeat as they like', () => {
    const except = ['2026-12-25', '2026-12-24', '2026-12-25', ['2026-12-24T06:00', '2026-12-27']] as const;
    expect(due(table('0 12 * * *', { except }), ...days)).toEqual(noon(23, 27, 28));
  });

  it('leave out what lies outside between', () => {
    expect(due(table('0 12 * * *', { between: ['2026-12-24', '2026-12-26'] }), ...days)).toEqual(noon(24, 25));
    expect(due(table('0 12 * * *', { between: ['2026-12-26', undefined], except: ['2026-12-27'] }), ...days)).toEqual(
      noon(26, 28),
    );
    expect(due(table('0 12 * * *', { between: [undefined, '2026-12-25'] }), ...days)).toEqual(noon(23, 24));
  });

  it('are in the zone of the job, also for @every', () => {
    // 25 December in Tokyo begins at 15:00Z on the 24th.
    const every = table('@every 12h', { zone: 'Asia/Tokyo', except: ['2026-12-25'] });
    expect(due(every, '2026-12-24T00:00:00Z', '2026-12-26T12:00:00Z')).toEqual([
      '2026-12-24T00:00:00Z',
      '2026-12-24T12:00:00Z',
      '2026-12-26T00:00:00Z',
    ]);
  });

  it('begin after a gap, and in the first pass of an overlap', () => {
    const saoPaulo = zoneOf('America/Sao_Paulo');
    // On 4 November 2018 the day began at 01:00, which is 03:00Z.
    expect(spanOf({ from: parseMoment('2018-11-04') }, saoPaulo).from).toBe(at('2018-11-04T03:00:00Z'));
    expect(spanOf({ from: parseMoment('2018-11-04T00:30') }, saoPaulo).from).toBe(at('2018-11-04T03:00:00Z'));
    expect(spanOf({ from: parseMoment('2026-10-25T01:30') }, zoneOf('Europe/Lisbon')).from).toBe(
      at('2026-10-25T00:30:00Z'),
    );
    const apia = zoneOf('Pacific/Apia');
    const skipped = parseMoment('2011-12-30');
    const span = skipped.kind === 'date' ? spanOf(dateWindow(skipped), apia) : expect.fail();
    expect(span.from).toBe(span.to);
  });

  it.each([
    ['2026-01-02', '2026-01-01'],
    ['2026-01-01', '2026-01-01'],
    ['2026-01-01', '2025-12-31T23:00:00Z'],
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00+01:00'],
  ])('from %s to %s are refused', (from, to) => {
    expect(() => spanOf({ from: parseMoment(from), to: parseMoment(to) }, zoneOf('UTC'))).toThrow(ScheduleError);
  });

  it.each<[string, Options]>([
    ['@at 2026-12-25T12:00:00Z', { except: ['2026-12-25'] }],
    ['0 12 25 12 *', { between: ['2026-01-01', '2026-12-25'] }],
    ['@every 30d', { between: ['2026-01-01T00:00:01', '2026-01-01T00:00:02'] }],
    ['0 12 * * *', { between: ['2026-12-24', '2026-12-26'], except: [['2026-12-01', '2027-01-01']] }],
  ])('that leave nothing of %s are refused', (text, options) => {
    expect(() => table(text, options)).toThrow(/never due/);
  });

  it('are jumped over, however long they are', () => {
    const timetable = table('* * * * * *', { zone: 'Europe/Lisbon', except: [['2026-01-01', '2030-12-01']] });
    const walk = cpuTime(() => {
      let due: number | undefined = at('2025-01-01T00:00:00Z');
      for (let step = 0; step < 100_000 && due !== undefined; step += 1) due = timetable.next(due);
    });
    const jump = cpuTime(() => {
      expect(timetable.next(at('2026-01-01T00:00:00Z'))).toBe(at('2030-12-01T00:00:00Z'));
      expect(timetable.previous(at('2030-12-01T00:00:00Z'))).toBe(at('2025-12-31T23:59:59Z'));
    });
    // A walk over the exception would take 150 million steps.
    expect(jump).toBeLessThan(walk);
  });

  it.each([
    '2026-13-01',
    '2026-02-29',
    '2026-1-1',
    '2026-01-01 00:00',
    '2026-01-01T24:00',
    '2026-01-01T00:60',
    'soon',
    '',
  ])('%j is no border', (text) => {
    expect(() => parseMoment(text)).toThrow(ScheduleError);
  });
});

describe('time zones', () => {
  it.each(['+02:00', '-0800', 'PST', 'BST', 'Mars/Base', '', 'Europe/Lisbom', 'GMT+5', 'Z'])(
    '%j is refused',
    (name) => {
      expect(() => zoneOf(name)).toThrow(ScheduleError);
    },
  );

  it('have their names written as the database has them, and keep names that were replaced', () => {
    expect(zoneOf('europe/lisbon').name).toBe('Europe/Lisbon');
    expect(zoneOf('utc').name).toBe('UTC');
    expect(zoneOf('Asia/Kolkata').name).toBe('Asia/Kolkata');
    expect(zoneOf('Etc/GMT-2').segmentAt(0).offset).toBe(7200);
  });
});

describe('spread', () => {
  const names = Array.from({ length: 1000 }, (_, index) => `job-${index}` as JobName);

  it('is whole seconds inside the span, the same each time', () => {
    for (const name of names) {
      const offset = spreadOffset(name, 300_000);
      expect(offset % 1000).toBe(0);
      expect(offset).toBeGreaterThanOrEqual(0);
      expect(offset).toBeLessThan(300_000);
      expect(spreadOffset(name, 300_000)).toBe(offset);
    }
    // Another value would move every job that has a spread.
    expect(spreadOffset('nightly-report' as JobName, 300_000)).toBe(95_000);
    expect(spreadOffset('a' as JobName, 0)).toBe(0);
  });

  it('keeps jobs apart', () => {
    const perMinute = [0, 1, 2, 3, 4].map(
      (minute) => names.filter((name) => Math.floor(spreadOffset(name, 300_000) / 60_000) === minute).length,
    );
    for (const count of perMinute) expect(Math.abs(count - 200)).toBeLessThan(50);
  });
});
