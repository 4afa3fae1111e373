import type { ActivityInput, AttemptInput, Lane, OrchestrationInput } from '../../src/coordinator/message';
import type { OrchestrationRun } from '../../src/core/orchestration';
import {
  orchestrateBatch,
  orchestrateContinued,
  orchestrateItems,
  orchestrateRun,
} from '../../src/functions/orchestrator';

/** The requests of an orchestrator that {@link playOrchestration} supports. */
type Action =
  | { readonly kind: 'activity'; readonly input: ActivityInput }
  | { readonly kind: 'timer'; readonly at: Date }
  | { readonly kind: 'sub'; readonly input: Lane }
  | { readonly kind: 'app'; readonly id: string; readonly input: AppInput }
  | { readonly kind: 'all'; readonly actions: readonly Action[] };

/** The input of an orchestration of the app. */
export interface AppInput {
  readonly input: unknown;
  readonly cronlease: OrchestrationRun;
}

export interface Durable<Input = AttemptInput> {
  activity(input: Input): Promise<unknown>;
  timer(at: Date): Promise<void>;
  /** Carries out an orchestration of the app. */
  app?(id: string, input: AppInput): Promise<unknown>;
  /** Works on a lane, or on a part of one, in place of its orchestration. */
  lane?(lane: Lane): Promise<unknown>;
  /** Called with each call of an orchestrator: at its start, and with each answer. */
  onTurn?(): void;
}

/** Plays an orchestration with the real orchestrators. Messages pass through JSON, as in Durable. */
export async function playOrchestration(durable: Durable<ActivityInput>, input: OrchestrationInput): Promise<unknown> {
  if (input.kind === 'batch') return play(durable, orchestrateBatch as never, input);
  return play(durable, (input.kind === 'continued' ? orchestrateContinued : orchestrateRun) as never, input);
}

/** Plays the orchestration of one lane of items. */
export async function playLane(durable: Durable, lane: Lane): Promise<unknown> {
  return play(durable, orchestrateItems as never, lane);
}

async function play(
  durable: Durable<ActivityInput>,
  orchestrator: (context: unknown) => Generator<Action, unknown, unknown>,
  input: unknown,
): Promise<unknown> {
  const steps = orchestrator({
    df: {
      getInput: () => copy(input),
      callActivity: (_name: string, next: ActivityInput): Action => ({ kind: 'activity', input: copy(next) }),
      createTimer: (at: Date): Action => ({ kind: 'timer', at }),
      callSubOrchestrator: (_name: string, next: Lane & AppInput, id?: string): Action =>
        id === undefined ? { kind: 'sub', input: copy(next) } : { kind: 'app', id, input: copy(next) },
      Task: { all: (actions: readonly Action[]): Action => ({ kind: 'all', actions }) },
    },
  });
  const perform = async (action: Action): Promise<unknown> => {
    switch (action.kind) {
      case 'activity':
        return copy(await durable.activity(action.input));
      case 'timer':
        return durable.timer(action.at);
      case 'sub':
        return durable.lane?.(action.input) ?? playLane(durable, action.input);
      case 'app':
        return copy(await durable.app?.(action.id, action.input));
      case 'all':
        return Promise.all(action.actions.map(perform));
    }
  };
  durable.onTurn?.();
  let step = steps.next();
  while (step.done !== true) {
    try {
      const answer = await perform(step.value);
      durable.onTurn?.();
      step = steps.next(answer);
    } catch (error) {
      step = steps.throw(error);
    }
  }
  return step.value;
}

function copy<T>(message: T): T {
  return message === undefined ? message : (JSON.parse(JSON.stringify(message)) as T);
}
