import { describe, expect, it } from 'vitest';
import type { JobName, Token } from '../../src/core/brand';
import { type Control, NO_CONTROL } from '../../src/core/control';
import type { JobSpec } from '../../src/core/job';
import { recordKey, runIdOf } from '../../src/core/key';
import { type LedgerRecord, openRecord, stretchRecord } from '../../src/core/record';
import { type Row, type RunRef, newRow } from '../../src/core/row';
import { type WhyAnswer, type Question, explain } from '../../src/core/why';
import { jobSpec } from '../support/job';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = Date.UTC(2026, 0, 1, 12, 0, 30);
const NOON = Date.UTC(2026, 0, 1, 12);
const JOB = jobSpec('a', '* * * * *');

function answer(time: number, changes: Partial<Question> = {}): WhyAnswer {
  const { job = JOB } = changes;
  return explain({
    job,
    revision: 0,
    time,
    found: undefined,
    seenBefore: false,
    row: rowAt(NOON - MINUTE, {}, job),
    lease: 'available',
    runEnded: true,
    control: NO_CONTROL,
    now: NOW,
    ...changes,
  });
}

function rowAt(cursor: number, changes: Partial<Row> = {}, job: JobSpec = JOB): Row {
  return { ...newRow(cursor, 0, job.scheduleHash), ...changes };
}

/** A row whose run is that of this due time. */
function rowOf(scheduledFor: number, changes: Partial<Row> = {}, request?: string): Row {
  const run: RunRef = {
    key: recordKey(scheduledFor, request),
    scheduledFor,
    trigger: request === undefined ? 'schedule' : 'manual',
    since: scheduledFor - 5_000,
  };
  const cursor = request === undefined ? scheduledFor : NOON;
  return rowAt(cursor, { run, phase: 'running', attempt: 1, token: 7 as Token, started: scheduledFor, ...changes });
}

function paused(since: number, until?: number): Control {
  return { ...NO_CONTROL, pauses: [{ by: 'x', note: 'n', since, until }] };
}

function requested(time: number): Control {
  return { ...NO_CONTROL, manualRuns: [{ number: 1, id: 'abc', time }] };
}

const is = (outcome: WhyAnswer['outcome'], reason: WhyAnswer['reason'], due = true): WhyAnswer => ({
  due,
  outcome,
  reason,
});

describe('what the ledger says', () => {
  const stretch = {
    outcome: 'overlapped',
    reason: 'overlapSkip',
    from: NOON - 5 * MINUTE,
    through: NOON,
    count: 6,
  } as const;
  const { key, record } = stretchRecord('a' as JobName, stretch);

  it('stands, for its time and for each due time of a stretch', () => {
    expect(answer(stretch.from, { found: { key, record } })).toEqual(is('overlapped', 'overlapSkip'));
    expect(answer(NOON - MINUTE, { found: { key, record } })).toEqual(is('overlapped', 'overlapSkip'));
  });

  it('stands for a time that the schedule does not have any more', () => {
    const job = jobSpec('a', '@manual');
    expect(answer(stretch.from, { job, found: { key, record } })).toEqual(is('overlapped', 'overlapSkip'));
  });

  it('is no due time where somebody asked for the run', () => {
    const manual = stretchRecord(
      'a' as JobName,
      {
        ...{ outcome: 'expired', reason: 'catchUpWindow', from: NOON, through: NOON, count: 1 },
        request: 'abc',
      } as const,
    );
    expect(answer(NOON, { found: manual })).toEqual(is('expired', 'catchUpWindow', false));
  });

  it.each<[string, Partial<Row>, Partial<Question>, WhyAnswer]>([
    ['its next attempt goes on', { attempt: 2 }, { lease: 'held' }, is('running', 'attemptRunning')],
    ['it waits again', { phase: 'retrying', notBefore: NOW + 9 }, {}, is('retrying', 'backOff')],
    ['its second holder died too', { attempt: 2 }, { lease: 'expired' }, is('retrying', 'takeOverDue')],
  ])('is an open mark: %s', (_, changes, more, expected) => {
    const row = rowOf(NOON, changes);
    const found = { key: recordKey(NOON), record: openRecord(JOB, row, []) };
    expect(answer(NOON, { found, row, runEnded: false, ...more })).toEqual(expected);
  });

  it('is an open mark of a run that the row has left behind', () => {
    const record: LedgerRecord = openRecord(JOB, rowOf(NOON), []);
    const found = { key: recordKey(NOON), record };
    expect(answer(NOON, { found, row: rowOf(NOON + MINUTE) })).toEqual(is('retrying', 'takeOverDue'));
  });
});

