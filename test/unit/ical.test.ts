import { readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IcalError, parseIcal } from '../../src/config/ical';

function file(...events: readonly (readonly string[])[]): string {
  const lines = events.flatMap((event) => ['BEGIN:VEVENT', 'UID:1', ...event, 'END:VEVENT']);
  return ['BEGIN:VCALENDAR', 'VERSION:2.0', ...lines, 'END:VCALENDAR', ''].join('\r\n');
}

const DAY = 'DTSTART;VALUE=DATE:20261225';

describe('an iCalendar file', () => {
  it.each([
    [[DAY], { from: '2026-12-25', to: '2026-12-26' }],
    [['DTSTART:20261225'], { from: '2026-12-25', to: '2026-12-26' }],
    [[DAY, 'DTEND;VALUE=DATE:20261227'], { from: '2026-12-25', to: '2026-12-27' }],
    [[DAY, 'DURATION:P2D'], { from: '2026-12-25', to: '2026-12-27' }],
    [[DAY, 'DURATION:P1W'], { from: '2026-12-25', to: '2027-01-01' }],
    [['DTSTART:20261225T090000', 'DTEND:20261225T100000'], { from: '2026-12-25T09:00:00', to: '2026-12-25T10:00:00' }],
    [['DTSTART:20261225T090000Z', 'DURATION:PT90M'], { from: '2026-12-25T09:00:00Z', to: '2026-12-25T10:30:00Z' }],
    [
      ['DTSTART;TZID=Europe/Paris:20260701T090000', 'DTEND;TZID="Europe/Paris":20260701T100000'],
      { from: '2026-07-01T07:00:00Z', to: '2026-07-01T08:00:00Z' },
    ],
    // As Outlook writes it.
    [
      ['DTSTART;TZID=W. Europe Standard Time:20260701T090000', 'DTEND;TZID="W. Europe Standard Time":20260701T100000'],
      { from: '2026-07-01T07:00:00Z', to: '2026-07-01T08:00:00Z' },
    ],
    // The day on which the clocks are set back has 25 hours.
    [
      ['DTSTART;TZID=Europe/Paris:20261025T000000', 'DURATION:P1D'],
      { from: '2026-10-24T22:00:00Z', to: '2026-10-25T23:00:00Z' },
    ],
    [
      ['DTSTART;TZID=Europe/Paris:20261025T000000', `DURATION:P${'9'.repeat(30)}W`],
      { from: '2026-10-24T22:00:00Z', to: '9999-12-31T00:00:00Z' },
    ],
    [
      ['DTSTART;TZID=Europe/Paris:20261025T000000', 'DURATION:PT24H'],
      { from: '2026-10-24T22:00:00Z', to: '2026-10-25T22:00:00Z' },
    ],
    // A day that ends on itself is one day.
    [[DAY, 'DTEND;VALUE=DATE:20261225'], { from: '2026-12-25', to: '2026-12-26' }],
    // Nothing was due before 1970, and a jobs file ends with the year 9999.
    [['DTSTART:16041224', 'RRULE:FREQ=YEARLY'], { yearly: '12-24', days: 1, since: 1970 }],
    [['DTSTART:19691225', 'DTEND:19700103'], { from: '1970-01-01', to: '1970-01-03' }],
    [['DTSTART:20261225', 'DTEND:99991231'], { from: '2026-12-25', to: '9999-12-31' }],
    [[DAY, 'DURATION:P420000W'], { from: '2026-12-25', to: '9999-12-31' }],
    [
      ['DTSTART:20261225T000000Z', `DURATION:PT${'9'.repeat(30)}H`],
      { from: '2026-12-25T00:00:00Z', to: '9999-12-31T00:00:00Z' },
    ],
    [[DAY, 'SUMMARY:Christmas\\, and\\nmore'], { from: '2026-12-25', to: '2026-12-26', name: 'Christmas, and more' }],
    [[DAY, 'RRULE:FREQ=YEARLY'], { yearly: '12-25', days: 1, since: 2026 }],
    [
      [DAY, 'DTEND;VALUE=DATE:20261227', 'RRULE:FREQ=YEARLY;INTERVAL=1;BYMONTH=12;BYMONTHDAY=25;WKST=MO'],
      { yearly: '12-25', days: 2, since: 2026 },
    ],
    [[DAY, 'RRULE:FREQ=YEARLY;COUNT=3'], { yearly: '12-25', days: 1, since: 2026, until: 2028 }],
    [[DAY, 'RRULE:FREQ=YEARLY;UNTIL=20301225'], { yearly: '12-25', days: 1, since: 2026, until: 2030 }],
    [[DAY, 'RRULE:FREQ=YEARLY;UNTIL=20301224T235959Z'], { yearly: '12-25', days: 1, since: 2026, until: 2029 }],
    // As Exchange writes a rule whose last day is the 25th: its midnight in Berlin, Auckland and Los Angeles.
    [[DAY, 'RRULE:FREQ=YEARLY;UNTIL=20301224T230000Z'], { yearly: '12-25', days: 1, since: 2026, until: 2030 }],
    [[DAY, 'RRULE:FREQ=YEARLY;UNTIL=20301224T110000Z'], { yearly: '12-25', days: 1, since: 2026, until: 2030 }],
    [[DAY, 'RRULE:FREQ=YEARLY;UNTIL=20301225T080000Z'], { yearly: '12-25', days: 1, since: 2026, until: 2030 }],
    [[DAY, 'RRULE:FREQ=YEARLY;UNTIL=20301223T230000Z'], { yearly: '12-25', days: 1, since: 2026, until: 2029 }],
    [
      ['DTSTART:20270101', 'RRULE:FREQ=YEARLY;UNTIL=20291231T230000Z'],
      { yearly: '01-01', days: 1, since: 2027, until: 2030 },
    ],
    [[DAY, 'RRULE:FREQ=YEARLY;UNTIL=99991231T110000Z'], { yearly: '12-25', days: 1, since: 2026, until: 9999 }],
    [[DAY, 'RRULE:FREQ=YEARLY;UNTIL=20309999T000000Z'], { yearly: '12-25', days: 1, since: 2026, until: 2030 }],
  ])('%j means %j', (event, entry) => {
    expect(parseIcal(file(event))).toEqual([entry]);
  });

  it.each([
    ['is over before 1970', ['DTSTART:19500101']],
    ['repeats no more since 1970', ['DTSTART:19500101', 'RRULE:FREQ=YEARLY;UNTIL=19600101']],
    ['begins with the last day of 9999', ['DTSTART:99991231']],
    ['repeats no more when it begins', [DAY, 'RRULE:FREQ=YEARLY;UNTIL=20260601']],
  ])('has no entry for an event that %s', (_, event) => {
    expect(parseIcal(file(event))).toEqual([]);
  });

  it('does not read the times of an event that is not wanted', () => {
    const meeting = ['SUMMARY:Meeting', 'CATEGORIES:Team\\, all,WORK', DAY, 'RRULE:FREQ=WEEKLY'];
    const seen: unknown[] = [];
    const entries = parseIcal(file(meeting, [DAY]), (event) => {
      seen.push(event);
      return event.summary === '';
    });
    expect(entries).toEqual([{ from: '2026-12-25', to: '2026-12-26' }]);
    expect(seen[0]).toEqual({ summary: 'Meeting', categories: ['Team, all', 'WORK'] });
  });

  it('may have long lines, other line ends, other components and other properties', () => {
    const text = [
      'BEGIN:VCALENDAR',
      'BEGIN:VTIMEZONE',
      'TZID:Here',
      'BEGIN:STANDARD',
      'DTSTART:19701025T030000',
      'RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU',
      'END:STANDARD',
      'END:VTIMEZONE',
      'BEGIN:VEVENT',
      'SUMMARY;LANGUAGE=en;X-A="b:c;d":Christmas: a day',
      ' of rest',
      'DTSTART;VALUE=DA',
      ' TE:202612',
      '\t25',
      'BEGIN:VALARM',
      'TRIGGER:-PT15M',
      'DURATION:PT5M',
      'END:VALARM',
      'END:VEVENT',
      'BEGIN:VEVENT',
      'DTSTART:20270101',
      'STATUS:CANCELLED',
      'RRULE:FREQ=DAILY',
      'END:VEVENT',
      'END:VCALENDAR',
    ].join('\n');
    expect(parseIcal(text)).toEqual([{ from: '2026-12-25', to: '2026-12-26', name: 'Christmas: a dayof rest' }]);
  });

  it.each([
    ['', 1, 'does not begin with BEGIN:VCALENDAR'],
    ['<html>', 1, 'is not a property'],
    ['BEGIN:VCARD\nEND:VCARD', 1, 'does not begin'],
    ['BEGIN:VCALENDAR', 1, 'VCALENDAR has no end'],
    ['BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VCALENDAR', 3, 'ends nothing that is open'],
    [file(['SUMMARY:x']), 3, 'has no DTSTART'],
    [file([DAY, 'EXDATE:20271225']), 6, 'EXDATE is not read'],
    [file([DAY, 'RDATE:20271225']), 6, 'RDATE is not read'],
    [file([DAY, 'RECURRENCE-ID:20271225']), 6, 'RECURRENCE-ID is not read'],
    [file(['DTSTART:20261332']), 5, 'is not a date or time'],
    [file(['DTSTART:20261225T250000']), 5, 'is not a date or time'],
    [file(['DTSTART:soon']), 5, 'is not a date or time'],
    [file(['DTSTART:20261225T090000']), 3, 'a time and no end'],
    [file(['DTSTART;TZID=Here:20261225T090000', 'DURATION:PT1H']), 5, 'time zone "Here"'],
    [file([DAY, 'DTEND:20261225T100000']), 6, 'not of the same kind'],
    [file([DAY, 'DTEND:20261224']), 6, 'ends before it begins'],
    [file(['DTSTART:20261225T090000Z', 'DTEND:20261225T090000Z']), 6, 'ends before it begins'],
    [file([DAY, 'DURATION:PT1H']), 6, 'is not read'],
    [file([DAY, 'DURATION:-P1D']), 6, 'is not read'],
    [file([DAY, 'RRULE:FREQ=MONTHLY']), 6, 'FREQ=MONTHLY'],
    [file([DAY, 'RRULE:FREQ=YEARLY;INTERVAL=2']), 6, 'INTERVAL=2'],
    [file([DAY, 'RRULE:FREQ=YEARLY;BYDAY=4TH']), 6, 'BYDAY=4TH'],
    [file([DAY, 'RRULE:FREQ=YEARLY;BYMONTH=11']), 6, 'BYMONTH=11'],
    [file(['DTSTART:20240229', 'RRULE:FREQ=YEARLY;COUNT=2']), 6, 'COUNT=2'],
    [file(['DTSTART:20261225T090000Z', 'DURATION:PT1H', 'RRULE:FREQ=YEARLY']), 7, 'RRULE has times'],
    [file([DAY, 'DTEND:20281225', 'RRULE:FREQ=YEARLY']), 7, 'RRULE has 731 days'],
  ])('that is not read is refused at its line: %#', (text, line, message) => {
    const read = (): unknown => parseIcal(text);
    expect(read).toThrow(IcalError);
    expect(read).toThrow(
      expect.objectContaining({ line, message: expect.stringContaining(message) as unknown }) as Error,
    );
  });

  it('ends in entries or in an IcalError, whatever it holds', () => {
    const words = [
      ...file([DAY, 'RRULE:FREQ=YEARLY;COUNT=2', 'DTEND:20261227']).split(/(?<=[\r\n:;=])/),
      'T',
      'Z',
      '"',
      ' ',
    ];
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constantFrom(...words), fc.string()), { maxLength: 40 }), (parts) => {
        try {
          for (const entry of parseIcal(parts.join(''))) expect(entry).toBeTypeOf('object');
        } catch (error) {
          expect(error).toBeInstanceOf(IcalError);
        }
      }),
    );
  });

  it('takes time in proportion to its length', () => {
    const lines = Array.from({ length: 40_000 }, () => ` ${'x'.repeat(20)}`);
    const started = performance.now();
    expect(() => parseIcal(['BEGIN:VCALENDAR', 'X:', ...lines].join('\n'))).toThrow('has no end');
    expect(performance.now() - started).toBeLessThan(15_000);
  });
});

it('is documented with what it reads', () => {
  expect(readFileSync(path.join(__dirname, '../../docs/reference/jobs-file.md'), 'utf8')).toContain('FREQ=YEARLY');
});
