import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Job } from '../../src/client/types';

/** It is code of a browser, whose types this folder lacks. */
interface Live {
  asOf(job: Claimed, at: number): Claimed;
}

let asOf: Live['asOf'];

beforeAll(async () => {
  ({ asOf } = (await import(/* @vite-ignore */ path.join(__dirname, '../../src/dashboard/data/use-live.ts'))) as Live);
});

const DUE = Date.UTC(2026, 0, 1, 12);

type Claimed = Pick<Job, 'state' | 'detail' | 'currentRun'>;

function claimed(changes: Partial<Claimed> = {}): Claimed {
  return {
    state: 'waiting',
    detail: 'claimed ahead of its due time',
    currentRun: {
      ...{ runId: 'a-20260101T120000Z', scheduledFor: new Date(DUE).toISOString(), trigger: 'schedule', attempt: 1 },
      ...{ startedAt: new Date(DUE).toISOString(), retryAt: null, holder: 'west' },
    },
    ...changes,
  };
}

describe('a job that was claimed ahead of its due time', () => {
  it('waits until then, and runs from then on, whatever the last answer said', () => {
    const job = claimed();
    expect(asOf(job, DUE - 1)).toBe(job);
    expect(asOf(job, DUE)).toEqual({ ...job, state: 'running', detail: null });
  });

  it('is as it was answered, where it waits for something else', () => {
    const requested = claimed({ detail: 'a manual run waits', currentRun: null });
    const paused = claimed({ state: 'paused', detail: 'by anna: the ledger moves' });
    for (const job of [requested, paused]) expect(asOf(job, DUE + 60_000)).toBe(job);
  });
});
