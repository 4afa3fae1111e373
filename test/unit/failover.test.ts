import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Backfill, stepOf } from '../../src/core/backfill';
import type { Token } from '../../src/core/brand';
import { NO_CONTROL } from '../../src/core/control';
import { recordKey } from '../../src/core/key';
import { type RecordView, type RecoverChoices, type Wreck, afterFailover } from '../../src/core/failover';
import { type Row, decodeRow, encodeRow, forgottenRow, newRow } from '../../src/core/row';
import { jobSpec } from '../support/job';

const START = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const JOB = jobSpec('a', '* * * * *');
const CHOICES: RecoverChoices = { until: START + 60 * MINUTE, raiseBy: 1_000_000, runs: 'resume' };

function view(from: number, through = from, changes: Partial<RecordView> = {}): RecordView {
  return {
    ...{ key: recordKey(from), scheduledFor: from, through, request: undefined, state: 'final', token: undefined },
    ...changes,
  };
}

function wreck(changes: Partial<Wreck> = {}): Wreck {
  return {
    ...{ spec: JOB, row: row(), control: NO_CONTROL, records: [], runRecord: 'final' },
    ...{ recordedManualRuns: new Set(), now: START + 60 * MINUTE },
    ...changes,
  };
}

/** A row whose last run was that of its cursor. */
function row(changes: Partial<Row> = {}): Row {
  const run = { key: recordKey(START), scheduledFor: START, trigger: 'schedule', since: START } as const;
  return {
    ...newRow(START, 1, JOB.scheduleHash),
    ...{ run, phase: 'running', attempt: 1, token: 7 as Token, started: START, incumbent: 'east' },
    ...changes,
  };
}

/** The due times of the job in (after, until]. */
function dueTimes(spec: typeof JOB, after: number, until: number): number[] {
  const due: number[] = [];
  for (let at = spec.timetable.next(after); at !== undefined && at <= until; at = spec.timetable.next(at)) due.push(at);
  return due;
}

