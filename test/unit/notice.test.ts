import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadJobs } from '../../src/config/load';
import { RECEIVERS_AT_MOST } from '../../src/config/schema';
import type { ETag, JobName } from '../../src/core/brand';
import { NO_CONTROL } from '../../src/core/control';
import {
  type Delivery,
  TRY_AGAIN_MS,
  type TryEnd,
  afterTry,
  decodeDelivery,
  dueReceivers,
  encodeDelivery,
  mayTakeOver,
  newDelivery,
  withState,
} from '../../src/core/delivery';
import { acknowledgeIncident, incidentOf } from '../../src/core/incident';
import { NOTICE_TOPICS, type NotifySettings } from '../../src/core/job';
import type { RanOutcome } from '../../src/core/outcome';
import { recordKey } from '../../src/core/key';
import { noticeId, noticesOfEnd, parseNoticeId, readNotice } from '../../src/core/notice';
import { freshRun } from '../../src/core/decide/next-row';
import { type Listed, type SweptJob, noticesOfSweep, outdated, toldAsOverdue } from '../../src/core/notice-sweep';
import { readOwedNotices } from '../../src/core/owed-notice';
import { withRun } from '../../src/core/recent';
import type { Row } from '../../src/core/row';
import { failuresAfter } from '../../src/core/run';
import { checkMetadata } from '../../src/stores/limits';
import { jobSpec } from '../support/job';
import { ranRow, T0 } from '../support/situation';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const A = 'a' as JobName;
const ALL: NotifySettings = { to: ['ops'], on: NOTICE_TOPICS, after: 1, remindMs: undefined };

const job = (notify: Partial<NotifySettings> = {}, pauseAfterFailures?: number) =>
  jobSpec('a', '@hourly', { notify: { ...ALL, ...notify }, pauseAfterFailures });

/** Ends runs one after another, as settling does, and returns the changes that each called for. */
function play(spec: ReturnType<typeof job>, outcomes: readonly RanOutcome[]): string[][] {
  let row = ranRow(spec, { failures: 0, lastFailedKey: undefined });
  return outcomes.map((outcome, index) => {
    const scheduledFor = T0 + index * HOUR;
    const key = recordKey(scheduledFor);
    row = { ...freshRun(row), telling: [], run: { key, scheduledFor, trigger: 'schedule', since: scheduledFor } };
    const owed = noticesOfEnd(spec, row, { outcome, at: scheduledFor + 1 });
    const entry = { kind: 'run', scheduledFor, request: undefined, outcome } as const;
    const recent = withRun(row.recent, { ...entry, latenessMs: 0, durationMs: 1, waitedMs: 0, attempts: 1 });
    row = { ...row, ...failuresAfter(row, outcome), recent };
    return owed.map(({ change }) => change);
  });
}

