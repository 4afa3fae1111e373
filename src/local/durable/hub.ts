import { randomUUID } from 'node:crypto';
import type { ActivityFunction, OrchestrationFunction } from '../host/functions';
import type { Invoke } from '../host/invoke';
import type { TypedData } from '../host/rpc';
import { callAt } from '../host/timer';
import { type Action, type Command, planActions } from './actions';
import { EventType, historyEvent, type HistoryEvent, orchestratorPayload } from './history';

/** As the extension calls them. `Canceled`, `ContinuedAsNew` and `Suspended` do not come about here. */
export type RuntimeStatus = 'Pending' | 'Running' | 'Completed' | 'Failed' | 'Terminated';

/** One orchestration instance. Payloads are JSON texts. */
export interface Instance {
  readonly id: string;
  readonly name: string;
  readonly status: RuntimeStatus;
  readonly input: string;
  readonly output: string | undefined;
  readonly customStatus: string | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Empty once the instance has ended. */
  readonly history: readonly HistoryEvent[];
}

type Live = { -readonly [K in keyof Instance]: Instance[K] } & {
  history: HistoryEvent[];
  /** Events that no episode has seen yet. */
  inbox: HistoryEvent[];
  /** Grows with each start over: results of an earlier execution are dropped. */
  execution: number;
  /** Timers under way, by number: each is cancelled by calling it. */
  readonly timers: Map<number, () => void>;
  /** An episode is running, or about to. */
  busy: boolean;
};

/** What is asked of the hub makes no sense: an unknown function, an id that is not allowed. */
export class InvalidRequestError extends Error {
  readonly code = 'InvalidRequest';
  override readonly name = 'InvalidRequestError';
}

/** An orchestration with that id is under way. */
export class InstanceExistsError extends Error {
  readonly code = 'InstanceExists';
  override readonly name = 'InstanceExistsError';
}

/** The host is shutting down. */
export class HubStoppedError extends Error {
  readonly code = 'HubStopped';
  override readonly name = 'HubStoppedError';
}

export interface HubOptions {
  readonly orchestrators: readonly OrchestrationFunction[];
  readonly activities: readonly ActivityFunction[];
  readonly invoke: Invoke;
  readonly maxConcurrentActivities: number;
  /** Says why an orchestration or an activity failed. */
  readonly onError: (functionName: string, message: string) => void;
}

/** A Durable task hub in this process's memory: what the Durable extension is to a function app. */
export interface Hub {
  /**
   * Starts an orchestration. An id whose instance has ended is used again, one that is under way is an error: the
   * extension's default (`overridableExistingInstanceStates: NonRunningStates`).
   * @param input - JSON
   * @throws {@link InvalidRequestError}, {@link InstanceExistsError}, {@link HubStoppedError}
   */
  start(functionName: string, instanceId: string | undefined, input: string): Instance;
  get(instanceId: string): Instance | undefined;
  list(): Iterable<Instance>;
  /** Nothing happens if the instance has ended. */
  raiseEvent(instanceId: string, eventName: string, input: string): void;
  terminate(instanceId: string, reason: string): void;
  /** Forgets an instance that has ended; false if there is none. */
  purge(instanceId: string): boolean;
  /** Nothing new is started from here on: no orchestration, no episode, no activity. What runs goes on. */
  stop(): void;
}

/** Instances that have ended are kept up to this number and size, the newest ones. */
const KEEP_FINISHED = 1000;
const KEEP_FINISHED_CHARACTERS = 8 * 1024 * 1024;

export function isFinished(status: RuntimeStatus): boolean {
  return status === 'Completed' || status === 'Failed' || status === 'Terminated';
}

/** What a function returned, as JSON. */
function toJson(data: TypedData | null | undefined): string | null {
  if (data === null || data === undefined) return null;
  if (typeof data.string === 'string') return JSON.stringify(data.string);
  if (typeof data.json === 'string') return data.json;
  if (data.bytes) return JSON.stringify(Buffer.from(data.bytes).toString('base64'));
  const number = data.int ?? data.double;
  return number === null || number === undefined ? null : JSON.stringify(number);
}

