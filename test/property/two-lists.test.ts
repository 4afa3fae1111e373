import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JobSpec } from '../../src/core/job';
import { LAYOUT, shardOf } from '../../src/core/layout';
import { type LeaseStore, StoreUnavailableError } from '../../src/lease/store';
import { migrate, type ShardChange, applyShards } from '../../src/operator/shards/apply';
import type { LeaseTaker } from '../../src/operator/operations/take-lease';
import { jobSpec } from '../support/job';
import { type Call, type Instance, type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { runs } from '../support/runs';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const LIST = ['https://a.example.net/cronlease', 'https://b.example.net/cronlease'] as const;
const OLD = Array.from({ length: 5 }, (_, index) => jobSpec(`old-${String(index)}`, '* * * * *'));
/** Jobs of the newer file, which no account has seen. */
const NEW = Array.from({ length: 5 }, (_, index) => jobSpec(`new-${String(index)}`, '* * * * *'));

interface Plan {
  /**
   * Seconds after the start: the change, its repetition, the newer file with the old list, the death of its process.
   */
  readonly change: number;
  readonly repeat: number;
  readonly newFile: number;
  readonly death: number;
  /** After how many calls the first command is cut off. */
  readonly cut: number;
  /** When the deployment with two accounts starts. */
  readonly second: number;
}

const plans = fc.record<Plan>({
  change: fc.integer({ min: 5, max: 240 }),
  repeat: fc.integer({ min: 245, max: 400 }),
  newFile: fc.integer({ min: 0, max: 420 }),
  death: fc.integer({ min: 30, max: 900 }),
  cut: fc.oneof(fc.integer({ min: 0, max: 90 }), fc.constant(Infinity)),
  second: fc.integer({ min: 0, max: 300 }),
});

/** The deployment that claims whatever the layouts say, as one of an older version would. */
type Heedless = 'alone' | 'dealt' | 'none';

const WAIT_MS = 2 * MINUTE;
const END_S = 1_100;
const END = Date.UTC(2026, 0, 1) + END_S * SECOND;

/** Two deployments: one has only the first account, and one distributes its jobs over both. */
async function play(plan: Plan, heedless: Heedless): Promise<readonly Call[]> {
  const a = rivalTicks({ jobs: [], deployments: 0 });
  const { clock } = a;
  const b = rivalTicks({ jobs: [], deployments: 0, clock });
  const alone = (jobs: readonly JobSpec[], revision: number): Instance => {
    const instance = a.startInstance('alone', { jobs, revision, place: { accounts: [LIST[0]], index: 0 } });
    if (heedless === 'alone') ignoreLayouts(instance);
    return instance;
  };
  const start = clock.now();
  const at = async (second: number): Promise<void> => {
    await clock.advance(Math.max(0, start + second * SECOND - clock.now()));
  };
  const apply = (cut: number, endRuns: boolean): void => {
    void applyShards(changeOf([a, b], cut, endRuns)).catch(() => undefined);
  };
  const first = alone(OLD, 0);
  let last = first;
  const steps: readonly (readonly [number, () => void])[] = [
    [plan.second, () => startDealt([a, b], heedless)],
    [plan.change, () => apply(plan.cut, false)],
    [plan.repeat, () => apply(Infinity, false)],
    // A holder may have died, and no other deployment with its list is left.
    [700, () => apply(Infinity, true)],
    [plan.newFile, () => void (last = alone([...OLD, ...NEW], 1))],
    [plan.death, () => last.kill()],
  ];
  for (const [second, step] of [...steps].sort(([one], [other]) => one - other)) {
    await at(second);
    step();
  }
  await at(END_S);
  return [...a.calls, ...b.calls];
}

function startDealt(accounts: readonly RivalTicks[], heedless: Heedless): void {
  for (const [index, account] of accounts.entries()) {
    const jobs = [...OLD, ...NEW].filter(({ name }) => shardOf(name, LIST) === index);
    const instance = account.startInstance('dealt', { jobs, revision: 1, place: { accounts: LIST, index } });
    if (heedless === 'dealt') ignoreLayouts(instance);
  }
}

function ignoreLayouts({ coordinator }: Instance): void {
  const ignored = (): void => undefined;
  Object.defineProperty(coordinator, 'allowance', { get: () => ({ claims: 'all' }), set: ignored });
}

function changeOf(accounts: readonly RivalTicks[], cut: number, endRuns: boolean): ShardChange {
  return { listed: desksOf(accounts, cut), leaving: [], waitMs: WAIT_MS, endRuns, history: 'newest' };
}

/** Desks whose command is cut off after so many calls. */
function desksOf(accounts: readonly RivalTicks[], cut: number): readonly LeaseTaker[] {
  let left = cut;
  let ids = 0;
  return accounts.map((account, index): LeaseTaker => ({
    store: new Proxy<LeaseStore>(
      { ...account.store, location: LIST[index] ?? '' },
      {
        get(target, name) {
          const member: unknown = Reflect.get(target, name);
          if (typeof member !== 'function') return member;
          return async (...parameters: unknown[]): Promise<unknown> => {
            left -= 1;
            if (left < 0) throw new StoreUnavailableError('cut off');
            return Reflect.apply(member, target, parameters);
          };
        },
      },
    ),
    clock: account.clock,
    newId: () => {
      ids += 1;
      return `${String(ids).padStart(8, '0')}-aaaa-4000-8000-${String(index).padStart(12, '0')}`;
    },
    waiting: () => undefined,
  }));
}

/** One deployment has the first store, and one the second, to which all jobs move. */
async function playMove(plan: Plan, heedless: 'old' | 'none'): Promise<readonly Call[]> {
  const a = rivalTicks({ jobs: [], deployments: 0 });
  const { clock } = a;
  const b = rivalTicks({ jobs: [], deployments: 0, clock });
  const startOld = (jobs: readonly JobSpec[], revision: number): void => {
    const old = a.startInstance('old', { jobs, revision, place: { accounts: [LIST[0]], index: 0 } });
    if (heedless === 'old') ignoreLayouts(old);
  };
  startOld(OLD, 0);
  const start = clock.now();
  const at = async (second: number): Promise<void> => {
    await clock.advance(Math.max(0, start + second * SECOND - clock.now()));
  };
  const move = (cut: number, endRuns: boolean): void => {
    const [from, to] = desksOf([a, b], cut) as [LeaseTaker, LeaseTaker];
    void migrate({ from, to, waitMs: WAIT_MS, endRuns, copied: () => undefined }).catch(() => undefined);
  };
  let isStarted = false;
  const isAnnounced = async (): Promise<boolean> => (await b.store.readControl(LAYOUT)).control !== undefined;
  for (let second = 0; second < END_S; second += 5) {
    const isNow = (planned: number): boolean => second >= planned && second < planned + 5;
    await at(second);
    if (isNow(plan.change)) move(plan.cut, false);
    if (isNow(plan.repeat)) move(Infinity, false);
    if (isNow(700)) move(Infinity, true);
    if (isNow(plan.newFile)) startOld([...OLD, ...NEW], 1);
    // Whoever starts it before the move is announced gives the jobs a second life, and the command refuses them.
    if (!isStarted && second >= plan.second && (await isAnnounced())) {
      b.startInstance('new', { jobs: [...OLD, ...NEW], revision: 1, place: { accounts: [LIST[1]], index: 0 } });
      isStarted = true;
    }
  }
  await at(END_S);
  return [...a.calls, ...b.calls];
}

/** Due times that ran twice, and tokens that went back. */
function broken(calls: readonly Call[]): readonly string[] {
  const found: string[] = [];
  const seen = new Set<string>();
  const tokens = new Map<string, number>();
  for (const { job, scheduledFor, attempt, token } of [...calls].sort((one, other) => one.at - other.at)) {
    const run = `${job} of ${new Date(scheduledFor).toISOString()}, attempt ${String(attempt)}`;
    if (seen.has(run)) found.push(`${run}: twice`);
    seen.add(run);
    if (token <= (tokens.get(job) ?? 0)) found.push(`${run}: token ${String(token)} again`);
    tokens.set(job, Math.max(token, tokens.get(job) ?? 0));
  }
  return found;
}

describe('two deployments with different lists of accounts', () => {
  it('run no due time twice, and no token goes back, whenever the list changes', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const calls = await play(plan, 'none');
        expect(broken(calls)).toStrictEqual([]);
        // In the end, one deployment runs every job every minute.
        const late = calls.filter(({ at, deployment }) => deployment === 'dealt' && at > END - 2 * MINUTE);
        expect(new Set(late.map(({ job }) => job)).size).toBe(OLD.length + NEW.length);
      }),
      { numRuns: runs(12) },
    );
  });

  it.each(['alone', 'dealt'] as const)(
    'would, if the deployment %s ignored layouts',
    { timeout: 120_000 },
    async (one) => {
      const found = await fc.check(
        fc.asyncProperty(plans, async (plan) => broken(await play(plan, one)).length === 0),
        { numRuns: 50, endOnFailure: true },
      );
      expect(found.failed).toBe(true);
    },
  );
});

describe('deployments of two stores, between which the jobs move', () => {
  it('run no due time twice, and no token goes back, whenever the move is cut off', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const calls = await playMove(plan, 'none');
        expect(broken(calls)).toStrictEqual([]);
        const late = calls.filter(({ at }) => at > END - 2 * MINUTE);
        expect(new Set(late.map(({ job }) => job)).size).toBe(OLD.length + NEW.length);
        expect(new Set(late.map(({ deployment }) => deployment))).toStrictEqual(new Set(['new']));
      }),
      { numRuns: runs(12) },
    );
  });

  it('would, if the old one ignored layouts', { timeout: 120_000 }, async () => {
    const found = await fc.check(
      fc.asyncProperty(plans, async (plan) => broken(await playMove(plan, 'old')).length === 0),
      { numRuns: 50, endOnFailure: true },
    );
    expect(found.failed).toBe(true);
  });
});