describe('the end of a run', () => {
  it('is told once for each incident of failures, and once when it is over', () => {
    expect(play(job(), ['succeeded', 'failed', 'timedOut', 'stalled', 'succeeded', 'succeeded', 'failed'])).toEqual([
      [],
      ['failed'],
      [],
      [],
      ['recovered'],
      [],
      ['failed'],
    ]);
  });

  it('is told after as many failures in a row as the file says, and not if the job recovers before', () => {
    expect(play(job({ after: 3 }), ['failed', 'failed', 'succeeded', 'failed', 'failed', 'failed', 'failed'])).toEqual([
      ...[[], [], [], [], [], ['failed'], []],
    ]);
    expect(play(job({ after: 3 }), ['failed', 'failed', 'failed', 'succeeded'])[3]).toEqual(['recovered']);
  });

  it('tells nothing of a cancelled run, nor of what nobody asked for', () => {
    expect(play(job(), ['failed', 'cancelled', 'failed', 'succeeded'])).toEqual([['failed'], [], [], ['recovered']]);
    expect(play(job({ on: ['overdue'] }), ['failed', 'succeeded'])).toEqual([[], []]);
    expect(play(jobSpec('a', '@hourly'), ['failed', 'succeeded'])).toEqual([[], []]);
    expect(play(job({}, 2), ['failed', 'failed', 'failed'])).toEqual([['failed'], ['paused'], ['paused']]);
  });

  it('has exactly one beginning and one end for each incident, whatever the outcomes', () => {
    const outcome = fc.constantFrom<RanOutcome>('succeeded', 'failed', 'timedOut', 'stalled', 'cancelled');
    fc.assert(
      fc.property(fc.array(outcome, { maxLength: 40 }), fc.integer({ min: 1, max: 4 }), (outcomes, after) => {
        const told = play(job({ after }), outcomes).flat();
        // Counted apart from the rule: the stretches between successes with enough failures.
        const incidents = outcomes
          .filter((one) => one !== 'cancelled')
          .join(' ')
          .split('succeeded')
          .map(
            (part) =>
              part
                .trim()
                .split(' ')
                .filter((one) => one !== '').length,
          );
        const begun = incidents.filter((count) => count >= after).length;
        const over = incidents.slice(0, -1).filter((count) => count >= after).length;
        expect(told.filter((change) => change === 'failed')).toHaveLength(begun);
        expect(told.filter((change) => change === 'recovered')).toHaveLength(over);
        told.forEach((change, index) => expect(change).toBe(index % 2 === 0 ? 'failed' : 'recovered'));
      }),
    );
  });

  it('is counted once where a holder died between its row and its record', () => {
    const spec = job({ after: 2 });
    const key = recordKey(T0);
    const counted: Row = ranRow(spec, { failures: 2, lastFailedKey: key });
    const end = { outcome: 'failed', at: T0 } as const;
    expect(noticesOfEnd(spec, counted, end)).toMatchObject([{ change: 'failed', failures: 2 }]);
    // The same run succeeds after all: no one has been told of a failure.
    expect(noticesOfEnd(spec, counted, { outcome: 'succeeded', at: T0 })).toEqual([]);
    // Its row says that it has succeeded, and still has the count.
    const succeeded: Row = { ...counted, ...failuresAfter(counted, 'succeeded') };
    expect(succeeded.failures).toBe(0);
    expect(noticesOfEnd(spec, succeeded, end)).toMatchObject([{ change: 'failed', failures: 2 }]);
    // A row says that it has recovered, and still has the count.
    const owed = { change: 'recovered', of: key, at: T0, failures: 3, since: T0, skipped: 0 } as const;
    const recovered: Row = ranRow(spec, { failures: 0, failedBefore: 3, lastFailedKey: undefined, telling: [owed] });
    expect(noticesOfEnd(spec, recovered, { outcome: 'succeeded', at: T0 })).toMatchObject([
      { change: 'recovered', failures: 3 },
    ]);
    expect(noticesOfEnd(spec, recovered, end)).toEqual([]);
  });

  it('says how many due times did not run in the incident', () => {
    const spec = job();
    const run = { kind: 'run', request: undefined, latenessMs: 0, durationMs: 1, waitedMs: 0, attempts: 1 } as const;
    const gap = { kind: 'gap', outcome: 'overlapped', reason: 'overlapSkip' } as const;
    const row = ranRow(spec, {
      failures: 2,
      lastFailedKey: recordKey(T0 - HOUR),
      recent: [
        { ...gap, scheduledFor: T0 - 6 * HOUR, count: 9 },
        { ...run, scheduledFor: T0 - 5 * HOUR, outcome: 'succeeded' },
        { ...run, scheduledFor: T0 - 4 * HOUR, outcome: 'failed' },
        { ...gap, scheduledFor: T0 - 3 * HOUR, count: 2 },
        { ...run, scheduledFor: T0 - HOUR, outcome: 'failed' },
      ],
    });
    expect(noticesOfEnd(spec, row, { outcome: 'succeeded', at: T0 })).toMatchObject([
      { change: 'recovered', failures: 2, skipped: 2, since: T0 - 4 * HOUR },
    ]);
  });
});

describe('what a row owes', () => {
  it('leaves out what it cannot read, and keeps the job running', () => {
    const key = recordKey(T0);
    const kept = { change: 'failed', of: key, at: T0, failures: 1, since: undefined, skipped: 0 };
    const text = JSON.stringify([['failed later', key, T0, 1, null, 0], [1], 'x', ['failed', 'y', T0, 1, null, 0]]);
    expect(readOwedNotices(text)).toEqual([kept]);
    for (const broken of ['', '{', '{}', '[[]]', 'null']) expect(readOwedNotices(broken)).toEqual([]);
  });

  it('is named by job and change, without a dot', () => {
    const id = noticeId(A, 'unreadable', '"0x8DC.1"-"0x2"');
    expect(id).toBe('a_unreadable_0x8DC1-0x2');
    expect(parseNoticeId(id)).toEqual({ job: 'a', change: 'unreadable' });
    expect(noticeId(A, 'failed', recordKey(T0, 'abc'))).toMatch(/^a_failed_\d{13}-m-abc$/);
    for (const other of ['_off_ops_1', 'a', 'a_failed_', 'A_failed_1']) expect(parseNoticeId(other)).toBeUndefined();
    for (const other of ['', '[]', '{"id":1}', 'null']) expect(readNotice(other)).toBeUndefined();
  });
});

