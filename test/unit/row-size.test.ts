import { describe, expect, it } from 'vitest';
import { ASIDE_ATTEMPTS } from '../../src/core/backfill';
import type { JobName, LeaseId } from '../../src/core/brand';
import { decodeRow, encodeRow, newRow } from '../../src/core/row';
import { memoryService } from '../../src/stores/memory/store';
import { settableClock } from '../support/clock';
import { AT, fullRow } from '../support/full-row';

const NAME = 'a'.repeat(63) as JobName;

describe('a row in which everything is as large as it may be', () => {
  it('fits into the 8 KB that a blob’s metadata may have', async () => {
    const clock = settableClock();
    const store = memoryService(clock).open();
    await store.createRow(NAME, encodeRow(newRow(AT, 0, 'h')));
    const before = await store.readRow(NAME);
    if (before === undefined) throw new Error('no row');
    const leaseId = '00000001-0000-4000-8000-000000000000' as LeaseId;
    await store.acquire(NAME, { leaseId, leaseMs: 60_000, ifMatch: before.etag });
    const metadata = encodeRow(fullRow);
    expect((await store.writeRow(NAME, metadata, { leaseId, ifMatch: before.etag })).kind).toBe('written');
    const bytes = Object.entries(metadata).flat().join('').length;
    // Room for what later versions add.
    expect(bytes).toBeLessThan(8192 * 0.95);
    const { recent, ...rest } = decodeRow(metadata);
    // A standstill takes the room of one attempt.
    const past = fullRow.past.slice(ASIDE_ATTEMPTS + 1);
    expect({ ...rest, recent: fullRow.recent }).toEqual({ ...fullRow, past });
    // The oldest ones give way.
    expect(recent).toEqual(fullRow.recent.slice(-recent.length));
    expect(recent.length).toBeGreaterThan(15);
  });
});