describe('afterFailover', () => {
  it('gives every due time one outcome, whatever of the ledger is lost', () => {
    const history = fc.array(
      fc.record({
        length: fc.integer({ min: 1, max: 5 }),
        kind: fc.constantFrom('final', 'open', 'stretch', 'lost', 'undecided'),
      }),
      { maxLength: 20 },
    );
    const setting = fc.record({
      schedule: fc.constantFrom('* * * * *', '*/7 * * * *', '@every 90s'),
      offsetMs: fc.constantFrom(0, 30_000),
      until: fc.integer({ min: 0, max: 120 * MINUTE }),
      // The row may be newer than its records.
      ahead: fc.nat(20),
    });
    fc.assert(
      fc.property(history, setting, (parts, { schedule, offsetMs, until, ahead }) => {
        const spec = jobSpec('a', schedule, { offsetMs });
        const records: RecordView[] = [];
        let at = START;
        let cursor = START;
        const take = (): number => (at = spec.timetable.next(at) ?? at);
        for (const [index, { length, kind }] of parts.entries()) {
          const all = Array.from({ length }, take);
          if (kind === 'stretch') records.unshift(view(all[0] ?? 0, all.at(-1)));
          else if (kind === 'final' || kind === 'open') {
            for (const due of all) records.unshift(view(due, due, { state: kind, token: 9 }));
          }
          if (index < ahead) cursor = at;
        }
        const choices = { ...CHOICES, until: START + until };
        const returned = row({ scheduleHash: spec.scheduleHash, cursor });
        const result = afterFailover(wreck({ spec, records, row: returned }), choices);
        const covers = (due: number): number =>
          records.filter((record) => record.scheduledFor <= due && due <= record.through).length +
          result.stretches.filter((stretch) => stretch.from <= due && due <= stretch.through).length;
        for (const due of dueTimes(spec, START, result.row.cursor))
          expect(covers(due), new Date(due).toISOString()).toBe(1);
        for (const due of dueTimes(spec, result.row.cursor, at)) expect(covers(due)).toBe(0);
        for (const stretch of result.stretches) {
          expect(dueTimes(spec, stretch.from - 1, stretch.through)).toHaveLength(stretch.count);
          expect(stretch).toMatchObject({ outcome: 'expired', reason: 'failedOver' });
        }
        const newest = Math.max(cursor, ...records.map(({ through }) => through));
        expect(result.row.cursor).toBe(Math.max(newest, START + until - offsetMs));
        expect(result.row.token).toBeGreaterThan(1_000_000);
        expect(result.abandoned.toSorted()).toEqual(
          records
            .filter(({ state }) => state === 'open')
            .map(({ key }) => key)
            .toSorted(),
        );
        expect(decodeRow(encodeRow(result.row))).toEqual(result.row);
      }),
      { numRuns: 300 },
    );
  });

  it('raises the token above all that the ledger has seen', () => {
    const records = [view(START + MINUTE, undefined, { token: 5_000_000 })];
    expect(afterFailover(wreck({ records }), { ...CHOICES, raiseBy: 3 }).row.token).toBe(5_000_003);
  });

  // A run a minute for the 90 days that are kept, of a job that is not in the file.
  it.each([
    ['requests', 'r'],
    ['terms', undefined],
  ])('raises it also above a very long ledger of %s', (_what, request) => {
    const records = Array.from({ length: 130_000 }, (_, index) =>
      view(START + index * MINUTE, undefined, { token: index, request }),
    );
    expect(afterFailover(wreck({ spec: undefined, records }), { ...CHOICES, raiseBy: 1 }).row.token).toBe(130_000);
  });

  it('knows only of a disabled job that it did not run', () => {
    const pause = { by: 'x', note: 'n', since: START + 10 * MINUTE, until: START + 20 * MINUTE };
    const paused = afterFailover(wreck({ control: { ...NO_CONTROL, pauses: [pause] } }), CHOICES);
    // The end of a pause may be lost, and its beginning may not have been seen.
    expect(paused.stretches.map(({ reason, count }) => [reason, count])).toEqual([['failedOver', 60]]);
    const disabled = afterFailover(wreck({ spec: { ...JOB, enabled: false } }), CHOICES);
    expect(disabled.stretches).toMatchObject([{ outcome: 'disabled', reason: 'disabled', count: 60 }]);
  });

  it('leaves due times alone that nobody knows, and those of a forgotten job', () => {
    const orphan = afterFailover(wreck({ spec: undefined, records: [view(START + MINUTE)] }), CHOICES);
    expect(orphan).toMatchObject({ row: { token: 1_000_007, cursor: START + MINUTE }, stretches: [] });
    const gone = forgottenRow(row(), START);
    expect(afterFailover(wreck({ row: gone }), CHOICES)).toEqual({
      ...{ row: { ...gone, token: 1_000_007 }, run: undefined, stretches: [], abandoned: [] },
    });
  });

  it('takes the requests that the ledger has for taken, and gives up the others', () => {
    const requests = [
      { number: 3, id: 'lost', time: START + MINUTE },
      { number: 4, id: 'ran', time: START + 2 * MINUTE },
      { number: 5, id: 'later', time: START + 2 * CHOICES.until },
    ];
    const result = afterFailover(
      wreck({ control: { ...NO_CONTROL, manualRuns: requests }, recordedManualRuns: new Set(['ran']) }),
      CHOICES,
    );
    expect(result.row.manualTaken).toBe(4);
    expect(result.stretches.filter(({ request }) => request !== undefined)).toEqual([
      {
        outcome: 'expired',
        reason: 'failedOver',
        from: START + MINUTE,
        through: START + MINUTE,
        count: 1,
        request: 'lost',
      },
    ]);
  });
});

