import { expect } from 'vitest';
import type { Backfill, BackfillLedger } from '../../src/core/backfill';
import type { Token } from '../../src/core/brand';
import { type Control, NO_CONTROL, currentPause } from '../../src/core/control';
import { decide } from '../../src/core/decide/decide';
import type { Claim, Decision, Situation } from '../../src/core/decide/situation';
import { claimTime, outsidePauses } from '../../src/core/decide/verdict';
import type { Reason } from '../../src/core/outcome';
import { type JobSpec, actualTime } from '../../src/core/job';
import { parseRecordKey, recordKey } from '../../src/core/key';
import { type Row, decodeRow, encodeRow, newRow } from '../../src/core/row';

const START = Date.UTC(2026, 0, 1);
const LOOK_AHEAD = 5_000;
export const BACKOFF_MS = 20_000;
export const ATTEMPTS = 3;
const ORIGIN = { actor: 'ann', channel: 'shell' } as const;

type Outcome = 'succeeded' | 'failed';
/** How an attempt ends. `dies`: its holder does, and no one knows more. */
export type AttemptEnd = Outcome | 'retries' | 'dies';

interface Attempt {
  readonly key: string;
  readonly from: number;
  readonly until: number;
  readonly end: AttemptEnd;
}

/** One job's life with back-fills, without I/O: decisions are applied as the coordinator applies them. */
export class BackfillLife {
  row: Row;
  control: Control = NO_CONTROL;
  now = START;
  /** Each run that has begun, by its record's key: the record is final once it has an outcome. */
  readonly records = new Map<string, Outcome | 'cancelled' | undefined>();
  /** The outcomes of due times that did not run. */
  readonly unrun = new Map<number, { readonly outcome: string; readonly reason: Reason }>();
  /** Back-filled due times in the order in which they began, by back-fill. */
  readonly begun = new Map<string, number[]>();
  /** The due times that each back-fill covers. */
  readonly wanted = new Map<string, readonly number[]>();
  /** The last attempt of each run. */
  private readonly attempts = new Map<string, number>();
  private requestedAt = -Infinity;
  /** The stretches of time in which an attempt of a back-filled run was at work. */
  readonly atWork: Pick<Attempt, 'from' | 'until'>[] = [];
  /** Those of all other runs, each from the whole second in which its run began, as a row has it. */
  readonly dueWork: Pick<Attempt, 'from' | 'until'>[] = [];
  readonly manual: string[] = [];
  /** Back-fills whose progress an older build dropped. */
  readonly dropped = new Set<string>();
  private attempt: Attempt | undefined;
  private lease: Situation['lease'] = 'available';
  private version = 0;
  private ledger: { readonly id: string; readonly version: number; readonly known: BackfillLedger } | undefined;

  constructor(readonly job: JobSpec) {
    this.row = newRow(START, 0, job.scheduleHash);
  }

  get backfill(): Backfill | undefined {
    return this.control.backfill;
  }

  get isAtWork(): boolean {
    return this.attempt !== undefined;
  }

  private situation(lease: Situation['lease']): Situation {
    const listedAt = Math.floor(this.now / 1000) * 1000;
    return {
      ...{ job: this.job, revision: 0, row: this.row, lease, control: this.control },
      ...{ listedAt, firstSeenAt: listedAt, now: this.now },
      record: lease === 'expired' ? 'open' : 'unread',
      backfillLedger: this.known(),
      ...{ lookAheadMs: LOOK_AHEAD, sweepIntervalMs: 60_000, itemsLimitMs: 0, attemptLimitMs: Infinity },
    };
  }

  /** What was read holds for the row that it was read for, and for each later one that has the progress. */
  private known(): BackfillLedger | undefined {
    const { ledger, backfill } = this;
    if (ledger === undefined || ledger.id !== backfill?.id) return undefined;
    return this.row.backfill?.id === ledger.id || ledger.version === this.version ? ledger.known : undefined;
  }

  private read(due: number, id: string): void {
    const [from, through] = [due - 200_000, due + 100_000];
    const before = this.known()?.read ?? [];
    const [succeeded, ended, open] = [new Set<number>(), new Set<number>(), new Set<number>()];
    for (const [key, outcome] of this.records) {
      const { scheduledFor = 0, request } = parseRecordKey(key) ?? {};
      if (request === id) (outcome === undefined ? open : ended).add(scheduledFor);
      else if (outcome === 'succeeded' && !this.manual.includes(key)) succeeded.add(scheduledFor);
    }
    const known = { read: [...before, { from, through }], succeeded, ended, open };
    this.ledger = { id, version: this.version, known };
  }

  /** One check; a claim starts an attempt that takes `duration` and ends as `end` does. */
  check(duration: number, end: AttemptEnd): void {
    this.endAttempt();
    if (this.attempt !== undefined) {
      expect(['nothing', 'wait']).toContain(decide(this.situation('held')).kind);
      return;
    }
    let decision: Decision = decide(this.situation(this.lease));
    for (let reads = 0; decision.kind === 'readBackfill' && reads < 100; reads += 1) {
      this.read(decision.due, this.backfill?.id ?? '');
      decision = decide(this.situation(this.lease));
    }
    expect(decision.kind).not.toBe('readBackfill');
    if (decision.kind === 'record') {
      this.write(decision.row);
      this.lease = 'available';
    }
    if (decision.kind === 'claim') this.claim(decision.claim, duration, end);
  }

