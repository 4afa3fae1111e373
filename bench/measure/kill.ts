import { pause, trueNow, until } from '../../test/chaos/time';
import type { Figures } from '../figures/judge';
import type { Start } from '../figures/records';
import type { BenchJob } from '../load';
import type { System } from '../systems/system';
import { judgeSettled } from './judge-settled';
import { inWorld, type World, type WorldOptions } from './world';

/** What `kill -9` of the worker that holds work leads to. Times are in milliseconds after the kill. */
export interface KillResult {
  readonly system: string;
  /** When all quick jobs have run again; undefined: not within the time that was waited. */
  readonly allAgainMs: number | undefined;
  /** When the interrupted run began its second attempt; undefined: not within the time that was waited. */
  readonly secondAttemptMs: number | undefined;
  readonly waitedMs: number;
  /** Of the quick jobs' due times after the kill. */
  readonly figures: Pick<Figures, 'dueTimes' | 'duplicates' | 'misses' | 'unrecorded'>;
}

export interface KillOptions extends Pick<WorldOptions, 'scratch' | 'guard'> {
  readonly system: System;
  readonly signal: AbortSignal;
}

const QUICK_JOBS = 5;
const QUICK_MS = 20;
const LONG = 'long';
const LONG_MS = 600_000;
/** By then, all systems have started. */
const BEFORE_LONG_MS = 40_000;
/** From the start of the long run to the kill: its holder has settled down. */
const HELD_MS = 3_000;
const WAIT_MS = 90_000;
/** The newest due times may still be on their way. */
const RECENT_MS = 3_000;
const POLL_MS = 50;

function killJobs({ minutesOnly = false }: System, longAt: number): BenchJob[] {
  const quick = Array.from({ length: QUICK_JOBS }, (_, index): BenchJob => ({
    name: `quick-${String(index + 1)}`,
    schedule: { kind: minutesOnly ? 'minute' : 'second' },
    handlerMs: QUICK_MS,
  }));
  return [...quick, { name: LONG, schedule: { kind: 'once', at: longAt }, handlerMs: LONG_MS }];
}

/** Kills the worker that runs a long job while quick ones are due all the time. */
export async function killOnce(options: KillOptions): Promise<KillResult> {
  const { system, signal } = options;
  const unit = system.minutesOnly === true ? 60_000 : 1_000;
  const longAt = Math.ceil((trueNow() + BEFORE_LONG_MS) / unit) * unit;
  const jobs = killJobs(system, longAt);
  return inWorld({ ...options, jobs, clockShiftsMs: [0, 0, 0] }, async (world) => {
    const isLong = ({ job }: Start): boolean => job === LONG;
    const within = longAt - trueNow() + WAIT_MS;
    const first = await until('the long run', within, () => world.starts.read().find(isLong), signal);
    await pause(HELD_MS, signal);
    const killedAt = trueNow();
    world.running.kill(first.pid);
    await watch(world, jobs, killedAt, signal);
    const waitedMs = trueNow() - killedAt;
    const starts = world.starts.read();
    const quick = jobs.map(({ name }) => name).filter((name) => name !== LONG);
    const dues = duesBetween(killedAt, killedAt + waitedMs - RECENT_MS, unit);
    const { dueTimes, duplicates, misses, unrecorded } = await judgeSettled(world, { jobs: quick, dues }, signal);
    return {
      ...{ system: system.name, waitedMs, ...after(starts, jobs, killedAt) },
      figures: { dueTimes, duplicates, misses, unrecorded },
    };
  });
}

function duesBetween(from: number, through: number, unit: number): number[] {
  const first = Math.ceil(from / unit) * unit;
  return Array.from({ length: Math.max(0, Math.floor((through - first) / unit) + 1) }, (_, n) => first + n * unit);
}

async function watch(world: World, jobs: readonly BenchJob[], killedAt: number, signal: AbortSignal): Promise<void> {
  while (trueNow() < killedAt + WAIT_MS) {
    const { allAgainMs, secondAttemptMs } = after(world.starts.read(), jobs, killedAt);
    if (allAgainMs !== undefined && secondAttemptMs !== undefined) return pause(RECENT_MS, signal);
    await pause(POLL_MS, signal);
  }
}

/** What the starts after the kill show. */
export function after(
  starts: readonly Start[],
  jobs: readonly Pick<BenchJob, 'name'>[],
  killedAt: number,
): Pick<KillResult, 'allAgainMs' | 'secondAttemptMs'> {
  const firstAfter = (name: string): number | undefined =>
    starts.find(({ job, at }) => job === name && at > killedAt)?.at;
  const again = jobs.filter(({ name }) => name !== LONG).map(({ name }) => firstAfter(name));
  const second = firstAfter(LONG);
  return {
    allAgainMs: again.includes(undefined) ? undefined : Math.max(...again.map((at) => (at ?? 0) - killedAt)),
    secondAttemptMs: second === undefined ? undefined : second - killedAt,
  };
}
