import { type Clock, sleep } from '../../src/core/clock';
import { type OrchestrationEnd, failedOrchestration } from '../../src/core/orchestration';
import type { AppOrchestrations } from '../../src/coordinator/hub';
import type { OrchestrationHandler } from '../../src/handler/define-orchestration';
import type { AnyHandler } from '../../src/handler/handlers';
import type { AppInput } from './orchestrations';
import type { HubLog, Instance } from './rival-ticks';

/** A handler that is an orchestration, with what the app does in it. */
export interface PretendOrchestration extends OrchestrationHandler {
  /** The orchestrator. An error that it throws is the failure of the orchestration. */
  readonly orchestrate: (input: AppInput, ways: OrchestratorWays) => Promise<unknown>;
}

/** What a pretended orchestrator can do. What it returns after its termination has no effect. */
export interface OrchestratorWays {
  readonly id: string;
  /** Carries out an activity in one of the processes of the hub's deployment. */
  readonly activity: <T>(act: (on: Instance) => Promise<T>) => Promise<T>;
  readonly timer: (ms: number) => Promise<void>;
  /** Aborted by its termination, or by an event, whose name is the reason. */
  readonly ended: AbortSignal;
}

/** An unanswered message of a dead instance comes back after this long. */
export const REDELIVERED_AFTER_MS = 20_000;

/** The handler of a job in a process. */
export type HandlerOf = (job: string, on: Instance) => AnyHandler | undefined;

/** Resolves once the process is dead. */
export async function gone(clock: Clock, worker: Instance): Promise<undefined> {
  while (!worker.dead) await sleep(clock, REDELIVERED_AFTER_MS);
  return undefined;
}

interface AppInHub extends AppOrchestrations {
  /** Carries an orchestration out. Rejects if it fails or is terminated. */
  begin(id: string, input: AppInput): Promise<unknown>;
}

/** The app's own orchestrations in one task hub. */
export function appHub(
  clock: Clock,
  { handlerOf, log }: { readonly handlerOf: HandlerOf; readonly log: Pick<HubLog, 'listings'> },
  workers: () => readonly Instance[],
): AppInHub {
  const all = new Map<string, { end: OrchestrationEnd | 'running'; readonly stop: AbortController }>();
  const ends = new Map<string, (error: Error) => void>();
  /** A process that sleeps takes no message. One that dies gives its own back. */
  const activity: OrchestratorWays['activity'] = async (act) => {
    for (;;) {
      const worker = workers().find((one) => !one.dead && !one.paused && !one.coordinator.stopping);
      if (worker !== undefined) {
        const done = await Promise.race([act(worker).then((value) => ({ value })), gone(clock, worker)]);
        if (done !== undefined) return done.value;
      }
      await sleep(clock, REDELIVERED_AFTER_MS);
    }
  };
  return {
    begin: async (id, input) => {
      await sleep(clock, workers()[0]?.beginsLateMs ?? 0);
      const stop = new AbortController();
      const one = { end: 'running' as OrchestrationEnd | 'running', stop };
      all.set(id, one);
      return new Promise((resolve, reject) => {
        ends.set(id, reject);
        const on = workers()[0];
        const handler = on && (handlerOf(input.cronlease.job, on) as PretendOrchestration | undefined);
        const ways = { id, activity, timer: (ms: number) => sleep(clock, ms), ended: stop.signal };
        void handler?.orchestrate(input, ways).then(
          (result) => {
            if (one.end !== 'running') return;
            one.end = { state: 'succeeded', result: JSON.stringify(result ?? null) };
            resolve(result);
          },
          (error: Error) => {
            if (one.end !== 'running') return;
            one.end = failedOrchestration(error.message);
            reject(error);
          },
        );
      });
    },
    knows: async () => true,
    running: async () => {
      log.listings += 1;
      return [...all].flatMap(([id, { end }]) => (end === 'running' ? [{ id }] : []));
    },
    end: async (id) => all.get(id)?.end,
    raise: async (id, event) => {
      if (all.get(id)?.end === 'running') all.get(id)?.stop.abort(event);
    },
    terminate: async (id, reason) => {
      const one = all.get(id);
      if (one?.end !== 'running') return;
      one.end = failedOrchestration(reason);
      one.stop.abort('terminated');
      ends.get(id)?.(new Error(reason));
    },
  };
}
