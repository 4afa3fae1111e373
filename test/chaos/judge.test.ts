import { describe, expect, it } from 'vitest';
import { jobSpec } from '../support/job';
import { backfillMisses } from './backfills';
import type { Note } from './app/note';
import type { Answered, Call } from './calls';
import type { Evidence, Fault, LedgerLine } from './evidence';
import { GROUP_JOBS, groupMisses } from './groups';
import { recoveryIn } from './recovery';
import type { Told } from './receiver';
import { rowOf } from './row';
import { violationsIn } from './safety';
import { type Scenario, USUAL } from './scenario';
import { markdownTable, plainTable } from './table';
import { POLLED, STEPS, waitingMisses } from './waiting';

const T0 = Date.UTC(2026, 0, 1);
const at = (second: number): number => T0 + second * 1000;

function note(what: Note['what'], second: number, more: Partial<Note> = {}): Note {
  const scheduledFor = at(Math.floor(second / 2) * 2);
  const base = { job: 'a', attempt: 1, trigger: 'schedule', token: second, deployment: 'd1', pid: 1 };
  return { what, scheduledFor, at: at(second), ...base, ...more };
}

function answered(call: Call, second: number, deployment = 'd1', status = 201): Answered {
  return { deployment, call, status, sentAt: at(second), at: at(second) };
}

function line(second: number, through = second): LedgerLine {
  return { job: 'a', scheduledFor: at(second), through: at(through), state: 'final', outcome: 'succeeded' };
}

const acquire = (second: number, deployment = 'd1'): Answered =>
  answered({ kind: 'acquire', job: 'a', leaseId: 'x' }, second, deployment);
const record = (second: number, written: number): Answered => {
  const key = `${String(1e13 - at(second))}-s`;
  return answered({ kind: 'record', job: 'a', key, state: 'final', through: undefined }, written);
};
const killed: Fault = { kind: 'killed', deployment: 'd1', pid: 1, from: at(5), until: at(5) };
const stopped: Fault = { ...killed, kind: 'stopped', until: at(25) };

/** The job `a`, due every 2 s from 2 to 8, each due time run once by d1: as it should be. */
function evidence(changes: Partial<Evidence> = {}): Evidence {
  return {
    jobs: [jobSpec('a', '@every 2s')],
    span: { from: at(1), until: at(8) },
    notes: [2, 4, 6, 8].flatMap((second) => [
      note('started', second),
      note('ended', second + 0.1, { token: second, trustedAt: at(second + 0.1) }),
    ]),
    events: [],
    ledger: [2, 4, 6, 8].map((second) => line(second)),
    traffic: [2, 4, 6, 8].map((second) => record(second, second + 0.2)),
    faults: [],
    ...changes,
  };
}

