import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Token } from '../../src/core/brand';
import type { Control } from '../../src/core/control';
import { currentPause, NO_CONTROL } from '../../src/core/control';
import type { Situation } from '../../src/core/decide/situation';
import { decide } from '../../src/core/decide/decide';
import type { Stretch } from '../../src/core/fate';
import { actualTime } from '../../src/core/job';
import type { JobSpec } from '../../src/core/job';
import type { Row } from '../../src/core/row';
import { decodeRow, encodeRow, newRow } from '../../src/core/row';
import { jobSpec } from '../support/job';

const START = Date.UTC(2026, 0, 1);
const LOOK_AHEAD = 5_000;

/** One job's life without I/O: decisions are applied as the coordinator applies them. */
class Life {
  row: Row;
  control: Control = NO_CONTROL;
  now = START;
  /** Fate by due time. */
  readonly ledger = new Map<number, string>();
  readonly manual: string[] = [];
  private runEnds: number | undefined;

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
      now: this.now,
      record: 'unread',
      lookAheadMs: LOOK_AHEAD,
      sweepIntervalMs: 60_000,
    };
  }

  /** One look; a claim starts a run that takes `duration`. */
  look(duration: number): void {
    this.settleIfOver();
    if (this.runEnds !== undefined) {
      expect(['nothing', 'wait']).toContain(decide(this.situation('held')).kind);
      return;
    }
    const decision = decide(this.situation('available'));
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
    else this.decided(scheduledFor, 'ran');
    const due = claim.trigger === 'manual' ? this.now : actualTime(this.job, scheduledFor);
    this.runEnds = Math.max(this.now, due) + duration;
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
  }

  private record(stretch: Stretch): void {
    if (stretch.request !== undefined) {
      this.manual.push(stretch.request);
      return;
    }
    let at: number | undefined = stretch.from;
    let count = 0;
    while (at !== undefined && at <= stretch.through) {
      this.decided(at, stretch.fate);
      count += 1;
      at = this.job.timetable.next(at);
    }
    expect(count).toBe(stretch.count);
  }

  private decided(at: number, fate: string): void {
    expect(this.ledger.has(at), `${new Date(at).toISOString()} was decided before`).toBe(false);
    this.ledger.set(at, fate);
  }

  /** Once nothing disturbs, every due time up to now must have its fate. */
  rest(): void {
    // Faster than any of the schedules, so that a backlog of `all` drains.
    for (let step = 0; step < 8_000; step += 1) {
      this.now += 50;
      this.look(0);
    }
  }
}

const schedules = ['@every 10s', '@every 1m', '*/7 * * * *', '0 */3 * * *', '* * * * * *'];

const settings = fc.record({
  catchUp: fc.constantFrom('latest', 'all', 'none'),
  overlap: fc.constantFrom('skip', 'queue', 'cancel'),
  catchUpWindowMs: fc.constantFrom(60_000, 600_000, 3_600_000),
  offsetMs: fc.constantFrom(0, 7_000),
});

function resumed(pauses: Control['pauses'], now: number): Control['pauses'] {
  return pauses.map((pause) => ({ ...pause, until: Math.min(pause.until ?? now, now) }));
}

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('look' as const),
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
  { weight: 1, arbitrary: fc.constant({ kind: 'request' as const }) },
);

describe('decide', () => {
  it('gives every due time exactly one fate, whatever happens, and never moves the cursor back', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...schedules),
        settings,
        fc.array(step, { maxLength: 60 }),
        (schedule, chosen, steps) => {
          const life = new Life(jobSpec('a', schedule, chosen));
          let requests = 0;
          for (const taken of steps) {
            switch (taken.kind) {
              case 'look':
                life.now += taken.after;
                life.look(taken.duration);
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
              case 'resume':
                life.control = {
                  ...life.control,
                  pauses: resumed(life.control.pauses, life.now),
                };
                break;
              case 'request':
                requests += 1;
                life.control = {
                  ...life.control,
                  requests: [
                    ...life.control.requests,
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
            expect(life.ledger.has(due), `${new Date(due).toISOString()} has no fate`).toBe(true);
          }
        },
      ),
      { numRuns: 120 },
    );
  });

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
