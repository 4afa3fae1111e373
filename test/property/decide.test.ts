import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JobName, Token } from '../../src/core/brand';
import { type Control, NO_CONTROL, currentPause } from '../../src/core/control';
import type { Decision, Situation } from '../../src/core/decide/situation';
import { decide } from '../../src/core/decide/decide';
import type { Reason, Stretch } from '../../src/core/outcome';
import { type JobSpec, actualTime } from '../../src/core/job';
import type { RequiredJobs } from '../../src/core/requires';
import { type Row, decodeRow, encodeRow, newRow } from '../../src/core/row';
import { jobSpec } from '../support/job';
import { runs } from '../support/runs';
import { attemptLimit } from '../support/situation';

const START = Date.UTC(2026, 0, 1);
const LOOK_AHEAD = 5_000;
/** The most readings for one decision. */
const READS = 2;

/** One job's life without I/O: decisions are applied as the coordinator applies them. */
class Life {
  row: Row;
  control: Control = NO_CONTROL;
  now = START;
  /** Outcome by due time. */
  readonly ledger = new Map<number, string>();
  readonly manual: string[] = [];
  private runEnds: number | undefined;
  /** The end of a dead holder's lease. */
  private leaseEnds: number | undefined;
  /** When no instance can have been at work on the run, which its holder's death left. */
  private readonly stood: { readonly from: number; readonly until: number }[] = [];
  private attemptBegan = 0;
  readonly required = new Required();

  constructor(readonly job: JobSpec) {
    this.row = newRow(START, 0, job.scheduleHash);
  }

  situation(lease: Situation['lease']): Situation {
    return {
      job: this.job,
      revision: 0,
      row: this.row,
      lease,
      control: this.control,
      listedAt: Math.floor(this.now / 1000) * 1000,
      firstSeenAt: Math.floor(this.now / 1000) * 1000,
      itemsLimitMs: 0,
      attemptLimitMs: attemptLimit(this.job),
      now: this.now,
      record: 'unread',
      required: this.job.requires.length === 0 ? undefined : this.required.known(),
      lookAheadMs: LOOK_AHEAD,
      sweepIntervalMs: 60_000,
    };
  }

  /** Decides on the free row, and reads the ledger of the required job as often as the decision asks for it. */
  private decideFree(): Decision {
    let decision = decide(this.situation('available'));
    // A reading down to a newer due time may show a change, after which an older due time needs its own reading.
    for (let reads = 0; decision.kind === 'readRequired' && reads < READS; reads += 1) {
      expect(decision.jobs).toEqual(this.job.requires);
      this.required.read(decision.since, this.situation('available').listedAt);
      decision = decide(this.situation('available'));
    }
    return decision;
  }

  /** No file has the job from now on, and a sweep sees that, unless the job has a run. */
  leave(lasts: number): void {
    this.settleIfOver();
    if (this.runEnds !== undefined || this.leaseEnds !== undefined) return;
    this.row = { ...this.row, leftSince: this.situation('available').listedAt };
    this.now += lasts;
  }

  /** The holder of the run dies. */
  die(): void {
    this.settleIfOver();
    if (this.runEnds === undefined) return;
    this.runEnds = undefined;
    this.leaseEnds = this.now + this.job.leaseMs;
  }

  /** One check; a claim starts a run, or the next attempt of one, that takes `duration`. */
  check(duration: number): void {
    this.settleIfOver();
    if (this.leaseEnds !== undefined) {
      if (this.now >= this.leaseEnds) this.takeOver(duration);
      return;
    }
    if (this.runEnds !== undefined) {
      expect(['nothing', 'wait']).toContain(decide(this.situation('held')).kind);
      return;
    }
    const decision = this.decideFree();
    expect(decision.kind).not.toBe('readRequired');
    // What came while no file had the job has its outcome before anything is claimed.
    if (this.row.leftSince !== undefined) expect(decision.kind).toBe('record');
    if (decision.kind === 'record') this.write(decision.row);
    if (decision.kind !== 'claim') return;
    const { claim } = decision;
    expect(claim.run.kind).toBe('known');
    if (claim.run.kind !== 'known') return;
    const { key, scheduledFor } = claim.run;
    this.write({
      ...claim.row,
      run: { key, scheduledFor, trigger: claim.trigger, since: this.situation('held').listedAt },
    });
    this.row = { ...this.row, token: (this.row.token + 1) as Token };
    if (claim.trigger === 'manual') this.manual.push(key);
    else {
      expect(this.isMet(scheduledFor), `${new Date(scheduledFor).toISOString()} ran too early`).toBe(true);
      this.checkMissed(scheduledFor, claim.trigger);
      this.decided(scheduledFor, 'ran');
    }
    const due = claim.trigger === 'manual' ? this.now : actualTime(this.job, scheduledFor);
    this.begin(Math.max(this.now, due), duration);
  }