describe('the judge of safety', () => {
  it('finds nothing where every due time ran once', () => {
    expect(Object.values(violationsIn(evidence())).flat()).toEqual([]);
  });

  it('sees an attempt that ran twice', () => {
    const { notes } = evidence();
    const { duplicates } = violationsIn(evidence({ notes: [...notes, note('started', 6.05, { pid: 2, token: 7 })] }));
    expect(duplicates).toContain('a 00:00:06 attempt 1 ran twice');
  });

  it('sees a handler that was called after its run had ended', () => {
    const { notes } = evidence();
    const late = note('started', 7, { scheduledFor: at(4), attempt: 2, token: 9 });
    expect(violationsIn(evidence({ notes: [...notes, late] })).duplicates).toContain(
      'a 00:00:04 attempt 2 ran after the run had ended',
    );
  });

  it('sees a run that ended twice', () => {
    const end = { event: 'succeeded', at: new Date(at(4)).toISOString(), deployment: 'd1', pid: 1, runId: 'a-4' };
    expect(violationsIn(evidence({ events: [end, { ...end, pid: 2 }] })).duplicates).toEqual(['a-4 ended twice']);
  });

  it('sees a job that a deployment left alone, and no other trouble', () => {
    const of = (reason: string): readonly string[] => {
      const trouble = { event: 'unhealthy', at: new Date(at(4)).toISOString(), deployment: 'd1', pid: 1, reason };
      return violationsIn(evidence({ events: [trouble] })).unreadable;
    };
    expect(of('job "a" is left alone: its row has format 2')).toEqual([
      'd1: job "a" is left alone: its row has format 2',
    ]);
    expect(of('the task hub is not proven')).toEqual([]);
  });

  it('sees two executions that trusted their leases at one time, of whom one may have been killed', () => {
    const older = note('started', 2, { token: 1, pid: 1 });
    const newer = note('started', 4, { token: 2, pid: 2 });
    const until = (trustedAt: number): Note => note('ended', 9, { token: 1, scheduledFor: at(2), trustedAt });
    const together = ['a had tokens 1 and 2 at one time'];
    const of = (notes: readonly Note[], faults: readonly Fault[] = []): readonly string[] =>
      violationsIn(evidence({ notes, faults })).duplicates;
    expect(of([older, newer, until(at(4.5))])).toEqual(together);
    expect(of([older, newer, until(at(3.5))])).toEqual([]);
    expect(of([older, newer], [killed])).toEqual(together);
    expect(of([older, newer], [{ ...killed, from: at(3) }])).toEqual([]);
  });

  it('sees a due time with no outcome, with an open one, and with two', () => {
    const losses = (ledger: readonly LedgerLine[]): readonly string[] => violationsIn(evidence({ ledger })).losses;
    expect(losses([line(2), line(4), line(8)])).toEqual(['a 00:00:06 has no outcome']);
    expect(losses([line(2), line(4), { ...line(6), state: 'open' }, line(8)])).toEqual(['a 00:00:06 has no outcome']);
    expect(losses([line(2, 6), line(8)])).toEqual([]);
    expect(losses([line(2, 6), line(6), line(8)])).toEqual(['a 00:00:06 has succeeded and succeeded']);
  });

  it('sees a fenced write that went over a newer one, or came after the successor', () => {
    const fenced = (token: number): Answered => answered({ kind: 'fenced', blob: 'a', token }, token);
    const { staleWrites } = violationsIn(evidence({ traffic: [fenced(3), fenced(2)] }));
    expect(staleWrites).toEqual(['a: token 2 wrote over 3']);
    const wrote = note('wrote', 7, { token: 2, begunAt: at(6.5) });
    const { notes } = evidence();
    expect(violationsIn(evidence({ notes: [...notes, wrote] })).staleWrites).toHaveLength(1);
    const before = { ...wrote, begunAt: at(3) };
    expect(violationsIn(evidence({ notes: [...notes, before] })).staleWrites).toEqual([]);
  });

  it('forgives only what the emulator forgot', () => {
    const { notes, traffic } = evidence();
    const twice = [...notes, note('started', 6.05, { pid: 2, token: 6 })];
    const claim: Call = { kind: 'row', job: 'a', phase: 'running', attempt: 1, token: 6, ends: false };
    const forgotSince = (from: number): Evidence =>
      evidence({
        notes: twice,
        traffic: [...traffic.slice(0, 2), answered(claim, 5.5, 'd1', 200)],
        forgotten: { from: at(from), until: at(9) },
      });
    expect(violationsIn(forgotSince(5))).toMatchObject({
      duplicates: [],
      forgiven: ['a 00:00:06 attempt 1 ran twice'],
    });
    expect(violationsIn(forgotSince(5.6))).toMatchObject({
      duplicates: ['a 00:00:06 attempt 1 ran twice'],
      forgiven: [],
    });
  });
});

describe('a run whose record was forgotten after its claim had been saved', () => {
  it('may be taken over, and is forgiven', () => {
    const { notes, traffic } = evidence();
    const again = note('started', 8.5, { pid: 2, token: 7, attempt: 2 });
    const record: Call = {
      kind: 'record',
      job: 'a',
      key: `${String(1e13 - at(6))}-s`,
      state: 'final',
      through: undefined,
    };
    const forgot = (from: number): Evidence =>
      evidence({
        notes: [...notes, { ...again, scheduledFor: at(6) }],
        traffic: [...traffic.filter(({ call }) => call.kind !== 'record'), answered(record, 6.4, 'd1', 201)],
        forgotten: { from: at(from), until: at(8) },
      });
    const what = 'a 00:00:06 attempt 2 ran after the run had ended';
    expect(violationsIn(forgot(6.2)).forgiven).toContain(what);
    expect(violationsIn(forgot(6.2)).duplicates).not.toContain(what);
    expect(violationsIn(forgot(6.5)).duplicates).toContain(what);
  });
});

