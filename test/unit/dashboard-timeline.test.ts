import { describe, expect, it } from 'vitest';
import { type TimelineJob, atOnce, listedUntil, marksOf } from '../../src/dashboard/data/marks';

const T0 = Date.UTC(2026, 0, 1, 12);
const MINUTE = 60_000;

function at(minutes: number): string {
  return new Date(T0 + minutes * MINUTE).toISOString();
}

function job(changes: Partial<TimelineJob> = {}): TimelineJob {
  return {
    ...{
      name: 'a',
      state: 'idle',
      detail: null,
      tags: [],
      timeZone: 'UTC',
      lastRun: null,
      recent: [],
      failures: 0,
      incident: null,
    },
    ...{ currentRun: null, nextDueAt: null, pause: null, offsetMs: 0, medianMs: null, planned: [], isComplete: true },
    ...changes,
  };
}

function run(
  minutes: number,
  changes: Partial<TimelineJob['recent'][number] & { kind: 'run' }> = {},
): TimelineJob['recent'][number] {
  return {
    ...{ kind: 'run', runId: 'a-20260101T000000Z', scheduledFor: at(minutes), outcome: 'succeeded' },
    ...{ latenessMs: 0, durationMs: MINUTE, waitedMs: 0, attempts: 1 },
    ...changes,
  };
}

describe('the marks of a job', () => {
  it('place a run by its spread and lateness, and a request without the spread', () => {
    const late = run(-30, { latenessMs: 2 * MINUTE });
    const { past } = marksOf(
      job({ offsetMs: 5 * MINUTE, recent: [late, run(-10, { runId: 'a-20260101T000000Z-m-x' })] }),
      T0,
      0,
    );
    expect(past).toMatchObject([
      { dueAt: T0 - 25 * MINUTE, from: T0 - 23 * MINUTE, until: T0 - 22 * MINUTE },
      { dueAt: T0 - 10 * MINUTE, from: T0 - 10 * MINUTE },
    ]);
  });

  it('draw an outage as wide as it lasted', () => {
    const gap = (minutes: number, count: number): TimelineJob['recent'][number] => ({
      ...{ kind: 'gap', scheduledFor: at(minutes), outcome: 'collapsed', reason: 'catchUpLatest', count },
    });
    const { past } = marksOf(job({ recent: [run(-180), gap(-60, 12), run(-50), gap(-40, 1)] }), T0, 0);
    expect(past.map(({ from, until }) => [(from - T0) / MINUTE, (until - T0) / MINUTE])).toEqual([
      ...[
        [-180, -179],
        [-170, -60],
        [-50, -49],
        [-40, -40],
      ],
    ]);
    // Nothing tells when the first of them was due.
    expect(marksOf(job({ recent: [gap(-60, 12)] }), T0, 0).past).toMatchObject([{ from: T0 - 60 * MINUTE }]);
  });

  it('draw planned runs as long as the median, and those too close to each other as one', () => {
    const planned = [5, 10, 30].map(at);
    const apart = marksOf(job({ planned, medianMs: MINUTE }), T0, MINUTE).planned;
    expect(apart.map(({ from, until, count }) => [from - T0, until - T0, count])).toEqual([
      [5 * MINUTE, 6 * MINUTE, 1],
      [10 * MINUTE, 11 * MINUTE, 1],
      [30 * MINUTE, 31 * MINUTE, 1],
    ]);
    const merged = marksOf(job({ planned, medianMs: MINUTE }), T0, 5 * MINUTE).planned;
    expect(merged).toMatchObject([{ count: 2, from: T0 + 5 * MINUTE, last: T0 + 10 * MINUTE }, { count: 1 }]);
  });

  it('mark where a planned run, or the one in progress, reaches the next due time', () => {
    const planned = [5, 15, 40].map(at);
    expect(marksOf(job({ planned, medianMs: 10 * MINUTE }), T0, 0).overlaps).toEqual([]);
    expect(marksOf(job({ planned, medianMs: 12 * MINUTE }), T0, 0).overlaps).toEqual([
      { from: T0 + 15 * MINUTE, until: T0 + 17 * MINUTE },
    ]);
    const currentRun = {
      ...{ runId: 'a-20260101T000000Z', scheduledFor: at(-5), trigger: 'schedule' as const, attempt: 1 },
      ...{ startedAt: at(-5), retryAt: null, holder: 'd1' },
    };
    const { current, overlaps } = marksOf(job({ currentRun, planned: [at(5)], medianMs: 12 * MINUTE }), T0, 0);
    expect(current).toEqual({ from: T0 - 5 * MINUTE, expected: T0 + 7 * MINUTE });
    expect(overlaps).toEqual([{ from: T0 + 5 * MINUTE, until: T0 + 7 * MINUTE }]);
  });

  it('join overlaps that follow each other', () => {
    const { overlaps } = marksOf(job({ planned: [0, 5, 10, 15].map(at), medianMs: 12 * MINUTE }), T0, 0);
    expect(overlaps).toEqual([{ from: T0 + 5 * MINUTE, until: T0 + 22 * MINUTE }]);
  });

  it('name the limits of what is known', () => {
    const recent = Array.from({ length: 20 }, (_, index) => run(index - 20));
    expect(marksOf(job({ recent }), T0, 0).knownFrom).toBe(T0 - 20 * MINUTE);
    expect(marksOf(job({ recent: recent.slice(1) }), T0, 0).knownFrom).toBeUndefined();
    const planned = [at(1), at(2)];
    expect(marksOf(job({ planned, isComplete: false }), T0, 0).plannedUntil).toBe(T0 + 2 * MINUTE);
    expect(marksOf(job({ planned }), T0, 0).plannedUntil).toBeUndefined();
  });
});

it('the planned runs of all jobs are counted where they run at once', () => {
  const jobs = [
    job({ planned: [at(5)], medianMs: 10 * MINUTE }),
    job({ name: 'b', planned: [at(10)], medianMs: 10 * MINUTE }),
  ];
  expect(atOnce(jobs, T0).map((step) => [(step.at - T0) / MINUTE, step.count])).toEqual([
    [0, 0],
    [5, 1],
    [10, 2],
    [15, 1],
    [20, 0],
  ]);
});

describe('the end of what is planned', () => {
  it('is that of the job with the least of it, where a job has more due times than are listed', () => {
    const whole = job({ planned: [at(1)] });
    const often = job({ planned: [at(1), at(200)], isComplete: false });
    const oftener = job({ planned: [at(1), at(90)], isComplete: false });
    expect(listedUntil([whole], T0 + 720 * MINUTE)).toBe(T0 + 720 * MINUTE);
    expect(listedUntil([whole, often, oftener], T0 + 720 * MINUTE)).toBe(T0 + 90 * MINUTE);
  });
});
