import { describe, expect, it } from 'vitest';
import { NO_CONTROL } from '../../src/core/control';
import { decide } from '../../src/core/decide/decide';
import type { Situation } from '../../src/core/decide/situation';
import { recordKey } from '../../src/core/key';
import { type Row, newRow } from '../../src/core/row';
import { jobSpec } from '../support/job';
import { ranRow, situation, T0 } from '../support/situation';

const SECOND = 1_000;
const MINUTE = 60_000;

const pausedFrom = (since: number, until: number | undefined) => ({
  ...NO_CONTROL,
  pauses: [{ by: 'x', note: 'n', since, until }],
});

describe('the catch-up window', () => {
  const limits = [
    ['just as old as it', 0, 'claim'],
    ['older by a millisecond', 1, 'record'],
  ] as const;

  it.each(limits)('decides about a due time that is %s', (_what, more, kind) => {
    const job = jobSpec('a', '@at 2026-01-01T00:00:01Z', { catchUpWindowMs: MINUTE });
    const now = T0 + SECOND + MINUTE + more;
    expect(decide(situation(job, now, { sweepIntervalMs: 0 })).kind).toBe(kind);
  });

  it.each(limits)('decides about a request that is %s', (_what, more, kind) => {
    const job = jobSpec('a', '@manual', { catchUpWindowMs: MINUTE });
    const control = { ...NO_CONTROL, manualRuns: [{ number: 1, id: 'r', time: T0 }] };
    expect(decide(situation(job, T0 + MINUTE + more, { control })).kind).toBe(kind);
  });
});

describe('catchUp none', () => {
  it.each([
    ['15 s', 15 * SECOND, 35 * SECOND],
    ['30 s', 30 * SECOND, 50 * SECOND],
    ['60 s', 60 * SECOND, 80 * SECOND],
  ])(
    'claims a due time whose hand-over failed with a lease of %s, and expires an older one',
    (_what, leaseMs, limit) => {
      const job = jobSpec('a', '@at 2026-01-01T00:00:01Z', { catchUp: 'none', leaseMs });
      const at = (age: number): string =>
        decide(situation(job, T0 + SECOND + age, { lease: 'expired', sweepIntervalMs: 0 })).kind;
      expect([at(limit), at(limit + 1)]).toEqual(['claim', 'record']);
    },
  );
});

describe('overlap queue', () => {
  const job = jobSpec('a', '@every 10s', { overlap: 'queue' });
  const claimedAt = (now: number) => {
    // The holder's clock was fast: the run is over before the row says so.
    const decision = decide(situation(job, now, { row: ranRow(job, { busyUntil: T0 + 20 * SECOND + 500 }) }));
    if (decision.kind !== 'claim') throw new Error(decision.kind);
    const { run, row } = decision.claim;
    return { run, owed: row.owed.map(({ reason }) => reason) };
  };

  it('runs the due time that waited, if the next one has not come yet', () => {
    const { run, owed } = claimedAt(T0 + 19 * SECOND + 300);
    expect(run).toMatchObject({ scheduledFor: T0 + 10 * SECOND });
    expect(owed).toEqual([]);
  });

  it('runs the newest of those that waited', () => {
    const { run, owed } = claimedAt(T0 + 20 * SECOND);
    expect(run).toMatchObject({ scheduledFor: T0 + 20 * SECOND });
    expect(owed).toEqual(['overlapNewer']);
  });
});

describe('catchUp latest', () => {
  const job = jobSpec('a', '*/10 * * * *', { catchUp: 'latest' });

  it('collapses no missed due time into one that lies in a pause', () => {
    const control = pausedFrom(T0 + 15 * MINUTE, T0 + 25 * MINUTE);
    const decision = decide(situation(job, T0 + 26 * MINUTE, { control }));
    expect(decision).toMatchObject({
      kind: 'claim',
      claim: { run: { scheduledFor: T0 + 10 * MINUTE }, trigger: 'catchUp' },
    });
  });

  it('collapses it into the first one after the pause', () => {
    const control = pausedFrom(T0 + 15 * MINUTE, T0 + 25 * MINUTE);
    const decision = decide(situation(job, T0 + 31 * MINUTE, { control }));
    expect(decision).toMatchObject({ kind: 'claim', claim: { run: { scheduledFor: T0 + 30 * MINUTE } } });
    if (decision.kind !== 'claim') throw new Error(decision.kind);
    expect(decision.claim.row.owed.map(({ outcome }) => outcome)).toEqual(['collapsed', 'paused']);
  });
});