describe('a record that is lost, although its row is newer', () => {
  /** A row that has decided half an hour, and in whose ledger the minutes 10 to 12 are left. */
  const half = (changes: Partial<Row> = {}): Wreck =>
    wreck({
      row: row({ cursor: START + 30 * MINUTE, ...changes }),
      records: [view(START + 10 * MINUTE, START + 12 * MINUTE)],
    });
  const lostOf = (lost: Wreck, choices = CHOICES): (readonly [number, number])[] =>
    afterFailover(lost, { ...choices, until: Math.min(choices.until, START + 30 * MINUTE) }).stretches.map(
      ({ from, through }) => [(from - START) / MINUTE, (through - START) / MINUTE],
    );

  it('leaves an outcome to be written since the row followed its schedule', () => {
    expect(lostOf(half())).toEqual([
      [1, 9],
      [13, 30],
    ]);
    expect(lostOf(half({ scheduleSince: START + 20 * MINUTE }))).toEqual([[21, 30]]);
    // Nothing is known of the due times of another schedule.
    expect(lostOf(half({ scheduleHash: 'another' }))).toEqual([]);
  });

  it('is not looked for where retention may have deleted it, or longer ago than a week', () => {
    const day = 24 * 60 * MINUTE;
    const kept = { ...half(), now: START + 20 * MINUTE + JOB.keepMs };
    expect(lostOf(kept)).toEqual([[21, 30]]);
    expect(lostOf({ ...half({ keepMs: 2 * day }), now: START + 25 * MINUTE + 2 * day })).toEqual([[26, 30]]);
    const { stretches } = afterFailover(half(), { ...CHOICES, until: START + 7 * day + 28 * MINUTE });
    expect(stretches[0]).toMatchObject({ from: START + 29 * MINUTE });
  });

  it('is not the one that the row owes, or that of its own run', () => {
    const owed = {
      outcome: 'expired',
      reason: 'catchUpNone',
      from: START + MINUTE,
      through: START + 9 * MINUTE,
    } as const;
    const due = START + 20 * MINUTE;
    const run = { key: recordKey(due), scheduledFor: due, trigger: 'catchUp', since: START + 25 * MINUTE } as const;
    expect(lostOf({ ...half({ owed: [{ ...owed, count: 9 }], run }), runRecord: 'none' })).toEqual([
      [13, 19],
      [21, 30],
    ]);
    const request = { ...run, key: recordKey(due, 'r1'), trigger: 'manual' } as const;
    expect(lostOf(half({ run: request }))).toEqual([
      [1, 9],
      [13, 30],
    ]);
  });

  it('may be that of a request, if the control still shows it', () => {
    const asked = (number: number, id: string): { number: number; id: string; time: number } => ({
      ...{ number, id, time: START + number * MINUTE },
    });
    const requests = [asked(1, 'lost'), asked(2, 'recorded'), asked(3, 'owed'), asked(4, 'running'), asked(5, 'waits')];
    const owed = {
      outcome: 'expired',
      reason: 'catchUpWindow',
      from: START + 3 * MINUTE,
      through: START + 3 * MINUTE,
    } as const;
    const run = { key: recordKey(START + 4 * MINUTE, 'running'), scheduledFor: START + 4 * MINUTE } as const;
    const result = afterFailover(
      {
        ...half({
          ...{ manualTaken: 4, owed: [{ ...owed, count: 1, request: 'owed' }] },
          run: { ...run, trigger: 'manual', since: START + 4 * MINUTE },
        }),
        control: { ...NO_CONTROL, manualRuns: requests },
        recordedManualRuns: new Set(['recorded']),
      },
      CHOICES,
    );
    expect(result.row.manualTaken).toBe(5);
    expect(result.stretches.flatMap(({ request }) => request ?? [])).toEqual(['lost', 'waits']);
  });

  it('may have been open: it ends however far behind the row it is, also for a forgotten job', () => {
    const open = view(START + 11 * MINUTE, undefined, { state: 'open' });
    expect(afterFailover({ ...half(), records: [open] }, CHOICES).abandoned).toEqual([open.key]);
    const gone = { ...half(), row: forgottenRow(row(), START), records: [open] };
    expect(afterFailover(gone, CHOICES).abandoned).toEqual([open.key]);
  });
});

describe('a back-fill', () => {
  const asked = {
    id: 'b',
    from: START,
    through: START + 9 * MINUTE,
    includeSucceeded: false,
    stopped: undefined,
  } as const;
  const origin = { actor: 'anna', channel: 'shell' } as const;

  it.each([
    ['oldest', asked.through],
    ['newest', asked.from],
  ] as const)('is over, whatever it has run, since nobody knows that: %s first', (order, at) => {
    const backfill = { ...asked, order, origin, scheduleHash: JOB.scheduleHash, at: START };
    const halfway = { id: 'b', at: START + 4 * MINUTE, ran: 4, skipped: 0, aside: undefined };
    const lost = wreck({ row: row({ backfill: halfway }), control: { ...NO_CONTROL, backfill } });
    expect(afterFailover(lost, CHOICES).row.backfill).toEqual({ ...halfway, at, ran: 0 });
    // The row may be older than the back-fill.
    expect(afterFailover({ ...lost, row: row() }, CHOICES).row.backfill).toEqual({ ...halfway, at, ran: 0 });
  });
});