  private claim(claim: Claim, duration: number, end: AttemptEnd): void {
    const { run, what } = claim;
    if (run.kind !== 'known') throw new Error('a timed job has no terms');
    const { key, scheduledFor, asked } = run;
    const isBackfilled = this.isBackfilled(key);
    if (isBackfilled) this.checkBackfilled(claim, key, scheduledFor);
    const isBegun = this.records.has(key);
    const attempt = (this.attempts.get(key) ?? 0) + 1;
    // The progress had the attempts of a run that was aside.
    if (!this.dropped.has(parseRecordKey(key)?.request ?? '')) expect(claim.row.attempt, key).toBe(attempt);
    this.attempts.set(key, attempt);
    if (what === 'first') {
      expect(isBegun, `${key} ran again`).toBe(false);
      if (claim.trigger === 'manual') {
        this.manual.push(key);
        this.requestedAt = this.now;
      }
    } else {
      expect(isBegun && this.records.get(key) === undefined, `${key} continues, and is not open`).toBe(true);
    }
    this.records.set(key, undefined);
    const since = this.situation('held').listedAt;
    const row = { ...claim.row, token: (this.row.token + 1) as Token };
    this.write(
      what === 'first' ? { ...row, run: { key, scheduledFor, trigger: claim.trigger, since, ...asked } } : row,
    );
    this.lease = 'held';
    if (claim.end !== undefined) {
      this.attempt = { key, from: this.now, until: this.now, end: 'failed' };
      this.settle(key, claim.end.outcome === 'cancelled' ? 'cancelled' : 'failed');
      return;
    }
    const from = what === 'first' && !isBackfilled ? Math.max(this.now, this.dueAt(key, scheduledFor)) : this.now;
    this.attempt = { key, from, until: from + duration, end };
    if (isBackfilled) this.atWork.push({ from, until: from + duration });
    else this.dueWork.push({ from: this.row.run?.since ?? from, until: from + duration });
  }

  private dueAt(key: string, scheduledFor: number): number {
    return this.manual.includes(key) ? scheduledFor : actualTime(this.job, scheduledFor);
  }

  private isBackfilled(key: string): boolean {
    const request = parseRecordKey(key)?.request;
    return request !== undefined && request.startsWith('fill');
  }

  private checkBackfilled({ what, row, end }: Claim, key: string, due: number): void {
    const id = parseRecordKey(key)?.request ?? '';
    expect(key).toBe(recordKey(due, id));
    expect(end?.reason, `a due time ended the back-filled run ${key}`).not.toBe('overlapCancel');
    // A dead holder's run is taken over at once. Without the progress, the run keeps the row.
    if (what !== 'takeOver' && !this.dropped.has(id)) this.expectNothingDue(row);
    if (this.records.has(key)) return;
    const { backfill } = this;
    expect(what).toBe('first');
    expect(backfill?.id).toBe(id);
    expect(backfill?.stopped, `${key} began after the stop`).toBeUndefined();
    expect(currentPause(this.control, this.now), `${key} began in a pause`).toBeUndefined();
    if (backfill === undefined) return;
    expect(due).toBeGreaterThanOrEqual(backfill.from);
    expect(due).toBeLessThanOrEqual(backfill.through);
    if (!backfill.includeSucceeded) expect(this.hasSucceeded(due), `${key} had succeeded`).toBe(false);
    const begun = this.begun.get(id) ?? [];
    const last = begun.at(-1);
    if (last !== undefined) expect(Math.sign(due - last), key).toBe(backfill.order === 'oldest' ? 1 : -1);
    this.begun.set(id, [...begun, due]);
  }

  /** Due times and requests go before a back-fill. In a pause they wait, while a run of it that has begun continues. */
  private expectNothingDue({ cursor, manualTaken }: Row): void {
    if (currentPause(this.control, this.now) !== undefined) return;
    // A due time of a pause that is over does not run.
    const next = outsidePauses(this.job, this.control, this.job.timetable.next(cursor));
    const at = next === undefined ? Infinity : claimTime(this.job, next, LOOK_AHEAD);
    expect(at, 'a back-fill went before a due time').toBeGreaterThan(this.now);
    expect(manualTaken, 'a back-fill went before a request').toBe(this.control.manualRuns.at(-1)?.number ?? 0);
  }

  hasSucceeded(due: number): boolean {
    return [...this.records].some(
      ([key, outcome]) =>
        outcome === 'succeeded' && !this.manual.includes(key) && parseRecordKey(key)?.scheduledFor === due,
    );
  }

