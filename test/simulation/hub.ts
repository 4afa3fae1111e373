import type { AttemptInput, AttemptResult } from '../../src/coordinator/message';
import type { Hub } from '../../src/coordinator/coordinator';
import { orchestrateRun } from '../../src/functions/orchestrator';
import type { HubFault } from './plan';
import type { SimulatedProcess } from './process';
import type { Random } from './random';
import type { Timeline } from './timeline';
import type { Trace } from './trace';

/** A process that can run activities. */
export interface Worker {
  readonly process: SimulatedProcess;
  run(input: AttemptInput): Promise<AttemptResult>;
  /** It takes no new work any more. */
  readonly leaving: boolean;
}

/** One deployment's task hub: it outlives its instances. */
export interface TaskHub {
  /** The hub as one process reaches it. */
  for(process: SimulatedProcess): Hub;
  /** Nothing is delivered while it is so. */
  dead: boolean;
  /** Everything in it is lost. */
  wipe(): void;
}

interface Orchestration {
  readonly id: string;
  status: 'pending' | 'completed' | 'failed';
  readonly steps: ReturnType<typeof orchestrateRun>;
  /** Number of the activity that it waits for. */
  step: number;
}

interface TaskHubOptions {
  readonly name: string;
  readonly timeline: Timeline;
  readonly trace: Trace;
  readonly random: Random;
  readonly start: number;
  readonly rate: (fault: HubFault) => number;
  readonly workers: () => readonly Worker[];
}

type Action =
  { readonly kind: 'activity'; readonly input: AttemptInput } | { readonly kind: 'timer'; readonly at: Date };

export function createTaskHub(options: TaskHubOptions): TaskHub {
  const { timeline, trace, random, workers, rate } = options;
  const orchestrations = new Map<string, Orchestration>();
  const strikes = (fault: HubFault): boolean => random.chance(rate(fault));

  const hub: TaskHub = {
    dead: false,
    wipe: () => {
      trace.add(options.name, 'hub wiped');
      orchestrations.clear();
    },
    for: (process) => ({
      start: (id, input) => reach(process, () => start(id, input)),
      status: (id) => reach(process, () => orchestrations.get(id)?.status ?? 'unknown'),
      purge: async () => undefined,
    }),
  };
  return hub;

  function reach<T>(process: SimulatedProcess, apply: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const refused = strikes('startRefused');
      const answerLost = strikes('startAnswerLost');
      const delay = strikes('startSlow') ? random.whole(500, 40_000) : random.whole(2, 20);
      timeline.after(delay, () => {
        const answer = refused ? undefined : apply();
        timeline.after(random.whole(1, 10), () => {
          process.enter(() => {
            if (answer === undefined && (refused || answerLost)) reject(new Error('simulated: the hub refused'));
            else if (answerLost) reject(new Error("simulated: the hub's answer was lost"));
            else resolve(answer as T);
          });
        });
      });
    });
  }

  function start(id: string, input: AttemptInput): void {
    if (orchestrations.has(id)) return;
    const message = copy(input);
    const context = {
      df: {
        getInput: () => message,
        callActivity: (_name: string, next: AttemptInput): Action => ({ kind: 'activity', input: copy(next) }),
        createTimer: (at: Date): Action => ({ kind: 'timer', at }),
      },
    };
    const orchestration: Orchestration = { id, status: 'pending', steps: orchestrateRun(context as never), step: 0 };
    orchestrations.set(id, orchestration);
    if (!id.includes('probe')) trace.add(options.name, `orchestration ${id} starts`);
    advance(orchestration, undefined);
  }

  function advance(orchestration: Orchestration, result: AttemptResult | undefined): void {
    const next = orchestration.steps.next(result as AttemptResult);
    orchestration.step += 1;
    if (next.done === true) {
      orchestration.status = 'completed';
      return;
    }
    // What the orchestrator yields is what this hub's own context gave it, whatever Durable calls its type.
    const action = next.value as unknown as Action;
    if (action.kind === 'activity') {
      send(orchestration, action.input);
      return;
    }
    // Durable timers are cut to whole seconds.
    const at = Math.floor(action.at.getTime() / 1000) * 1000 - options.start;
    timeline.after(Math.max(0, at - timeline.now()) + random.whole(0, 2_000), () => {
      whenAlive(() => {
        if (isCurrent(orchestration)) advance(orchestration, undefined);
      });
    });
  }

  function isCurrent(orchestration: Orchestration): boolean {
    return orchestrations.get(orchestration.id) === orchestration;
  }

  function send(orchestration: Orchestration, input: AttemptInput): void {
    const { step } = orchestration;
    if (strikes('dropped')) {
      trace.add(options.name, `activity of ${orchestration.id} dropped`);
      return;
    }
    const delay = strikes('late') ? random.whole(500, 90_000) : random.whole(3, 40);
    timeline.after(delay, () => {
      deliver(orchestration, step, input);
    });
    if (!strikes('twice')) return;
    timeline.after(random.whole(0, 60_000), () => {
      trace.add(options.name, `activity of ${orchestration.id} delivered once more`);
      deliver(orchestration, step, input);
    });
  }

  function whenAlive(run: () => void): void {
    if (hub.dead)
      timeline.after(5_000, () => {
        whenAlive(run);
      });
    else run();
  }

  function deliver(orchestration: Orchestration, step: number, input: AttemptInput): void {
    if (!isCurrent(orchestration) || orchestration.step !== step) return;
    const again = (delay: number): void => {
      timeline.after(delay, () => {
        deliver(orchestration, step, input);
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
        if (worker.process.dead) deliver(orchestration, step, input);
        else guard();
      });
    };
    guard();
    worker.process.enter(() => {
      worker.run(copy(input)).then(
        (result) => {
          over = true;
          timeline.after(random.whole(2, 20), () => {
            whenAlive(() => {
              if (isCurrent(orchestration) && orchestration.step === step) advance(orchestration, copy(result));
            });
          });
        },
        (error: unknown) => {
          over = true;
          trace.add(options.name, `activity of ${orchestration.id} threw: ${String(error)}`);
          orchestration.status = 'failed';
        },
      );
    });
  }
}

/** What goes through Durable is JSON. */
function copy<T>(message: T): T {
  return JSON.parse(JSON.stringify(message)) as T;
}
