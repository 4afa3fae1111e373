import os from 'node:os';
import { pause, trueNow } from '../../test/chaos/time';
import type { Expected } from '../figures/judge';
import { type BenchJob, jobsOf, LEAD_MS, type Load, loadName } from '../load';
import type { System } from '../systems/system';
import { judgeSettled } from './judge-settled';
import { untilAtRest } from './rest';
import type { Result } from './result';
import { type Usage, usageDuring } from './usage';
import { inWorld, type World, type WorldOptions } from './world';

export interface RunOptions extends Pick<WorldOptions, 'scratch' | 'guard' | 'profileInto'> {
  readonly system: System;
  readonly load: Load;
  readonly repetition: number;
  readonly skewMs: number;
  /** How long a rate is measured. */
  readonly seconds: number;
  readonly signal: AbortSignal;
}

const FIRST_RUNS_MS = 90_000;
/**
 * From the first runs of all jobs to the measured ones. A worker has then compiled what it runs, and has caught up with
 * what was late meanwhile: at 100 jobs a second on a slow machine, that took up to 8 s.
 */
export const WARM_MS = 10_000;
/** A run that comes later than this after all others is a miss. */
const SILENCE_MS = 20_000;
const DRAIN_MS = 90_000;
const POLL_MS = 100;
const DRAIN_POLL_MS = 1_000;

/** What was to be run, what ran, and what it used. */
interface Measured {
  readonly expected: Expected;
  /** Runs while the usage was measured: from the first of these instants up to the second. */
  readonly span: readonly [number, number];
  readonly usage: Usage;
}

/** On a slow machine, a burst gets so much more time until it is due. */
const SPARE_MS = 60_000;

/** The jobs of a burst were known too late before they were due. */
export class KnownTooLateError extends Error {
  override readonly name = 'KnownTooLateError';
}

export function runOnce(options: RunOptions): Promise<Result> {
  return withEnoughTime((spareMs) => runWith(jobsOf(options.load, trueNow(), spareMs), options));
}

/** Runs once more with more time until the jobs are due if they were known too late. */
export async function withEnoughTime<T>(run: (spareMs: number) => Promise<T>): Promise<T> {
  try {
    return await run(0);
  } catch (error) {
    if (!(error instanceof KnownTooLateError)) throw error;
    return run(SPARE_MS);
  }
}

async function runWith(jobs: readonly BenchJob[], options: RunOptions): Promise<Result> {
  const { system, load, repetition, skewMs } = options;
  const loadBefore = os.loadavg()[0] ?? 0;
  const clockShiftsMs = [skewMs, 0, -skewMs];
  return inWorld({ ...options, jobs, clockShiftsMs }, async (world) => {
    const measured = await (load.kind === 'rate' ? measureRate : measureBurst)(world, jobs, options);
    const { expected, span, usage } = measured;
    const starts = world.starts.read();
    const figures = await judgeSettled(world, expected, options.signal);
    return {
      ...{ system: system.name, load: loadName(load), repetition, skewMs, loadBefore },
      figures,
      runs: starts.filter(({ at }) => at >= span[0] && at < span[1]).length,
      usage,
      trouble: { ...world.trouble },
    };
  });
}

async function measureRate(world: World, jobs: readonly BenchJob[], options: RunOptions): Promise<Measured> {
  const { seconds, signal } = options;
  // A system that cannot keep up may never run them all: it is measured all the same.
  await waitForEach(world, jobs.length, signal);
  const from = Math.ceil((trueNow() + WARM_MS) / 1000) * 1000;
  const through = from + seconds * 1000;
  await pause(from - trueNow(), signal);
  const usage = await usageDuring(world.running, world.backend, () => pause(through - trueNow(), signal));
  const span = [from, from + usage.seconds * 1000] as const;
  const dues = Array.from({ length: seconds }, (_, second) => from + second * 1000);
  const expected = { jobs: jobs.map(({ name }) => name), dues };
  await drain(world, expected, signal);
  return { expected, span, usage };
}

async function measureBurst(world: World, jobs: readonly BenchJob[], { signal }: RunOptions): Promise<Measured> {
  await world.running.settled();
  const due = jobs.flatMap(({ schedule }) => (schedule.kind === 'once' ? [schedule.at] : []))[0] ?? NaN;
  const from = trueNow();
  if (!(due - from >= LEAD_MS)) {
    throw new KnownTooLateError(
      `all jobs were known ${String(Math.round((due - from) / 1000))} s before they were due, not ${String(LEAD_MS / 1000)} s`,
    );
  }
  const expected = { jobs: jobs.map(({ name }) => name), dues: [due] };
  const usage = await usageDuring(world.running, world.backend, async () => {
    await pause(due - trueNow(), signal);
    await drain(world, expected, signal);
    await untilAtRest(world, DRAIN_MS, signal);
  });
  return { expected, span: [from, trueNow()], usage };
}

export async function waitForEach(world: World, count: number, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + FIRST_RUNS_MS;
  while (performance.now() < deadline) {
    if (new Set(world.starts.read().map(({ job }) => job)).size >= count) return;
    await pause(POLL_MS, signal);
  }
}

/** Waits until all due times have been run, or no run of one has come for a while. */
export async function drain(world: World, { jobs, dues }: Expected, signal: AbortSignal): Promise<void> {
  const wanted = new Set(dues);
  const deadline = performance.now() + DRAIN_MS;
  let seen = 0;
  let newsAt = performance.now();
  while (performance.now() < Math.min(deadline, newsAt + SILENCE_MS)) {
    // Rarely, because the workers need the processor now. Handlers that have just started run to their ends meanwhile.
    await pause(DRAIN_POLL_MS, signal);
    const starts = world.starts.read().filter(({ due }) => wanted.has(due));
    const started = new Set(starts.map(({ job, due }) => `${job} ${String(due)}`));
    const isComplete = started.size === jobs.length * dues.length;
    if (isComplete && starts.length === seen) return;
    if (starts.length > seen) newsAt = performance.now();
    seen = starts.length;
  }
}
