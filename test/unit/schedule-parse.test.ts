import { describe, expect, it } from 'vitest';
import { parseSchedule } from '../../src/core/schedule/parse';
import { ScheduleError } from '../../src/core/schedule/schedule-error';

function refusal(text: string): ScheduleError {
  try {
    parseSchedule(text);
  } catch (error) {
    if (error instanceof ScheduleError) return error;
    throw error;
  }
  return expect.fail(`${text} is accepted`);
}

describe('schedules', () => {
  it.each([
    ['@every 90s', { kind: 'every', period: 90_000 }],
    ['  @every   1h30m ', { kind: 'every', period: 5_400_000 }],
    ['@at 2026-12-31T23:00:00Z', { kind: 'at', at: Date.UTC(2026, 11, 31, 23) }],
    ['@at 2026-12-31T23:00:00.000Z', { kind: 'at', at: Date.UTC(2026, 11, 31, 23) }],
    ['@at 2026-12-31t23:00:00.25z', { kind: 'at', at: Date.UTC(2026, 11, 31, 23, 0, 0, 250) }],
    ['@at 2027-01-01T04:30:00+05:30', { kind: 'at', at: Date.UTC(2026, 11, 31, 23) }],
    ['@at 2026-12-31T15:00:00-08:00', { kind: 'at', at: Date.UTC(2026, 11, 31, 23) }],
    ['@at 1970-01-01T00:00:00Z', { kind: 'at', at: 0 }],
    ['@always', { kind: 'always' }],
    ['@manual', { kind: 'manual' }],
  ])('%s', (text, schedule) => {
    expect(parseSchedule(text)).toEqual(schedule);
  });

  it.each([
    ['@hourly', '0 * * * *'],
    ['@daily', '0 0 * * *'],
    ['@weekly', '0 0 * * 0'],
    ['@monthly', '0 0 1 * *'],
    ['@yearly', '0 0 1 1 *'],
    ['0 3 * * *', '0 0 3 * * *'],
    ['\t0  3 * * * ', '0 3 * * *'],
    ['0 3 * JAN,dec Mon-FRI', '0 3 * 1,12 1-5'],
    ['0 3 ? * 7', '0 3 * * 0'],
    ['0 3 * * 5-7', '0 3 * * 0,5,6'],
  ])('%s says the same as %s', (one, other) => {
    expect(parseSchedule(one)).toEqual(parseSchedule(other));
  });

  it.each([
    ['* * * * *', true],
    ['0 */2 * * *', true],
    ['0 ? * * *', true],
    ['0 9-17 * * *', true],
    ['0 9-17/2,20 * * *', true],
    ['0 0 * * * *', true],
    ['*/5 3 * * *', false],
    ['0 1,2,3 * * 1-5', false],
    ['*/10 0 3 * * *', false],
    ['@hourly', true],
    ['@daily', false],
  ])('%s follows elapsed time: %s', (text, elapsed) => {
    expect(parseSchedule(text)).toMatchObject({ kind: 'cron', elapsed });
  });
});

describe('schedules that are refused', () => {
  it.each([
    ['', /empty/, /5 fields/],
    ['* * *', /3 fields/, /5 fields/],
    ['0 3 * * * * 2026', /7 fields/, /between/],
    ['H 3 * * *', /H/, /spread/],
    ['0 h(1-5)/2 * * *', /H/, /spread/],
    ['0 */1H * * *', /H in "\*\/1H"/, /spread/],
    ['0 2H * * *', /H/, /spread/],
    ['0 3 * * MON-5H', /H/, /spread/],
    ['0 3 15W * *', /W/, /the day/],
    ['0 3 LW * *', /W/, /last day/],
    ['0 3 L-3 * *', /L-3/, /L for the last day/],
    ['0 3 * * 1#6', /"1#6" for day-of-week/, /1#3/],
    ['0 3 * * 1#1.5', /"1#1.5"/, /1 to 5/],
    ['0 3 * * 1#1,2#2', /day-of-week/, /day-of-week is/],
    ['0 3 * * L', /"L" for day-of-week/, /5L/],
    ['0 3 3L * *', /"3L" for day-of-month/, /L \(the last day\)/],
    ['60 24 * * *', /"60" for minute and "24" for hour/, /minute is 0-59; hour is 0-23/],
    ['0 22-2 * * *', /"22-2" for hour/, /ascending/],
    ['0,0 3 * * *', /"0,0" for minute/, /once/],
    ['*/0 3 * * *', /minute/, /steps/],
    ['0 3 * FOO *', /"FOO" for month/, /JAN/],
    ['0 3 31 2 *', /never comes/, /L for the last day/],
    ['0 0 30 FEB *', /never comes/, /a day that/],
    ['0 0 31 2,4,6,9,11 *', /never comes/, /a day that/],
    ['@dayly', /@dayly/, /@daily/],
    ['@Daily', /@Daily/, /@daily/],
    ['@reboot', /@reboot/, /@always/],
    ['@daily 3', /"3" after @daily/, /use only @daily/],
    ['@every', /no duration/, /90s/],
    ['@every 90', /"90"/, /90s/],
    ['@every 0s', /0s/, /1s/],
    ['@every 2000d', /2000d/, /1825d/],
    ['@every 1h 30m', /"1h 30m"/, /1h30m/],
    ['@at', /date and time/, /RFC 3339/],
    ['@at 2026-12-31', /date and time/, /RFC 3339/],
    ['@at 2026-12-31T23:00:00', /Z or an offset/, /RFC 3339/],
    ['@at 2026-12-31T23:00Z', /date and time/, /RFC 3339/],
    ['@at 2026-02-30T23:00:00Z', /does not exist/, /RFC 3339/],
    ['@at 2026-12-31T24:00:00Z', /does not exist/, /RFC 3339/],
    ['@at 2026-12-31T23:00:00+24:00', /offset/, /RFC 3339/],
    ['@at 2026-12-31T23:00:00.0001Z', /millisecond/, /RFC 3339/],
    ['@at 1969-12-31T23:00:00Z', /1970/, /later/],
  ])('%j', (text, message, remedy) => {
    const error = refusal(text);
    expect(error.message).toMatch(message);
    expect(error.remedy).toMatch(remedy);
    expect(error.code).toBe('InvalidSchedule');
  });
});

describe('schedules that draw a warning', () => {
  it.each([
    ['0 0 13 * FRI', /either, as in Vixie cron$/],
    ['0 0 */2 * 1', /either: here Vixie cron takes only days that match both$/],
    ['0 0 1 * */2', /either: here Vixie cron/],
    ['*/90 * * * *', /step of 90 for minute/],
    ['0 0 * 2 1#5', /28 years/],
  ])('%s', (text, message) => {
    expect(parseSchedule(text)).toMatchObject({ warnings: [{ message: expect.stringMatching(message) }] });
  });

  it.each(['0 0 13 * *', '0 0 * * FRI', '0 0 ? * 5', '0 0 13 * ?', '*/30 * * * *', '0 0 29 2 *'])(
    '%s: none',
    (text) => {
      expect(parseSchedule(text)).toMatchObject({ warnings: [] });
    },
  );
});
