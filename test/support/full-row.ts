import { ASIDE_ATTEMPTS } from '../../src/core/backfill';
import type { Token } from '../../src/core/brand';
import { recordKey } from '../../src/core/key';
import { boundedOrigin } from '../../src/core/origin';
import { RECENT_OUTCOMES } from '../../src/core/recent';
import { type Row, OWED_STRETCHES, PAST_ATTEMPTS, newRow, STANDSTILLS } from '../../src/core/row';

/** An instant whose encodings are as long as any. */
export const AT = Date.UTC(2026, 11, 31, 23, 59, 59, 999);
const DEPLOYMENT = 'd'.repeat(100);
const LARGE = Number.MAX_SAFE_INTEGER;
/** An attempt that lost its lease has no end. */
const LOSS = { kind: 'blockedBeside', ms: 999_999_999, leaseMs: 60_000 } as const;

/** A row with every member as large as it may be. */
export const fullRow: Row = {
  ...newRow(AT, LARGE, 'f'.repeat(64)),
  token: LARGE as Token,
  // A change of schedule adds one stretch to a row that owes all that it may.
  owed: Array.from({ length: OWED_STRETCHES + 1 }, (_, index) => ({
    ...{
      outcome: 'overlapped',
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
    ...{ origin: boundedOrigin({ actor: '漢'.repeat(300), channel: 'browser', note: '漢'.repeat(300) }) },
    ...{ rerunOf: AT, hasInput: true },
  },
  busyUntil: AT,
  stood: Array.from({ length: STANDSTILLS }, () => ({ from: AT, until: AT })),
  execution: '00000000-0000-4000-8000-000000000000',
  phase: 'retrying',
  attempt: LARGE,
  uncountedAttempts: LARGE,
  started: AT,
  claimedAt: AT,
  past: Array.from({ length: PAST_ATTEMPTS }, (_, index) => ({
    ...{ attempt: LARGE, token: LARGE, deployment: DEPLOYMENT, start: AT, end: AT, outcome: 'holderLost' as const },
    ...(index === PAST_ATTEMPTS - 1 && { end: undefined, loss: LOSS }),
  })),
  notBefore: AT,
  itemsLeftAt: AT,
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
    ...{ latenessMs: 10 ** 10, durationMs: 10 ** 10, waitedMs: 0, attempts: 100 },
  })),
  scheduleSince: AT,
  manualTaken: LARGE,
  backfill: {
    ...{ id: 'requests', at: AT, ran: LARGE, skipped: LARGE },
    aside: {
      ...{ scheduledFor: AT, since: AT, attempt: LARGE, uncountedAttempts: LARGE, notBefore: AT },
      past: Array.from({ length: ASIDE_ATTEMPTS }, (_, index) => ({
        ...{ attempt: LARGE, token: LARGE, deployment: DEPLOYMENT, start: AT, end: AT, outcome: 'holderLost' as const },
        ...(index === ASIDE_ATTEMPTS - 1 && { end: undefined, loss: LOSS }),
      })),
    },
  },
  forgotten: AT,
  leftSince: AT,
};
