import { EventType, type HistoryEvent } from './history';
import { type HttpRequest, nextPoll } from './http';

const ActionType = {
  CallActivity: 0,
  CallActivityWithRetry: 1,
  CallSubOrchestrator: 2,
  CallSubOrchestratorWithRetry: 3,
  ContinueAsNew: 4,
  CreateTimer: 5,
  WaitForExternalEvent: 6,
  CallEntity: 7,
  CallHttp: 8,
  SignalEntity: 9,
  WhenAny: 11,
  WhenAll: 12,
} as const;

const UNSUPPORTED: Readonly<Record<number, string>> = {
  13: 'lock',
  14: 'the release of a lock',
};

/** One action as an orchestrator function returns it, with the members of its type. */
export interface Action {
  readonly actionType: number;
  readonly functionName: string;
  readonly instanceId?: string | null;
  readonly input?: unknown;
  readonly fireAt: string;
  readonly isCanceled?: boolean;
  readonly externalEventName: string;
  /** Of an entity, whose scheduler's id is `instanceId`. */
  readonly operation: string;
  readonly httpRequest: HttpRequest;
  readonly compoundActions: readonly Action[];
  readonly retryOptions: {
    readonly firstRetryIntervalInMilliseconds: number;
    readonly maxNumberOfAttempts: number;
    readonly backoffCoefficient?: number;
    readonly maxRetryIntervalInMilliseconds?: number;
    readonly retryTimeoutInMilliseconds?: number;
  };
}

type Task =
  | { readonly kind: 'activity'; readonly name: string; readonly input: unknown }
  | {
      readonly kind: 'subOrchestration';
      readonly name: string;
      readonly input: unknown;
      /** Undefined: the hub creates one. */
      readonly instanceId: string | undefined;
    }
  | { readonly kind: 'timer'; readonly fireAt: number; readonly canceled: boolean }
  | { readonly kind: 'http'; readonly request: HttpRequest }
  | {
      readonly kind: 'entity';
      /** Such as `@counter@a`. */
      readonly entity: string;
      readonly operation: string;
      readonly input: unknown;
      /** It has no answer. */
      readonly isSignal: boolean;
    };

/** A task that an orchestration requests, with its number in `durable-functions`. */
export type Command = Task & { readonly id: number };

export interface Plan {
  readonly commands: readonly Command[];
  readonly continueAsNew: { readonly input: unknown } | undefined;
  /** Raised events that nothing has waited for so far. */
  readonly unseen: readonly HistoryEvent[];
}

/** @param result JSON, of an activity that has succeeded */
type Ended = (failed: boolean, result?: string | null) => void;

function once(run: Ended): Ended {
  let called = false;
  return (failed, result) => {
    if (called) return;
    called = true;
    run(failed, result);
  };
}

/** The tasks of one orchestration while its history is played. */
interface Play {
  /** The instant of the current episode. */
  now: number;
  readonly commands: Command[];
  next: number;
  /** The numbers of calls of entities, by the ids of their requests. */
  readonly calls: Map<string, number>;
  /** The continuation after each open task, by the task's number. */
  readonly open: Map<number, Ended>;
  /** The waiting tasks of each external event, by its name. */
  readonly waiting: Map<string, Ended[]>;
  unseen: HistoryEvent[];
  continueAsNew: Plan['continueAsNew'];
}

function beginTask(play: Play, task: Task, ended: Ended, id = play.next++): void {
  play.open.set(id, ended);
  play.commands.push({ ...task, id });
}

function beginFunction(play: Play, { actionType, functionName: name, instanceId, input }: Action, ended: Ended): void {
  const isActivity = actionType === ActionType.CallActivity || actionType === ActionType.CallActivityWithRetry;
  if (isActivity) beginTask(play, { kind: 'activity', name, input }, ended);
  else beginTask(play, { kind: 'subOrchestration', name, input, instanceId: instanceId ?? undefined }, ended);
}

/**
 * A request that is answered by 202 is polled. `durable-functions` gives numbers to the timer and to the next request
 * as soon as the answer comes.
 */
function beginHttp(play: Play, request: HttpRequest, ended: Ended, id?: number): void {
  const answered: Ended = (failed, result) => {
    const poll = failed ? undefined : nextPoll(request, result, play.now);
    if (poll === undefined) return ended(failed);
    const [timer, next] = [play.next++, play.next++];
    const waited = (): void => beginHttp(play, poll.request, ended, next);
    beginTask(play, { kind: 'timer', fireAt: poll.at, canceled: false }, waited, timer);
  };
  beginTask(play, { kind: 'http', request }, answered, id);
}

