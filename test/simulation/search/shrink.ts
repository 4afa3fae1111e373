import type { Fault } from '../faults/faults';
import { type Outcome, runHistory } from './history';
import type { Plan } from '../faults/plan';
import { BEHAVIOURS, type Behaviour } from '../faults/plan-job';

export interface Budget {
  /** The most histories to try. */
  readonly runs: number;
  readonly ms: number;
}

export interface Shrunk {
  readonly plan: Plan;
  readonly outcome: Outcome;
  readonly runs: number;
}

/** Returns how long a process has worked. */
type Elapsed = () => number;

/**
 * Makes a failing history as small as possible while it still breaks the same kind of promise: fewer disturbances,
 * faults, jobs and instances, right clocks, quick handlers, less time. Returns the smallest one when the budget is
 * spent.
 */
export async function shrink(plan: Plan, failed: Outcome, budget: Budget): Promise<Shrunk> {
  const kind = failed.violations[0]?.kind;
  const elapsed: Elapsed = () => performance.now();
  const until = elapsed() + budget.ms;
  let best: Shrunk = { plan, outcome: failed, runs: 0 };
  let runs = 0;
  const spent = (): boolean => runs >= budget.runs || elapsed() > until;
  /** Keeps the change if the history still fails. */
  const attempt = async (changed: Plan): Promise<boolean> => {
    if (spent()) return false;
    runs += 1;
    const outcome = await runHistory(changed);
    if (outcome.violations[0]?.kind !== kind) return false;
    best = { plan: changed, outcome, runs };
    return true;
  };

  await attempt(listed(plan, failed.struck));
  if (best.plan.faults.kind !== 'listed') return { ...best, runs };
  for (let size = Infinity; sizeOf(best.plan) < size && !spent();) {
    size = sizeOf(best.plan);
    await attempt(cutOff(best.plan, best.outcome));
    await leaveOut(
      () => best.plan.jobs,
      (jobs) => attempt({ ...best.plan, jobs }),
    );
    await leaveOut(
      () => best.plan.instances,
      (instances) => attempt({ ...best.plan, instances }),
    );
    await leaveOut(
      () => best.plan.disturbances,
      (disturbances) => attempt({ ...best.plan, disturbances }),
    );
    await leaveOut(
      () => faultsOf(best.plan),
      (faults) => attempt(listed(best.plan, faults)),
    );
    for (const changed of simpler(best.plan)) await attempt(changed(best.plan));
  }
  return { ...best, runs };
}

export function faultsOf({ faults }: Plan): readonly Fault[] {
  return faults.kind === 'listed' ? faults.faults : [];
}

function listed(plan: Plan, faults: readonly Fault[]): Plan {
  return { ...plan, faults: { kind: 'listed', faults } };
}

/** The number of parts of a history. */
export function sizeOf(plan: Plan): number {
  const clocks = plan.instances.filter(({ clock }) => clock.skewMs !== 0 || clock.drift !== 0).length;
  return plan.jobs.length + plan.instances.length + plan.disturbances.length + faultsOf(plan).length + clocks;
}

/** Drops everything after the end of the history, and all faults that it did not need. */
function cutOff(plan: Plan, { lasted, struck }: Outcome): Plan {
  return {
    ...listed(plan, struck),
    disturbances: plan.disturbances.filter(({ at }) => at <= lasted),
    troubledMs: Math.min(plan.troubledMs, Math.ceil(lasted / 1_000) * 1_000 + 1_000),
  };
}

/** Delta debugging: leaves out halves, then smaller and smaller parts, for as long as the history still fails. */
async function leaveOut<T>(
  current: () => readonly T[],
  attempt: (rest: readonly T[]) => Promise<boolean>,
): Promise<void> {
  for (let part = Math.ceil(current().length / 2); part >= 1; part = part === 1 ? 0 : Math.ceil(part / 2)) {
    for (let from = 0; from < current().length;) {
      const items = current();
      const left = await attempt([...items.slice(0, from), ...items.slice(from + part)]);
      if (!left) from += part;
    }
  }
}

/** Changes that make a history easier to read, each by itself. */
function simpler({ instances, jobs, troubledMs }: Plan): ((plan: Plan) => Plan)[] {
  const instance =
    (index: number, change: Partial<Plan['instances'][number]>) =>
    (plan: Plan): Plan => ({
      ...plan,
      instances: plan.instances.map((one) => (one.index === index ? { ...one, ...change } : one)),
    });
  const job =
    (index: number, change: (job: Plan['jobs'][number]) => Plan['jobs'][number]) =>
    (plan: Plan): Plan => ({ ...plan, jobs: plan.jobs.map((one) => (one.index === index ? change(one) : one)) });
  return [
    ...instances
      .filter(({ clock }) => clock.skewMs !== 0 || clock.drift !== 0)
      .flatMap(({ index, clock }) => [
        instance(index, { clock: { skewMs: 0, drift: 0 } }),
        instance(index, { clock: { ...clock, skewMs: 0 } }),
        instance(index, { clock: { ...clock, drift: 0 } }),
      ]),
    ...instances.filter(({ startsAt }) => startsAt > 0).map(({ index }) => instance(index, { startsAt: 0 })),
    ...jobs.flatMap(({ index, behaviours }) =>
      BEHAVIOURS.filter((behaviour) => behaviour !== 'quick' && behaviours[behaviour] > 0).map((behaviour: Behaviour) =>
        job(index, (one) => ({ ...one, behaviours: { ...one.behaviours, [behaviour]: 0 } })),
      ),
    ),
    ...jobs.flatMap(({ index, specs }) => {
      const [first] = specs;
      if (first === undefined || specs.every(({ scheduleHash }) => scheduleHash === first.scheduleHash)) return [];
      return [job(index, (one) => ({ ...one, specs: one.specs.map(() => first) }))];
    }),
    (plan) => ({ ...plan, troubledMs: Math.ceil(troubledMs / 2_000) * 1_000 }),
  ];
}