  private begin(at: number, duration: number): void {
    this.attemptBegan = at;
    this.runEnds = at + Math.min(duration, this.job.timeoutMs ?? Infinity);
  }

  private takeOver(duration: number): void {
    const s = this.situation('expired');
    const decision = decide({ ...s, record: 'none' });
    if (decision.kind !== 'claim') throw new Error(decision.kind);
    const { claim } = decision;
    expect(claim.what).toBe('takeOver');
    const from = this.attemptBegan + attemptLimit(this.job) + this.job.leaseMs;
    this.stood.push({ from, until: Math.min(this.now, s.listedAt + 1_000) });
    this.leaseEnds = undefined;
    this.write({ ...claim.row, token: (this.row.token + 1) as Token });
    this.begin(this.now, claim.end === undefined ? duration : 0);
  }

  private isMissed(due: number): boolean {
    const at = actualTime(this.job, due);
    return this.stood.some(({ from, until }) => from <= at && at < until);
  }

  /** What came due while no instance was at work runs only by `catchUp`. */
  private checkMissed(due: number, trigger: string): void {
    const isOld = this.now - actualTime(this.job, due) > this.job.leaseMs + 20_000;
    if (!this.isMissed(due) || !isOld || this.job.requires.length > 0) return;
    expect({ trigger, catchUp: this.job.catchUp }).toEqual({
      trigger: 'catchUp',
      catchUp: expect.not.stringMatching('none'),
    });
  }

  private settleIfOver(): void {
    if (this.runEnds === undefined || this.now < this.runEnds) return;
    const next = this.job.timetable.next(this.row.cursor);
    if (next !== undefined && actualTime(this.job, next) <= this.runEnds) {
      this.row = { ...this.row, busyUntil: this.runEnds };
    }
    this.runEnds = undefined;
  }

  private write(row: Row): void {
    expect(row.cursor).toBeGreaterThanOrEqual(this.row.cursor);
    expect(row.manualTaken).toBeGreaterThanOrEqual(this.row.manualTaken);
    expect(decodeRow(encodeRow(row))).toEqual(row);
    for (const stretch of row.owed) this.record(stretch);
    this.row = { ...row, owed: [] };
    expect(row.leftSince).toBeUndefined();
  }

  private record(stretch: Stretch): void {
    if (stretch.request !== undefined) {
      this.manual.push(stretch.request);
      return;
    }
    let at: number | undefined = stretch.from;
    let count = 0;
    while (at !== undefined && at <= stretch.through) {
      this.decided(at, stretch.outcome);
      this.checkWait(at, stretch.reason);
      if (stretch.outcome === 'overlapped') {
        expect(this.isMissed(at), `${new Date(at).toISOString()} was overlapped by nobody`).toBe(false);
      }
      count += 1;
      at = this.job.timetable.next(at);
    }
    if (stretch.count === 0) expect(stretch).toMatchObject({ outcome: 'disabled', reason: 'notInFile' });
    else expect(count).toBe(stretch.count);
  }

  /** Whether the required job has a success that was due after the previous due time. */
  private isMet(at: number, by = Infinity): boolean {
    if (this.job.requires.length === 0) return true;
    return this.required.newestBy(by) > (this.job.timetable.previous(at) ?? -Infinity);
  }

  /** While a due time waits, it expires by `requireWithin` or by its window, and by nothing else. */
  private checkWait(at: number, reason: Reason): void {
    if (reason === 'requirementNotMet') {
      const until = actualTime(this.job, at) + this.job.requireWithinMs;
      // A listing's Date is cut to whole seconds: one that reads as the last second may come just before a success at
      // the beginning of that second.
      const isMet = this.isMet(at, until - 1_000 - 1);
      expect(isMet, `${new Date(at).toISOString()} expired although it could run`).toBe(false);
      expect(this.now).toBeGreaterThanOrEqual(until);
      return;
    }
    const waits = ['overlapSkip', 'overlapNewer', 'catchUpLatest', 'catchUpNone'].includes(reason);
    if (waits) expect(this.isMet(at), `${new Date(at).toISOString()} got ${reason} while it waited`).toBe(true);
  }

  private decided(at: number, outcome: string): void {
    expect(this.ledger.has(at), `${new Date(at).toISOString()} was decided before`).toBe(false);
    this.ledger.set(at, outcome);
  }

  /** Once nothing disturbs, every due time up to now must have its outcome. */
  rest(): void {
    // Faster than any of the schedules, so that a backlog of `all` drains.
    for (let step = 0; step < 8_000; step += 1) {
      this.now += 50;
      this.check(0);
    }
  }
}