describe('a due time whose stretch found a record in its way', () => {
  const stretch: Call = { kind: 'record', job: 'a', key: `${String(1e13 - at(4))}-s`, state: 'final', through: at(6) };
  const without = { ledger: [line(2), line(4), line(8)], traffic: [answered(stretch, 9, 'd1', 409)] };

  it('is forgiven after the emulator forgot, and only then', () => {
    const forgotten = { from: at(1), until: at(5) };
    const lost = ['a 00:00:06 has no outcome'];
    expect(violationsIn(evidence({ ...without, forgotten }))).toMatchObject({ losses: [], forgivenLosses: lost });
    expect(violationsIn(evidence(without))).toMatchObject({ losses: lost, forgivenLosses: [] });
  });

  it('is forgiven where it ran under a claim that was forgotten, and lies within a stretch from before', () => {
    const claim: Call = { kind: 'row', job: 'a', phase: 'running', attempt: 1, token: 6, ends: false };
    const { traffic, ledger } = evidence();
    const twice = {
      ledger: [...ledger, { ...line(5, 7), outcome: 'overlapped' }],
      traffic: [...traffic, answered(claim, 5.5, 'd1', 200)],
    };
    const lost = ['a 00:00:06 has succeeded and overlapped'];
    const forgot = (from: number): Evidence => evidence({ ...twice, forgotten: { from: at(from), until: at(9) } });
    expect(violationsIn(forgot(5))).toMatchObject({ losses: [], forgivenLosses: lost });
    expect(violationsIn(forgot(5.6))).toMatchObject({ losses: lost, forgivenLosses: [] });
  });
});

describe('the judge of recovery', () => {
  it('tells gaps of jobs that a victim held from others', () => {
    const notes = [2, 4, 20].map((second) => note('started', second, { pid: second === 20 ? 2 : 1 }));
    const span = { from: at(1), until: at(20) };
    const held = recoveryIn(evidence({ notes, span, traffic: [acquire(4)], faults: [killed] }));
    expect(held).toMatchObject({ gapHeldMs: 14_000, gapOthersMs: 0, takeOverMs: 15_000 });
    const others = recoveryIn(evidence({ notes, span, traffic: [acquire(4, 'd2')], faults: [killed] }));
    expect(others).toMatchObject({ gapOthersMs: 14_000, gapHeldMs: undefined, takeOverMs: undefined });
  });

  it('counts a lease as given back by its release, and a run that waits for its retry as held', () => {
    const notes = [note('started', 20, { pid: 2 })];
    const release = answered({ kind: 'release', job: 'a', leaseId: 'x' }, 4.5, 'd1', 200);
    const waits = answered({ kind: 'row', job: 'a', phase: 'retrying', attempt: 1, token: 1, ends: false }, 4.4);
    const takeOver = (traffic: readonly Answered[]): number | undefined =>
      recoveryIn(evidence({ notes, traffic, faults: [killed] })).takeOverMs;
    expect(takeOver([acquire(4)])).toBe(15_000);
    expect(takeOver([acquire(4), release])).toBeUndefined();
    expect(takeOver([acquire(4), waits, release])).toBe(15_000);
  });

  it('sees a handler that starts before its due time', () => {
    expect(recoveryIn(evidence()).earlyMs).toBe(0);
    expect(recoveryIn(evidence({ notes: [note('started', 4, { scheduledFor: at(6) })] })).earlyMs).toBe(2_000);
  });

  it('says so when nobody goes on', () => {
    expect(recoveryIn(evidence({ notes: [], traffic: [acquire(4)], faults: [killed] })).takeOverMs).toBe(Infinity);
  });

  it('ends a take-over with the next start, also by the one that was stopped and is awake again', () => {
    const again = note('started', 26, { scheduledFor: at(26) });
    const held = { traffic: [acquire(25.5)], faults: [stopped] };
    expect(recoveryIn(evidence({ ...held, notes: [again] })).takeOverMs).toBe(21_000);
    const before = note('started', 24, { scheduledFor: at(24) });
    expect(recoveryIn(evidence({ ...held, notes: [before] })).takeOverMs).toBe(Infinity);
  });

  it('measures from waking until the old leader is told, which may be never', () => {
    const started = note('started', 4, { token: 1 });
    const told = (...later: Note[]): number | undefined =>
      recoveryIn(evidence({ notes: [started, ...later], faults: [stopped] })).toldMs;
    expect(told(note('aborted', 25.05, { token: 1 }))).toBeCloseTo(50);
    expect(told(note('ended', 4.5, { token: 1 }))).toBeUndefined();
    expect(told(note('ended', 26, { token: 1 }))).toBe(Infinity);
  });

  it('measures until all that was due in an outage has started, or has its outcome', () => {
    const outage: Fault = { ...killed, kind: 'outage', from: at(3), until: at(7) };
    const notes = [note('started', 8, { scheduledFor: at(4) }), note('started', 9, { scheduledFor: at(6) })];
    expect(recoveryIn(evidence({ notes, traffic: [], faults: [outage] })).caughtUpMs).toBe(2_000);
    expect(recoveryIn(evidence({ notes, traffic: [record(6, 7.5)], faults: [outage] })).caughtUpMs).toBe(1_000);
    expect(recoveryIn(evidence({ notes: [], traffic: [], faults: [outage] })).caughtUpMs).toBe(Infinity);
  });
});