function beginOperation(play: Play, { actionType, instanceId, operation, input }: Action, ended: Ended): void {
  const isSignal = actionType === ActionType.SignalEntity;
  beginTask(play, { kind: 'entity', entity: instanceId ?? '', operation, input, isSignal }, ended);
  if (isSignal) ended(false);
}

function beginWithRetry(play: Play, action: Action, attempt: number, ended: Ended): void {
  const options = action.retryOptions;
  if (options.retryTimeoutInMilliseconds !== undefined) {
    // durable-functions itself waits forever once this time is over.
    throw new Error(
      'The embedded host does not run the retry option retryTimeoutInMilliseconds. ' +
        'Use Azure Functions Core Tools for it.',
    );
  }
  beginFunction(play, action, (failed) => {
    if (!failed) return ended(false);
    const isLast = attempt >= options.maxNumberOfAttempts;
    const backoff = options.firstRetryIntervalInMilliseconds * (options.backoffCoefficient ?? 1) ** (attempt - 1);
    // A timer follows the last failure too: durable-functions fails the task when that timer fires.
    const delay = isLast ? 0 : Math.min(backoff, options.maxRetryIntervalInMilliseconds ?? Infinity);
    const fired = (): void => (isLast ? ended(true) : beginWithRetry(play, action, attempt + 1, ended));
    beginTask(play, { kind: 'timer', fireAt: play.now + delay, canceled: false }, fired);
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

function hasFailed(response: string | null): boolean {
  return (JSON.parse(response ?? '{}') as { readonly exceptionType?: string | null }).exceptionType != null;
}

function begin(play: Play, action: Action, ended: Ended): void {
  switch (action.actionType) {
    case ActionType.CallActivity:
    case ActionType.CallSubOrchestrator:
      return beginFunction(play, action, ended);
    case ActionType.CallActivityWithRetry:
    case ActionType.CallSubOrchestratorWithRetry:
      return beginWithRetry(play, action, 1, ended);
    case ActionType.CreateTimer: {
      const fireAt = Date.parse(action.fireAt);
      return beginTask(play, { kind: 'timer', fireAt, canceled: action.isCanceled === true }, ended);
    }
    case ActionType.WaitForExternalEvent:
      return awaitEvent(play, action.externalEventName, ended);
    case ActionType.CallHttp:
      return beginHttp(play, action.httpRequest, ended);
    case ActionType.CallEntity:
    case ActionType.SignalEntity:
      return beginOperation(play, action, ended);
    case ActionType.WhenAny:
      return action.compoundActions.forEach((part) => begin(play, part, ended));
    case ActionType.WhenAll: {
      let left = action.compoundActions.length;
      const partEnded: Ended = (failed) => {
        left--;
        if (left === 0 || failed) ended(failed);
      };
      return action.compoundActions.forEach((part) => begin(play, part, partEnded));
    }
    case ActionType.ContinueAsNew:
      play.continueAsNew = { input: action.input };
      return ended(false);
    default:
      throw new Error(
        `The embedded host does not run ${UNSUPPORTED[action.actionType] ?? `action ${action.actionType}`}. ` +
          'It runs callActivity, callActivityWithRetry, callSubOrchestrator, callSubOrchestratorWithRetry, createTimer, ' +
          'waitForExternalEvent, callHttp, callEntity, signalEntity, continueAsNew, Task.all and Task.any. ' +
          'Use Azure Functions Core Tools for the rest.',
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
    next: 0,
    calls: new Map(),
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
      case EventType.SubOrchestrationInstanceCompleted:
        play.open.get(event.TaskScheduledId)?.(false, event.Result);
        break;
      case EventType.TaskFailed:
      case EventType.SubOrchestrationInstanceFailed:
        play.open.get(event.TaskScheduledId)?.(true);
        break;
      case EventType.TimerFired:
        play.open.get(event.TimerId)?.(false);
        break;
      case EventType.EventSent:
        play.calls.set((JSON.parse(event.Input) as { readonly id: string }).id, event.EventId);
        break;
      case EventType.EventRaised: {
        const call = play.calls.get(event.Name);
        if (call !== undefined) {
          play.open.get(call)?.(hasFailed(event.Input));
          break;
        }
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
