import { describe, expect, it } from 'vitest';
import type { JobSpec } from '../../src/core/job';
import { claimRank, compareRanks, startRank } from '../../src/core/ranked-queue';
import { interceptStore } from '../support/intercept';
import { jobSpec } from '../support/job';
import { rivalTicks } from '../support/rival-ticks';
import { T0 } from '../support/situation';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DUE = T0 + HOUR;

function inOrder(jobs: readonly JobSpec[]): string[] {
  return [...jobs].sort((a, b) => compareRanks(claimRank(a), claimRank(b))).map(({ name }) => name);
}

describe('the order of claims', () => {
  it('is by priority, then by how short the window is', () => {
    expect(
      inOrder([
        jobSpec('last', '@hourly', { priority: 0, catchUpWindowMs: MINUTE }),
        jobSpec('plain', '@hourly'),
        jobSpec('short', '@hourly', { catchUpWindowMs: 10 * MINUTE }),
        // 50 s: its lease and 20 s, because one hand-over may fail.
        jobSpec('now', '@hourly', { catchUp: 'none' }),
        jobSpec('first', '@hourly', { priority: 9 }),
      ]),
    ).toEqual(['first', 'now', 'short', 'plain', 'last']);
  });

  it('of handlers is by priority, then by due time, and back-fills come last', () => {
    const ranks = [
      startRank({ priority: 9 }, 5, true),
      startRank({ priority: 5 }, 20, false),
      startRank({ priority: 9 }, 30, false),
      startRank({ priority: 5 }, 10, false),
    ];
    expect([...ranks].sort(compareRanks)).toEqual([
      [0, -9, 30],
      [0, -5, 10],
      [0, -5, 20],
      [1, -9, 5],
    ]);
  });
});

describe('jobs that are due together', () => {
  /** More than run through the gate at once, the important ones last in the file. */
  const JOBS = 40;
  const jobs = Array.from({ length: JOBS }, (_, index) =>
    jobSpec(`job-${String(index).padStart(2, '0')}`, '@hourly', { priority: Math.floor(index / 4) }),
  );

  it.each([
    ['a listing of all', JOBS],
    // So few of all jobs are due that each is looked at by its own call.
    ['single listings', JOBS * 300],
  ])('are claimed in the order of their priority: %s', async (_, known) => {
    const others = Array.from({ length: known - JOBS }, (__, index) => jobSpec(`other-${String(index)}`, '@manual'));
    const sim = rivalTicks({ jobs: [...jobs, ...others], latencyMs: 20, start: DUE - 2 * MINUTE });
    const [on] = sim.instances;
    if (on === undefined) throw new Error('no instance');
    const acquired: string[] = [];
    interceptStore(on, 'acquire', (acquire) => (job, ...rest) => {
      acquired.push(job);
      return acquire(job, ...rest);
    });
    await sim.clock.advanceTo(DUE + 5 * SECOND);
    expect(acquired).toHaveLength(JOBS);
    const priorities = acquired.map((name) => jobs.find((job) => job.name === name)?.priority);
    expect(priorities).toEqual([...priorities].sort((a = 0, b = 0) => b - a));
  });
});
