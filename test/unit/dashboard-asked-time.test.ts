import { describe, expect, it } from 'vitest';
import { dueAtOf, inProgressFrom, timeAt } from '../../src/dashboard/data/marks';
import type { OneRun, RunSummary } from '../../src/client/types';

const T0 = Date.UTC(2026, 0, 1, 12);
const MINUTE = 60_000;
/** A pixel a minute. */
const SCALE = { from: T0, until: T0 + 600 * MINUTE, width: 600 };

function at(minutes: number): string {
  return new Date(T0 + minutes * MINUTE).toISOString();
}

/** A run of a moment, which `spread` has started later than its due time. */
function run(due: number, { spread = 0, late = 0, tookMs = 0 } = {}): RunSummary {
  const startedAt = Date.parse(at(due + spread + late));
  return {
    ...{
      runId: `a-${String(due)}`,
      job: 'a',
      timeZone: 'UTC',
      scheduledFor: at(due),
      through: null,
      count: 1,
      outcome: 'succeeded',
    },
    ...{ reason: null, trigger: 'schedule', token: 1, startedAt: new Date(startedAt).toISOString() },
    ...{ endedAt: new Date(startedAt + tookMs).toISOString(), origin: null, rerunOf: null, waitedMs: 0, error: null },
    ...{ latenessMs: late * MINUTE, durationMs: tookMs },
  };
}

describe('the picture of runs over time', () => {
  it('draws no run as late that "spread" has started later', () => {
    expect(dueAtOf(run(60, { spread: 20 }))).toBe(T0 + 80 * MINUTE);
    expect(dueAtOf(run(60, { spread: 20, late: 3 }))).toBe(T0 + 80 * MINUTE);
    expect(dueAtOf({ ...run(60, { spread: 20 }), startedAt: null })).toBe(T0 + 60 * MINUTE);
  });

  it('draws no back-filled run from its due time on, and no click in between means it', () => {
    const filled: RunSummary = { ...run(60, { late: 400 }), trigger: 'backfill', latenessMs: null };
    expect(dueAtOf(filled)).toBe(T0 + 460 * MINUTE);
    const asked = (x: number): string => timeAt(SCALE, x, [filled], [], T0 + 500 * MINUTE);
    expect([200, 460].map(asked)).toEqual([at(200), at(60)]);
  });

  it('means by a click on a run, or on a due time to come, its due time', () => {
    const runs = [run(60, { spread: 20 }), run(120, { spread: 20, late: 5 })];
    const due = [{ scheduledFor: at(180), startsAt: at(200) }];
    const asked = (x: number): string => timeAt(SCALE, x, runs, due, T0 + 170 * MINUTE);
    expect([80, 82, 83].map(asked)).toEqual([at(60), at(60), at(60)]);
    expect([141, 147].map(asked)).toEqual([at(120), at(120)]);
    expect(asked(198)).toBe(at(180));
    expect(asked(100)).toBe(at(100));
  });
});

it('due times that came while a run waited for its place are among those that it overlapped', () => {
  const waited = { ...run(60, { late: 6 }), claimedAt: at(60), attempts: [] } as unknown as OneRun;
  expect(inProgressFrom(waited)).toBe(at(60));
  expect(inProgressFrom({ ...waited, claimedAt: null })).toBe(at(66));
  expect(inProgressFrom({ ...waited, claimedAt: null, startedAt: null })).toBe(at(60));
});