/** The job that another one requires: what succeeded, and what is known of it. */
class Required {
  private readonly successes: { readonly due: number; readonly at: number }[] = [];
  /** The listings are old: no one sees that it has succeeded since. */
  isHidden = false;
  private version = 0;
  private readVersion = -1;
  private succeeded = -Infinity;
  private readTo = Infinity;
  private readAt = -Infinity;

  succeed(due: number, at: number): void {
    this.successes.push({ due, at });
    this.version += 1;
  }

  /** The newest due time that had succeeded by then. */
  newestBy(by: number): number {
    return Math.max(-Infinity, ...this.successes.filter(({ at }) => at <= by).map(({ due }) => due));
  }

  known(): RequiredJobs {
    const known = {
      succeeded: this.succeeded === -Infinity ? undefined : this.succeeded,
      ...{ readTo: this.readTo, readAt: this.readAt },
      isStale: !this.isHidden && this.readVersion !== this.version,
      isBusy: this.version % 2 === 1,
    };
    return new Map([['required' as JobName, known]]);
  }

  read(since: number, listedAt: number): void {
    const newest = this.newestBy(Infinity);
    this.succeeded = newest > since ? newest : this.succeeded;
    this.readTo = this.readVersion === this.version ? Math.min(this.readTo, since) : since;
    this.readAt = listedAt;
    this.readVersion = this.version;
    this.isHidden = false;
  }
}

const schedules = ['@every 10s', '@every 1m', '*/7 * * * *', '0 */3 * * *', '* * * * * *'];

const settings = fc.record({
  catchUp: fc.constantFrom('latest', 'all', 'none'),
  overlap: fc.constantFrom('skip', 'queue', 'cancel'),
  catchUpWindowMs: fc.constantFrom(60_000, 600_000, 3_600_000),
  offsetMs: fc.constantFrom(0, 7_000),
  timeoutMs: fc.constantFrom(20_000, 600_000),
  ...{ requires: fc.constant([]), requireWithinMs: fc.constant(0) },
});

/** Of a job that requires another one. Its waits end while the job rests. */
const requiring = fc.record({
  catchUp: fc.constantFrom('latest', 'all', 'none'),
  overlap: fc.constantFrom('skip', 'queue'),
  catchUpWindowMs: fc.constantFrom(60_000, 600_000, 3_600_000),
  offsetMs: fc.constantFrom(0, 7_000),
  requires: fc.constant(['required' as JobName]),
  requireWithinMs: fc.constantFrom(5_000, 50_000, 200_000),
});

