import type { JobSpec } from '../../../src/core/job';
import type { Violation } from '../world/facts';
import type { Fault } from '../faults/faults';
import { type Outcome, runHistory } from './history';
import type { Plan } from '../faults/plan';
import { type Mixture, planOf } from '../faults/mixes';
import { firstSpec } from '../faults/plan-job';
import { type Budget, faultsOf, shrink, sizeOf } from './shrink';

const BUDGET: Budget = { runs: 800, ms: 60_000 };
/** The longest trace that a person would read. */
const TRACE_LINES = 250;

/** One history: of which mix, and with which fault planted in the source. */
export interface Subject {
  readonly seed: number;
  readonly mix: Mixture;
  readonly planted?: string | undefined;
}

export interface Explained {
  readonly violations: readonly Violation[];
  readonly text: string;
  /** Of a history that fails: how many parts it had, and has left. */
  readonly shrunk: { readonly from: number; readonly to: number; readonly stillFails: boolean } | undefined;
}

/** Replays one history; if it fails, shrinks it and describes it. */
export async function explain({ seed, mix, planted }: Subject, budget = BUDGET): Promise<Explained> {
  const plan = planOf(seed, mix);
  const failed = await runHistory(plan);
  const { violations, lasted, counts } = failed;
  if (violations.length === 0) {
    const size = `${String(counts.calls)} storage calls, ${String(counts.handlers)} handlers, ${(lasted / 1_000).toFixed(0)} s`;
    return { violations, shrunk: undefined, text: `Seed ${String(seed)} keeps every promise: ${size}.` };
  }
  const shrunk = await shrink(plan, failed, budget);
  const outcome = await runHistory(shrunk.plan, true);
  const text = [
    `Seed ${String(seed)} breaks a promise: ${describe(violations)}`,
    `Replay: ${replayLine({ seed, mix, planted })}`,
    '',
    `Shrunk in ${String(shrunk.runs)} histories ${change(plan, failed, shrunk.plan)}; it still breaks: ${describe(outcome.violations)}`,
    '',
    ...describePlan(shrunk.plan),
    '',
    '     time  who      what',
    ...traceOf(outcome),
  ].join('\n');
  const parts = { from: sizeOf(plan) + failed.struck.length, to: sizeOf(shrunk.plan) };
  const stillFails = outcome.violations[0]?.kind === violations[0]?.kind;
  return { violations, text, shrunk: { ...parts, stillFails } };
}

/** The command that replays a failing history. */
export function replayLine({ seed, mix, planted }: Subject): string {
  return [
    `npm run soak -- --seed ${String(seed)}`,
    ...(mix === 'plain' ? [] : [`--mix ${mix}`]),
    ...(planted === undefined ? [] : [`--plant ${planted}`]),
  ].join(' ');
}

export function describe(violations: readonly Violation[]): string {
  const [first] = violations;
  return first === undefined ? 'none' : `${first.job}: ${first.text}`;
}

function change(before: Plan, { struck }: Outcome, after: Plan): string {
  const pairs = [
    ['disturbances', before.disturbances.length, after.disturbances.length],
    ['faults', struck.length, faultsOf(after).length],
    ['jobs', before.jobs.length, after.jobs.length],
    ['instances', before.instances.length, after.instances.length],
  ] as const;
  return pairs.map(([what, from, to]) => `from ${String(from)} to ${String(to)} ${what}`).join(', ');
}

function describePlan(plan: Plan): string[] {
  return [
    ...plan.jobs.map((job) => {
      const specs = job.specs.filter(
        ({ scheduleHash }, index) => index === 0 || scheduleHash !== job.specs[index - 1]?.scheduleHash,
      );
      return `job ${firstSpec(job).name}: ${specs.map((spec, index) => describeSpec(spec, index)).join('; then ')}`;
    }),
    ...plan.instances.map(({ index, deployment, startsAt, clock }) => {
      const clocks = [
        ...(clock.skewMs === 0
          ? []
          : [`clock ${seconds(Math.abs(clock.skewMs))} ${clock.skewMs > 0 ? 'ahead' : 'behind'}`]),
        ...(clock.drift === 0
          ? []
          : [`clocks ${Math.abs(clock.drift * 100).toFixed(2)} % ${clock.drift > 0 ? 'fast' : 'slow'}`]),
        ...(startsAt === 0 ? [] : [`starts at ${seconds(startsAt)}`]),
      ];
      return `instance d${String(deployment)}.${String(index)}: ${clocks.join(', ') || 'clocks right'}`;
    }),
    ...(plan.maxConcurrentRuns === undefined ? [] : [`instances run ${String(plan.maxConcurrentRuns)} at once`]),
    ...plan.disturbances.map(({ at, kind, ...rest }) => `at ${seconds(at)}: ${kind} ${JSON.stringify(rest)}`),
    ...faultsOf(plan).map(describeFault),
    `the faults end at ${seconds(plan.troubledMs)}`,
  ];
}

function describeSpec(spec: JobSpec, revision: number): string {
  if (revision > 0) return `${spec.schedule}${spec.enabled ? '' : ', disabled'}`;
  return [
    spec.schedule,
    ...(spec.enabled ? [] : ['disabled']),
    `lease ${seconds(spec.leaseMs)}`,
    `overlap ${spec.overlap}`,
    ...(spec.requires.length === 0
      ? []
      : [`requires ${spec.requires.join(' and ')} within ${seconds(spec.requireWithinMs)}`]),
    ...(spec.group === undefined ? [] : [`group ${spec.group.name} of ${String(spec.group.maxParallel)}`]),
    `priority ${String(spec.priority)}`,
    `catchUp ${spec.catchUp} within ${seconds(spec.catchUpWindowMs)}`,
    `attempts ${String(spec.retry.attempts)}, backoff ${seconds(spec.retry.backoffMs)}`,
    ...(spec.timeoutMs === undefined ? [] : [`timeout ${seconds(spec.timeoutMs)}, grace ${seconds(spec.graceMs)}`]),
    ...(spec.offsetMs === 0 ? [] : [`spread ${seconds(spec.offsetMs)}`]),
    ...(spec.stallAfterMs === undefined ? [] : [`stallAfter ${seconds(spec.stallAfterMs)}`]),
    ...(spec.pauseAfterFailures === undefined ? [] : [`pauseAfterFailures ${String(spec.pauseAfterFailures)}`]),
  ].join(', ');
}

function describeFault({ stream, n, kind, ms }: Fault): string {
  const what = stream.includes('#') ? 'call' : 'message';
  return `${what} ${String(n)} of ${stream}: ${kind}${ms === 0 ? '' : `, ${seconds(ms)}`}`;
}

function seconds(ms: number): string {
  return `${String(ms / 1_000)} s`;
}

function traceOf({ trace, violations }: Outcome): readonly string[] {
  const job = violations[0]?.job;
  const lines = trace(Infinity, job === 'all' ? undefined : job);
  const cut = lines.length - TRACE_LINES;
  return cut > 0 ? [`  … ${String(cut)} lines before`, ...lines.slice(cut)] : lines;
}