describe('a delivery', () => {
  const fail = (more: Partial<Extract<TryEnd, { kind: 'failed' }>> = {}): TryEnd => ({
    ...{ kind: 'failed', why: 'no', isThrottled: false, retryAfterMs: undefined },
    ...more,
  });

  it('is tried ten times in the waits of Standard Webhooks, and then given up', () => {
    let delivery = newDelivery({ at: T0 }, ['ops'], 'p1', T0);
    let now = T0;
    const waits: number[] = [];
    for (let tries = 0; tries < 20; tries += 1) {
      const [due] = dueReceivers(delivery, now);
      if (due === undefined) break;
      const next = afterTry(due, fail(), now);
      delivery = withState(delivery, next, now);
      if (next.end === undefined) waits.push(next.next - now);
      now = next.next;
    }
    expect(waits).toEqual(TRY_AGAIN_MS);
    expect(delivery).toMatchObject({ doneAt: now, to: [{ tries: 10, end: 'givenUp' }] });
  });

  it('heeds Retry-After, gives an overloaded receiver a minute, and believes no receiver for more than a day', () => {
    const state = { name: 'ops', tries: 0, next: 0, end: undefined };
    const wait = (end: TryEnd): number => afterTry(state, end, T0).next - T0;
    expect(wait(fail())).toBe(5_000);
    expect(wait(fail({ isThrottled: true }))).toBe(MINUTE);
    expect(wait(fail({ retryAfterMs: 10 * MINUTE, isThrottled: true }))).toBe(10 * MINUTE);
    expect(wait(fail({ retryAfterMs: 1_000 }))).toBe(5_000);
    expect(wait(fail({ retryAfterMs: 400 * DAY }))).toBe(DAY);
    expect(afterTry(state, { kind: 'gone' }, T0).end).toBe('off');
  });

  it('is another process’s only after its time, and done once all receivers have their end', () => {
    const delivery = newDelivery({ at: T0 }, ['ops', 'team'], 'p1', T0 + 90_000);
    expect(mayTakeOver(delivery, T0 + 89_999)).toBe(false);
    expect(mayTakeOver(delivery, T0 + 90_000)).toBe(true);
    const [ops, team] = delivery.to;
    if (ops === undefined || team === undefined) throw new Error('two receivers');
    const half = withState(delivery, afterTry(ops, { kind: 'sent' }, T0), T0);
    expect(half.doneAt).toBeUndefined();
    expect(dueReceivers(half, T0).map(({ name }) => name)).toEqual(['team']);
    const whole = withState(half, afterTry(team, { kind: 'gone' }, T0), T0 + 5);
    expect(whole.doneAt).toBe(T0 + 5);
    expect(mayTakeOver(whole, T0 + DAY)).toBe(false);
    expect(decodeDelivery(encodeDelivery(whole))).toEqual(whole);
  });

  it('has room for the states of as many receivers as a jobs file may name', () => {
    const to = Array.from({ length: RECEIVERS_AT_MOST }, (_, index) => `${'r'.repeat(61)}${String(index + 10)}`);
    const notify = { jobs: { a: { schedule: '@daily', notify: { to } } } };
    const more = { jobs: { a: { schedule: '@daily', notify: { to: [...to, 'more'] } } } };
    expect(loadJobs(notify, { handlersUnknown: true }).jobsFile.jobs).toHaveLength(1);
    expect(() => loadJobs(more, { handlersUnknown: true })).toThrow('must be a list of at most 40 names of receivers');
    const tried = newDelivery({ at: T0 }, to, 'a'.repeat(36), T0).to.map((state): Delivery['to'][number] => {
      return { ...state, tries: 10, next: T0, end: 'givenUp' };
    });
    const delivery = { ...newDelivery({ at: T0 }, to, 'a'.repeat(36), T0), to: tried, doneAt: T0 };
    expect(() => checkMetadata(encodeDelivery(delivery))).not.toThrow();
  });
});

