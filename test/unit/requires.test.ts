import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { NO_CONTROL } from '../../src/core/control';
import { decide } from '../../src/core/decide/decide';
import type { Decision } from '../../src/core/decide/situation';
import { onTimeMs, windowMs } from '../../src/core/decide/verdict';
import { type RequiredJob, requirementOf } from '../../src/core/requires';
import { explain } from '../../src/core/why';
import { jobSpec } from '../support/job';
import { ranRow, situation, T0 } from '../support/situation';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const EXTRACT = 'extract' as JobName;

const hourly = (settings: object = {}) =>
  jobSpec('load', '@hourly', { requires: [EXTRACT], requireWithinMs: 50 * MINUTE, ...settings });

/** The ledger was read just now, and down to everything. */
const read = (facts: Partial<RequiredJob> = {}) =>
  new Map([
    [EXTRACT, { succeeded: undefined, readTo: -Infinity, readAt: Infinity, isStale: false, isBusy: false, ...facts }],
  ]);

describe('the requirement of a due time', () => {
  const job = hourly();
  const at = (facts: Partial<RequiredJob>, now = T0 + HOUR): string =>
    requirementOf(job, read(facts), T0 + HOUR, now).kind;

  it('is met by a run that was due after the previous due time, however late that run was', () => {
    expect(at({ succeeded: T0 + 1 })).toBe('met');
    expect(at({ succeeded: T0 + HOUR })).toBe('met');
    expect(at({ succeeded: T0 + 3 * HOUR })).toBe('met');
  });

  it('is not met by the run of the previous due time itself: that one was for the previous due time', () => {
    expect(at({ succeeded: T0 })).toBe('waits');
    expect(at({ succeeded: T0 - 1 })).toBe('waits');
    expect(at({})).toBe('waits');
  });

  it('is met, once it is met, for ever, also after the time that it had', () => {
    expect(at({ succeeded: T0 + 1 }, T0 + 5 * HOUR)).toBe('met');
  });

  it('is missed when the time is over', () => {
    expect(at({}, T0 + HOUR + 50 * MINUTE - 1)).toBe('waits');
    expect(at({}, T0 + HOUR + 50 * MINUTE)).toBe('missed');
  });

  it('is unknown before the ledger was read: far enough, after the last change, and after the time', () => {
    const unread = { kind: 'unread', jobs: [EXTRACT], since: T0 };
    expect(requirementOf(job, new Map(), T0 + HOUR, T0)).toEqual(unread);
    expect(requirementOf(job, read({ isStale: true }), T0 + HOUR, T0)).toEqual(unread);
    expect(requirementOf(job, read({ readTo: T0 + 1 }), T0 + HOUR, T0)).toEqual(unread);
    const over = T0 + HOUR + 50 * MINUTE;
    expect(at({ readAt: over - SECOND - 1 }, over)).toBe('unread');
    expect(at({ readAt: over - SECOND }, over)).toBe('missed');
  });

  it('counts from the actual time of a job with a spread', () => {
    const spread = { ...job, offsetMs: 5 * MINUTE };
    expect(requirementOf(spread, read(), T0 + HOUR, T0 + HOUR)).toMatchObject({ until: T0 + HOUR + 55 * MINUTE });
  });

  it('of a first due time is met by any success', () => {
    const first = jobSpec('load', '@at 2026-01-01T00:00:00Z', { requires: [EXTRACT], requireWithinMs: MINUTE });
    expect(requirementOf(first, read({ succeeded: 1 }), T0, T0).kind).toBe('met');
    expect(requirementOf(first, read(), T0, T0).kind).toBe('waits');
  });

  it('needs all required jobs, and names those that lack', () => {
    const two = hourly({ requires: [EXTRACT, 'clean' as JobName] });
    const [known] = read({ succeeded: T0 + 1 }).values();
    if (known === undefined) throw new Error('nothing known');
    const required = new Map([
      [EXTRACT, known],
      ['clean' as JobName, { ...known, succeeded: undefined, isBusy: true }],
    ]);
    expect(requirementOf(two, required, T0 + HOUR, T0 + HOUR)).toEqual({
      ...{ kind: 'waits', jobs: ['clean'], until: T0 + HOUR + 50 * MINUTE, isBusy: true },
    });
  });
});

