import { expect, it } from 'vitest';
import { decide } from '../../../src/core/decide';
import { newRow } from '../../../src/core/row';
import { recordKey } from '../../../src/core/key';
import { jobSpec } from '../../support/job';

const T0 = Date.UTC(2026, 0, 1);
const M = 60_000;

// semantics.md, line 2 before line 4: 00:02 lies in a pause and is `paused`; so 00:01 is the newest that reaches line 4.
it('queue: the newest due time of the run that is in no pause runs right after it', () => {
  const job = jobSpec('a', '* * * * *', { overlap: 'queue' });
  const row = {
    ...newRow(T0, 0, job.scheduleHash),
    phase: 'running' as const,
    attempt: 1,
    run: { key: recordKey(T0), scheduledFor: T0, trigger: 'schedule' as const, since: T0 - 1_000 },
    busyUntil: T0 + 2 * M + 30_000,
  };
  const now = T0 + 2 * M + 45_000;
  const decision = decide({
    job,
    revision: 0,
    row,
    lease: 'available',
    control: {
      pauses: [{ by: 'x', note: 'y', since: T0 + 90_000, until: T0 + 2 * M + 20_000 }],
      cancel: undefined,
      requests: [],
    },
    listedAt: now,
    now,
    record: 'unread',
    lookAheadMs: 5_000,
    sweepIntervalMs: 60_000,
  });
  expect(decision).toMatchObject({ kind: 'claim', claim: { run: { scheduledFor: T0 + M } } });
});
