import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { bothTimes, parseTime, plannedEnd, textIn, timeAbout, timeHere, utc, wallClock } from '../../src/cli/time';
import { showTime } from '../../src/core/show-time';
import { UsageError } from '../../src/cli/output';

const read = (text: string, zone = 'UTC'): string => new Date(parseTime(text, 'TIME')(zone)).toISOString();

describe('a TIME on the command line', () => {
  it.each([
    ['2026-03-29T02:30:00Z', '2026-03-29T02:30:00.000Z'],
    ['2026-03-29T02:30:00.123Z', '2026-03-29T02:30:00.123Z'],
    ['2026-03-29T02:30:00.5+01:00', '2026-03-29T01:30:00.500Z'],
    ['2026-03-29T02:30Z', '2026-03-29T02:30:00.000Z'],
    ['2026-03-29t02:30z', '2026-03-29T02:30:00.000Z'],
    ['2026-03-29 02:30:00 ', '2026-03-29T02:30:00.000Z'],
    ['2026-03-29T02:30+0200', '2026-03-29T00:30:00.000Z'],
    ['2026-03-29T02:30-05', '2026-03-29T07:30:00.000Z'],
    ['20260329T023000Z', '2026-03-29T02:30:00.000Z'],
    ['20260329T0230+01', '2026-03-29T01:30:00.000Z'],
    ['20260101T000100.007Z', '2026-01-01T00:01:00.007Z'],
    ['2026-03-29', '2026-03-29T00:00:00.000Z'],
  ])('%s', (text, instant) => {
    expect(read(text)).toBe(instant);
  });

  it.each([
    ['2026-01-15T02:30', '2026-01-15T01:30:00.000Z'],
    ['2026-07-15', '2026-07-14T22:00:00.000Z'],
    ['2026-03-29T02:30', '2026-03-29T01:00:00.000Z'],
    ['2026-10-25T02:30', '2026-10-25T00:30:00.000Z'],
  ])('%s in the zone of the job', (text, instant) => {
    expect(read(text, 'Europe/Paris')).toBe(instant);
  });

  it.each([
    '',
    'yesterday',
    '2026-02-30T00:00:00Z',
    '2026-01-01T25:00:00Z',
    '1767225600000',
    '2026-01-01T00:00:00+2:00',
  ])('is not %j', (text) => {
    expect(() => parseTime(text, '--from')).toThrow(UsageError);
    expect(() => parseTime(text, '--from')).toThrow(/^--from ".*" .*2026-12-31T23:00:00Z/);
  });
});

describe('a TIME on a clock, or so long ago', () => {
  const now = Date.UTC(2026, 10, 27, 21, 42, 40);
  const at = (text: string, where: 'ago' | 'ahead', zone = 'UTC'): string =>
    new Date(parseTime(text, 'TIME', where, now)(zone)).toISOString();

  it.each([
    ['21:42:40Z', '2026-11-27T21:42:40.000Z'],
    ['21:42', '2026-11-27T21:42:00.000Z'],
    ['21:43', '2026-11-26T21:43:00.000Z'],
    ['9:05', '2026-11-27T09:05:00.000Z'],
    ['23:00+02:00', '2026-11-27T21:00:00.000Z'],
    ['2h', '2026-11-27T19:42:40.000Z'],
    ['1h30m', '2026-11-27T20:12:40.000Z'],
  ])('%s is the latest such time', (text, instant) => {
    expect(at(text, 'ago')).toBe(instant);
  });

  it.each([
    ['21:42:40Z', '2026-11-27T21:42:40.000Z'],
    ['21:42', '2026-11-28T21:42:00.000Z'],
    ['21:43', '2026-11-27T21:43:00.000Z'],
    ['2h', '2026-11-27T23:42:40.000Z'],
  ])('%s is the next such time where a command looks ahead', (text, instant) => {
    expect(at(text, 'ahead')).toBe(instant);
  });

  it.each([
    ['10:42', 'Pacific/Kiritimati', '2026-11-27T20:42:00.000Z'],
    ['12:00', 'Pacific/Kiritimati', '2026-11-26T22:00:00.000Z'],
    ['10:30', 'Pacific/Pago_Pago', '2026-11-27T21:30:00.000Z'],
    ['11:00', 'Pacific/Pago_Pago', '2026-11-26T22:00:00.000Z'],
  ])('%s is in the zone of the job, %s', (text, zone, instant) => {
    expect(at(text, 'ago', zone)).toBe(instant);
  });

  it.each([
    // The clocks of Paris show 02:00 to 03:00 twice that night.
    ['02:30', 'ago', '2026-10-25T00:45:00Z', '2026-10-25T00:30:00.000Z'],
    ['02:30', 'ago', '2026-10-25T01:15:00Z', '2026-10-25T00:30:00.000Z'],
    ['02:30', 'ago', '2026-10-25T09:00:00Z', '2026-10-25T00:30:00.000Z'],
    ['02:30', 'ahead', '2026-10-25T00:15:00Z', '2026-10-25T00:30:00.000Z'],
    ['02:30', 'ahead', '2026-10-25T00:45:00Z', '2026-10-25T01:30:00.000Z'],
    ['02:30', 'ahead', '2026-10-25T01:45:00Z', '2026-10-26T01:30:00.000Z'],
    ['02:30', 'ahead', '2026-03-28T12:00:00Z', '2026-03-29T01:00:00.000Z'],
  ] as const)(
    '%s is in the first pass, or ahead in the second one where the first is over: %s from %s',
    (text, where, from, instant) => {
      const time = parseTime(text, 'TIME', where, Date.parse(from))('Europe/Paris');
      expect(new Date(time).toISOString()).toBe(instant);
    },
  );

  it.each(['25:00', '12:60', '21:42:60Z'])('%s does not exist, and the error names what does', (text) => {
    expect(() => parseTime(text, '--since')).toThrow(
      /as 21:42 or 21:42:40Z for the latest such time, or as 2h for so long ago$/,
    );
    expect(() => parseTime(text, '--to', 'ahead')).toThrow(/next such time, or as 2h for so long from now$/);
  });
});