describe('a run that was interrupted', () => {
  const lost = { attempt: 1, token: 7, deployment: 'east', start: START, end: undefined, outcome: 'holderLost' };

  it('is over where the ledger says so, or where its record may have been dropped', () => {
    const waiting = row({ phase: 'retrying', notBefore: START + MINUTE });
    expect(afterFailover(wreck({ row: waiting }), CHOICES)).toMatchObject({
      ...{ run: { kind: 'settled' }, row: { phase: 'running', notBefore: undefined } },
    });
    const old = wreck({ runRecord: 'none', now: START + JOB.keepMs + MINUTE });
    const untold = { run: { kind: 'settled' }, row: { phase: 'settled' } };
    expect(afterFailover(old, CHOICES)).toMatchObject(untold);
    expect(afterFailover(wreck({ runRecord: 'none', row: row({ phase: 'settled' }) }), CHOICES)).toMatchObject(untold);
    expect(afterFailover({ ...old, runRecord: 'open' }, CHOICES).run).toEqual({ kind: 'goesOn' });
    expect(afterFailover(wreck({ row: newRow(START, 1, 'h'), runRecord: 'none' }), CHOICES).run).toBeUndefined();
  });

  it('has an unknown outcome, if the row shows that and the record is lost', () => {
    const unknown = wreck({ runRecord: 'none', row: row({ phase: 'idle' }) });
    expect(afterFailover(unknown, CHOICES)).toMatchObject({
      ...{ run: { kind: 'ends', outcome: 'failed', reason: 'outcomeUnknown' }, row: { phase: 'idle', past: [] } },
    });
    expect(afterFailover({ ...unknown, runRecord: 'final' }, CHOICES).run).toBeUndefined();
  });

  it('goes on with its next attempt, unless these are used up', () => {
    const next = afterFailover(wreck({ runRecord: 'open' }), CHOICES);
    expect(next.run).toEqual({ kind: 'goesOn' });
    expect(next.row).toMatchObject({ phase: 'retrying', notBefore: 0, attempt: 1, uncountedAttempts: 0, past: [lost] });
    const own = wreck({ runRecord: 'open', records: [view(START, undefined, { state: 'open' })] });
    expect(afterFailover(own, CHOICES)).toMatchObject({ run: { kind: 'goesOn' }, abandoned: [] });
    const last = wreck({ runRecord: 'none', row: row({ attempt: 3 }) });
    expect(afterFailover(last, CHOICES).run).toEqual({ kind: 'ends', outcome: 'failed', reason: 'holderLost' });
    expect(afterFailover(last, { ...CHOICES, runs: 'rerun' })).toMatchObject({
      ...{ run: { kind: 'goesOn' }, row: { phase: 'retrying', notBefore: 0, uncountedAttempts: 1 } },
    });
  });

  it('waits as before, if it waited', () => {
    const waiting = wreck({ runRecord: 'open', row: row({ phase: 'retrying', notBefore: START + MINUTE }) });
    expect(afterFailover(waiting, CHOICES)).toMatchObject({
      ...{ run: { kind: 'waits' }, row: { phase: 'retrying', notBefore: START + MINUTE, past: [] } },
    });
    expect(afterFailover(waiting, { ...CHOICES, runs: 'rerun' })).toMatchObject({
      ...{ run: { kind: 'goesOn' }, row: { notBefore: 0, uncountedAttempts: 0 } },
    });
    const fanning = wreck({ runRecord: 'open', row: row({ phase: 'fanning', notBefore: START + 90 * MINUTE }) });
    expect(afterFailover(fanning, CHOICES)).toMatchObject({
      run: { kind: 'goesOn' },
      row: { phase: 'retrying', notBefore: 0 },
    });
  });

  it('fails where that is asked for, or where a later claim shows that it was over', () => {
    const ends = { kind: 'ends', outcome: 'failed', reason: 'failedOver' };
    expect(afterFailover(wreck({ runRecord: 'none' }), { ...CHOICES, runs: 'fail' }).run).toEqual(ends);
    const later = wreck({ runRecord: 'none', records: [view(START + MINUTE, undefined, { token: 8 })] });
    expect(afterFailover(later, { ...CHOICES, runs: 'rerun' }).run).toEqual(ends);
  });
});

describe('a back-fill after a failover', () => {
  // The row may have lost how far the back-fill got, and the ledger may have lost its records.
  it.each([
    { order: 'oldest', known: undefined },
    { order: 'oldest', known: START + 5 * MINUTE },
    { order: 'newest', known: undefined },
    { order: 'newest', known: START + 5 * MINUTE },
  ] as const)('runs nothing more (the $order first, known to be at $known)', ({ order, known }) => {
    const backfill: Backfill = {
      ...{ id: 'fill', from: START, through: START + 10 * MINUTE, order, includeSucceeded: true },
      ...{ scheduleHash: JOB.scheduleHash, origin: { actor: 'ann', channel: 'shell' }, at: START, stopped: undefined },
    };
    const progress = known === undefined ? undefined : { id: 'fill', at: known, ran: 1, skipped: 0, aside: undefined };
    const control = { ...NO_CONTROL, backfill };
    const recovered = afterFailover(wreck({ control, row: row({ backfill: progress }) }), CHOICES);
    expect(stepOf(JOB, backfill, recovered.row.backfill, undefined)).toEqual({ kind: 'over' });
  });
});