describe('a row of the table', () => {
  const scenario: Scenario = {
    name: 'some',
    shows: 'something',
    targets: { ...USUAL, toldMs: 200, caughtUpMs: 5_000 },
    act: () => Promise.reject(new Error('not played')),
  };

  it('names every target that was missed', () => {
    const row = rowOf(scenario, evidence({ ledger: [], notes: [], traffic: [acquire(4)], faults: [killed] }), 1);
    expect(row.misses).toEqual([
      '4 losses: a 00:00:02 has no outcome; a 00:00:04 has no outcome; a 00:00:06 has no outcome; a 00:00:08 has no outcome',
      'the take-over took for ever, more than 32.0 s',
      'no old leader was left to notice',
      'no fenced write of the old leader was refused',
      'nothing was due in the outage',
    ]);
  });

  it('is marked in both tables when it misses, and when it could not be played', () => {
    const rows = [rowOf(scenario, undefined, 3, 'no start')];
    expect(plainTable(rows)).toMatch(/^some .* MISSED$/m);
    expect(plainTable(rows)).toContain('some: it could not be played: no start');
    expect(markdownTable(rows)).toMatch(/^\| something `some` \| 0 \| .* \| MISSED \|$/m);
    const good = { ...scenario, targets: USUAL };
    expect(plainTable([rowOf(good, evidence(), 3)])).toMatch(/^some +4 +0 +0 .* ok$/m);
  });
});