describe("the row's own run", () => {
  const unended = { runEnded: false, lease: 'held' } as const;

  it.each<[string, Partial<Row>, Partial<Question>, WhyAnswer]>([
    ['the handler runs', {}, {}, is('running', 'attemptRunning')],
    ['the handler is held back', { started: NOW + 1 }, {}, is('running', 'claimed')],
    ['the holder died', {}, { lease: 'expired' }, is('retrying', 'takeOverDue')],
    ['it waits', { phase: 'retrying', notBefore: NOW + 1 }, { lease: 'available' }, is('retrying', 'backOff')],
    ['it was drained', { phase: 'retrying', notBefore: 0 }, { lease: 'available' }, is('retrying', 'resumeDue')],
    ['its items run', { phase: 'fanning', notBefore: NOW + HOUR }, { lease: 'available' }, is('running', 'fanningOut')],
  ])('%s', (_, changes, more, expected) => {
    expect(answer(NOON, { ...unended, row: rowOf(NOON, changes), ...more })).toEqual(expected);
  });

  it.each([
    ['running', 'running'],
    ['retrying', 'retrying'],
  ] as const)('is about to be cancelled while %s', (phase, outcome) => {
    const control = { ...NO_CONTROL, cancel: runIdOf(JOB.name, recordKey(NOON)) };
    const row = rowOf(NOON, { phase, notBefore: NOW + 1 });
    expect(answer(NOON, { ...unended, row, control })).toEqual(is(outcome, 'cancelRequested'));
  });

  it('may be one that somebody asked for, at a time that is no due time', () => {
    const asked = NOON + 7;
    expect(answer(asked, { ...unended, row: rowOf(asked, {}, 'abc') })).toEqual(is('running', 'attemptRunning', false));
  });

  it('is not that of a due time at the very instant of a request', () => {
    const row = { ...rowOf(NOON, {}, 'abc'), cursor: NOON - MINUTE };
    expect(answer(NOON, { ...unended, row })).toEqual(is('pending', 'overlapSkip'));
  });

  it('may be a term of a leader job', () => {
    const job = jobSpec('a', '@always');
    const row = rowOf(NOON, { scheduleHash: job.scheduleHash });
    expect(answer(NOON, { ...unended, job, row })).toEqual(is('running', 'attemptRunning'));
    expect(answer(NOON + 1, { ...unended, job, row })).toEqual(is('notDue', 'leaderJob', false));
  });
});

describe('decided, and not in the ledger yet', () => {
  const owed = [
    { outcome: 'collapsed', reason: 'catchUpLatest', from: NOON - 9 * MINUTE, through: NOON - 7 * MINUTE, count: 3 },
    { outcome: 'expired', reason: 'catchUpWindow', from: NOON + 7, through: NOON + 7, count: 1, request: 'abc' },
  ] as const;

  it.each([-9, -8, -7])('is what the row owes (%i min)', (minutes) => {
    const row = rowOf(NOON, { owed });
    expect(answer(NOON + minutes * MINUTE, { row })).toEqual(is('collapsed', 'catchUpLatest'));
  });

  it('is what the row owes of a request', () => {
    expect(answer(NOON + 7, { row: rowOf(NOON, { owed }) })).toEqual(is('expired', 'catchUpWindow', false));
  });

  it('is nothing, for what no record remembers', () => {
    const row = rowAt(NOON);
    const long = NOON - JOB.keepMs - HOUR;
    expect(answer(NOON - HOUR, { row })).toEqual(is('notDue', 'beforeFirstSeen'));
    expect(answer(NOON - HOUR, { row, seenBefore: true })).toEqual(is('notDue', 'otherSchedule'));
    expect(answer(long, { row })).toEqual(is('notDue', 'recordGone'));
  });
});

describe('not due', () => {
  it.each([
    ['* * * * *', 'notInSchedule'],
    ['@manual', 'manualOnly'],
    ['@always', 'leaderJob'],
  ] as const)('%s: %s', (schedule, reason) => {
    expect(answer(NOON + 1, { job: jobSpec('a', schedule) })).toEqual(is('notDue', reason, false));
  });

  it('but asked for', () => {
    const time = NOON + 7;
    expect(answer(time, { control: requested(time) })).toEqual(is('pending', 'requested', false));
    expect(answer(time, { control: requested(time), now: time + 2 * HOUR })).toEqual(
      is('expired', 'catchUpWindow', false),
    );
    const taken = rowAt(NOON, { manualTaken: 1 });
    expect(answer(time, { control: requested(time), row: taken })).toEqual(is('notDue', 'notInSchedule', false));
  });
});

describe('yet to come', () => {
  const time = NOON + MINUTE;
  it('is future, with what stands in its way', () => {
    expect(answer(time)).toEqual(is('future', 'notYetDue'));
    expect(answer(time, { control: paused(NOON) })).toEqual(is('future', 'paused'));
    expect(answer(time, { job: { ...JOB, enabled: false } })).toEqual(is('future', 'disabled'));
  });

  it('is so until its actual time', () => {
    expect(answer(NOON, { job: { ...JOB, offsetMs: 31_000 } })).toEqual(is('future', 'notYetDue'));
    expect(answer(NOON, { job: { ...JOB, offsetMs: 29_000 } })).toEqual(is('pending', 'claimDue'));
  });
});

