import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDuration, parseDuration } from '../../src/core/duration';

describe('durations', () => {
  it.each([
    ['45s', 45_000],
    ['10m', 600_000],
    ['1h30m', 5_400_000],
    ['7d', 604_800_000],
    ['1d2h3m4s', 93_784_000],
    ['90m', 5_400_000],
    ['0s', 0],
    ['1d5s', 86_405_000],
  ])('%s is %i ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each([
    '',
    's',
    '10',
    '1.5h',
    '-1s',
    '+1s',
    '1s1m',
    '1m1m',
    '1 m',
    ' 1m',
    '1m ',
    '1H',
    '1w',
    '100ms',
    '1e3s',
    '٣s',
    `${'9'.repeat(20)}d`,
  ])('%j is none', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });

  it('are written in the largest units', () => {
    expect([0, 60_000, 90_000, 5_400_000, 604_800_000, 86_405_000, 1500].map(formatDuration)).toEqual([
      '0s',
      '1m',
      '1m30s',
      '1h30m',
      '7d',
      '1d5s',
      '1.5s',
    ]);
  });

  it('are read as they are written', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 ** 9 }), (seconds) => {
        expect(parseDuration(formatDuration(seconds * 1000))).toBe(seconds * 1000);
      }),
    );
  });
});
