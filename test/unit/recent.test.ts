import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { recordKey, runIdOf } from '../../src/core/key';
import {
  type Recent,
  type RecentRun,
  completed,
  decodeRecent,
  encodeRecent,
  incompleteRun,
  withGaps,
  withRun,
} from '../../src/core/recent';
import { settledRun } from '../../src/core/recent-run';
import { newRow } from '../../src/core/row';

const AT = Date.UTC(2026, 0, 31, 3);
const JOB = { name: 'nightly' as JobName, offsetMs: 0 };

const millis = fc.integer({ min: 0, max: 10 ** 9 });
const run: fc.Arbitrary<RecentRun> = fc.record({
  kind: fc.constant('run' as const),
  scheduledFor: fc.integer({ min: 0, max: 9e12 }),
  request: fc.option(fc.constantFrom('abc12345', '0'), { nil: undefined }),
  outcome: fc.option(fc.constantFrom('succeeded', 'failed', 'timedOut', 'stalled', 'cancelled'), { nil: undefined }),
  latenessMs: fc.option(millis, { nil: undefined }),
  durationMs: fc.option(millis, { nil: undefined }),
  waitedMs: millis,
  attempts: fc.integer({ min: 1, max: 100 }),
});
const gap: fc.Arbitrary<Recent> = fc.record({
  kind: fc.constant('gap' as const),
  scheduledFor: fc.integer({ min: 0, max: 9e12 }),
  outcome: fc.constant('collapsed' as const),
  reason: fc.constant('catchUpLatest' as const),
  count: fc.integer({ min: 1, max: 10 ** 9 }),
});

function ran(changes: Partial<RecentRun> = {}): RecentRun {
  const common = { kind: 'run', scheduledFor: AT, request: undefined, attempts: 1 } as const;
  return { ...common, outcome: 'succeeded', latenessMs: 5, durationMs: undefined, waitedMs: 0, ...changes };
}

describe('the last outcomes of a row', () => {
  it('come back as they were written', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(run, gap), { maxLength: 20 }), (recent) => {
        expect(decodeRecent(encodeRecent(recent))).toEqual(recent);
      }),
    );
  });

  it('are the newest 20 of more', () => {
    const many = Array.from({ length: 30 }, (_, index) => ran({ scheduledFor: AT + index }));
    expect(decodeRecent(encodeRecent(many))).toEqual(many.slice(-20));
  });

  it('drop the oldest ones where request ids are long', () => {
    const long = Array.from({ length: 20 }, (_, index) => ran({ scheduledFor: AT + index, request: 'r'.repeat(64) }));
    const read = decodeRecent(encodeRecent(long));
    expect(read.length).toBeGreaterThan(5);
    expect(read).toEqual(long.slice(-read.length));
  });

  it('are read without the entries that cronlease did not write', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(() => decodeRecent(text)).not.toThrow();
      }),
    );
    const good = encodeRecent([ran()]) ?? '';
    expect(decodeRecent(`?.zz,${good},s.,s.zzzzzzzzzzz,q.1`)).toEqual([ran()]);
  });

  it('replace an entry by one that knows more, and never by one that knows less', () => {
    const full = ran({ durationMs: 700 });
    expect(withRun([ran()], full)).toEqual([full]);
    expect(withRun([full], ran())).toEqual([full]);
    expect(withRun([full], ran({ outcome: 'failed', durationMs: 9 }))).toEqual([
      ran({ outcome: 'failed', durationMs: 9 }),
    ]);
    expect(completed([], full)).toEqual([]);
    expect(incompleteRun([full])).toBeUndefined();
    expect(incompleteRun([full, ran({ scheduledFor: AT + 1 })])).toEqual(ran({ scheduledFor: AT + 1 }));
  });

  it('have one entry for due times that share an outcome, and none for an unknown number of them', () => {
    const stretch = { outcome: 'expired', reason: 'catchUpWindow', from: AT, through: AT + 2, count: 3 } as const;
    const replaced = { outcome: 'disabled', reason: 'scheduleChanged', from: AT, through: AT + 2, count: 0 } as const;
    expect(withGaps([], [stretch, replaced])).toEqual([
      { kind: 'gap', scheduledFor: AT + 2, outcome: 'expired', reason: 'catchUpWindow', count: 3 },
    ]);
  });
});

describe('the last run of a settled row', () => {
  const key = recordKey(AT);
  const row = {
    ...newRow(AT, 0, 'h'),
    run: { key, scheduledFor: AT, trigger: 'schedule', since: AT },
    phase: 'running',
    attempt: 1,
    started: AT + 40,
  } as const;

  it('succeeded, unless row or control show something else', () => {
    const outcomeOf = (changes: object, cancel?: string): unknown =>
      settledRun(JOB, { ...row, ...changes }, cancel)?.outcome;
    expect(outcomeOf({})).toBe('succeeded');
    expect(outcomeOf({ lastFailedKey: key })).toBe('failed');
    expect(outcomeOf({ phase: 'idle' })).toBe('failed');
    expect(outcomeOf({}, runIdOf(JOB.name, key))).toBeUndefined();
    expect(outcomeOf({}, runIdOf(JOB.name, recordKey(AT - 1)))).toBe('succeeded');
    expect(settledRun(JOB, newRow(AT, 0, 'h'), undefined)).toBeUndefined();
  });

  it('is as late as its first attempt', () => {
    expect(settledRun(JOB, row, undefined)?.latenessMs).toBe(40);
    const past = [{ attempt: 1, token: 1, deployment: 'a', start: AT + 3, end: AT + 9, outcome: 'failed' }] as const;
    expect(settledRun(JOB, { ...row, attempt: 2, past }, undefined)).toMatchObject({ latenessMs: 3, attempts: 2 });
  });
});