describe('due, and not decided', () => {
  const old = (minutes: number): number => NOON - minutes * MINUTE;
  const behind = (changes: Partial<Row> = {}): Partial<Question> => ({ row: rowAt(old(90), changes) });
  /** The last run began 20 minutes ago, and ended 10 minutes ago. */
  const busy = rowOf(old(20), { busyUntil: old(10) });

  it.each<[string, number, Partial<Question>, WhyAnswer]>([
    ['just now', NOON, {}, is('pending', 'claimDue')],
    ['missed', old(3), behind(), is('collapsed', 'catchUpLatest')],
    ['missed, the newest', NOON, { ...behind(), now: NOON + 40_000 }, is('pending', 'catchUp')],
    ['missed, none', old(3), { ...behind(), job: { ...JOB, catchUp: 'none' } }, is('expired', 'catchUpNone')],
    ['missed, all, oldest', old(59), { ...behind(), job: { ...JOB, catchUp: 'all' } }, is('pending', 'catchUp')],
    ['missed, all', old(3), { ...behind(), job: { ...JOB, catchUp: 'all' } }, is('pending', 'waitsForOlder')],
    ['too old', old(61), behind(), is('expired', 'catchUpWindow')],
    ['in a pause that is over', old(9), { ...behind(), control: paused(old(10), old(5)) }, is('paused', 'paused')],
    ['in a pause', old(9), { ...behind(), control: paused(old(10)) }, is('paused', 'paused')],
    ['before a pause', NOON, { control: paused(NOON + 1_000) }, is('pending', 'paused')],
    ['disabled', NOON, { job: { ...JOB, enabled: false } }, is('disabled', 'disabled')],
    [
      'of a newer file',
      old(3),
      { ...behind(), revision: 1, job: { ...JOB, scheduleHash: 'x' } },
      is('disabled', 'scheduleChanged'),
    ],
    ['of a job that no file had', old(3), behind({ leftSince: old(2) }), is('disabled', 'notInFile')],
    ['overlapped', old(15), { row: busy }, is('overlapped', 'overlapSkip')],
    ['queued', old(11), { row: busy, job: { ...JOB, overlap: 'queue' } }, is('pending', 'queued')],
    ['overlapped, queue', old(12), { row: busy, job: { ...JOB, overlap: 'queue' } }, is('overlapped', 'overlapNewer')],
    ['after what is queued', old(5), { row: busy, job: { ...JOB, overlap: 'queue' } }, is('pending', 'waitsForOlder')],
  ])('%s', (_, time, question, expected) => {
    expect(answer(time, question)).toEqual(expected);
  });

  const stood = (from: number, until: number): Row => ({
    ...rowOf(old(70)),
    cursor: old(75),
    stood: [{ from, until }],
  });

  it.each<[string, number, Partial<Question>, WhyAnswer]>([
    ['skip', old(1), {}, is('pending', 'overlapSkip')],
    ['queue, the newest', NOON, { job: { ...JOB, overlap: 'queue' } }, is('pending', 'queued')],
    ['queue, an older one', old(1), { job: { ...JOB, overlap: 'queue' } }, is('pending', 'overlapNewer')],
    ['too old already', old(61), {}, is('expired', 'catchUpWindow')],
    ['paused', old(1), { control: paused(old(2)) }, is('paused', 'paused')],
    ['while nobody was at work', old(1), { row: stood(old(2), NOON) }, is('pending', 'waitsForRun')],
    ['due before the run began', old(71), { job: { ...JOB, catchUpWindowMs: 2 * HOUR } }, is('pending', 'waitsForRun')],
  ])('while a run goes on: %s', (_, time, question, expected) => {
    const row = { ...rowOf(old(70)), cursor: old(75) };
    expect(answer(time, { row, runEnded: false, lease: 'held', ...question })).toEqual(expected);
  });
});

describe('a job that nobody has seen', () => {
  it('owes nothing of before', () => {
    expect(answer(NOON, { row: undefined })).toEqual(is('notDue', 'beforeFirstSeen'));
    expect(answer(NOON + MINUTE, { row: undefined })).toEqual(is('future', 'notYetDue'));
  });

  it('is still due once, late', () => {
    const job = jobSpec('a', '@at 2026-01-01T11:50:00Z');
    expect(answer(NOON - 10 * MINUTE, { job, row: undefined })).toEqual(is('pending', 'catchUp'));
    expect(answer(NOON - 10 * MINUTE, { job, row: undefined, now: NOW + HOUR })).toEqual(
      is('expired', 'catchUpWindow'),
    );
  });
});