describe('requests', () => {
  it('expire a few at a time, so that a row stays small enough to be stored', () => {
    const job = jobSpec('a', '@manual', { catchUpWindowMs: MINUTE });
    const requests = Array.from({ length: 50 }, (_, index) => ({
      ...{ number: index + 1, id: `r${String(index)}`, time: T0 + index },
    }));
    const decision = decide(situation(job, T0 + 60 * MINUTE, { control: { ...NO_CONTROL, manualRuns: requests } }));
    if (decision.kind !== 'record') throw new Error(decision.kind);
    expect([decision.row.owed.length, decision.row.manualTaken]).toEqual([8, 8]);
  });

  it('go before a due time, but not before one that waits by queue', () => {
    const job = jobSpec('a', '* * * * *', { overlap: 'queue' });
    const control = { ...NO_CONTROL, manualRuns: [{ number: 1, id: 'r', time: T0 + MINUTE }] };
    const now = T0 + MINUTE + 30 * SECOND;
    const came = decide(situation(job, now, { row: ranRow(job), control }));
    expect(came).toMatchObject({ kind: 'claim', claim: { trigger: 'manual' } });
    const queued = decide(situation(job, now, { row: ranRow(job, { busyUntil: now }), control }));
    expect(queued).toMatchObject({ kind: 'claim', claim: { trigger: 'schedule' } });
  });
});

describe('a pause', () => {
  it('is recorded as soon as it is over', () => {
    const control = pausedFrom(T0 + 30 * SECOND, T0 + 65 * SECOND);
    const decision = decide(situation(jobSpec('a', '* * * * *'), T0 + 70 * SECOND, { control }));
    expect(decision).toMatchObject({
      ...{ kind: 'record', row: { cursor: T0 + MINUTE, owed: [{ outcome: 'paused', count: 1 }] } },
    });
  });

  it('leaves the newest due time of a run that lies in no pause to be queued', () => {
    const job = jobSpec('a', '* * * * *', { overlap: 'queue' });
    const row = ranRow(job, { busyUntil: T0 + 2 * MINUTE + 30 * SECOND });
    const control = pausedFrom(T0 + 90 * SECOND, T0 + 2 * MINUTE + 20 * SECOND);
    const decision = decide(situation(job, T0 + 2 * MINUTE + 45 * SECOND, { row, control }));
    expect(decision).toMatchObject({ kind: 'claim', claim: { run: { scheduledFor: T0 + MINUTE } } });
  });
});

describe('a run that waits between attempts', () => {
  it('is not ended by due times of a job that is disabled', () => {
    const job = jobSpec('a', '* * * * *', { overlap: 'cancel', enabled: false });
    const row = ranRow(job, { phase: 'retrying', notBefore: T0 + 30 * MINUTE });
    expect(decide(situation(job, T0 + 5 * MINUTE, { row })).kind).toBe('nothing');
  });

  it('is not ended by due times that a new schedule would have had before it was first seen', () => {
    const before = jobSpec('a', '0 * * * *', { overlap: 'cancel' });
    const after = jobSpec('a', '* * * * *', { overlap: 'cancel' });
    const row = ranRow(before, { phase: 'retrying', notBefore: T0 + 30 * MINUTE, revision: 1 });
    const now = T0 + 10 * MINUTE + 30 * SECOND;
    expect(decide(situation(after, now, { row, revision: 2 })).kind).not.toBe('claim');
    // Once the schedule is adopted they do end it.
    const adopted = { ...row, revision: 2, scheduleHash: after.scheduleHash };
    const ended = decide(situation(after, now, { row: adopted, revision: 2 }));
    expect(ended).toMatchObject({ kind: 'claim', claim: { end: { outcome: 'cancelled', reason: 'overlapCancel' } } });
  });
});

