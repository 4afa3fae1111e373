import { EventType, type HistoryEvent } from './history';

/** The actions of `durable-functions`, by number. */
const ActionType = {
  CallActivity: 0,
  CallActivityWithRetry: 1,
  CallSubOrchestrator: 2,
  CallSubOrchestratorWithRetry: 3,
  ContinueAsNew: 4,
  CreateTimer: 5,
  WaitForExternalEvent: 6,
  WhenAny: 11,
  WhenAll: 12,
} as const;

const UNSUPPORTED: Readonly<Record<number, string>> = {
  7: 'callEntity',
  8: 'callHttp',
  9: 'signalEntity',
  13: 'lock',
  14: 'the release of a lock',
};

/** One action as an orchestrator function returns it. */
export interface Action {
  readonly actionType: number;
  readonly functionName?: string;
  readonly instanceId?: string | null;
  readonly input?: unknown;
  readonly fireAt?: string;
  readonly isCanceled?: boolean;
  readonly externalEventName?: string;
  readonly compoundActions?: readonly Action[];
  readonly retryOptions?: {
    readonly firstRetryIntervalInMilliseconds: number;
    readonly maxNumberOfAttempts: number;
    readonly backoffCoefficient?: number;
    readonly maxRetryIntervalInMilliseconds?: number;
    readonly retryTimeoutInMilliseconds?: number;
  };
}

/** A task that an orchestration requests, with its number in `durable-functions`. */
export type Command =
  | { readonly kind: 'activity'; readonly id: number; readonly name: string; readonly input: unknown }
  | {
      readonly kind: 'subOrchestration';
      readonly id: number;
      readonly name: string;
      readonly input: unknown;
      /** Undefined: the hub creates one. */
      readonly instanceId: string | undefined;
    }
  | { readonly kind: 'timer'; readonly id: number; readonly fireAt: number; readonly canceled: boolean };

export interface Plan {
  readonly commands: readonly Command[];
  /** The input for a new start. */
  readonly continueAsNew: { readonly input: unknown } | undefined;
  /** Raised events that nothing has waited for so far. */
  readonly unseen: readonly HistoryEvent[];
}

type Ended = (failed: boolean) => void;

/** Passes on only the first call. */
function once(run: Ended): Ended {
  let called = false;
  return (failed) => {
    if (called) return;
    called = true;
    run(failed);
  };
}

/** The tasks of one orchestration while its history is played. */
interface Play {
  /** The instant of the current episode. */
  now: number;
  readonly commands: Command[];
  /** The continuation after each open task, by the task's number. */
  readonly open: Map<number, Ended>;
  /** The waiting tasks of each external event, by its name. */
  readonly waiting: Map<string, Ended[]>;
  unseen: HistoryEvent[];
  continueAsNew: Plan['continueAsNew'];
}

function beginActivity(play: Play, { functionName = '', input }: Action, ended: Ended): void {
  const id = play.commands.length;
  play.open.set(id, ended);
  play.commands.push({ kind: 'activity', id, name: functionName, input });
}

function beginSubOrchestration(play: Play, { functionName = '', instanceId, input }: Action, ended: Ended): void {
  const id = play.commands.length;
  play.open.set(id, ended);
  play.commands.push({ kind: 'subOrchestration', id, name: functionName, input, instanceId: instanceId ?? undefined });
}

function beginTimer(play: Play, fireAt: number, canceled: boolean, ended: Ended): void {
  const id = play.commands.length;
  play.open.set(id, ended);
  play.commands.push({ kind: 'timer', id, fireAt, canceled });
}

function beginWithRetry(play: Play, action: Action, attempt: number, ended: Ended): void {
  const options = action.retryOptions;
  if (options === undefined) throw new Error('A call with retry needs retry options.');
  if (options.retryTimeoutInMilliseconds !== undefined) {
    // durable-functions itself waits forever once this time is over.
    throw new Error('The retry option retryTimeoutInMilliseconds is not supported by the embedded host.');
  }
  const beginOnce =
    action.actionType === ActionType.CallSubOrchestratorWithRetry ? beginSubOrchestration : beginActivity;
  beginOnce(play, action, (failed) => {
    if (!failed) return ended(false);
    const isLast = attempt >= options.maxNumberOfAttempts;
    const backoff = options.firstRetryIntervalInMilliseconds * (options.backoffCoefficient ?? 1) ** (attempt - 1);
    // A timer follows the last failure too: durable-functions fails the task when that timer fires.
    const delay = isLast ? 0 : Math.min(backoff, options.maxRetryIntervalInMilliseconds ?? Infinity);
    const fired = (): void => (isLast ? ended(true) : beginWithRetry(play, action, attempt + 1, ended));
    beginTimer(play, play.now + delay, false, fired);
  });
}