function resumed(pauses: Control['pauses'], now: number): Control['pauses'] {
  return pauses.map((pause) => ({ ...pause, until: Math.min(pause.until ?? now, now) }));
}

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('check' as const),
      after: fc.integer({ min: 10, max: 20_000 }),
      duration: fc.integer({ min: 0, max: 90_000 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('away' as const), after: fc.integer({ min: 1_000, max: 1_500_000 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('pause' as const),
      // When it is to end by itself.
      lasts: fc.option(fc.integer({ min: 1_000, max: 1_500_000 }), { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'resume' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'die' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'request' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('succeed' as const), late: fc.integer({ min: 0, max: 300_000 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'hide' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('leave' as const), lasts: fc.integer({ min: 1_000, max: 1_500_000 }) }),
  },
);

describe('a job that requires another one', () => {
  it('runs each due time that the other one lets run in time, however often both are late', () => {
    const late = fc.integer({ min: 0, max: 600_000 });
    const requires = ['required' as JobName] as [JobName];
    const waits = { catchUpWindowMs: 60_000, requires, requireWithinMs: 5_000 } as const;
    fc.assert(
      fc.property(fc.array(late, { minLength: 1, maxLength: 20 }), requiring, (delays, chosen) => {
        // Both are due every minute, and the required job takes `delay` each time.
        const job = jobSpec('a', '* * * * *', { ...chosen, catchUpWindowMs: 3_600_000, requireWithinMs: 1_200_000 });
        const life = new Life({ ...job, catchUp: 'all' });
        const ends = delays.map((delay, index) => START + (index + 1) * 60_000 + delay);
        const last = Math.max(...ends) + 60_000;
        for (let succeeded = 0; life.now < last; life.now += 500) {
          while (succeeded < ends.length && (ends[succeeded] ?? 0) <= life.now) {
            succeeded += 1;
            life.required.succeed(START + succeeded * 60_000, life.now);
          }
          life.check(0);
        }
        for (let index = 1; index <= delays.length; index += 1) {
          expect(life.ledger.get(START + index * 60_000)).toBe('ran');
        }
      }),
      {
        numRuns: runs(40), // The run of the first one begins in the second in which the next one comes.
        examples: [[[60_001, 0], { catchUp: 'latest', overlap: 'skip', offsetMs: 0, ...waits }]],
      },
    );
  });

  it('expires no due time that could run, however old the listings of the required job are', () => {
    const within = 120_000;
    const job = jobSpec('a', '*/7 * * * *', { requires: ['required' as JobName], requireWithinMs: within });
    const due = START + 7 * 60_000;
    const second = fc.integer({ min: 0, max: 140 });
    fc.assert(
      fc.property(second, second, second, (hidden, more, between) => {
        const life = new Life(job);
        const succeeds = Math.min(140, hidden + more);
        for (let at = 0; at <= 140; at += 1) {
          life.now = due + at * 1000;
          if (at === hidden) life.required.isHidden = true;
          if (at === succeeds && at < 140) life.required.succeed(due, life.now);
          // Most checks come before the success, and the next one long after it.
          if (at < hidden || at > succeeds + between || at === 140) life.check(0);
        }
        const outcome = life.ledger.get(due);
        if (succeeds * 1000 < within - 1000) expect(outcome).toBe('ran');
        if (succeeds === 140) expect(outcome).toBe('expired');
      }),
      { numRuns: runs(300) },
    );
  });
});

describe('decide', () => {
  it(
    'gives every due time exactly one outcome, whatever happens, and never moves the cursor back',
    { timeout: 600_000 },
    () => {
      fc.assert(
        fc.property(
          fc.constantFrom(...schedules),
          fc.oneof({ weight: 2, arbitrary: settings }, { weight: 1, arbitrary: requiring }),
          fc.array(step, { maxLength: 60 }),
          (schedule, chosen, steps) => {
            const life = new Life(jobSpec('a', schedule, chosen));
            let requests = 0;
            for (const taken of steps) {
              switch (taken.kind) {
                case 'check':
                  life.now += taken.after;
                  life.check(taken.duration);
                  break;
                case 'away':
                  life.now += taken.after;
                  break;
                case 'pause':
                  if (currentPause(life.control, life.now) === undefined) {
                    const until = taken.lasts === undefined ? undefined : life.now + taken.lasts;
                    const pause = { by: 'x', note: 'n', since: life.now, until };
                    life.control = { ...life.control, pauses: [...life.control.pauses, pause] };
                  }
                  break;
                case 'die':
                  life.die();
                  break;
                case 'resume':
                  life.control = {
                    ...life.control,
                    pauses: resumed(life.control.pauses, life.now),
                  };
                  break;
                case 'succeed':
                  life.required.succeed(life.now - taken.late, life.now);
                  break;
                case 'leave':
                  life.leave(taken.lasts);
                  break;
                case 'hide':
                  life.required.isHidden = true;
                  break;
                case 'request':
                  requests += 1;
                  life.control = {
                    ...life.control,
                    manualRuns: [
                      ...life.control.manualRuns,
                      { number: requests, id: `r${String(requests)}`, time: life.now },
                    ],
                  };
              }
            }
            life.control = {
              ...life.control,
              pauses: resumed(life.control.pauses, life.now),
            };
            const before = life.now;
            life.rest();
            expect(life.manual).toHaveLength(requests);
            for (
              let due = life.job.timetable.next(START);
              due !== undefined && actualTime(life.job, due) <= before;
              due = life.job.timetable.next(due)
            ) {
              expect(life.ledger.has(due), `${new Date(due).toISOString()} has no outcome`).toBe(true);
            }
          },
        ),
        { numRuns: runs(100) },
      );
    },
  );

  it('never decides past what the listing allows, however fast the local clock is', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 3_600_000 }), fc.integer({ min: 0, max: 600_000 }), (elapsed, fast) => {
        const life = new Life(jobSpec('a', '@every 10s', { catchUp: 'latest' }));
        life.now = START + elapsed;
        const situation = { ...life.situation('available'), now: life.now + fast };
        const decision = decide(situation);
        const limit = situation.listedAt + 1000 + LOOK_AHEAD;
        if (decision.kind === 'claim' || decision.kind === 'record') {
          const row = decision.kind === 'claim' ? decision.claim.row : decision.row;
          expect(row.cursor).toBeLessThanOrEqual(limit);
          for (const stretch of row.owed) expect(stretch.through).toBeLessThanOrEqual(limit);
        }
      }),
    );
  });

  it('never claims what is decided', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 3_600_000 }), (ahead) => {
        const life = new Life(jobSpec('a', '@every 10s'));
        life.row = { ...life.row, cursor: START + ahead };
        life.now = START + 60_000;
        const decision = decide(life.situation('available'));
        if (decision.kind === 'claim' && decision.claim.run.kind === 'known') {
          expect(decision.claim.run.scheduledFor).toBeGreaterThan(START + ahead);
        }
      }),
    );
  });
});