describe('the judge of notices', () => {
  const notPlayed = () => Promise.reject(new Error('not played'));
  const ran = (second: number, outcome: string): LedgerLine => ({ ...line(second), job: 'told', outcome });
  const id = (change: string, second: number): string => `told_${change}_${String(1e13 - at(second))}-s`;
  const came = (what: string, from: string, how: Told['how'] = 'accepted'): Told => ({
    id: what,
    from,
    at: at(9),
    how,
  });
  const ledger = [
    ...evidence().ledger,
    ...[ran(2, 'succeeded'), ran(4, 'failed'), ran(5, 'overlapped'), ran(6, 'failed'), ran(8, 'succeeded')],
  ];
  const failed = came(id('failed', 4), 'd1');
  const recovered = came(id('recovered', 8), 'd2');
  const missesOf = (told: readonly Told[], targets: Scenario['targets'] = USUAL): readonly string[] =>
    rowOf({ name: 'n', shows: 's', targets, act: notPlayed }, evidence({ ledger, told }), 1).misses;

  it('wants one for each change of state, and none where nothing changes', () => {
    expect(missesOf([failed, recovered])).toEqual([]);
    expect(missesOf([recovered])).toEqual([`1 notices lost: ${failed.id}`]);
    const nothing = rowOf({ name: 'n', shows: 's', targets: USUAL, act: notPlayed }, evidence({ told: [] }), 1);
    expect(nothing.misses).toEqual(['no run called for a notice']);
  });

  it('does not count one that was refused, or whose sender got no answer, as accepted', () => {
    const lost = { ...failed, how: 'lost' } as const;
    const refused = { ...failed, how: 'refused' } as const;
    expect(missesOf([lost, refused, recovered])).toEqual([`1 notices lost: ${failed.id}`]);
    expect(missesOf([lost, refused, refused, failed, recovered])).toEqual([]);
  });

  it('lets none come more than twice, those without an answer included', () => {
    const lost = { ...failed, how: 'lost' } as const;
    expect(missesOf([lost, failed, failed, recovered])).toEqual([`1 notices too often: ${failed.id} came 3 times`]);
  });

  it('wants one from two deployments where a sender is killed', () => {
    const targets = { ...USUAL, sentByTwo: true } as const;
    expect(missesOf([failed, recovered], targets)).toEqual(['no notice was sent again by another deployment']);
    expect(missesOf([failed, { ...failed, from: 'd3' }, recovered], targets)).toEqual([]);
  });
});

describe('the judge of back-fills', () => {
  const backfill = { job: 'a', id: 'x', from: at(1), until: at(4) };
  const filled = (second: number): LedgerLine => ({ ...line(second), request: 'x' });
  const ran = [2, 4].map((second) => note('started', second + 2, { scheduledFor: at(second), isBackfill: true }));
  const missesOf = (lines: readonly LedgerLine[], notes: readonly Note[] = ran): readonly string[] =>
    backfillMisses(evidence({ ledger: [...evidence().ledger, ...lines], notes, faults: [killed], backfill }));

  it('wants one end of each due time, and runs before and after the fault', () => {
    expect(missesOf([filled(2), filled(4)])).toEqual([]);
    expect(missesOf([filled(2)])).toEqual(['the back-fill has 0 ends of a 00:00:04']);
    expect(missesOf([filled(2), { ...filled(4), state: 'open' }])).toHaveLength(1);
    expect(missesOf([filled(2), filled(2), filled(4)])).toEqual(['the back-fill has 2 ends of a 00:00:02']);
    expect(missesOf([filled(2), filled(4), filled(6)])).toHaveLength(1);
    expect(missesOf([filled(2), filled(4)], ran.slice(1))).toEqual(['no back-filled run began before the fault']);
    expect(missesOf([filled(2), filled(4)], ran.slice(0, 1))).toEqual(['no back-filled run began after the fault']);
  });

  it('takes a back-filled run for no second one of its due time', () => {
    const { ledger, notes } = evidence();
    const again = note('started', 9, { scheduledFor: at(4), token: 9, isBackfill: true });
    const both = evidence({ ledger: [...ledger, filled(4)], notes: [...notes, again] });
    expect(Object.values(violationsIn(both)).flat()).toEqual([]);
    const twice = evidence({ notes: [...notes, again, { ...again, token: 10, pid: 2 }] });
    expect(violationsIn(twice).duplicates).toContain('a 00:00:04 back-filled attempt 1 ran twice');
  });
});