describe('items that nobody came back from by their deadline', () => {
  it.each([
    ['are an attempt that was used', 2, { end: undefined, row: { attempt: 2, uncountedAttempts: 0 } }],
    // Where its items turn out to be done, there is an attempt for the gathering.
    [
      'end the run without being counted where no attempt is left',
      1,
      { end: { outcome: 'timedOut' }, row: { attempt: 2, uncountedAttempts: 1 } },
    ],
  ])('%s', (_what, attempts, claim) => {
    const retry = { ...jobSpec('a', '@hourly').retry, attempts };
    const job = jobSpec('a', '@hourly', { retry });
    const row = ranRow(job, { phase: 'fanning', uncountedAttempts: 1, notBefore: T0 + MINUTE });
    expect(decide(situation(job, T0 + 2 * MINUTE, { row }))).toMatchObject({ kind: 'claim', claim });
  });
});

describe('items that a shutdown has left', () => {
  const retry = { ...jobSpec('a', '@hourly').retry, attempts: 1 };
  const job = jobSpec('a', '@hourly', { retry });
  const left = {
    phase: 'fanning',
    uncountedAttempts: 1,
    notBefore: T0 + 60 * MINUTE,
    itemsLeftAt: T0 + MINUTE,
  } as const;
  const decided = (now: number) => decide(situation(job, now, { row: ranRow(job, left), itemsLimitMs: 60 * MINUTE }));

  it('are continued at once, without a look at heartbeats, with the deadline that they had', () => {
    const row = { attempt: 2, uncountedAttempts: 1, notBefore: T0 + 60 * MINUTE, itemsLeftAt: undefined, stood: [] };
    const claim = { what: 'resume', end: undefined, row };
    expect(decided(T0 + MINUTE)).toMatchObject({ kind: 'claim', claim });
    expect(decided(T0 + MINUTE)).not.toHaveProperty('claim.isSilent');
  });

  it('stood still where nobody has continued them for a lease', () => {
    const from = T0 + MINUTE + 10 * SECOND + job.leaseMs;
    expect(decided(T0 + 30 * MINUTE)).toMatchObject({ claim: { row: { stood: [{ from, until: T0 + 30 * MINUTE }] } } });
  });

  it('have missed their deadline once it is over', () => {
    expect(decided(T0 + 60 * MINUTE + MINUTE)).toMatchObject({ claim: { end: { outcome: 'timedOut' } } });
  });
});

describe('a lost attempt', () => {
  const retry = { ...jobSpec('a', '@hourly').retry, attempts: 2 };
  const job = jobSpec('a', '@hourly', { retry });
  const takenOver = (record: Situation['record'], changes: Partial<Row>, now = T0 + MINUTE) => {
    const seen = situation(job, now, { row: ranRow(job, changes), lease: 'expired', record });
    const decision = decide(seen);
    if (decision.kind !== 'claim') throw new Error(decision.kind);
    return decision.claim;
  };

  it('counts if it is the first, which needs no mark', () => {
    const { end, row } = takenOver('none', { attempt: 1 });
    expect({ end, row }).toMatchObject({ end: undefined, row: { attempt: 2, uncountedAttempts: 0 } });
    expect(row.past).toMatchObject([{ attempt: 1, outcome: 'holderLost' }]);
  });

  it('counts if its mark was written: its handler may have been called', () => {
    const { end, row } = takenOver('marked', { attempt: 2 });
    expect({ end, row }).toMatchObject({
      end: { outcome: 'failed', reason: 'holderLost' },
      row: { uncountedAttempts: 0 },
    });
    expect(row.past).toMatchObject([{ attempt: 2, outcome: 'holderLost' }]);
  });

  it.each(['none', 'open'] as const)('does not count if it wrote no mark (%s)', (record) => {
    const { end, row } = takenOver(record, { attempt: 2 });
    expect({ end, row }).toMatchObject({ end: undefined, row: { attempt: 3, uncountedAttempts: 1, past: [] } });
  });

  it('counts after the deadline of its items, which ends the run', () => {
    const fanning = ranRow(job, { phase: 'fanning', attempt: 2, uncountedAttempts: 1, notBefore: T0 + MINUTE });
    const over = decide(situation(job, T0 + 2 * MINUTE, { row: { ...fanning, attempt: 3 } }));
    expect(over).toMatchObject({ kind: 'claim', claim: { end: { outcome: 'timedOut' } } });
    const lost = over.kind === 'claim' ? over.claim.row : {};
    expect(takenOver('open', lost, T0 + 5 * MINUTE).end).toMatchObject({ outcome: 'failed' });
  });
});