describe('the decision on a job that requires another one', () => {
  const decideAt = (now: number, facts: Partial<RequiredJob> | undefined, settings: object = {}): Decision =>
    decide(situation(hourly(settings), now, { required: facts === undefined ? undefined : read(facts) }));
  const owed = (decision: Decision): readonly string[] => {
    if (decision.kind !== 'record' && decision.kind !== 'claim') return [decision.kind];
    const row = decision.kind === 'record' ? decision.row : decision.claim.row;
    const claimed =
      decision.kind === 'claim' && decision.claim.run.kind === 'known'
        ? [`${decision.claim.trigger} ${new Date(decision.claim.run.scheduledFor).toISOString()}`]
        : [];
    return [...row.owed.map(({ reason, count }) => `${reason} ${String(count)}`), ...claimed].map((text) =>
      text.replace(/2026-01-01T(\d\d):.*/, '$1'),
    );
  };

  it('asks for its ledger first', () => {
    expect(decideAt(T0 + HOUR, undefined)).toEqual({ kind: 'readRequired', jobs: [EXTRACT], since: T0 });
  });

  it('waits until the end of its time, unless a row changes', () => {
    expect(decideAt(T0 + HOUR, {})).toEqual({ kind: 'await', checkAt: T0 + HOUR + 50 * MINUTE });
    expect(decideAt(T0 + HOUR, { isBusy: true })).toEqual({ kind: 'wait', until: 'tickEnds' });
  });

  it('looks seldom while it is paused, whatever the required job does', () => {
    const control = { ...NO_CONTROL, pauses: [{ by: 'x', note: 'n', since: T0 + HOUR + 1, until: undefined }] };
    const now = T0 + HOUR + MINUTE;
    const decision = decide(situation(hourly(), now, { control, required: read({ isBusy: true }) }));
    expect(decision.kind).toBe('await');
  });

  it('does not look without end where its clock is ahead of the listing at the end of the time', () => {
    const end = T0 + HOUR + 50 * MINUTE;
    const required = read();
    expect(decide(situation(hourly(), end + 1, { listedAt: end - 2 * SECOND, required })).kind).toBe('wait');
  });

  it('claims the due time once it is met, ahead of it too', () => {
    const met = { succeeded: T0 + 1 };
    expect(owed(decideAt(T0 + HOUR - 5 * SECOND, met))).toEqual(['schedule 01']);
    expect(owed(decideAt(T0 + HOUR + 40 * MINUTE, met))).toEqual(['schedule 01']);
  });

  it('records the due time at once when its time is over', () => {
    expect(owed(decideAt(T0 + HOUR + 50 * MINUTE, {}))).toEqual(['requirementNotMet 1']);
    expect(owed(decideAt(T0 + HOUR + 10 * SECOND, {}, { requireWithinMs: 10 * SECOND }))).toEqual([
      'requirementNotMet 1',
    ]);
  });

  it('expires what is older than the window by that, whatever the requirement', () => {
    const settings = { catchUpWindowMs: 30 * MINUTE };
    expect(owed(decideAt(T0 + HOUR + 31 * MINUTE, undefined, settings))).toEqual(['catchUpWindow 1']);
  });

  it('leaves a due time that waits to no other line', () => {
    for (const catchUp of ['none', 'latest', 'all']) {
      const settings = { catchUp, requireWithinMs: 3 * HOUR, catchUpWindowMs: 10 * HOUR };
      expect(decideAt(T0 + 3 * HOUR + MINUTE, {}, settings)).toMatchObject({ kind: 'await', checkAt: T0 + 4 * HOUR });
      const row = ranRow(hourly(), { busyUntil: T0 + 2 * HOUR + MINUTE });
      const during = situation(hourly(settings), T0 + 3 * HOUR + MINUTE, { row, required: read() });
      expect(decide(during).kind).toBe('await');
    }
  });

  const long = { requireWithinMs: 3 * HOUR, catchUpWindowMs: 10 * HOUR };

  it('runs a due time that was late by the required job even with catchUp none', () => {
    const met = { succeeded: T0 + HOUR };
    expect(owed(decideAt(T0 + HOUR + 50 * MINUTE, met, { ...long, catchUp: 'none' }))).toEqual(['schedule 01']);
    expect(owed(decideAt(T0 + 4 * HOUR + MINUTE, met, { ...long, catchUp: 'none' }))[0]).toBe('catchUpNone 1');
  });

  it('collapses a due time into newer ones that need not wait, and into no others', () => {
    const now = T0 + 3 * HOUR + MINUTE;
    expect(owed(decideAt(now, { succeeded: T0 + 3 * HOUR }, long))).toEqual(['catchUpLatest 2', 'schedule 03']);
    // The second success is missing for the third due time.
    expect(owed(decideAt(now, { succeeded: T0 + 2 * HOUR }, long))).toEqual(['catchUpLatest 1', 'schedule 02']);
    expect(owed(decideAt(now, { succeeded: T0 + HOUR }, long))).toEqual(['schedule 01']);
  });

  it('reads the ledger again before it runs one in place of newer ones', () => {
    const decision = decideAt(T0 + 3 * HOUR + MINUTE, { succeeded: T0 + HOUR, isStale: true }, long);
    expect(decision).toEqual({ kind: 'readRequired', jobs: [EXTRACT], since: T0 + HOUR });
  });

  it('queues a due time although a newer one came during the same run, if that one waits', () => {
    const job = hourly({ ...long, overlap: 'queue' });
    const row = ranRow(job, { busyUntil: T0 + 2 * HOUR + MINUTE });
    const at = (succeeded: number): Decision =>
      decide(situation(job, T0 + 2 * HOUR + 2 * MINUTE, { row, required: read({ succeeded }) }));
    expect(owed(at(T0 + HOUR))).toEqual(['schedule 01']);
    expect(owed(at(T0 + 2 * HOUR))).toEqual(['overlapNewer 1', 'schedule 02']);
  });

  it('lets requests go before a due time that waits', () => {
    const control = { ...NO_CONTROL, manualRuns: [{ number: 1, id: 'r', time: T0 + HOUR + 1 }] };
    const decision = decide(situation(hourly(), T0 + HOUR + MINUTE, { control, required: read() }));
    expect(owed(decision)).toEqual(['manual 01']);
    if (decision.kind !== 'claim') throw new Error(decision.kind);
    expect(decision.claim.row.cursor).toBe(T0);
  });

  it('writes what a dead holder left, while a due time waits', () => {
    const row = ranRow(hourly(), { owed: [{ outcome: 'paused', reason: 'paused', from: T0, through: T0, count: 1 }] });
    const facts = { row, lease: 'expired', record: 'final', required: read() } as const;
    expect(decide(situation(hourly(), T0 + HOUR + MINUTE, facts)).kind).toBe('record');
  });

  it('counts a due time as on time for as long as it may wait', () => {
    expect(onTimeMs(hourly())).toBe(50 * MINUTE + 30 * SECOND);
    expect(onTimeMs(hourly({ catchUp: 'none' }))).toBe(50 * MINUTE + 50 * SECOND);
    expect(windowMs(hourly({ catchUp: 'none' }))).toBe(50 * MINUTE + 50 * SECOND);
    expect(windowMs(jobSpec('a', '@hourly', { catchUp: 'none' }))).toBe(50 * SECOND);
  });
});

describe('why', () => {
  const explainAt = (time: number, now: number, facts: Partial<RequiredJob> | undefined, runEnded = true) => {
    const { job, row, control } = situation(hourly(), now);
    const required = facts === undefined ? undefined : read(facts);
    const question = { ...{ job, row, control, required, now, time }, revision: 0, found: undefined } as const;
    const { outcome, reason } = explain({ ...question, seenBefore: false, lease: 'available', runEnded });
    return `${outcome} ${reason}`;
  };
  const now = T0 + HOUR + MINUTE;

  it('names the wait, its end, and what follows a success', () => {
    expect(explainAt(T0 + HOUR, now, {})).toBe('pending waitsForRequired');
    expect(explainAt(T0 + HOUR, now, undefined)).toBe('pending waitsForRequired');
    expect(explainAt(T0 + HOUR, now, {}, false)).toBe('pending waitsForRequired');
    expect(explainAt(T0 + HOUR, now, { succeeded: T0 + HOUR })).toBe('pending claimDue');
    expect(explainAt(T0 + HOUR, T0 + HOUR + 50 * MINUTE, {})).toBe('expired requirementNotMet');
    expect(explainAt(T0 + 2 * HOUR, now, {})).toBe('future notYetDue');
  });
});
