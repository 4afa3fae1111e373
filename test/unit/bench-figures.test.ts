import { describe, expect, it } from 'vitest';
import { judge, latenessOf, percentile } from '../../bench/figures/judge';
import { cpuMs, cpuOfStat, residentMb } from '../../bench/figures/processes';
import { parseStart, type Start } from '../../bench/figures/records';
import { isAtRest } from '../../bench/measure/rest';

describe('percentiles', () => {
  it('are values that occur, by the nearest rank', () => {
    const hundred = Array.from({ length: 100 }, (_, index) => index + 1);
    expect([0.5, 0.99, 1].map((share) => percentile(hundred, share))).toEqual([50, 99, 100]);
    expect([0.01, 0.5, 0.99].map((share) => percentile([7], share))).toEqual([7, 7, 7]);
    expect([0.5, 0.51].map((share) => percentile([1, 2], share))).toEqual([1, 2]);
    expect(percentile([], 0.5)).toBeNaN();
  });

  it('are of sorted numbers, whatever their order', () => {
    expect(latenessOf([100, 9, -3])).toEqual({ min: -3, p50: 9, p99: 100, max: 100 });
    expect(latenessOf([])).toEqual({ min: Number.NaN, p50: Number.NaN, p99: Number.NaN, max: Number.NaN });
  });
});

describe('what became of due times', () => {
  const start = (job: string, due: number, more: Partial<Start> = {}): Start => ({
    ...{ job, due, at: due + 5, pid: 1, attempt: 1 },
    ...more,
  });
  const expected = { jobs: ['a', 'b'], dues: [1_000, 2_000] };

  it('is each run once', () => {
    const starts = [start('a', 1_000), start('b', 1_000), start('a', 2_000), start('b', 2_000, { at: 2_007 })];
    expect(judge(starts, expected)).toEqual({
      ...{ dueTimes: 4, starts: 4, duplicates: 0, misses: 0, unrecorded: 0 },
      lateness: { min: 5, p50: 5, p99: 7, max: 7 },
    });
  });

  it('is not judged by jobs and due times outside', () => {
    const starts = [start('a', 0), start('c', 1_000), start('a', 3_000)];
    expect(judge(starts, expected)).toMatchObject({ starts: 0, duplicates: 0, misses: 4, unrecorded: 4 });
  });

  it('is doubled by every start beyond the first, whoever made it', () => {
    const starts = [start('a', 1_000), start('a', 1_000), start('a', 1_000, { pid: 2 }), start('b', 1_000)];
    expect(judge(starts, expected)).toMatchObject({ starts: 4, duplicates: 2, misses: 2 });
  });

  it('is not doubled by a second attempt, which is not late either', () => {
    const starts = [start('a', 1_000), start('a', 1_000, { attempt: 2, at: 31_000 })];
    expect(judge(starts, expected)).toMatchObject({ duplicates: 0, lateness: { max: 5 } });
    expect(judge([...starts, start('a', 1_000, { attempt: 2 })], expected)).toMatchObject({ duplicates: 1 });
  });

  it('is missed, unless a record states why it did not run', () => {
    const starts = [start('a', 1_000), start('b', 2_000)];
    const figures = judge(starts, expected, (job, due) => job === 'b' && due === 1_000);
    expect(figures).toMatchObject({ misses: 2, unrecorded: 1 });
  });
});

describe('the record of a start', () => {
  it('is read as it was written', () => {
    expect(parseStart('job-1 1000 1005.3 42 2')).toEqual({
      job: 'job-1',
      due: 1_000,
      at: 1_005.3,
      pid: 42,
      attempt: 2,
    });
  });

  it.each(['', 'job-1 1000 1005.3 42', 'job-1 1000 1005.3 42 1 2'])('is no other line: %j', (line) => {
    expect(() => parseStart(line)).toThrow(/cannot be read/);
  });
});

describe('what processes use', () => {
  it('is read from the line of a process with any name, its ended children included', () => {
    expect(cpuOfStat('17 (a) S b) R 1 17 17 0 -1 4194304 9 8 0 0 150 20 3 7 20 0 1 0 5 0 0')).toBe(1_800);
  });

  it('is read of this process', () => {
    const before = cpuMs([process.pid]);
    const until = performance.now() + 100;
    while (performance.now() < until);
    expect(cpuMs([process.pid])).toBeGreaterThan(before);
    expect(residentMb(process.pid)).toBeGreaterThan(10);
  });

  it('is nothing of a process that has ended', () => {
    const none = 2 ** 22 + 1;
    expect(cpuMs([none])).toBe(0);
    expect(residentMb(none)).toBe(0);
  });
});

describe('the end of a burst', () => {
  const busy = [1_900, 1_700, 1_200];

  it('is at rest after some seconds with little CPU', () => {
    expect(isAtRest([...busy, 120, 90, 40, 200, 60, 30])).toBe(true);
  });

  it.each([
    ['it has just begun', []],
    ['it waits for an answer of storage', [...busy, 10, 0, 0, 0, 0]],
    ['it works after a pause', [...busy, 10, 0, 0, 900, 0, 0]],
  ])('is not at rest while %s', (_what, samples) => {
    expect(isAtRest(samples)).toBe(false);
  });
});
