import type { JobSpec } from '../../src/core/job';
import type { LeaseStore } from '../../src/lease/store';
import { memoryService } from '../../src/stores/memory/store';
import { jobSpec } from '../../test/support/job';
import { type ScaleClock, scaleClock } from './clock';
import type { Cost, ScaleResult } from './figures';
import { nextFire, type ScaleInstance, scaleInstance } from './instance';

const START = Date.UTC(2026, 0, 1, 0, 0, 5);
const MINUTE_MS = 60_000;
const IDLE_MINUTES = 4;
/** One in a hundred jobs is due at one o'clock, and all of them at three. */
const SOME_AT = Date.UTC(2026, 0, 1, 1);
const ALL_AT = Date.UTC(2026, 0, 1, 3);
/** A burst is claimed up to 34 s ahead. */
const BEFORE_MS = 65_000;
const AFTER_MS = 60_000;

/** Measures one case on the memory store, whose calls cost next to nothing: what remains is the coordinator's own. */
export async function memoryCase(jobs: number, instances: number): Promise<ScaleResult> {
  const clock = scaleClock(START);
  const service = memoryService(clock);
  const calls: Record<string, number> = {};
  const specs = Array.from({ length: jobs }, (_, index) => scaleJob(index));
  const heapBefore = heapMb();
  const all = Array.from({ length: instances }, (_, index) =>
    scaleInstance({
      ...{ deployment: `d${String(index + 1)}`, jobs: specs, clock, sweepIntervalMs: MINUTE_MS },
      store: counted(service.open(), calls),
    }),
  );
  for (const instance of all) void tickForEver(instance, clock);
  const world = { clock, calls, instances: all };
  const firstSight = await measure(world, 2 * MINUTE_MS);
  // The first sweep that sees all rows decides about each job once.
  await clock.advance(2 * MINUTE_MS);
  const heapMbEach = (heapMb() - heapBefore) / instances;
  const idle = await measure(world, IDLE_MINUTES * MINUTE_MS);
  await until(clock, SOME_AT - BEFORE_MS);
  const onePercentDue = await measure(world, BEFORE_MS + AFTER_MS);
  await until(clock, ALL_AT - BEFORE_MS);
  const allDue = await measure(world, BEFORE_MS + AFTER_MS);
  const costs = { firstSight, idleMinute: shareOf(idle, IDLE_MINUTES), onePercentDue, allDue };
  return { store: 'memory', jobs, instances, costs, onePercent: Math.ceil(jobs / 100), heapMbEach };
}

function scaleJob(index: number): JobSpec {
  const schedule = index % 100 === 0 ? '0 1,3 * * *' : '0 3 * * *';
  return jobSpec(`job-${String(index).padStart(6, '0')}`, schedule);
}

async function tickForEver(instance: ScaleInstance, clock: ScaleClock): Promise<void> {
  for (;;) {
    const wait = nextFire(clock.now()) - clock.now();
    await new Promise<void>((resolve) => void clock.after(wait, resolve));
    await instance.tick();
  }
}

/** Skips the time in between, but for the last two minutes. */
async function until(clock: ScaleClock, instant: number): Promise<void> {
  clock.skip(Math.max(0, instant - clock.now() - 2 * MINUTE_MS));
  await clock.advance(instant - clock.now());
}

interface World {
  readonly clock: ScaleClock;
  readonly calls: Record<string, number>;
  readonly instances: readonly ScaleInstance[];
}

async function measure({ clock, calls, instances }: World, ms: number): Promise<Cost> {
  const runsOf = (): number => instances.reduce((sum, { runs }) => sum + runs, 0);
  for (const kind of Object.keys(calls)) calls[kind] = 0;
  const runsBefore = runsOf();
  const startedAt = performance.now();
  const before = process.cpuUsage();
  await clock.advance(ms);
  const { user, system } = process.cpuUsage(before);
  const made = Object.fromEntries(Object.entries(calls).filter(([, count]) => count > 0));
  return {
    cpuMs: (user + system) / 1000,
    wallMs: performance.now() - startedAt,
    calls: made,
    runs: runsOf() - runsBefore,
  };
}

function shareOf({ cpuMs, wallMs, calls, runs }: Cost, parts: number): Cost {
  const each = Object.fromEntries(Object.entries(calls).map(([kind, count]) => [kind, count / parts]));
  return { cpuMs: cpuMs / parts, wallMs: wallMs / parts, calls: each, runs };
}

function counted(store: LeaseStore, calls: Record<string, number>): LeaseStore {
  return new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        calls[String(name)] = (calls[String(name)] ?? 0) + 1;
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
}

/** @throws Error if the process was started without `--expose-gc` */
function heapMb(): number {
  const collect: (() => unknown) | undefined = globalThis.gc;
  if (collect === undefined) throw new Error('start this process with --expose-gc');
  collect();
  return process.memoryUsage().heapUsed / 2 ** 20;
}