/** What an orchestrator function returns. */
interface OrchestratorState {
  readonly isDone?: boolean;
  readonly actions?: readonly (readonly Action[])[];
  readonly output?: unknown;
  readonly error?: string;
  readonly customStatus?: unknown;
}

/** The state that `durable-functions` hides in the message of what an orchestrator function threw. */
const STATE_LABEL = '\n\n$OutOfProcData$:';

function stateOf(error: unknown): OrchestratorState {
  const message = error instanceof Error ? error.message : String(error);
  const at = message.indexOf(STATE_LABEL);
  if (at < 0) return { error: message };
  const state = JSON.parse(message.slice(at + STATE_LABEL.length)) as OrchestratorState;
  return { ...state, error: state.error ?? 'Unknown error' };
}

export function createHub(options: HubOptions): Hub {
  const orchestrators = new Map(options.orchestrators.map((fn) => [fn.name.toLowerCase(), fn]));
  const activities = new Map(options.activities.map((fn) => [fn.name.toLowerCase(), fn]));
  const instances = new Map<string, Live>();
  /** Ids of instances that have ended, oldest first, with the size of each. */
  const finished = new Map<string, number>();
  let finishedCharacters = 0;
  const waiting: (() => Promise<void>)[] = [];
  let running = 0;
  let stopped = false;

  const forget = (id: string): void => {
    finishedCharacters -= finished.get(id) ?? 0;
    finished.delete(id);
    instances.delete(id);
  };

  const finish = (instance: Live, status: RuntimeStatus, output: string): void => {
    for (const cancel of instance.timers.values()) cancel();
    instance.timers.clear();
    instance.execution++;
    Object.assign(instance, { status, output, history: [], inbox: [], updatedAt: Date.now() });
    const size = instance.input.length + output.length + (instance.customStatus?.length ?? 0);
    finished.set(instance.id, size);
    finishedCharacters += size;
    for (const id of finished.keys()) {
      if (finished.size <= KEEP_FINISHED && finishedCharacters <= KEEP_FINISHED_CHARACTERS) break;
      if (id !== instance.id) forget(id);
    }
  };

  const fail = (instance: Live, message: string): void => {
    const reason = `Orchestrator function '${instance.name}' failed: ${message}`;
    options.onError(instance.name, reason);
    finish(instance, 'Failed', JSON.stringify(reason));
  };

  const deliver = (instance: Live, execution: number, event: HistoryEvent): void => {
    if (instance.execution !== execution) return;
    instance.inbox.push(event);
    wake(instance);
  };

  const wake = (instance: Live): void => {
    if (instance.busy || instance.inbox.length === 0 || stopped) return;
    instance.busy = true;
    setImmediate(() => void runEpisode(instance));
  };

  const runEpisode = async (instance: Live): Promise<void> => {
    const fn = orchestrators.get(instance.name.toLowerCase());
    const { execution } = instance;
    instance.history.push(historyEvent({ EventType: EventType.OrchestratorStarted }), ...instance.inbox.splice(0));
    Object.assign(instance, { status: 'Running', updatedAt: Date.now() });
    let state: OrchestratorState;
    try {
      if (fn === undefined) throw new Error(`There is no orchestrator function '${instance.name}'.`);
      const trigger = { string: orchestratorPayload(instance, instance.history) };
      const returned = toJson((await options.invoke(fn, { trigger })).returnValue);
      state = JSON.parse(returned ?? '{}') as OrchestratorState;
    } catch (error) {
      state = stateOf(error);
    }
    instance.busy = false;
    // Terminated meanwhile: what came of it is of no interest.
    if (instance.execution === execution) {
      try {
        apply(instance, state);
      } catch (error) {
        fail(instance, (error as Error).message);
      }
    }
    wake(instance);
  };

  /** Takes over what an episode has come to. */
  const apply = (instance: Live, state: OrchestratorState): void => {
    if (state.customStatus !== undefined) instance.customStatus = JSON.stringify(state.customStatus);
    const plan = planActions(state.actions?.flat() ?? [], instance.history);
    if (state.error !== undefined) return fail(instance, state.error);
    if (state.isDone === true) {
      if (plan.continueAsNew === undefined) return finish(instance, 'Completed', JSON.stringify(state.output ?? null));
      return startOver(instance, plan.continueAsNew.input, plan.unseen);
    }
    const known = new Map(
      instance.history.filter((event) => event.EventId >= 0).map((event) => [event.EventId, event]),
    );
    for (const event of instance.history) Object.assign(event, { IsPlayed: true });
    for (const command of plan.commands) {
      const event = known.get(command.id);
      if (event === undefined) perform(instance, command);
      else checkReplay(event, command);
      if (command.kind === 'timer' && command.canceled) {
        instance.timers.get(command.id)?.();
        instance.timers.delete(command.id);
      }
    }
    instance.history.push(historyEvent({ EventType: EventType.OrchestratorCompleted }));
  };

  const startOver = (instance: Live, input: unknown, unseen: readonly HistoryEvent[]): void => {
    for (const cancel of instance.timers.values()) cancel();
    instance.timers.clear();
    instance.execution++;
    instance.input = typeof input === 'string' ? input : JSON.stringify(input ?? null);
    instance.history = [];
    instance.inbox.unshift(
      historyEvent({ EventType: EventType.ExecutionStarted, Name: instance.name, Input: instance.input }),
      ...unseen,
    );
  };

  const perform = (instance: Live, command: Command): void => {
    const { execution } = instance;
    if (command.kind === 'timer') {
      const FireAt = new Date(command.fireAt).toISOString();
      instance.history.push(
        historyEvent({ EventType: EventType.TimerCreated, EventId: command.id, FireAt, IsPlayed: true }),
      );
      const fired = (): void => {
        instance.timers.delete(command.id);
        deliver(instance, execution, historyEvent({ EventType: EventType.TimerFired, TimerId: command.id, FireAt }));
      };
      instance.timers.set(command.id, callAt(command.fireAt, fired));
      return;
    }
    const fn = activities.get(command.name.toLowerCase());
    if (fn === undefined) throw new Error(unknownFunction(command.name, 'activity', activities.values()));
    instance.history.push(
      historyEvent({ EventType: EventType.TaskScheduled, EventId: command.id, Name: command.name, IsPlayed: true }),
    );
    waiting.push(async () => {
      const event = await runActivity(options, fn, instance.id, command);
      deliver(instance, execution, event);
    });
    runActivities();
  };

  const runActivities = (): void => {
    while (running < options.maxConcurrentActivities && !stopped) {
      const next = waiting.shift();
      if (next === undefined) return;
      running++;
      void next().finally(() => {
        running--;
        runActivities();
      });
    }
  };

  return {
    start(functionName, instanceId, input) {
      if (stopped) throw new HubStoppedError('The host is shutting down: it starts nothing more.');
      const fn = orchestrators.get(functionName.toLowerCase());
      if (fn === undefined) {
        throw new InvalidRequestError(unknownFunction(functionName, 'orchestrator', orchestrators.values()));
      }
      const id = checkInstanceId(instanceId ?? randomUUID().replaceAll('-', ''));
      const existing = instances.get(id);
      if (existing !== undefined && !isFinished(existing.status)) {
        throw new InstanceExistsError(`An Orchestration instance with the status ${existing.status} already exists.`);
      }
      forget(id);
      const now = Date.now();
      const instance: Live = {
        id,
        name: fn.name,
        status: 'Pending',
        input,
        output: undefined,
        customStatus: undefined,
        createdAt: now,
        updatedAt: now,
        history: [],
        inbox: [historyEvent({ EventType: EventType.ExecutionStarted, Name: fn.name, Input: input })],
        execution: 0,
        timers: new Map(),
        busy: false,
      };
      instances.set(id, instance);
      wake(instance);
      return instance;
    },
    get: (instanceId) => instances.get(instanceId),
    list: () => instances.values(),
    raiseEvent(instanceId, eventName, input) {
      const instance = instances.get(instanceId);
      if (instance === undefined || isFinished(instance.status)) return;
      deliver(
        instance,
        instance.execution,
        historyEvent({ EventType: EventType.EventRaised, Name: eventName, Input: input }),
      );
    },
    terminate(instanceId, reason) {
      const instance = instances.get(instanceId);
      if (instance !== undefined && !isFinished(instance.status))
        finish(instance, 'Terminated', JSON.stringify(reason));
    },
    purge(instanceId) {
      if (!finished.has(instanceId)) return false;
      forget(instanceId);
      return true;
    },
    stop() {
      stopped = true;
      for (const instance of instances.values()) for (const cancel of instance.timers.values()) cancel();
    },
  };
}

