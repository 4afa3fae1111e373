import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JobName, Token } from '../../src/core/brand';
import {
  BACKFILL_PRIORITY,
  EMPTY_GROUP,
  ForeignGroupError,
  type Group,
  type Member,
  type RowSight,
  type WaitingMember,
  enter,
  hasPlace,
  inOrder,
  isOut,
  leave,
  readGroup,
  storeGroup,
  without,
} from '../../src/core/group';
import { type Row, newRow } from '../../src/core/row';
import { runs } from '../support/runs';

const JOBS = ['a', 'b', 'c', 'd', 'e'] as JobName[];

/** A job as it really is. */
interface Life {
  readonly job: JobName;
  token: number;
  /** The number of its run. */
  run: number;
  phase: Row['phase'];
  /** An instance holds its lease, and trusts it. */
  isHeld: boolean;
  notBefore: number | undefined;
  /** The attempt that asked for a place, and whether it knows that it has one. */
  asked: WaitingMember | undefined;
  isAtWork: boolean;
}

type Step =
  | { readonly kind: 'claim'; readonly job: number; readonly isNew: boolean; readonly priority: number }
  | { readonly kind: 'ask' | 'leave' | 'release' | 'die' | 'fan' | 'look'; readonly job: number }
  | { readonly kind: 'useSight'; readonly which: number }
  | { readonly kind: 'pass'; readonly ms: number };

const job = fc.nat(JOBS.length - 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('claim' as const), job, isNew: fc.boolean(), priority: fc.nat(2) }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('ask' as const), job }) },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constantFrom('leave', 'release', 'die', 'fan', 'look'), job }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('useSight' as const), which: fc.nat(30) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(50) }) },
);

/** Plays steps of jobs of one group, in which every attempt goes by the rules and may die at any point. */
class World {
  readonly lives: readonly Life[] = JOBS.map((name) => ({
    job: name,
    token: 0,
    run: 0,
    phase: 'idle',
    isHeld: false,
    notBefore: undefined,
    asked: undefined,
    isAtWork: false,
  }));
  readonly sights: { readonly job: JobName; readonly sight: RowSight }[] = [];
  readonly proven = new Set<string>();
  group: Group = EMPTY_GROUP;
  now = 1_000;

  constructor(private readonly limit: number) {}

  play(one: Step): void {
    if (one.kind === 'pass') this.now += one.ms;
    else if (one.kind === 'useSight') this.useSight(one.which);
    else {
      const life = this.lives[one.job];
      if (life === undefined) throw new Error('no such job');
      this.now += 1;
      this.act(life, one);
    }
    this.check();
  }

  private act(life: Life, one: Extract<Step, { job: number }>): void {
    switch (one.kind) {
      case 'claim': {
        // The lease of the last holder has ended, or its items' time is over.
        if (life.isHeld) return;
        const isNew = one.isNew && life.phase !== 'fanning';
        life.run += isNew || life.run === 0 ? 1 : 0;
        life.token += 1;
        life.phase = 'running';
        life.isHeld = true;
        life.isAtWork = false;
        const { job: name, token, run } = life;
        life.asked = { job: name, token, key: `run-${String(run)}`, priority: one.priority, came: this.now };
        return;
      }
      case 'ask': {
        const { asked } = life;
        if (!life.isHeld || asked === undefined) return;
        const before = this.group;
        this.group = enter(
          without(before, (member) => this.proven.has(idOf(member))),
          asked,
          this.limit,
        );
        life.isAtWork = hasPlace(this.group, asked);
        const others = inOrder(before.waiting).filter(
          (other) => !this.proven.has(idOf(other)) && other.job !== life.job,
        );
        const kept = before.running.some((member) => member.job === life.job && member.key === asked.key);
        const hasJustEntered = life.isAtWork && !kept;
        const passed = others.filter((other) => goesBefore(other, asked));
        const left = this.limit - this.group.running.length;
        // Those that go before it find as many places left as they are.
        if (hasJustEntered) expect(left).toBeGreaterThanOrEqual(passed.length);
        return;
      }
      case 'leave':
        if (life.asked === undefined || !life.isHeld) return;
        life.isAtWork = false;
        this.group = leave(this.group, life.asked);
        expect(hasPlace(this.group, life.asked)).toBe(false);
        return;
      case 'release':
        if (!life.isHeld) return;
        life.isHeld = false;
        life.isAtWork = false;
        life.asked = undefined;
        return;
      case 'die':
        life.isHeld = false;
        // Its items live on.
        if (life.phase !== 'fanning') life.isAtWork = false;
        life.asked = undefined;
        return;
      case 'fan':
        if (!life.isHeld || !life.isAtWork) return;
        life.phase = 'fanning';
        life.notBefore = this.now + 60;
        life.isHeld = false;
        return;
      case 'look':
        this.sights.push({ job: life.job, sight: this.sightOf(life) });
    }
  }

  private sightOf({ token, run, phase, isHeld, notBefore }: Life): RowSight {
    const key = `run-${String(run)}`;
    const row: Row = {
      ...newRow(0, 0, 'hash'),
      token: token as Token,
      phase,
      notBefore,
      run: run === 0 ? undefined : { key, scheduledFor: 0, trigger: 'schedule', since: 0 },
    };
    return { isHeld, row, date: this.now };
  }

