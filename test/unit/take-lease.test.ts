import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { encodeRow, newRow } from '../../src/core/row';
import type { LeaseStore, ListedRow, StoreLimits } from '../../src/lease/store';
import { takeLease } from '../../src/operator/operations/take-lease';
import { memoryService } from '../../src/stores/memory/store';
import { settableClock } from '../support/clock';

const JOB = 'a' as JobName;
const T0 = Date.UTC(2026, 0, 1);
/** Of no store that there is. */
const LIMITS: StoreLimits = { leaseMs: { least: 20_000, most: 40_000 }, metadataBytes: 8192 };

async function scene() {
  const clock = settableClock(T0);
  const store = memoryService(clock).open();
  await store.createRow(JOB, encodeRow(newRow(T0, 0, 'hash')));
  const seen = await store.readRow(JOB);
  if (seen === undefined) throw new Error('no row');
  const lengths: number[] = [];
  const waits: number[] = [];
  const limited: LeaseStore = {
    ...store,
    limits: LIMITS,
    acquire(job, request, options) {
      lengths.push(request.leaseMs);
      return store.acquire(job, request, options);
    },
  };
  const desk = {
    ...{ store: limited, clock, newId: () => '00000001-0000-4000-8000-000000000000' },
    waiting: (_: string, ms: number) => void waits.push(ms),
  };
  const take = (changes: Partial<ListedRow> = {}) => takeLease(desk, JOB, { ...seen, ...changes });
  return { clock, take, lengths, waits };
}

describe('the lease that a command takes', () => {
  it('is the shortest that the store gives', async () => {
    const { take, lengths } = await scene();
    await take();
    expect(lengths).toEqual([20_000]);
  });

  it('is left to an old holder whose lease was broken, for the longest that the store gives and its margin', async () => {
    const { clock, take, lengths, waits } = await scene();
    const taken = take({ lease: 'broken' });
    await clock.advance(43_900);
    expect(waits).toEqual([44_000]);
    expect(lengths).toEqual([]);
    await clock.advance(100);
    await taken;
    expect(lengths).toEqual([20_000]);
  });

  it('is refused while somebody else holds it, with the time after which it ends', async () => {
    const { take } = await scene();
    await expect(take({ lease: 'leased' })).rejects.toMatchObject({
      code: 'LeaseHeld',
      message: expect.stringContaining('within 40 s') as unknown,
    });
  });
});