/** An activity's call and its outcome, as the extension reports it to the orchestrator. */
async function runActivity(
  { invoke, onError }: HubOptions,
  fn: ActivityFunction,
  instanceId: string,
  { id, input }: Extract<Command, { kind: 'activity' }>,
): Promise<HistoryEvent> {
  // durable-functions turns strings into JSON itself, and leaves everything else as it is.
  const trigger: TypedData =
    input === undefined || input === null ? {} : { string: typeof input === 'string' ? input : JSON.stringify(input) };
  try {
    const response = await invoke(fn, { trigger, triggerMetadata: { instanceId: { string: instanceId } } });
    return historyEvent({
      EventType: EventType.TaskCompleted,
      TaskScheduledId: id,
      Result: toJson(response.returnValue),
    });
  } catch (error) {
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    onError(fn.name, stack ?? message);
    return historyEvent({
      EventType: EventType.TaskFailed,
      TaskScheduledId: id,
      Reason: `Activity function '${fn.name}' failed: ${message}`,
      Details: JSON.stringify({
        $type: 'System.Exception, System.Private.CoreLib',
        Message: message,
        StackTraceString: stack,
      }),
      FailureDetails: null,
    });
  }
}

function unknownFunction(
  name: string,
  kind: 'orchestrator' | 'activity',
  known: Iterable<{ readonly name: string }>,
): string {
  const names = Array.from(known, (fn) => fn.name);
  const article = kind === 'activity' ? 'an activity' : 'an orchestrator';
  return (
    `The function '${name}' doesn't exist, is disabled, or is not ${article} function. ` +
    (names.length === 0
      ? `No ${kind} functions are registered.`
      : `The following are the known ${kind} functions: '${names.join("', '")}'.`)
  );
}