  /** A sight of any age may prove someone out, who is then out permanently. */
  private useSight(which: number): void {
    const found = this.sights[which % Math.max(1, this.sights.length)];
    if (found === undefined) return;
    for (const member of [...this.group.running, ...this.group.waiting]) {
      if (member.job === found.job && isOut(member, found.sight)) this.proven.add(idOf(member));
    }
  }

  check(): void {
    const { running, waiting } = this.group;
    expect(running.length).toBeLessThanOrEqual(this.limit);
    const jobs = [...running, ...waiting].map((member) => member.job);
    expect(new Set(jobs).size).toBe(jobs.length);
    let atWork = 0;
    for (const life of this.lives) {
      const itemsWork = life.phase === 'fanning' && this.now < (life.notBefore ?? 0);
      const isAtWork = life.isAtWork && (life.isHeld || itemsWork);
      if (!isAtWork) continue;
      atWork += 1;
      const place = running.find((member) => member.job === life.job);
      expect(place).toMatchObject({ token: life.token });
      expect(place !== undefined && this.proven.has(idOf(place))).toBe(false);
    }
    expect(atWork).toBeLessThanOrEqual(this.limit);
  }
}

function idOf({ job: name, token }: Member): string {
  return `${name} ${String(token)}`;
}

function goesBefore(one: WaitingMember, other: WaitingMember): boolean {
  return one.priority > other.priority || (one.priority === other.priority && one.came < other.came);
}

describe('a group, whoever asks, leaves, dies and looks at old listings', () => {
  it('never has more at work than it may, and loses nobody who is at work', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3 }), fc.array(step, { maxLength: 120, size: 'max' }), (limit, steps) => {
        const world = new World(limit);
        for (const one of steps) world.play(one);
      }),
      { numRuns: runs(2_000) },
    );
  });

  it('lets everybody in at last, once those before have left, in their order', () => {
    const waiting = fc.record({ priority: fc.nat(3), came: fc.nat(3) });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3 }), fc.array(waiting, { maxLength: 12 }), (limit, drawn) => {
        const all = drawn.map((one, index): WaitingMember => {
          return { ...one, job: `j${String(index)}` as JobName, token: 1, key: 'k' };
        });
        let group = all.reduce((into, one) => enter(into, one, limit), EMPTY_GROUP);
        const turns: WaitingMember[] = all.filter((one) => hasPlace(group, one));
        expect(turns.length).toBe(Math.min(limit, all.length));
        for (let index = 0; index < all.length; index += 1) {
          const next = turns[index];
          if (next === undefined) throw new Error('somebody starves');
          group = leave(group, next);
          // Whoever looks first changes nothing in the order.
          for (const one of all.toReversed()) {
            if (turns.includes(one)) continue;
            group = enter(group, one, limit);
            if (hasPlace(group, one)) turns.push(one);
          }
        }
        expect(turns).toHaveLength(all.length);
        const later = turns.slice(limit);
        for (const [index, one] of later.entries()) {
          for (const other of later.slice(index + 1)) expect(goesBefore(other, one)).toBe(false);
        }
      }),
    );
  });

  it('stays as it is when somebody asks again, or asks with a claim that a later one has ended', () => {
    const member = (token: number): WaitingMember => ({ job: 'a' as JobName, token, key: 'k', priority: 5, came: 1 });
    const other: WaitingMember = { ...member(1), job: 'b' as JobName };
    const running = enter(EMPTY_GROUP, member(2), 1);
    expect(enter(running, member(2), 1)).toBe(running);
    expect(enter(running, member(1), 1)).toBe(running);
    const waiting = enter(enter(EMPTY_GROUP, other, 1), member(2), 1);
    expect(enter(waiting, member(2), 1)).toBe(waiting);
    expect(enter(waiting, member(1), 9)).toBe(waiting);
    expect(leave(waiting, member(1))).toBe(waiting);
    // A later claim ends both.
    expect(enter(waiting, member(3), 1).waiting).toEqual([member(3)]);
    expect(leave(waiting, member(3)).waiting).toEqual([]);
  });

  it('comes back from storage as it was', () => {
    const member = fc.record({ job: fc.constantFrom(...JOBS), token: fc.nat(), key: fc.string() });
    const waits = fc.record({ priority: fc.integer({ min: BACKFILL_PRIORITY, max: 9 }), came: fc.nat() });
    const waiting = fc.tuple(member, waits).map(([one, other]) => ({ ...one, ...other }));
    fc.assert(
      fc.property(fc.record({ running: fc.array(member), waiting: fc.array(waiting) }), (group) => {
        expect(readGroup('db', storeGroup(group))).toEqual(group);
      }),
    );
  });

  it.each([
    '',
    '[]',
    '{}',
    '{"format":2,"running":[],"waiting":[]}',
    '{"format":1,"running":{},"waiting":[]}',
    '{"format":1,"running":[{"job":"a","token":"1","key":"k"}],"waiting":[]}',
    '{"format":1,"running":[],"waiting":[{"job":"a","token":1,"key":"k","priority":5}]}',
    '{"format":1,"running":[],"waiting":[{"job":"a","token":1,"key":"k","came":5}]}',
  ])('is refused with a remedy where it is not one: %s', (text) => {
    expect(() => readGroup('db', text)).toThrow(ForeignGroupError);
    expect(() => readGroup('db', text)).toThrow(/groups\/db cannot be read.*delete it/s);
  });
});
