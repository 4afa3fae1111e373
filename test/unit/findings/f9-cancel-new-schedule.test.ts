import { expect, it } from 'vitest';
import { decide } from '../../../src/core/decide';
import { NO_CONTROL } from '../../../src/core/control';
import { newRow } from '../../../src/core/row';
import { recordKey } from '../../../src/core/key';
import { jobSpec } from '../../support/job';

const T0 = Date.UTC(2026, 0, 1);
const M = 60_000;

// "its own schedule's due times since the cursor" are `disabled`: line 1, before overlap. They end nothing.
it('a due time that the new schedule would have had before it was first seen does not cancel a waiting run', () => {
  const before = jobSpec('a', '0 * * * *', { overlap: 'cancel' });
  const after = jobSpec('a', '* * * * *', { overlap: 'cancel', scheduleHash: 'new' });
  const row = {
    ...newRow(T0, 1, before.scheduleHash),
    phase: 'retrying' as const,
    attempt: 1,
    notBefore: T0 + 30 * M,
    run: { key: recordKey(T0), scheduledFor: T0, trigger: 'schedule' as const, since: T0 - 5_000 },
  };
  const now = T0 + 10 * M + 30_000;
  const decision = decide({
    job: after,
    revision: 2,
    row,
    lease: 'available',
    control: NO_CONTROL,
    listedAt: now,
    now,
    record: 'unread',
    lookAheadMs: 5_000,
    sweepIntervalMs: 60_000,
  });
  expect(decision.kind).not.toBe('claim');
});
