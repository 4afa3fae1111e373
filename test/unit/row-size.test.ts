import { describe, expect, it } from 'vitest';
import { ASIDE_ATTEMPTS } from '../../src/core/backfill';
import type { JobName, LeaseId, Token } from '../../src/core/brand';
import { recordKey } from '../../src/core/key';
import { RECENT_OUTCOMES } from '../../src/core/recent';
import { boundedOrigin } from '../../src/core/origin';
import type { Row } from '../../src/core/row';
import { decodeRow, encodeRow, newRow, OWED_STRETCHES, PAST_ATTEMPTS } from '../../src/core/row';
import { memoryService } from '../../src/stores/memory/store';
import { settableClock } from '../support/clock';

const AT = Date.UTC(2026, 11, 31, 23, 59, 59, 999);
const NAME = 'a'.repeat(63) as JobName;
const DEPLOYMENT = 'd'.repeat(100);
const LARGE = Number.MAX_SAFE_INTEGER;

/** As large as every member may be. */
const full: Row = {
  ...newRow(AT, LARGE, 'f'.repeat(64)),
  token: LARGE as Token,
  // A change of schedule adds one stretch to a row that owes all that it may.
  owed: Array.from({ length: OWED_STRETCHES + 1 }, (_, index) => ({
    ...{
      fate: 'overlapped',
      reason: 'scheduleChanged',
      from: AT + index,
      through: AT + index + 1,
      count: 1_000_000_000,
    },
    request: 'r'.repeat(64),
  })),
  telling: (['failed', 'paused'] as const).map((change) => ({
    ...{ change, of: recordKey(AT, 'r'.repeat(64)), at: AT, failures: LARGE, since: AT, skipped: LARGE },
  })),
  run: {
    ...{ key: recordKey(AT, 'r'.repeat(64)), scheduledFor: AT, trigger: 'schedule', since: AT },
    ...{ origin: boundedOrigin({ actor: '漢'.repeat(300), channel: 'browser', reason: '漢'.repeat(300) }) },
    ...{ rerunOf: AT, hasInput: true },
  },
  busyUntil: AT,
  execution: '00000000-0000-4000-8000-000000000000',
  phase: 'retrying',
  attempt: LARGE,
  uncountedAttempts: LARGE,
  started: AT,
  claimedAt: AT,
  past: Array.from({ length: PAST_ATTEMPTS }, () => ({
    ...{ attempt: LARGE, token: LARGE, deployment: DEPLOYMENT, start: AT, end: AT, outcome: 'holderLost' as const },
  })),
  notBefore: AT,
  incumbent: DEPLOYMENT,
  leaseMs: 60_000,
  keepMs: LARGE,
  failures: LARGE,
  lastFailedKey: recordKey(AT, 'r'.repeat(64)),
  // A row has one of the two.
  failedBefore: undefined,
  lastGoodAt: AT,
  recent: Array.from({ length: RECENT_OUTCOMES }, () => ({
    ...{ kind: 'run' as const, scheduledFor: AT, request: 'requests', outcome: 'succeeded' as const },
    ...{ latenessMs: 10 ** 10, durationMs: 10 ** 10, attempts: 100 },
  })),
  scheduleSince: AT,
  manualTaken: LARGE,
  backfill: {
    ...{ id: 'requests', at: AT, ran: LARGE, passedOver: LARGE },
    aside: {
      ...{ scheduledFor: AT, since: AT, attempt: LARGE, uncountedAttempts: LARGE, notBefore: AT },
      past: Array.from({ length: ASIDE_ATTEMPTS }, () => ({
        ...{ attempt: LARGE, token: LARGE, deployment: DEPLOYMENT, start: AT, end: AT, outcome: 'holderLost' as const },
      })),
    },
  },
  forgotten: AT,
};

describe('a row in which everything is as large as it may be', () => {
  it('fits into the 8 KB that a blob’s metadata may have', async () => {
    const clock = settableClock();
    const store = memoryService(clock).open();
    await store.createRow(NAME, encodeRow(newRow(AT, 0, 'h')));
    const before = await store.readRow(NAME);
    if (before === undefined) throw new Error('no row');
    const leaseId = '00000001-0000-4000-8000-000000000000' as LeaseId;
    await store.acquire(NAME, { leaseId, leaseMs: 60_000, ifMatch: before.etag });
    const metadata = encodeRow(full);
    expect((await store.writeRow(NAME, metadata, { leaseId, ifMatch: before.etag })).kind).toBe('written');
    const bytes = Object.entries(metadata).flat().join('').length;
    // Room for what later versions add.
    expect(bytes).toBeLessThan(8192 * 0.95);
    const { recent, ...rest } = decodeRow(metadata);
    const past = full.past.slice(ASIDE_ATTEMPTS);
    expect({ ...rest, recent: full.recent }).toEqual({ ...full, past });
    // The oldest ones give way.
    expect(recent).toEqual(full.recent.slice(-recent.length));
    expect(recent.length).toBeGreaterThan(15);
  });
});
