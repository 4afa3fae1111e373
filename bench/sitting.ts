import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { createGate } from '../src/coordinator/gate';
import { type Guard, startGuard } from '../src/local/cluster/child';
import { missing } from './backends/index';
import type { Machine } from './machine';
import type { Sitting } from './kept';
import { idleOnce, type IdleResult } from './measure/idle';
import { killOnce, type KillResult } from './measure/kill';
import { logsOnce, type LogsResult } from './measure/logs';
import type { Result } from './measure/result';
import { runOnce } from './measure/run';
import { type ShortageResult, shortageOnce } from './measure/shortage';
import { measureStarts, type Starts } from './measure/start';
import { type Options, systemNamed } from './options';
import { plannedName, planRuns } from './plan';
import { figuresLine, idleLine, killLine, logsLine, shortageLine, startLine } from './report/line';
import { systems as all } from './systems/index';
import type { System } from './systems/system';

/** What every measurement needs. */
export interface Room {
  /** The repository's folder. */
  readonly root: string;
  /** Folder for everything that a sitting leaves behind. It is removed at the end, however the sitting ends. */
  readonly scratch: string;
  readonly guard: Guard;
  readonly signal: AbortSignal;
}

/** Calls `work` with a room, which is tidied up afterwards. Ctrl+C aborts its signal. */
export async function inRoom<T>(root: string, work: (room: Room) => Promise<T>): Promise<T | 'interrupted'> {
  const interrupted = new AbortController();
  const interrupt = (): void => interrupted.abort(new Error('interrupted'));
  process.once('SIGINT', interrupt);
  process.once('SIGTERM', interrupt);
  const parent = path.join(root, 'bench/.tmp');
  mkdirSync(parent, { recursive: true });
  const scratch = mkdtempSync(path.join(parent, 'runs-'));
  const guard = startGuard();
  guard.remove(scratch);
  try {
    return await work({ root, scratch, guard, signal: interrupted.signal });
  } catch (error) {
    if (!interrupted.signal.aborted) throw error;
    return 'interrupted';
  } finally {
    rmSync(scratch, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    await guard.end();
  }
}

interface Measurement<T> {
  readonly name: string;
  measure(): Promise<T>;
  line(result: T): string;
  readonly into: T[];
}

/**
 * Makes all measurements: loads and kills one after the other, idle systems side by side, because they disturb no other.
 *
 * @param keep called after each measurement with all that there is so far
 */
export async function sit(
  options: Options,
  room: Room,
  machine: Machine,
  keep: (sitting: Sitting) => void,
): Promise<Sitting> {
  const { signal } = room;
  const leftOut = options.systems.flatMap(({ name, backend }) => {
    const reason = missing(backend);
    return reason === undefined ? [] : [{ system: name, reason }];
  });
  for (const { system, reason } of leftOut) console.error(`${system} is left out: ${reason}`);
  const systems = options.systems.filter(({ backend }) => missing(backend) === undefined);
  const results: Result[] = [];
  const kills: KillResult[] = [];
  const idles: IdleResult[] = [];
  const starts: Starts[] = [];
  const logs: LogsResult[] = [];
  const shortages: ShortageResult[] = [];
  const failures: { run: string; reason: string }[] = [];
  const sitting: Sitting = { machine, leftOut, results, kills, idles, starts, logs, shortages, failures };

  const make = async <T>({ name, measure, line, into }: Measurement<T>, at: string): Promise<void> => {
    signal.throwIfAborted();
    try {
      const result = await measure();
      into.push(result);
      console.error(`${at} ${name}: ${line(result)}`);
    } catch (error) {
      signal.throwIfAborted();
      // The others are measured all the same.
      console.error(`${at} ${name} failed: ${error instanceof Error ? (error.stack ?? '') : String(error)}`);
      failures.push({ run: name, reason: error instanceof Error ? error.message : String(error) });
    }
    keep(sitting);
  };

  const has = (part: Options['parts'][number]): boolean => options.parts.includes(part);
  const runs = has('loads') ? loadRuns({ ...options, systems }, room, results) : [];
  const killed = has('kill') ? killRuns(systems, room, kills) : [];
  const resting = has('idle') ? idleRuns(systems, options, room, idles) : [];
  for (const [index, run] of runs.entries()) await make(run, `${String(index + 1)}/${String(runs.length)}`);
  for (const [index, run] of killed.entries()) await make(run, `${String(index + 1)}/${String(killed.length)}`);
  const short = has('shortage') ? shortageRuns(systems, options, room, shortages) : [];
  for (const [index, run] of short.entries()) await make(run, `${String(index + 1)}/${String(short.length)}`);
  const side = createGate(IDLE_AT_ONCE);
  await Promise.all(resting.map((run) => side(() => make(run, '-'))));
  if (has('start')) await make(startRun(room, starts), '-');
  if (has('logs')) for (const run of logsRuns(room, logs)) await make(run, '-');
  return sitting;
}

/** Idle systems that are measured side by side. */
const IDLE_AT_ONCE = 12;

function loadRuns(options: Options, room: Room, into: Result[]): Measurement<Result>[] {
  const { seconds } = options;
  return planRuns(options).map((planned) => ({
    name: plannedName(planned),
    measure: () => runOnce({ ...planned, ...room, seconds }),
    line: figuresLine,
    into,
  }));
}

function killRuns(systems: readonly System[], room: Room, into: KillResult[]): Measurement<KillResult>[] {
  return systems.map((system) => ({
    name: `${system.name} kill -9`,
    measure: () => killOnce({ ...room, system }),
    line: killLine,
    into,
  }));
}

/** Where no systems are chosen, a shortage is measured of these. */
const IN_SHORTAGE = ['croner', 'bullmq', 'cronlease', 'cronlease-redis'];

function shortageRuns(
  systems: readonly System[],
  { cores, systems: chosen }: Options,
  room: Room,
  into: ShortageResult[],
): Measurement<ShortageResult>[] {
  const areChosen = chosen.length < all.length;
  const compared = systems.filter(({ name }) => areChosen || IN_SHORTAGE.includes(name));
  return cores.flatMap((taken) =>
    compared.map((system) => ({
      name: `${system.name} without ${String(taken)} cores`,
      measure: () => shortageOnce({ ...room, system, cores: taken }),
      line: shortageLine,
      into,
    })),
  );
}

function idleRuns(
  systems: readonly System[],
  { idleJobs, idleSeconds: seconds }: Options,
  room: Room,
  into: IdleResult[],
): Measurement<IdleResult>[] {
  // Nothing is handed over while nothing is due.
  const asTheyAre = systems.filter(({ handOverDelayMs = 0 }) => handOverDelayMs === 0);
  return idleJobs.flatMap((jobs) =>
    asTheyAre.map((system) => ({
      name: `${system.name} ${String(jobs)} idle`,
      measure: () => idleOnce({ ...room, system, jobs, seconds }),
      line: idleLine,
      into,
    })),
  );
}

/** So many other jobs are due every second. */
const BESIDE_LOGS = [0, 15];

function logsRuns(room: Room, into: LogsResult[]): Measurement<LogsResult>[] {
  const system = systemNamed('cronlease');
  return BESIDE_LOGS.map((beside) => ({
    name: `log beside ${String(beside)} jobs a second`,
    measure: () => logsOnce({ ...room, system, beside }),
    line: logsLine,
    into,
  }));
}

function startRun({ root, scratch, signal }: Room, into: Starts[]): Measurement<Starts> {
  return {
    name: 'start of an app',
    measure: () => measureStarts(root, scratch, signal),
    line: startLine,
    into,
  };
}
