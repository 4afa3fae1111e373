import { longestWait } from '../../../src/core/early-claim';
import { dispatch, runTogether } from '../../../src/coordinator/attempt/together';
import {
  type Coordinator,
  createCoordinator,
  type Hub,
  type Report,
  type RunnableJob,
} from '../../../src/coordinator/coordinator';
import { Load } from '../../../src/coordinator/health';
import type { HandedOver, OrchestrationInput } from '../../../src/coordinator/message';
import { drain } from '../../../src/coordinator/drain';
import { createConcurrencyLimit } from '../../../src/coordinator/concurrency-limit';
import { createTicker } from '../../../src/coordinator/tick/tick';
import type { JobName } from '../../../src/core/brand';
import { sleep } from '../../../src/core/clock';
import type { CoordinatorEvent } from '../../../src/core/event';
import type { JobSpec } from '../../../src/core/job';
import type { LeaseStore } from '../../../src/lease/store';
import { kindOfThrown, mistakeIn } from './crash';
import type { AppActivity, TaskHub, Worker } from './hub';
import type { SimulatedProcess } from './process';
import type { Random } from '../faults/random';
import type { Trace } from './trace';

/** One function app: its tick timer fires on one of its instances. */
export interface Deployment {
  readonly name: string;
  readonly hub: TaskHub;
  readonly instances: Instance[];
  ticking: Instance | undefined;
  revision: number;
  /** The location of the store that its settings name. Its instances see a change when they start. */
  home: string;
  /** Since when its task hub delivers nothing, permanently. */
  deadSince: number | undefined;
}

/** One host process with the real coordinator in it. */
export interface Instance extends Worker {
  readonly deployment: Deployment;
  readonly coordinator: Coordinator;
  drain(): Promise<void>;
  /** Its host is stopping: its timer does not fire, and it takes no message of its hub. */
  leaving: boolean;
  pausedSince: number | undefined;
  /** Since when its timer is the one that fires. */
  ticksSince: number;
}

/** How a line ends that tells of an error of one claim among others. */
const FAILED = 'its attempt failed:';
export const LOOK_AHEAD_MS = 5_000;
const TICK_MS = 15_000;
const TICK_OFFSET_MS = 10_000;

export interface InstanceOptions {
  readonly process: SimulatedProcess;
  readonly deployment: Deployment;
  readonly specs: readonly JobSpec[];
  readonly store: LeaseStore;
  readonly random: Random;
  readonly trace: Trace | undefined;
  readonly claimsPerSecond: number | undefined;
  readonly maxConcurrentRuns: number | undefined;
  readonly presences: boolean;
  /** The job's control could not be read again before its handler. */
  readonly controlUnread: (job: JobName) => void;
  readonly handlerOf: (job: JobName, instance: Instance) => RunnableJob['handler'];
  readonly said: (event: CoordinatorEvent) => void;
  /** An activity of the app. */
  readonly activity: (input: AppActivity, instance: Instance) => Promise<unknown>;
  /** It hands a job's lease over to its task hub. */
  readonly handedOver: (job: string, leaseId: string) => void;
  /** Called for an event that must not happen: a tick or an attempt throws, or the source itself is wrong. */
  readonly broken: (kind: 'threw' | 'crashed', what: string) => void;
  /** Whether this instance's timer is the one that fires. */
  readonly mayTick: (instance: Instance) => boolean;
}

export function startInstance(options: InstanceOptions): Instance {
  const { process, deployment, random, trace, broken } = options;
  const coordinator = createCoordinator(
    {
      store: options.store,
      clock: process.clock,
      random: random.next,
      newId: () => `${hex(random)}-0000-4000-8000-${hex(random)}0000`,
      deployment: deployment.name,
      revision: deployment.revision,
      jobs: new Map(
        options.specs.map((spec) => [
          spec.name,
          {
            spec,
            input: undefined,
            get handler() {
              return options.handlerOf(spec.name, instance);
            },
          },
        ]),
      ),
      settings: {
        ...{ lookAheadMs: LOOK_AHEAD_MS, sweepIntervalMs: 60_000, functionTimeoutMs: 150_000 },
        ...(options.claimsPerSecond !== undefined && {
          claimsPerSecond: options.claimsPerSecond,
          longestLookAheadMs: longestWait(options.store.limits.leaseMs.most),
        }),
      },
      ...(options.maxConcurrentRuns !== undefined && {
        concurrencyLimit: createConcurrencyLimit(process.clock, options.maxConcurrentRuns),
      }),
      ...(options.presences && {
        presence: { instance: process.id, version: '0', hubAccount: undefined, tickEveryMs: TICK_MS },
      }),
    },
    new Load(() => 0),
  );
  const report: Report = {
    event: (said) => {
      const { event, job, reason, token, attempt } = said;
      options.said(said);
      trace?.add(
        process.id,
        `${job ?? ''} event ${event} token ${String(token)} attempt ${String(attempt)} ${reason ?? ''}`,
      );
    },
    log: (_level, ...message) => {
      for (const job of unreadIn(String(message[0]))) options.controlUnread(job);
      if (String(message[0]).endsWith(FAILED)) broken('threw', `an attempt threw ${text(message[1])}`);
      const mistake = mistakeIn(message);
      if (mistake !== undefined) broken('crashed', `it logged ${mistake}`);
    },
  };
  const instance: Instance = {
    process,
    deployment,
    coordinator,
    pausedSince: undefined,
    ticksSince: Infinity,
    leaving: false,
    run: (input) =>
      input.kind === 'app'
        ? options.activity(input, instance)
        : input.kind === 'together'
          ? runTogether(input, () => ({ coordinator, report }), deployment.hub.for(process))
          : dispatch(coordinator, input, report).catch((error: unknown) => {
              broken(kindOfThrown(error), `an attempt threw ${text(error)}`);
              throw error;
            }),
    drain: () => drain(coordinator),
  };
  deployment.instances.push(instance);
  tickLoop().catch((error: unknown) => {
    broken(kindOfThrown(error), `a tick threw ${text(error)}`);
  });
  return instance;

  function watchedHub(): Hub {
    const hub = deployment.hub.for(process);
    return {
      ...hub,
      start: (id, input) => {
        for (const { job, leaseId } of claimsIn(input)) options.handedOver(job, leaseId);
        return hub.start(id, input);
      },
    };
  }

  async function tickLoop(): Promise<void> {
    const ticker = createTicker(coordinator);
    const { clock } = coordinator;
    const nextFire = (after: number): number =>
      Math.floor((after - TICK_OFFSET_MS) / TICK_MS + 1) * TICK_MS + TICK_OFFSET_MS;
    while (!instance.leaving && !coordinator.stopping) {
      await sleep(clock, nextFire(clock.now()) - clock.now());
      if (!instance.leaving && options.mayTick(instance)) await ticker.tick(watchedHub(), nextFire, report);
    }
  }
}

function claimsIn(input: OrchestrationInput): readonly HandedOver[] {
  if (input.kind === 'batch') return input.activities.flatMap(({ claims }) => claims);
  return input.kind === 'handedOver' ? [input] : [];
}

function hex(random: Random): string {
  return Math.floor(random.next() * 2 ** 32)
    .toString(16)
    .padStart(8, '0');
}

function text(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** The jobs of a warning that their controls could not be read again before their handlers: it names up to ten. */
function unreadIn(message: string): readonly JobName[] {
  const [, names = ''] = /^jobs? ([^:]+): (?:its|their) controls? could not be read again/.exec(message) ?? [];
  return (names.replace(/ and \d+ more$/, '').match(/[a-z0-9-]+/g) ?? []) as JobName[];
}