function awaitEvent(play: Play, name: string, ended: Ended): void {
  const early = play.unseen.findIndex((event) => event.EventType === EventType.EventRaised && event.Name === name);
  if (early < 0) {
    play.waiting.set(name, [...(play.waiting.get(name) ?? []), ended]);
    return;
  }
  play.unseen.splice(early, 1);
  ended(false);
}

function begin(play: Play, action: Action, ended: Ended): void {
  const parts = action.compoundActions ?? [];
  let left = parts.length;
  switch (action.actionType) {
    case ActionType.CallActivity:
      return beginActivity(play, action, ended);
    case ActionType.CallActivityWithRetry:
    case ActionType.CallSubOrchestratorWithRetry:
      return beginWithRetry(play, action, 1, ended);
    case ActionType.CallSubOrchestrator:
      return beginSubOrchestration(play, action, ended);
    case ActionType.CreateTimer:
      return beginTimer(play, Date.parse(action.fireAt ?? ''), action.isCanceled === true, ended);
    case ActionType.WaitForExternalEvent:
      return awaitEvent(play, action.externalEventName ?? '', ended);
    case ActionType.WhenAny:
      return parts.forEach((part) => begin(play, part, ended));
    case ActionType.WhenAll:
      return parts.forEach((part) =>
        begin(play, part, (failed) => (--left === 0 || failed ? ended(failed) : undefined)),
      );
    case ActionType.ContinueAsNew:
      play.continueAsNew = { input: action.input };
      return ended(false);
    default:
      throw new Error(
        `The embedded host does not run ${UNSUPPORTED[action.actionType] ?? `action ${action.actionType}`}. ` +
          'It runs callActivity, callActivityWithRetry, callSubOrchestrator, callSubOrchestratorWithRetry, createTimer, ' +
          'waitForExternalEvent, continueAsNew, Task.all and Task.any. Use Azure Functions Core Tools for the rest.',
      );
  }
}

/**
 * Finds the tasks that an orchestration requests, over its whole history.
 *
 * `durable-functions` returns all its actions each time, without numbers. It matches results by numbers that it gives
 * to tasks in their order of appearance: a retry and its timer get theirs at the moment of the failure. So this replays
 * the history: an action begins when the one before it has ended.
 * @throws an error that names an action which the embedded host does not run
 */
export function planActions(actions: readonly Action[], history: readonly HistoryEvent[]): Plan {
  const play: Play = {
    now: 0,
    commands: [],
    open: new Map(),
    waiting: new Map(),
    unseen: [],
    continueAsNew: undefined,
  };
  let index = 0;
  const advance = (): void => {
    const action = actions[index++];
    if (action !== undefined) begin(play, action, once(advance));
  };
  for (const event of history) {
    switch (event.EventType) {
      case EventType.OrchestratorStarted:
        play.now = Date.parse(event.Timestamp);
        break;
      case EventType.ExecutionStarted:
        advance();
        break;
      case EventType.TaskCompleted:
      case EventType.TaskFailed:
        play.open.get(event.TaskScheduledId)?.(event.EventType === EventType.TaskFailed);
        break;
      case EventType.SubOrchestrationInstanceCompleted:
      case EventType.SubOrchestrationInstanceFailed:
        play.open.get(event.TaskScheduledId)?.(event.EventType === EventType.SubOrchestrationInstanceFailed);
        break;
      case EventType.TimerFired:
        play.open.get(event.TimerId)?.(false);
        break;
      case EventType.EventRaised: {
        const waiter = play.waiting.get(event.Name)?.pop();
        if (waiter === undefined) play.unseen.push(event);
        else waiter(false);
        break;
      }
      default:
        break;
    }
  }
  return play;
}
