import { randomUUID } from 'node:crypto';
import { dispatch, runTogether } from '../../src/coordinator/attempt/together';
import { type Hub, type Report, createCoordinator } from '../../src/coordinator/coordinator';
import { Load } from '../../src/coordinator/health';
import { createTicker } from '../../src/coordinator/tick/tick';
import { type Clock, sleep } from '../../src/core/clock';
import type { JobSpec } from '../../src/core/job';
import type { LeaseStore } from '../../src/lease/store';
import { playOrchestration } from '../../test/support/orchestrations';

const FIRES_MS = 15_000;
const FIRE_OFFSET_MS = 10_000;

/** One instance of a deployment: the real tick and the real attempts, with a task hub that delivers at once. */
export interface ScaleInstance {
  /** One fire of the tick timer. */
  tick(): Promise<void>;
  /** A tick from outside: it begins with a listing of all jobs. */
  sweep(): Promise<void>;
  /** How many handlers it has called. */
  readonly runs: number;
}

export interface ScaleOptions {
  readonly deployment: string;
  readonly jobs: readonly JobSpec[];
  readonly store: LeaseStore;
  readonly clock: Clock;
  readonly sweepIntervalMs: number;
  readonly onRun?: () => void;
  /** Takes warnings and errors. Default: the console. */
  readonly warn?: (...message: unknown[]) => void;
}

/** The next fire of the default tick schedule. */
export function nextFire(after: number): number {
  return Math.floor((after - FIRE_OFFSET_MS) / FIRES_MS + 1) * FIRES_MS + FIRE_OFFSET_MS;
}

export function scaleInstance(options: ScaleOptions): ScaleInstance {
  const { deployment, jobs, store, clock, sweepIntervalMs, onRun, warn = console.error } = options;
  let runs = 0;
  const run = (): void => {
    runs += 1;
    onRun?.();
  };
  const coordinator = createCoordinator(
    {
      ...{ store, clock, deployment },
      random: Math.random,
      newId: randomUUID,
      revision: 0,
      jobs: new Map(jobs.map((spec) => [spec.name, { spec, input: undefined, handler: { run } }])),
      settings: { lookAheadMs: 5_000, longestLookAheadMs: 34_000, sweepIntervalMs, functionTimeoutMs: 1_800_000 },
    },
    new Load(() => 0),
  );
  const report: Report = {
    event: () => undefined,
    log: (level, ...message) => {
      if (level === 'error' || level === 'warn') warn(...message);
    },
  };
  const started = new Set<string>();
  const hub: Hub = {
    async start(id, input) {
      if (started.has(id)) return;
      started.add(id);
      void playOrchestration(
        {
          activity: (next) =>
            next.kind === 'together'
              ? runTogether(next, () => ({ coordinator, report }), hub)
              : dispatch(coordinator, next, report),
          timer: (at) => sleep(clock, at.getTime() - clock.now()),
        },
        input,
      );
    },
    status: async () => 'completed',
    purge: async () => 0,
  };
  const ticker = createTicker(coordinator);
  return {
    tick: () => ticker.tick(hub, nextFire, report),
    async sweep() {
      await ticker.poke(hub, report);
    },
    get runs() {
      return runs;
    },
  };
}
