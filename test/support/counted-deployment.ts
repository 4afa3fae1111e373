import type { RequestPolicyFactory } from '@azure/storage-blob';
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { dispatch, runTogether } from '../../src/coordinator/attempt/together';
import { type Hub, type Report, createCoordinator } from '../../src/coordinator/coordinator';
import { Load } from '../../src/coordinator/health';
import type { ActivityInput } from '../../src/coordinator/message';
import { createTicker } from '../../src/coordinator/tick/tick';
import type { JobSpec } from '../../src/core/job';
import type { CallKind } from '../../src/core/storage-call';
import type { FanOutHandler } from '../../src/handler/define-fan-out';
import type { JobHandler } from '../../src/handler/handler';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import { playOrchestration } from './orchestrations';
import type { FakeReceiver } from './receivers';

/** A request to storage, by what it asks for. */
export interface CountedCall {
  readonly kind: CallKind;
  /** The method, `log` for a log, and the lease action or operation: `PUT acquire`, `PUT log appendblock`. */
  readonly what: string;
  /** The part of the name of the blob before its first slash: `jobs`, `runs`, `deployments`. */
  readonly room: string;
}

export interface CountedDeployment {
  readonly calls: CountedCall[];
  /** The inputs of its activities, in order. */
  readonly activities: ActivityInput[];
  /** How often its orchestrations were called: with each start, and with each answer or timer. */
  turns: number;
  /** Makes one tick, and waits until the runs that it started are over. */
  tick(nextFire: number): Promise<void>;
  /** Leaves every call unanswered from now on, as if the process were killed. */
  kill(): void;
}

interface CountedOptions {
  readonly connectionString: string;
  readonly name: string;
  readonly container: string;
  readonly jobs: readonly JobSpec[];
  readonly handler?: JobHandler | FanOutHandler;
  readonly sweepIntervalMs?: number;
  /** Whether it writes its presence. */
  readonly isPresent?: boolean;
  /** Sends its notices. */
  readonly receiver?: FakeReceiver;
  /** Waits before a call is sent. */
  readonly before?: (kind: CallKind) => Promise<void> | undefined;
}

const report: Report = { event: () => undefined, log: () => undefined };

/** A deployment on real time whose every request to the emulator is counted. */
export function countedDeployment(options: CountedOptions): CountedDeployment {
  const { name, container, jobs } = options;
  const calls: CountedCall[] = [];
  let dead = false;
  let kind: CallKind | undefined;
  const observe: RequestPolicyFactory = {
    create: (next) => ({
      sendRequest: async (request) => {
        // The counter has seen this request right before.
        if (kind === undefined) throw new Error(`${request.url} was not counted`);
        const call = describe(request, kind);
        kind = undefined;
        if (dead) return new Promise(() => undefined);
        calls.push(call);
        await options.before?.(call.kind);
        const answer = await next.sendRequest(request);
        return dead ? new Promise(() => undefined) : answer;
      },
    }),
  };
  const onCall = (counted: CallKind): void => void (kind = counted);
  const settings = { CRONLEASE_STORAGE: options.connectionString };
  const coordinator = createCoordinator(
    {
      store: azureBlobStore({
        container: connectContainer(settings, container, { onCall, policies: [observe] }),
        clock: systemClock,
      }),
      clock: systemClock,
      random: Math.random,
      newId: randomUUID,
      deployment: name,
      ...(options.isPresent === true && {
        presence: { instance: randomUUID(), version: '0.0.0', hubAccount: undefined, tickEveryMs: 15_000 },
      }),
      revision: 0,
      jobs: new Map(
        jobs.map((spec) => [spec.name, { spec, input: undefined, handler: options.handler ?? { run: () => 'done' } }]),
      ),
      settings: {
        lookAheadMs: 5_000,
        sweepIntervalMs: options.sweepIntervalMs ?? 60_000,
        functionTimeoutMs: 1_800_000,
      },
    },
    new Load(() => 0),
  );
  coordinator.outlet = options.receiver?.outlet(coordinator);
  const runs: Promise<unknown>[] = [];
  const ticker = createTicker(coordinator);
  const activities: ActivityInput[] = [];
  const counted: CountedDeployment = {
    calls,
    activities,
    turns: 0,
    tick: async (nextFire) => {
      const hub: Hub = {
        start: async (_id, input) => {
          const durable = {
            activity: (next: ActivityInput) => {
              activities.push(next);
              if (next.kind === 'together') return runTogether(next, () => ({ coordinator, report }), hub);
              return dispatch(coordinator, next, report);
            },
            timer: (at: Date) => setTimeout(Math.max(0, at.getTime() - Date.now())),
            onTurn: () => void (counted.turns += 1),
          };
          runs.push(playOrchestration(durable, input));
        },
        status: async () => 'completed',
        purge: async () => 0,
      };
      // A tick that outlives its fire serves the one after it.
      await ticker.tick(hub, (after) => (after < nextFire ? nextFire : after + 15_000), report);
      await Promise.all(runs.splice(0));
    },
    kill: () => {
      dead = true;
    },
  };
  return counted;
}

function describe(
  request: {
    readonly url: string;
    readonly method: string;
    readonly headers: { get(name: string): string | undefined };
  },
  kind: CallKind,
): CountedCall {
  const url = new URL(request.url);
  const [, , , room = ''] = url.pathname.split('/');
  const action = request.headers.get('x-ms-lease-action') ?? url.searchParams.get('comp') ?? '';
  const what = [request.method, room === 'logs' ? 'log' : '', action].filter((part) => part !== '').join(' ');
  return { kind, what, room };
}
