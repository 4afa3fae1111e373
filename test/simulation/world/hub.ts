import type { JobName } from '../../../src/core/brand';
import { type OrchestrationEnd, type OrchestrationRun, failedOrchestration } from '../../../src/core/orchestration';
import type { ActivityInput, Lane, OrchestrationInput } from '../../../src/coordinator/message';
import type { Hub } from '../../../src/coordinator/coordinator';
import {
  orchestrateBatch,
  orchestrateContinued,
  orchestrateItems,
  orchestrateRun,
} from '../../../src/functions/orchestrator';
import type { Fault, FaultStream, HubFault } from '../faults/faults';
import type { SimulatedProcess } from './process';
import type { Random } from '../faults/random';
import type { Timeline } from './timeline';
import type { Trace } from './trace';

/** A process that can run activities. */
export interface Worker {
  readonly process: SimulatedProcess;
  /** An activity of the app that fails returns that. */
  run(input: ActivityInput | AppActivity): Promise<unknown>;
  /** Whether it takes no new work any longer. */
  readonly leaving: boolean;
}

/** One deployment's task hub: it outlives its instances. */
export interface TaskHub {
  /** One process's connection to the hub. */
  for(process: SimulatedProcess): Hub;
  /** While set, the hub delivers nothing. */
  dead: boolean;
  /** The delay of every message except probes. */
  lateMs: number;
  /** While set, the hub takes no orchestration. */
  refusing: boolean;
  /** When the latest probe that has not come through was sent; undefined if it has, or if none was sent. */
  probingSince(): number | undefined;
  /** Loses everything in the hub. */
  wipe(): void;
  /** The app's orchestrations that have not ended. */
  atWork(): readonly { readonly id: string; readonly job: JobName; readonly token: number }[];
}

/** The activity of an orchestration of the app. */
export interface AppActivity {
  readonly kind: 'app';
  readonly cronlease: OrchestrationRun;
  readonly step: number;
}

/** The orchestrations of the app that a hub runs. */
export interface App {
  /** The app's orchestrator. It throws where the orchestration fails. */
  readonly orchestrate: (run: OrchestrationRun) => Generator<Action, unknown, unknown>;
  readonly began: (run: OrchestrationRun) => void;
  readonly succeeded: (run: OrchestrationRun) => void;
  readonly failed: (run: OrchestrationRun) => void;
  readonly terminated: (run: OrchestrationRun) => void;
}

interface Orchestration {
  readonly id: string;
  /** It is one of the app. */
  readonly app: OrchestrationRun | undefined;
  /** What it has returned, or its error. */
  value: unknown;
  status: 'pending' | 'completed' | 'failed';
  readonly steps: Generator<unknown, unknown, unknown>;
  /** It waits for one sub-orchestration, and not for several side by side. */
  waitsForOne?: boolean;
  /** The number of the activity for which it waits. */
  step: number;
  /** Whose sub-orchestration it is, and at which place among those that run side by side. */
  readonly parent: { readonly orchestration: Orchestration; readonly step: number; readonly place: number } | undefined;
  /** The results of what it waits for side by side, activities or sub-orchestrations, and the number of open ones. */
  children: { readonly results: Map<number, unknown>; left: number };
}

/** What asked for an activity: the step of its orchestration, and the place among those that run side by side. */
interface Asked {
  readonly orchestration: Orchestration;
  readonly step: number;
  readonly place: number | undefined;
}

interface TaskHubOptions {
  readonly name: string;
  readonly timeline: Timeline;
  readonly trace: Trace | undefined;
  readonly messages: FaultStream;
  readonly start: number;
  readonly workers: () => readonly Worker[];
  readonly app: App;
}

type Action =
  | { readonly kind: 'app'; readonly input: AppActivity }
  | { readonly kind: 'sub'; readonly id: string; readonly input: { readonly cronlease: OrchestrationRun } }
  | { readonly kind: 'activity'; readonly input: ActivityInput }
  | { readonly kind: 'timer'; readonly at: Date }
  | { readonly kind: 'lane'; readonly lane: Lane }
  | { readonly kind: 'all'; readonly actions: readonly Action[] };

class SubOrchestrationError extends Error {}

export type { Action };