describe('the judge of groups', () => {
  const [one = '', two = '', three = ''] = GROUP_JOBS;
  const term = (job: string, from: number, until: number, pid = 1): Note[] => {
    const of = { job, token: 1, pid, scheduledFor: at(from) };
    return [note('started', from, of), note('ended', until, { ...of, trustedAt: at(until) })];
  };
  const missesOf = (notes: readonly Note[], changes: Partial<Evidence> = {}): readonly string[] =>
    groupMisses(evidence({ notes, faults: [{ ...killed, pid: 2 }], ...changes }), 4_000);
  const full = [...term(one, 4, 5.5, 2), ...term(two, 4, 5.2)];

  it('sees more at once than there are places, a group that is never full, and a victim outside', () => {
    expect(missesOf([...full, ...term(three, 5.6, 7)])).toEqual([]);
    expect(missesOf([...full, ...term(three, 5, 7)])).toEqual([`3 of the group ran when ${three} started`]);
    expect(missesOf(term(one, 4, 5.5, 2))).toEqual(['the group was never full']);
    expect(missesOf([...term(one, 4, 5), ...term(two, 4, 5)])).toEqual(['no victim was inside the group']);
  });

  it('counts one that is stopped for as long as it may trust its lease', () => {
    const wakes = term(one, 4, 4.9, 2).map((each) => (each.what === 'ended' ? { ...each, at: at(25.1) } : each));
    const holds = [...wakes, ...term(two, 4, 5.2), ...term(two, 13, 14)];
    const traffic = [answered({ kind: 'acquire', job: one, leaseId: 'x' }, 2)];
    const faults = [{ ...stopped, pid: 2 }];
    expect(missesOf([...holds, ...term(three, 13.5, 15)], { traffic, faults })).toEqual([
      `3 of the group ran when ${three} started`,
    ]);
    expect(missesOf([...holds, ...term(three, 14.5, 15)], { traffic, faults })).toEqual([]);
    const early = [...full, ...term(three, 4.5, 4.8, 2)].filter(({ job }) => job !== two);
    expect(missesOf([...early, ...term(two, 4.9, 5.2)], { traffic, faults })).toEqual([]);
  });

  it('sees a due time that waits too long, unless a newer one has replaced it', () => {
    const jobs = [jobSpec(one, '@every 6s')];
    const span = { from: at(1), until: at(8) };
    const late = [...full, ...term(three, 20, 21)];
    expect(missesOf(late, { jobs, span })).toEqual([`${one} 00:00:06 did not start within 4 s`]);
    const passed = { ...line(6), job: one, outcome: 'overlapped' };
    expect(missesOf(late, { jobs, span, ledger: [passed] })).toEqual([]);
    expect(missesOf([...late, ...term(one, 6, 7)], { jobs, span })).toEqual([]);
  });
});

describe('the judge of runs that outlive their holders', () => {
  const missesOf = (job: string, notes: readonly Note[], changes: Partial<Evidence> = {}): readonly string[] =>
    waitingMisses(
      evidence({
        jobs: [jobSpec(job, '@manual')],
        notes: notes.map((each) => ({ ...each, job })),
        ledger: [{ ...line(2), job }],
        faults: [killed],
        ...changes,
      }),
    );
  const first = note('started', 2);
  const second = note('started', 8, { attempt: 2, token: 9, pid: 2 });
  const called = note('called', 2);

  it('sees a call that was made again, and one that no other attempt has continued', () => {
    expect(missesOf(POLLED, [first, called, second])).toEqual([]);
    expect(missesOf(POLLED, [first, called, second, called])).toEqual(['2 calls were made']);
    expect(missesOf(POLLED, [first, called])).toEqual(['no other attempt has continued the run']);
  });

  it('sees an old orchestration that was not refused, and a run that has failed', () => {
    const isBack = { faults: [stopped] };
    expect(missesOf(STEPS, [first, second])).toEqual([]);
    expect(missesOf(STEPS, [first, second, note('refused', 9)], isBack)).toEqual([]);
    expect(missesOf(STEPS, [first, second], isBack)).toEqual(['no step of the old orchestration was refused']);
    const failed = { ledger: [{ ...line(2), job: STEPS, outcome: 'failed' }] };
    expect(missesOf(STEPS, [first, second], failed)).toEqual(['steps 00:00:02 is failed']);
  });

  it('counts a job whose orchestration was in a hub of the victim', () => {
    const notes = [first, second].map((each) => ({ ...each, job: STEPS }));
    const faults = [{ ...killed, works: [STEPS] }];
    expect(recoveryIn(evidence({ notes, traffic: [], faults })).takeOverMs).toBe(3_000);
  });
});