/** The extension's own rules. */
function checkInstanceId(id: string): string {
  if (id.startsWith('@')) throw new InvalidRequestError('Orchestration instance ids must not start with @.');
  if (/[/\\#?\p{Cc}]/u.test(id)) {
    throw new InvalidRequestError('Orchestration instance ids must not contain /, \\, #, ?, or control characters.');
  }
  if (id.length > 100) throw new InvalidRequestError('Instance ID lengths must not exceed 100 characters.');
  return id;
}

/** An orchestrator must ask for the same things each time it is played. */
function checkReplay(event: HistoryEvent, command: Command): void {
  const isSame =
    command.kind === 'timer'
      ? event.EventType === EventType.TimerCreated
      : event.EventType === EventType.TaskScheduled && event.Name.toLowerCase() === command.name.toLowerCase();
  if (isSame) return;
  const was = event.EventType === EventType.TaskScheduled ? `the activity '${event.Name}'` : 'a timer';
  const is = command.kind === 'activity' ? `the activity '${command.name}'` : 'a timer';
  throw new Error(
    `Non-deterministic orchestrator: as its task number ${command.id} it first asked for ${was}, now for ${is}. ` +
      'An orchestrator function must do the same each time it is played: no clock, no random numbers, no I/O of its own.',
  );
}