describe('a backlog from before a run that goes on', () => {
  it('is waited for to the end of the tick, also with overlap skip', () => {
    const job = jobSpec('a', '@hourly', { overlap: 'skip', catchUp: 'all' });
    const run = { key: recordKey(T0), scheduledFor: T0, trigger: 'catchUp', since: T0 + 150 * MINUTE } as const;
    const held = situation(job, T0 + 151 * MINUTE, { row: ranRow(job, { run }), lease: 'held' });
    expect(decide(held)).toEqual({ kind: 'wait', until: 'tickEnds' });
  });
});

describe('a higher revision', () => {
  it('of the same schedule is kept with the next write', () => {
    const job = jobSpec('a', '* * * * *');
    const decision = decide(situation(job, T0 + MINUTE, { row: newRow(T0, 3, job.scheduleHash), revision: 7 }));
    expect(decision).toMatchObject({ kind: 'claim', claim: { row: { revision: 7 } } });
  });
});

describe('a clock that is fast', () => {
  it('adopts a schedule as of the listing, not as of itself', () => {
    const job = jobSpec('a', '* * * * *', { scheduleHash: 'new' });
    const row = newRow(T0, 1, 'old');
    const decision = decide(situation(job, T0 + 60 * MINUTE, { row, revision: 2, listedAt: T0 + 2 * MINUTE }));
    const since = T0 + 2 * MINUTE + SECOND;
    expect(decision).toMatchObject({
      kind: 'record',
      row: { cursor: since, scheduleSince: since, owed: [{ count: 0 }] },
    });
  });

  it('begins no term before its back-off is over', () => {
    const job = jobSpec('a', '@always');
    const row = ranRow(job, { failures: 1, busyUntil: T0 });
    const over = T0 + job.retry.backoffMs;
    const early = situation(job, T0 + 60 * MINUTE, { row, listedAt: T0 + SECOND });
    expect(decide(early).kind).toBe('wait');
    expect(decide({ ...early, listedAt: over }).kind).toBe('claim');
  });

  it('of a holder does not make a run last longer than until it was listed as over', () => {
    const job = jobSpec('a', '* * * * *');
    const row = ranRow(job, { busyUntil: T0 + 60 * MINUTE });
    const decision = decide(situation(job, T0 + MINUTE, { row, listedAt: T0 + 55 * SECOND }));
    expect(decision).toMatchObject({ kind: 'claim', claim: { run: { scheduledFor: T0 + MINUTE } } });
  });
});

describe('a clock that is slow', () => {
  it('of the service leaves overlapped what was due before the run ended', () => {
    const job = jobSpec('a', '* * * * *', { overlap: 'skip' });
    const row = ranRow(job, { busyUntil: T0 + MINUTE + 79 });
    // Listed at 60.090 s, by a machine at 59.190 s.
    const listed = { row, listedAt: T0 + 59 * SECOND, sweepIntervalMs: 0 };
    const decision = decide(situation(job, T0 + MINUTE + 100, listed));
    expect(decision).toMatchObject({ row: { cursor: T0 + MINUTE, owed: [{ outcome: 'overlapped' }] } });
  });
});