  private endAttempt(): void {
    const { attempt, row } = this;
    if (attempt === undefined || this.now < attempt.until) return;
    const { key, end } = attempt;
    const isLast = row.attempt - row.uncountedAttempts >= ATTEMPTS;
    if (end === 'dies') {
      if (this.now < attempt.until + this.job.leaseMs) return;
      this.lease = 'expired';
      this.attempt = undefined;
    } else if (end === 'retries' && !isLast) {
      this.row = { ...row, phase: 'retrying', notBefore: attempt.until + BACKOFF_MS, owed: [] };
      this.released();
    } else this.settle(key, end === 'succeeded' ? 'succeeded' : 'failed');
  }

  private settle(key: string, outcome: Outcome | 'cancelled'): void {
    const until = this.attempt?.until ?? this.now;
    expect(this.records.get(key), `${key} has ended before`).toBeUndefined();
    this.records.set(key, outcome);
    const next = this.job.timetable.next(this.row.cursor);
    const isBusy = next !== undefined && actualTime(this.job, next) <= until;
    this.row = { ...this.row, phase: 'idle', owed: [], ...(isBusy && { busyUntil: until }) };
    this.released();
  }

  private released(): void {
    this.version += 1;
    this.attempt = undefined;
    this.lease = 'available';
  }

  private write(row: Row): void {
    expect(row.cursor).toBeGreaterThanOrEqual(this.row.cursor);
    expect(row.manualTaken).toBeGreaterThanOrEqual(this.row.manualTaken);
    expect(decodeRow(encodeRow(row))).toEqual(row);
    for (const { from, through, outcome, reason } of row.owed) {
      for (let at: number | undefined = from; at !== undefined && at <= through; at = this.job.timetable.next(at)) {
        expect(this.records.has(recordKey(at)) || this.unrun.has(at), 'decided before').toBe(false);
        this.checkUnrun(at, reason);
        this.unrun.set(at, { outcome, reason });
      }
    }
    this.row = { ...row, owed: [] };
    this.version += 1;
  }

  /** A due time that came while a back-filled run was at work waits for it, or for a newer one that came then too. */
  private checkUnrun(due: number, reason: Reason): void {
    const came = actualTime(this.job, due);
    // In a pause a request goes before the due time, which then waits for the run of the request.
    if (this.requestedAt >= came) return;
    // A run that began in the same second overlaps it: a row knows no fractions.
    if (reason === 'overlapSkip' && this.dueWork.some(({ from, until }) => from <= came && came <= until)) return;
    const work = this.atWork.find(({ from, until }) => from <= came && came < until);
    if (work === undefined || reason === 'paused' || reason === 'catchUpWindow') return;
    expect(reason, `${new Date(due).toISOString()} came during an attempt of a back-fill`).toBe('catchUpLatest');
    expect(this.job.catchUp).not.toBe('all');
    const newer = this.job.timetable.next(due) ?? Infinity;
    expect(newer).toBeLessThanOrEqual(this.now);
  }

  ask(given: Pick<Backfill, 'order' | 'includeSucceeded'>, count: number, back: number): void {
    const last = this.backfill;
    if (last !== undefined && (last.stopped === undefined || this.row.backfill?.aside !== undefined)) return;
    const dues: number[] = [];
    for (let due = this.job.timetable.previous(this.row.cursor + 1); due !== undefined && dues.length < back + count;) {
      dues.push(due);
      due = this.job.timetable.previous(due);
    }
    const chosen = dues.slice(back);
    const { scheduleHash } = this.job;
    const id = `fill${String(this.begun.size)}`;
    this.begun.set(id, []);
    this.wanted.set(id, chosen);
    this.control = {
      ...this.control,
      backfill: {
        ...{ id, from: Math.min(...chosen), through: Math.max(...chosen), ...given },
        ...{ scheduleHash, origin: ORIGIN, at: this.now, stopped: undefined },
      },
    };
  }

  stop(): void {
    const { backfill } = this;
    if (backfill === undefined || backfill.stopped !== undefined) return;
    this.control = { ...this.control, backfill: { ...backfill, stopped: this.now } };
  }

  pause(): void {
    if (currentPause(this.control, this.now) !== undefined) return;
    const pause = { by: 'x', note: 'n', since: this.now, until: undefined };
    this.control = { ...this.control, pauses: [...this.control.pauses, pause] };
  }

  resume(): void {
    const pauses = this.control.pauses.map((pause) => ({ ...pause, until: pause.until ?? this.now }));
    this.control = { ...this.control, pauses };
  }

  request(): void {
    const number = this.control.manualRuns.length + 1;
    const request = { number, id: `r${String(number)}`, time: this.now };
    this.control = { ...this.control, manualRuns: [...this.control.manualRuns, request] };
  }

  /** An older build writes the free row, and drops the progress that it does not know. */
  drop(): void {
    const { backfill } = this.row;
    if (this.attempt !== undefined || backfill === undefined) return;
    this.dropped.add(backfill.id);
    this.row = { ...this.row, backfill: undefined };
    this.version += 1;
  }

  /** Nothing disturbs any more: runs that have begun end, and what waits runs. */
  rest(steps: number): void {
    for (let step = 0; step < steps; step += 1) {
      this.now += 1_000;
      this.check(0, 'succeeded');
    }
  }
}