export function createTaskHub(options: TaskHubOptions): TaskHub {
  const { timeline, trace, workers } = options;
  const orchestrations = new Map<string, Orchestration>();
  let latestProbe: { readonly id: string; readonly at: number } | undefined;
  const next = (kinds: readonly HubFault[], about: string): { fault: Fault | undefined; random: Random } => {
    const { fault, random } = options.messages.next(kinds);
    if (fault !== undefined) trace?.add(options.name, `${about}: fault ${fault.kind}, ${String(fault.ms)} ms`);
    return { fault, random };
  };

  const hub: TaskHub = {
    dead: false,
    lateMs: 0,
    refusing: false,
    probingSince: () =>
      latestProbe !== undefined && orchestrations.get(latestProbe.id)?.status !== 'completed'
        ? latestProbe.at
        : undefined,
    wipe: () => {
      trace?.add(options.name, 'hub wiped');
      orchestrations.clear();
    },
    for: (process) => ({
      start: (id, input) =>
        hub.refusing
          ? refuse(process)
          : reach(process, `start of ${id}`, () => {
              start(id, input);
            }),
      status: (id) => reach(process, `status of ${id}`, () => orchestrations.get(id)?.status ?? 'unknown'),
      purge: async () => 0,
      orchestrations: {
        knows: async () => true,
        running: () =>
          reach(process, 'running orchestrations', () => atWork().map(({ id }) => ({ id, progress: { note: '1' } }))),
        end: (id) => reach(process, `end of ${id}`, () => endOf(orchestrations.get(id))),
        raise: (id, event) => reach(process, `event ${event} for ${id}`, () => undefined),
        terminate: (id, reason) =>
          reach(process, `termination of ${id}`, () => {
            terminate(orchestrations.get(id), reason);
          }),
      },
    }),
    atWork: () => atWork().flatMap(({ id, app }) => (app ? [{ id, job: app.job as JobName, token: app.token }] : [])),
  };
  return hub;

  function atWork(): readonly Orchestration[] {
    return [...orchestrations.values()].filter(({ app, status }) => app !== undefined && status === 'pending');
  }

  function endOf(orchestration: Orchestration | undefined): OrchestrationEnd | 'running' | undefined {
    if (orchestration === undefined) return undefined;
    if (orchestration.status === 'pending') return 'running';
    if (orchestration.status === 'failed') return failedOrchestration(String(orchestration.value));
    return { state: 'succeeded', result: JSON.stringify(orchestration.value ?? null) };
  }

  function terminate(orchestration: Orchestration | undefined, reason: string): void {
    if (orchestration?.status !== 'pending') return;
    trace?.add(options.name, `${orchestration.id} is terminated: ${reason}`);
    if (orchestration.app !== undefined) options.app.terminated(orchestration.app);
    // Not every back end tells its parent.
    const isTold = next([], orchestration.id).random.chance(0.5);
    fail(orchestration, new SubOrchestrationError(`terminated: ${reason}`), isTold);
  }

  function fail(orchestration: Orchestration, error: unknown, isTold = true): void {
    orchestration.status = 'failed';
    orchestration.value = error;
    if (isTold) tellParent(orchestration, error instanceof Error ? error : new Error(String(error)));
  }

  function refuse(process: SimulatedProcess): Promise<never> {
    return new Promise((_resolve, reject) => {
      timeline.after(5, () => {
        process.enter(() => reject(new Error('simulated: the hub refuses every start')));
      });
    });
  }

  function reach<T>(process: SimulatedProcess, about: string, apply: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const { fault, random } = next(['startRefused', 'startAnswerLost', 'startSlow'], about);
      const back = random.whole(1, 10);
      timeline.after(fault?.kind === 'startSlow' ? fault.ms : random.whole(2, 20), () => {
        const settle =
          fault?.kind === 'startRefused' ? () => reject(new Error('simulated: the hub refused')) : answerOf(apply());
        timeline.after(back, () => {
          process.enter(settle);
        });
      });
      const answerOf = (answer: T) => (): void => {
        if (fault?.kind === 'startAnswerLost') reject(new Error("simulated: the hub's answer was lost"));
        else resolve(answer);
      };
    });
  }

  function start(id: string, input: OrchestrationInput): void {
    if (orchestrations.has(id)) return;
    if (input.kind === 'probe') latestProbe = { id, at: timeline.now() };
    else trace?.add(options.name, `orchestration ${id} starts`);
    begin(id, orchestratorOf(input)(contextOf(input) as never), undefined);
  }

  function begin(
    id: string,
    steps: Orchestration['steps'],
    parent: Orchestration['parent'],
    app?: OrchestrationRun,
  ): void {
    const children = { results: new Map(), left: 0 };
    const orchestration: Orchestration = {
      ...{ id, app, status: 'pending', value: undefined, steps, step: 0, parent, children },
    };
    orchestrations.set(id, orchestration);
    advance(orchestration, undefined);
  }

  function beginSub(orchestration: Orchestration, id: string, run: OrchestrationRun): void {
    orchestration.children = { results: new Map(), left: 1 };
    orchestration.waitsForOne = true;
    const { step } = orchestration;
    const { random } = next([], id);
    timeline.after(random.whole(2, 20), () => {
      whenAlive(() => {
        if (!waitsFor(orchestration, step, 0)) return;
        trace?.add(options.name, `${id} begins`);
        options.app.began(run);
        begin(id, options.app.orchestrate(run), { orchestration, step, place: 0 }, run);
      });
    });
  }

  /** @param result an error is thrown into the orchestrator */
  function advance(orchestration: Orchestration, result: unknown): void {
    let yielded: IteratorResult<unknown, unknown>;
    try {
      yielded = result instanceof Error ? orchestration.steps.throw(result) : orchestration.steps.next(result);
    } catch (error) {
      if (orchestration.app === undefined) throw error;
      trace?.add(options.name, `${orchestration.id} fails: ${String(error)}`);
      options.app.failed(orchestration.app);
      fail(orchestration, error);
      return;
    }
    orchestration.step += 1;
    if (yielded.done === true) {
      orchestration.status = 'completed';
      orchestration.value = yielded.value;
      if (orchestration.app !== undefined) {
        trace?.add(options.name, `${orchestration.id} succeeds`);
        options.app.succeeded(orchestration.app);
      }
      tellParent(orchestration, yielded.value);
      return;
    }
    // The orchestrator yields values of this hub's own context, whatever Durable calls their type.
    const action = yielded.value as Action;
    switch (action.kind) {
      case 'activity':
      case 'app':
        send(orchestration, undefined, action.input);
        return;
      case 'sub':
        beginSub(orchestration, action.id, action.input.cronlease);
        return;
      case 'timer':
        sendTimer(orchestration, action.at);
        return;
      case 'lane':
        throw new Error('a lane is begun beside others only');
      case 'all':
        beginAll(orchestration, action.actions);
    }
  }

  function sendTimer(orchestration: Orchestration, instant: Date): void {
    // Durable timers are cut to whole seconds.
    const at = Math.floor(instant.getTime() / 1000) * 1000 - options.start;
    const late = next([], orchestration.id).random.whole(0, 2_000);
    timeline.after(Math.max(0, at - timeline.now()) + late, () => {
      whenAlive(() => {
        if (isCurrent(orchestration)) advance(orchestration, undefined);
      });
    });
  }

  function beginAll(orchestration: Orchestration, actions: readonly Action[]): void {
    orchestration.children = { results: new Map(), left: actions.length };
    for (const [place, action] of actions.entries()) {
      if (action.kind === 'activity') send(orchestration, place, action.input);
      else if (action.kind === 'lane') beginLane(orchestration, place, action.lane);
      else throw new Error(`${action.kind} is not begun beside others`);
    }
  }

  function beginLane(orchestration: Orchestration, place: number, lane: Lane): void {
    const id = `${orchestration.id}:${String(orchestration.step)}:${String(place)}`;
    const parent = { orchestration, step: orchestration.step, place };
    begin(id, orchestrateItems(contextOf(lane) as never), parent);
  }

  function tellParent({ parent }: Orchestration, value: unknown): void {
    if (parent === undefined) return;
    const { orchestration, step, place } = parent;
    const { random } = next([], orchestration.id);
    timeline.after(hiddenFor(orchestration) + random.whole(2, 20), () => {
      whenAlive(() => {
        childDone(orchestration, step, place, value);
      });
    });
  }

  function childDone(orchestration: Orchestration, step: number, place: number, value: unknown): void {
    if (!waitsFor(orchestration, step, place)) return;
    const { children } = orchestration;
    children.results.set(place, value);
    children.left -= 1;
    if (children.left > 0) return;
    // A sub-orchestration that is waited for by itself.
    if (place === 0 && orchestration.waitsForOne === true) {
      orchestration.waitsForOne = false;
      advance(orchestration, value);
      return;
    }
    const inOrder = [...children.results].toSorted(([one], [other]) => one - other);
    advance(
      orchestration,
      inOrder.map(([, result]) => result),
    );
  }

  /** @param place among those that run side by side */
  function waitsFor(orchestration: Orchestration, step: number, place: number | undefined): boolean {
    const isDone = place !== undefined && orchestration.children.results.has(place);
    return isCurrent(orchestration) && orchestration.step === step && !isDone;
  }

  /** The time for which a message to a fan-out's orchestrations stays hidden after its host died. */
  function hiddenFor({ id, parent, children }: Orchestration): number {
    if (parent === undefined && children.left === 0) return 0;
    return next(['hidden'], id).fault?.ms ?? 0;
  }

  function isCurrent(orchestration: Orchestration): boolean {
    return orchestrations.get(orchestration.id) === orchestration && orchestration.status === 'pending';
  }

  function send(orchestration: Orchestration, place: number | undefined, input: ActivityInput | AppActivity): void {
    const { step } = orchestration;
    // Durable loses no message. Here it may lose those of cronlease, which must not depend on them.
    const { fault, random } = next(input.kind === 'app' ? ['late'] : ['dropped', 'late'], orchestration.id);
    const once = next(['again', 'afterwards'], orchestration.id);
    if (fault?.kind !== 'dropped') {
      const late = input.kind === 'probe' ? 0 : hub.lateMs;
      timeline.after(late + (fault?.kind === 'late' ? fault.ms : random.whole(3, 40)), () => {
        deliver({ orchestration, step, place }, input, random);
      });
    }
    if (once.fault !== undefined) {
      timeline.after(once.fault.ms, () => {
        deliver({ orchestration, step, place }, input, once.random, once.fault?.kind === 'afterwards');
      });
    }
  }

  function whenAlive(run: () => void): void {
    if (hub.dead)
      timeline.after(5_000, () => {
        whenAlive(run);
      });
    else run();
  }

  /** @param late a second copy of the message, which is carried out although its orchestration has moved on */
  function deliver(asked: Asked, input: ActivityInput | AppActivity, random: Random, late = false): void {
    const { orchestration, step, place } = asked;
    if (!late && !waitsFor(orchestration, step, place)) return;
    const again = (delay: number): void => {
      timeline.after(delay, () => {
        deliver(asked, input, random);
      });
    };
    // A process that has just been stopped may have fetched the message before.
    const able = workers().filter(
      ({ process, leaving }) => !process.dead && !leaving && (!process.paused || random.chance(0.1)),
    );
    if (hub.dead || able.length === 0) {
      again(5_000);
      return;
    }
    const worker = able[random.whole(0, able.length - 1)];
    if (worker === undefined) return;
    let over = false;
    const redeliverAfter = random.pick([20_000, 90_000, 300_000]);
    // The message becomes visible again when its worker has died.
    const guard = (): void => {
      timeline.after(redeliverAfter, () => {
        if (over) return;
        if (worker.process.dead) deliver(asked, input, random);
        else guard();
      });
    };
    guard();
    worker.process.enter(() => {
      worker.run(copy(input)).then(
        (result) => {
          over = true;
          timeline.after(hiddenFor(orchestration) + random.whole(2, 20), () => {
            whenAlive(() => {
              if (place !== undefined) childDone(orchestration, step, place, copy(result));
              else if (waitsFor(orchestration, step, place)) advance(orchestration, answerOf(copy(result)));
            });
          });
        },
        (error: unknown) => {
          over = true;
          trace?.add(options.name, `activity of ${orchestration.id} threw: ${String(error)}`);
          orchestration.status = 'failed';
        },
      );
    });
  }
}

function orchestratorOf({ kind }: OrchestrationInput): (context: never) => Orchestration['steps'] {
  if (kind === 'batch') return orchestrateBatch;
  return kind === 'continued' ? orchestrateContinued : orchestrateRun;
}

/** The error of an activity of the app. */
function answerOf(result: unknown): unknown {
  const isFailure = typeof result === 'object' && result !== null && 'failed' in result;
  return isFailure ? new Error(String(result.failed)) : result;
}

/** An orchestrator's view of Durable. */
function contextOf(input: unknown): object {
  const message = copy(input);
  return {
    df: {
      getInput: () => message,
      callActivity: (_name: string, given: ActivityInput): Action => ({ kind: 'activity', input: copy(given) }),
      createTimer: (at: Date): Action => ({ kind: 'timer', at }),
      callSubOrchestrator: (_name: string, input: Lane, id?: string): Action =>
        id === undefined ? { kind: 'lane', lane: copy(input) } : { kind: 'sub', id, input: copy(input) as never },
      Task: { all: (actions: readonly Action[]): Action => ({ kind: 'all', actions }) },
    },
  };
}

/** Messages pass through Durable as JSON. */
function copy<T>(message: T): T {
  return JSON.parse(JSON.stringify(message)) as T;
}
