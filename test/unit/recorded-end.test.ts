import { describe, expect, it } from 'vitest';
import type { RanOutcome } from '../../src/core/outcome';
import { recordKey } from '../../src/core/key';
import type { OwedNotice } from '../../src/core/owed-notice';
import { withRecordedEnd } from '../../src/core/recorded-end';
import { type Row, newRow } from '../../src/core/row';

const DUE = Date.UTC(2026, 0, 1);
const END = DUE + 60_000;
const RUN = { key: recordKey(DUE), scheduledFor: DUE, trigger: 'schedule', since: DUE } as const;
const EARLIER = recordKey(DUE - 60_000);
const TOLD = {
  notify: { to: ['ops'], on: ['failure', 'recovery'], after: 1, remindMs: undefined },
  pauseAfterFailures: undefined,
} as const;

function row(changes: Partial<Row>): Row {
  return { ...newRow(DUE, 0, 'f'.repeat(16)), run: RUN, phase: 'running', attempt: 2, ...changes };
}

function notice(change: OwedNotice['change'], of = RUN.key): OwedNotice {
  return { change, of, at: DUE, failures: 1, since: undefined, skipped: 0 };
}

/** The row after the record of its run, whose holder could not write the row any more. */
function recorded(before: Row, outcome: RanOutcome): Row {
  return withRecordedEnd(before, { at: END, outcome }, TOLD);
}

describe('a row whose run has a final record', () => {
  it('shows when the run ended, unless the record does not', () => {
    expect(recorded(row({}), 'succeeded').busyUntil).toBe(END);
    expect(recorded(row({ busyUntil: END + 1 }), 'succeeded').busyUntil).toBe(END + 1);
    expect(withRecordedEnd(row({}), { at: undefined, outcome: 'failed' }, TOLD).busyUntil).toBeUndefined();
  });

  it('counts no failure, and owes no notice of it, if the run was cancelled after all', () => {
    const counted = row({
      failures: 1,
      lastFailedKey: RUN.key,
      telling: [notice('failed', EARLIER), notice('failed')],
    });
    const after = { failures: 0, lastFailedKey: undefined, telling: [notice('failed', EARLIER)] };
    expect(recorded(counted, 'cancelled')).toMatchObject(after);
  });

  it('counts the failures before a run that succeeded after all, and owes the notice of the recovery', () => {
    const counted = row({ failures: 3, lastFailedKey: RUN.key });
    const ended = recorded(counted, 'succeeded');
    expect(ended).toMatchObject({ failures: 0, failedBefore: 2, lastFailedKey: undefined });
    expect(ended.telling.map(({ change, failures }) => [change, failures])).toEqual([['recovered', 2]]);
    // Once more is the same.
    expect(recorded(ended, 'succeeded')).toEqual(ended);
    expect(withRecordedEnd(counted, { at: END, outcome: 'succeeded' }, undefined).telling).toEqual([]);
  });

  it('counts a failure after failures if its success was counted, and it failed after all', () => {
    const counted = row({ failures: 0, failedBefore: 2, telling: [notice('recovered')] });
    expect(recorded(counted, 'failed')).toMatchObject({ failures: 3, lastFailedKey: RUN.key, telling: [] });
  });

  it.each([
    { outcome: 'failed', counted: { failures: 1, lastFailedKey: RUN.key, telling: [notice('failed')] } },
    { outcome: 'timedOut', counted: { failures: 2, lastFailedKey: RUN.key, telling: [] } },
    { outcome: 'succeeded', counted: { failures: 0, failedBefore: 1, telling: [notice('recovered')] } },
    { outcome: 'cancelled', counted: { failures: 4, lastFailedKey: EARLIER, telling: [notice('failed', EARLIER)] } },
  ] as const)('stays as it is, if it counts what the record shows: $outcome', ({ outcome, counted }) => {
    const before = row(counted);
    expect(recorded(before, outcome)).toEqual({ ...before, busyUntil: END });
  });
});
