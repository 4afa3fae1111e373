import type { Hub } from '../coordinator/coordinator';
import type { ActivityInput, Lane, OrchestrationInput } from '../coordinator/message';
import type { EpochMs, Millis } from '../core/brand';
import { type Clock, sleep } from '../core/clock';
import { orchestrateBatch, orchestrateContinued, orchestrateItems, orchestrateRun } from '../functions/orchestrator';

/**
 * A task hub in the memory of this process. It keeps nothing: when the process ends, the rows of its runs remain, and a
 * tick of any process continues them once their leases have expired, as after the loss of a task hub of Durable.
 */
export interface ProcessHub extends Hub {
  /** Lets no orchestration take another step. Calls that run are left to themselves. */
  close(): void;
}

interface ProcessHubOptions {
  readonly clock: Clock;
  readonly run: (input: ActivityInput) => Promise<unknown>;
  /** Told of an orchestration that an error ended. The row of its run then shows a holder that died. */
  readonly onFailure: (id: string, error: unknown) => void;
}

interface Orchestration {
  readonly createdAt: EpochMs;
  /** The same on the monotonic clock: the other one may be set back. */
  readonly since: Millis;
  status: 'pending' | 'completed' | 'failed';
}

/** A start is repeated, and a probe asked for, within seconds. In a day, a busy process would gather hundreds of MB. */
const KEPT_MS: Millis = 600_000;

type Steps = Generator<unknown, unknown, never>;

export function createProcessHub({ clock, run, onFailure }: ProcessHubOptions): ProcessHub {
  const orchestrations = new Map<string, Orchestration>();
  const closing = new AbortController();
  const { signal } = closing;

  /** The part of Durable's context that the orchestrators use, with promises for tasks. */
  const contextOf = (input: unknown) => ({
    df: {
      getInput: () => input,
      callActivity: (_name: string, activity: ActivityInput) => run(activity),
      createTimer: (at: Date) => sleep(clock, at.getTime() - clock.now(), signal),
      callSubOrchestrator: (_name: string, lane: Lane) => drive(orchestrateItems(contextOf(lane) as never)),
      Task: { all: (tasks: readonly Promise<unknown>[]) => Promise.all(tasks) },
    },
  });

  /** Never settles once the hub is closed. */
  async function drive(steps: Steps): Promise<unknown> {
    let step = steps.next();
    while (step.done !== true) {
      let taken: () => IteratorResult<unknown, unknown>;
      try {
        const result = (await step.value) as never;
        taken = () => steps.next(result);
      } catch (error) {
        taken = () => steps.throw(error);
      }
      if (signal.aborted) await new Promise(() => undefined);
      step = taken();
    }
    return step.value;
  }

  /** The oldest come first. */
  function forgetOld(): void {
    for (const [id, { since, status }] of orchestrations) {
      if (clock.monotonic() - since < KEPT_MS) return;
      if (status !== 'pending') orchestrations.delete(id);
    }
  }

  return {
    async start(id, input) {
      if (signal.aborted) throw new Error('the task hub of this process is closed');
      if (orchestrations.has(id)) return;
      forgetOld();
      const orchestration: Orchestration = { createdAt: clock.now(), since: clock.monotonic(), status: 'pending' };
      orchestrations.set(id, orchestration);
      void drive(orchestratorOf(input)(contextOf(input) as never)).then(
        () => {
          orchestration.status = 'completed';
        },
        (error: unknown) => {
          orchestration.status = 'failed';
          onFailure(id, error);
        },
      );
    },
    status: async (id) => orchestrations.get(id)?.status ?? 'unknown',
    async purge({ from, to }) {
      const found = Array.from(orchestrations).filter(
        ([, { createdAt }]) => createdAt >= from.getTime() && createdAt <= to.getTime(),
      );
      for (const [id, { status }] of found) if (status !== 'pending') orchestrations.delete(id);
      return found.length;
    },
    close() {
      closing.abort();
    },
  };
}

function orchestratorOf({ kind }: OrchestrationInput): (context: never) => Generator<unknown, unknown, never> {
  if (kind === 'batch') return orchestrateBatch;
  return kind === 'continued' ? orchestrateContinued : orchestrateRun;
}