describe('a run whose holder died as an outage began', () => {
  const [died, back, ends] = [T0, T0 + 50 * MINUTE, T0 + 51 * MINUTE];
  const settings = { timeoutMs: 3 * MINUTE, graceMs: 5 * SECOND, leaseMs: 30 * SECOND } as const;
  /** No instance was at work from T0 + 3 min 35 s on. */
  const after = (changes: Parameters<typeof jobSpec>[2]) => {
    const job = jobSpec('a', '*/10 * * * *', { ...settings, catchUpWindowMs: 24 * 60 * MINUTE, ...changes });
    const row = ranRow(job, { claimedAt: died, started: died });
    const taken = decide(situation(job, back, { row, lease: 'expired', record: 'none' }));
    if (taken.kind !== 'claim') throw new Error(taken.kind);
    return { job, taken: taken.claim };
  };
  /** The next decision, after the run which was taken over has ended. */
  const next = (changes: Parameters<typeof jobSpec>[2], busyUntil = ends) => {
    const { job, taken } = after(changes);
    const decision = decide(situation(job, busyUntil, { row: { ...taken.row, busyUntil }, sweepIntervalMs: 0 }));
    if (decision.kind === 'claim') {
      const { trigger, run, row } = decision.claim;
      const due = run.kind === 'known' ? (run.scheduledFor - T0) / MINUTE : undefined;
      return { trigger, due, owed: row.owed.map(({ reason, count }) => `${reason} ${String(count)}`) };
    }
    if (decision.kind !== 'record') throw new Error(decision.kind);
    return decision.row.owed.map(({ reason, count }) => `${reason} ${String(count)}`);
  };

  it('notes when nobody can have been at work on it', () => {
    const { taken } = after({});
    expect(taken.row.stood).toEqual([{ from: died + 3 * MINUTE + 35 * SECOND, until: back }]);
  });

  it('notes nothing if it is taken over while its holder could still be at work', () => {
    const job = jobSpec('a', '*/10 * * * *', settings);
    const row = ranRow(job, { claimedAt: died, started: died });
    const early = decide(situation(job, T0 + 3 * MINUTE + 35 * SECOND, { row, lease: 'expired', record: 'none' }));
    expect(early).toMatchObject({ kind: 'claim', claim: { row: { stood: [] } } });
  });

  it.each(['skip', 'queue'] as const)('leaves what came due meanwhile to catchUp, with overlap %s', (overlap) => {
    expect(next({ overlap, catchUp: 'all' })).toEqual({ trigger: 'catchUp', due: 10, owed: [] });
    const end =
      overlap === 'skip'
        ? ['catchUpNone 4', 'overlapSkip 1']
        : { trigger: 'schedule', due: 50, owed: ['catchUpNone 4'] };
    expect(next({ overlap, catchUp: 'none' })).toEqual(end);
  });

  it('runs the newest missed one, although a newer one came during the attempt that followed', () => {
    const skip = next({ overlap: 'skip', catchUp: 'latest' });
    expect(skip).toEqual({ trigger: 'catchUp', due: 40, owed: ['catchUpLatest 3'] });
    const queue = next({ overlap: 'queue', catchUp: 'latest' });
    expect(queue).toEqual({ trigger: 'schedule', due: 50, owed: ['catchUpLatest 4'] });
  });

  it('gives way to missed due times with overlap cancel, unless these never run', () => {
    const cancel = (catchUp: 'all' | 'none') => {
      const job = jobSpec('a', '5-45/10 * * * *', { ...settings, overlap: 'cancel', catchUp });
      const row = ranRow(job, { claimedAt: died, started: died });
      const decision = decide(situation(job, back, { row, lease: 'expired', record: 'none' }));
      return decision.kind === 'claim' ? decision.claim.end : decision;
    };
    expect(cancel('all')).toEqual({ outcome: 'cancelled', reason: 'overlapCancel' });
    expect(cancel('none')).toBeUndefined();
  });

  it('counts a retry that nobody made in time as a standstill too', () => {
    const job = jobSpec('a', '*/10 * * * *', settings);
    const row = ranRow(job, { phase: 'retrying', notBefore: T0 + 2 * MINUTE });
    const decision = decide(situation(job, back, { row }));
    const from = T0 + 2 * MINUTE + 40 * SECOND;
    expect(decision).toMatchObject({ kind: 'claim', claim: { row: { stood: [{ from, until: back }] } } });
  });
});