describe('a sweep', () => {
  const read = (more: Partial<Extract<SweptJob['state'], { kind: 'read' }>> = {}): SweptJob['state'] => ({
    ...{ kind: 'read', row: ranRow(job()), control: NO_CONTROL, overdue: 'punctual', listedAt: T0 + HOUR },
    ...more,
  });
  const swept = (state: SweptJob['state'], notify: Partial<NotifySettings> = {}): SweptJob => ({
    ...{ name: A, description: undefined, enabled: true, notify: { ...ALL, ...notify }, state },
  });
  const told = (id: string, at: number, state: 'done' | 'open' = 'done'): Listed => {
    const delivery: Delivery = { ...newDelivery({ at }, ['ops'], 'p', at), doneAt: state === 'done' ? at : undefined };
    return { id, etag: '"1"' as ETag, job: A, change: id.split('_')[1] ?? '', delivery };
  };
  const ids = (one: SweptJob, own: readonly Listed[], now = T0): string[] =>
    noticesOfSweep(one, own, now).map(({ id }) => id);
  const late = read({ overdue: { since: T0 - HOUR, ageMs: HOUR } });

  it('tells once that a job is overdue, and once that it no longer is', () => {
    const begun = told(`a_overdue_${String(T0 - HOUR)}`, T0);
    expect(ids(swept(late), [])).toEqual([begun.id]);
    expect(ids(swept(late), [begun])).toEqual([]);
    expect(ids(swept(read({ overdue: 'unknown' })), [begun])).toEqual([]);
    const over = ids(swept(read()), [begun], T0 + HOUR);
    expect(over).toEqual([`a_punctual_${String(T0 - HOUR)}`]);
    const ended = told(over[0] ?? '', T0 + HOUR);
    expect(ids(swept(read()), [begun, ended], T0 + HOUR)).toEqual([]);
    // Overdue again, at another instant.
    const again = read({ overdue: { since: T0 + 2 * HOUR, ageMs: HOUR } });
    expect(ids(swept(again), [begun, ended], T0 + 3 * HOUR)).toEqual([`a_overdue_${String(T0 + 2 * HOUR)}`]);
    expect(ids(swept(late, { on: ['failure'] }), [])).toEqual([]);
  });

  describe('of a job that is overdue and fails', () => {
    const key = recordKey(T0 - HOUR / 2);
    const row = ranRow(job(), { failures: 3, lastFailedKey: key });
    const both = { row, overdue: { since: T0 - HOUR, ageMs: HOUR } };
    const failed = told(`a_failed_${key}`, T0 - HOUR / 2);
    const overdue = told(`a_overdue_${String(T0 - HOUR)}`, T0);
    const recovered = told(`a_recovered_${recordKey(T0 + HOUR)}`, T0 + HOUR);
    const withEnd = (end: 'givenUp' | undefined, name = 'ops'): Listed => ({
      ...failed,
      delivery: { ...failed.delivery, to: [{ name, tries: 1, next: 0, end }] },
    });

    it('tells only the failure, if its receivers know it', () => {
      expect(ids(swept(read(both)), [failed])).toEqual([]);
      expect(ids(swept(read(both)), [withEnd(undefined)])).toEqual([]);
      for (const own of [[], [withEnd('givenUp')], [withEnd(undefined, 'team')]])
        expect(ids(swept(read(both)), own)).toEqual([overdue.id]);
      const nextIncident = { ...both, overdue: { since: T0 - HOUR / 4, ageMs: HOUR } };
      expect(ids(swept(read(nextIncident)), [failed])).toHaveLength(1);
      const later = { ...both, overdue: { since: T0, ageMs: HOUR } };
      expect(ids(swept(read(later)), [failed, told('a_recovered_1', T0)], T0 + HOUR)).toEqual([
        `a_overdue_${String(T0)}`,
      ]);
      expect(ids(swept(read(both), { after: 4 }), [failed])).toEqual([overdue.id]);
      // Without them, no one would be told of the end.
      expect(ids(swept(read(both), { on: ['failure', 'overdue'] }), [failed])).toEqual([overdue.id]);
      expect(ids(swept(read({ ...both, row: ranRow(job(), { failures: 0 }) })), [failed])).toEqual([overdue.id]);
    });

    it('tells nothing where a run has failed, or succeeded, since the job was listed', () => {
      const before = { ...both, row: ranRow(job(), { failures: 0 }) };
      expect(ids(swept(read({ ...before, listedAt: T0 - HOUR / 2 })), [failed])).toEqual([]);
      expect(ids(swept(read({ ...before, listedAt: T0 })), [failed])).toEqual([overdue.id]);
      expect(ids(swept(read(both)), [failed, told('a_recovered_1', T0)])).toEqual([]);
      const end = { change: 'recovered', of: key, failures: 3, since: T0, skipped: 0, at: T0 } as const;
      expect(ids(swept(read({ ...before, row: { ...before.row, telling: [end] } })), [failed])).toEqual([]);
    });

    it('does not tell the failure, if its receivers know that it is overdue', () => {
      const isTold = (own: readonly Listed[], since = T0 - HOUR, notify: Partial<NotifySettings> = {}): boolean =>
        toldAsOverdue({ ...ALL, ...notify }, own, since) !== undefined;
      const punctual = told(`a_punctual_${String(T0 - HOUR)}`, T0 + HOUR);
      expect(isTold([overdue])).toBe(true);
      expect(isTold([])).toBe(false);
      expect(isTold([overdue, punctual])).toBe(false);
      expect(isTold([overdue, recovered])).toBe(false);
      // It has succeeded since.
      expect(isTold([overdue], T0 + 1)).toBe(false);
      expect(isTold([overdue], T0 - HOUR, { to: ['ops', 'team'] })).toBe(false);
      expect(isTold([overdue], T0 - HOUR, { on: ['failure'] })).toBe(false);
      const lost = { ...overdue.delivery, to: [{ name: 'ops', tries: 9, next: 0, end: 'givenUp' as const }] };
      expect(isTold([{ ...overdue, delivery: lost }])).toBe(false);
    });

    it('tells one end', () => {
      const well = ranRow(job(), { failures: 0, lastFailedKey: undefined });
      const own = [failed, overdue];
      expect(ids(swept(read({ row })), own, T0 + HOUR)).toEqual([]);
      expect(ids(swept(read({ row: well })), [...own, recovered], T0 + HOUR)).toEqual([]);
      expect(ids(swept(read({ row: well })), own, T0 + HOUR)).toEqual([`a_punctual_${String(T0 - HOUR)}`]);
      const end = { change: 'recovered', of: key, failures: 3, since: T0, skipped: 0 } as const;
      const owes = (at: number): SweptJob['state'] => read({ row: { ...well, telling: [{ ...end, at }] } });
      expect(ids(swept(owes(T0 + HOUR)), own, T0 + HOUR)).toEqual([]);
      expect(ids(swept(owes(T0 - HOUR)), own, T0 + HOUR)).toHaveLength(1);
      // Whatever ends it ends the incident, too.
      expect(ids(swept(read({ row }), { on: ['overdue'] }), own, T0 + HOUR)).toHaveLength(1);
    });

    it('reminds of one of them', () => {
      const remindMs = HOUR;
      const own = [failed, overdue];
      expect(ids(swept(read(both), { remindMs }), own, T0 + HOUR)).toEqual([`a_reminder_${key}-failure-1`]);
      const late = read({ ...both, row: ranRow(job(), { failures: 0 }) });
      expect(ids(swept(late, { remindMs }), [overdue], T0 + HOUR)).toEqual([
        `a_reminder_${String(T0 - HOUR)}-overdue-1`,
      ]);
    });

    it('keeps the end until both beginnings are deleted', () => {
      const own = [failed, overdue, recovered];
      const gone = (left: readonly Listed[]): string[] => outdated(left, T0 + 3 * DAY).map(({ id }) => id);
      expect(gone(own)).toEqual([failed.id, overdue.id]);
      expect(gone([overdue, recovered])).toEqual([overdue.id]);
      expect(gone([recovered])).toEqual([recovered.id]);
    });
  });

  it('takes a pause for no end of being overdue', () => {
    const begun = told(`a_overdue_${String(T0)}`, T0);
    const pauses = [{ by: 'ann', note: '', since: T0, until: undefined }];
    expect(ids(swept(read({ control: { ...NO_CONTROL, pauses } })), [begun], T0 + HOUR)).toEqual([]);
  });

  it('tells of an unreadable job once, whatever is written meanwhile, and of its end', () => {
    const foreign = (of: string): SweptJob['state'] => ({ kind: 'unreadable', of, reason: 'no' });
    const begun = told('a_unreadable_1', T0);
    expect(ids(swept(foreign('1')), [])).toEqual([begun.id]);
    expect(ids(swept(foreign('2')), [begun])).toEqual([]);
    expect(ids(swept(read()), [begun], T0 + 1)).toEqual(['a_restored_1']);
  });

  it('reminds once a period, whoever sweeps, and not while a person looks after it', () => {
    const row = ranRow(job(), { failures: 3, lastFailedKey: recordKey(T0) });
    const begun = told(`a_failed_${recordKey(T0)}`, T0);
    const failing = (more: object = {}): SweptJob => swept(read({ row, ...more }), { remindMs: HOUR });
    expect(ids(failing(), [begun], T0 + HOUR - 1)).toEqual([]);
    expect(ids(failing(), [begun], T0 + HOUR)).toEqual([`a_reminder_${recordKey(T0)}-failure-1`]);
    // The second period went by unseen.
    const third = `a_reminder_${recordKey(T0)}-failure-3`;
    expect(ids(failing(), [begun], T0 + 3.5 * HOUR)).toEqual([third]);
    expect(ids(failing(), [begun, told(third, T0 + 3.5 * HOUR)], T0 + 3.9 * HOUR)).toEqual([]);
    const outcomes = { failures: 3, recent: row.recent, lastFailedKey: row.lastFailedKey, lastGoodAt: row.lastGoodAt };
    const incident = incidentOf(outcomes, undefined);
    if (incident === undefined) throw new Error('no incident');
    const by = { by: 'ann', note: '', at: T0, until: undefined };
    const acknowledgement = acknowledgeIncident(incident, by);
    expect(ids(failing({ control: { ...NO_CONTROL, acknowledgement } }), [begun], T0 + HOUR)).toEqual([]);
    const pause = (who: string) => ({ ...NO_CONTROL, pauses: [{ by: who, note: '', since: T0, until: undefined }] });
    expect(ids(failing({ control: pause('ann') }), [begun], T0 + HOUR)).toEqual([]);
    expect(ids(failing({ control: pause('cronlease') }), [begun], T0 + HOUR)).toHaveLength(1);
    expect(ids(swept(read({ row })), [begun], T0 + HOUR)).toEqual([]);
    const recovered = told(`a_recovered_${recordKey(T0 + 1)}`, T0 + 1);
    expect(ids(failing(), [begun, recovered], T0 + HOUR)).toEqual([]);
    expect(ids(swept(late, { remindMs: HOUR }), [told('a_overdue_1', T0 - HOUR)])).toEqual(['a_reminder_1-overdue-1']);
  });

  it('deletes what is delivered after a day, and the beginning of a trouble only once the trouble is over', () => {
    const gone = (own: readonly Listed[], now: number): string[] => outdated(own, now).map(({ id }) => id);
    const begun = told('a_failed_1', T0);
    const ended = told('a_recovered_2', T0 + HOUR);
    const reminded = told('a_reminder_1-failure-1', T0);
    const open = told('a_paused_1', T0, 'open');
    expect(gone([begun, reminded, open], T0 + DAY - 1)).toEqual([]);
    expect(gone([begun, reminded, open], T0 + DAY)).toEqual([reminded.id]);
    expect(gone([begun], T0 + 29 * DAY)).toEqual([]);
    expect(gone([begun], T0 + 31 * DAY)).toEqual([begun.id]);
    expect(gone([open], T0 + 31 * DAY)).toEqual([open.id]);
    // The end outlives the beginning: without it, the end would be told again.
    expect(gone([begun, ended], T0 + DAY + 2 * HOUR)).toEqual([begun.id]);
    expect(gone([ended], T0 + DAY + 2 * HOUR)).toEqual([ended.id]);
  });

  it('keeps the beginning of a second trouble that the end of the first one did not end', () => {
    const first = [told('a_failed_1', T0), told('a_recovered_2', T0 + HOUR)];
    const second = told('a_failed_3', T0 + 2 * HOUR);
    expect(outdated([...first, second], T0 + 2 * DAY).map(({ id }) => id)).toEqual(['a_failed_1']);
  });
});