describe('a TIME that is not about one job', () => {
  it('is in UTC, or in the zone of this machine if --local says so, and an error names that zone', () => {
    const { prototype } = Intl.DateTimeFormat;
    const here = { ...new Intl.DateTimeFormat().resolvedOptions(), timeZone: 'Asia/Tokyo' };
    const spy = vi.spyOn(prototype, 'resolvedOptions').mockReturnValue(here);
    onTestFinished(() => spy.mockRestore());
    expect(timeHere('2026-11-21T17:40', '--until', {})).toBe(Date.UTC(2026, 10, 21, 17, 40));
    expect(timeHere('2026-11-21T17:40', '--until', { local: true })).toBe(Date.UTC(2026, 10, 21, 8, 40));
    expect(timeHere('2026-11-21T17:40+01:00', '--until', { local: true })).toBe(Date.UTC(2026, 10, 21, 16, 40));
    const since = (job: string | undefined, options: object, zone?: string): number =>
      timeAbout(job, '2026-11-21T17:40', '--since', options)(zone);
    expect(since(undefined, {}, 'Europe/Paris')).toBe(Date.UTC(2026, 10, 21, 17, 40));
    expect(since(undefined, { local: true }, 'Europe/Paris')).toBe(Date.UTC(2026, 10, 21, 8, 40));
    expect(since('a', { local: true }, 'Europe/Paris')).toBe(Date.UTC(2026, 10, 21, 16, 40));
    expect(since('a', { local: true })).toBe(Date.UTC(2026, 10, 21, 17, 40));
    expect(() => timeHere('soon', '--until', {})).toThrow(/or without either for UTC;/);
    expect(() => timeHere('soon', '--until', { local: true })).toThrow(
      /or without either for this machine's time zone;/,
    );
  });
});

describe('an instant', () => {
  it('in a text is shown in the zone of the command', () => {
    const text = 'since 2026-03-29T00:30:00Z, last at 2026-03-29T01:30:00.123Z: run a-20260329T003000Z';
    expect(textIn(text, (instant) => showTime(instant, 'Europe/Berlin'))).toBe(
      'since 2026-03-29T01:30:00+01:00, last at 2026-03-29T03:30:00.123+02:00: run a-20260329T003000Z',
    );
    expect(textIn(text, utc)).toBe(text);
  });

  const instant = Date.UTC(2026, 0, 15, 2, 30);
  it('is shown as a command takes it, and as a clock shows it', () => {
    expect(utc(instant)).toBe('2026-01-15T02:30:00Z');
    expect(utc(instant + 7)).toBe('2026-01-15T02:30:00.007Z');
    expect(wallClock(instant, 'America/St_Johns')).toBe('Wed 2026-01-14 23:00:00 -03:30');
    expect(bothTimes(utc, instant, 'Europe/Paris')).toBe(
      '2026-01-15T02:30:00Z (2026-01-15T03:30:00+01:00 Europe/Paris)',
    );
    expect(bothTimes(utc, instant, 'UTC')).toBe('2026-01-15T02:30:00Z');
    expect(read(showTime(instant, 'America/St_Johns'))).toBe('2026-01-15T02:30:00.000Z');
    expect(read(showTime(instant + 7, 'Europe/Paris'))).toBe('2026-01-15T02:30:00.007Z');
  });
});

describe('the end of a pause', () => {
  it('is a whole second, where it is given as a duration', () => {
    const now = Date.UTC(2026, 0, 1, 12, 0, 0, 56);
    expect(new Date(plannedEnd('10m', now)('UTC') ?? 0).toISOString()).toBe('2026-01-01T12:10:01.000Z');
    expect(plannedEnd('2026-01-01T12:10:00.500Z', now)('UTC')).toBe(Date.UTC(2026, 0, 1, 12, 10, 0, 500));
    expect(plannedEnd(undefined, now)('UTC')).toBeUndefined();
  });
});
