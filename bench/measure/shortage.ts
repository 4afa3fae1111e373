import { type ChildProcess, spawn } from 'node:child_process';
import os from 'node:os';
import { pause, trueNow } from '../../test/chaos/time';
import type { Figures } from '../figures/judge';
import type { Start } from '../figures/records';
import { type Load, jobsOf, loadName } from '../load';
import type { System } from '../systems/system';
import { judgeSettled } from './judge-settled';
import type { Result } from './result';
import { WARM_MS, drain, waitForEach } from './run';
import { usageDuring } from './usage';
import { inWorld, type WorldOptions } from './world';

/** What a shortage of CPU leads to. */
export interface ShortageResult extends Pick<Result, 'system' | 'load' | 'runs' | 'usage'> {
  /** So many cores were taken. */
  readonly cores: number;
  /** From the end of the shortage to the first due time from which on all start on time; undefined: to none. */
  readonly onTimeAfterMs: number | undefined;
  /** Of the due times from the beginning of the shortage on. */
  readonly figures: Figures;
}

export interface ShortageOptions extends Pick<WorldOptions, 'scratch' | 'guard'> {
  readonly system: System;
  readonly cores: number;
  readonly signal: AbortSignal;
}

const LOAD: Load = { kind: 'rate', perSecond: 100 };
const SHORT_S = 10;
const AFTER_S = 40;
/** A start that is later than this is not on time. */
const ON_TIME_MS = 250;
/** A process that takes a part of a core works and rests by turns. */
const TURN_MS = 20;

/** Takes CPU from the workers and their server for ten seconds, while jobs are due every second. */
export async function shortageOnce(options: ShortageOptions): Promise<ShortageResult> {
  const { system, cores, signal } = options;
  const jobs = jobsOf(LOAD, trueNow());
  return inWorld({ ...options, jobs, clockShiftsMs: [0, 0, 0] }, async (world) => {
    await waitForEach(world, jobs.length, signal);
    const from = Math.ceil((trueNow() + WARM_MS) / 1000) * 1000;
    const through = from + SHORT_S * 1000;
    await pause(from - trueNow(), signal);
    const usage = await usageDuring(world.running, world.backend, async () => {
      const takers = takeCores(cores);
      try {
        await pause(through - trueNow(), signal);
      } finally {
        for (const taker of takers) taker.kill('SIGKILL');
      }
      await pause(AFTER_S * 1000, signal);
    });
    const dues = Array.from({ length: SHORT_S + AFTER_S }, (_, second) => from + second * 1000);
    const expected = { jobs: jobs.map(({ name }) => name), dues };
    await drain(world, expected, signal);
    const starts = world.starts.read();
    return {
      ...{ system: system.name, load: loadName(LOAD), cores, usage },
      onTimeAfterMs: onTimeAfter(starts, { jobs: jobs.length, dues }, through),
      runs: starts.filter(({ at }) => at >= from && at < from + usage.seconds * 1000).length,
      figures: await judgeSettled(world, expected, signal),
    };
  });
}

/** Processes of the highest priority. They end with this one: each ends when its input does. */
function takeCores(cores: number): ChildProcess[] {
  const parts = Array.from({ length: Math.ceil(cores) }, (_, index) => Math.min(1, cores - index));
  return parts.map((part) => {
    const busy = `const until = performance.now() + ${String(TURN_MS * part)}; while (performance.now() < until);`;
    const turns = `setInterval(() => { ${busy} }, ${String(TURN_MS)}); process.stdin.on('end', () => process.exit()).resume();`;
    const child = spawn(process.execPath, ['--eval', turns], { stdio: ['pipe', 'ignore', 'inherit'] });
    if (child.pid !== undefined) os.setPriority(child.pid, os.constants.priority.PRIORITY_HIGHEST);
    return child;
  });
}

/** The time to the first due time since `end` from which on every job starts on time at every due time. */
export function onTimeAfter(
  starts: readonly Start[],
  { jobs, dues }: { readonly jobs: number; readonly dues: readonly number[] },
  end: number,
): number | undefined {
  const onTime = new Map<number, Set<string>>();
  for (const { job, due, at } of starts) {
    if (at - due > ON_TIME_MS) continue;
    onTime.set(due, (onTime.get(due) ?? new Set()).add(job));
  }
  const since = dues.filter((due) => due >= end);
  const lastLate = since.findLastIndex((due) => (onTime.get(due)?.size ?? 0) < jobs);
  const first = since[lastLate + 1];
  return first === undefined ? undefined : first - end;
}
