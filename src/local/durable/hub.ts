import { randomUUID } from 'node:crypto';
import type { OrchestrationFunction } from '../host/functions';
import { callAt } from '../host/timer';
import { type Action, type Command, planActions } from './actions';
import { type ActivityOptions, createActivities, toJson, unknownFunction } from './activities';
import { EventType, historyEvent, type HistoryEvent, orchestratorPayload } from './history';
import { type HubFiles, hiddenUntil, type Visibility } from './hub-files';
import { cancelTimers, createInstances, type Instance, isFinished, type LiveInstance } from './instances';
import { checkReplay } from './replay';

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

export interface HubOptions extends ActivityOptions {
  readonly orchestrators: readonly OrchestrationFunction[];
  readonly files: HubFiles;
  readonly visibility: Visibility;
}

/**
 * A Durable task hub in this process: what the Durable extension is to a function app. What has not ended is kept in
 * files. The next host of the deployment continues with it; what a host had taken when it died stays hidden for a while.
 */
export interface Hub {
  /**
   * Starts an orchestration. An id whose instance has ended is used again, one that is under way is an error: the
   * extension's default (`overridableExistingInstanceStates: NonRunningStates`).
   * @param input - JSON
   * @throws {@link InvalidRequestError}, {@link InstanceExistsError}
   */
  start(functionName: string, instanceId: string | undefined, input: string): Instance;
  get(instanceId: string): Instance | undefined;
  list(): Iterable<Instance>;
  /** Nothing happens if the instance has ended. */
  raiseEvent(instanceId: string, eventName: string, input: string): void;
  /** Nothing happens if the instance has ended. */
  terminate(instanceId: string, reason: string): void;
  /** Forgets an instance that has ended; false if there is none. */
  purge(instanceId: string): boolean;
  /**
   * The host is shutting down: orchestrations are still taken, and stay pending. No episode and no activity begins any
   * more; those under way continue.
   */
  stop(): void;
}

/** What an orchestrator function returns. */
interface OrchestratorState {
  readonly isDone?: boolean;
  readonly actions?: readonly (readonly Action[])[];
  readonly output?: unknown;
  readonly error?: string;
  readonly customStatus?: unknown;
}

/** Before the state that `durable-functions` hides in the message of what an orchestrator function threw. */
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
  const activities = createActivities(options);
  const instances = createInstances();
  let stopped = false;

  const fail = (instance: LiveInstance, message: string): void => {
    const reason = `Orchestrator function '${instance.name}' failed: ${message}`;
    options.onError(instance.name, reason);
    finish(instance, 'Failed', JSON.stringify(reason));
  };

  /** Ends an instance, and tells the one whose sub-orchestration it is. */
  const finish = (instance: LiveInstance, status: 'Completed' | 'Failed' | 'Terminated', output: string): void => {
    instances.finish(instance, status, output);
    tellParent(instance, status, output);
    options.files.remove(instance.id);
  };

  const tellParent = (
    { name, parent }: LiveInstance,
    status: 'Completed' | 'Failed' | 'Terminated',
    output: string,
  ): void => {
    const waiting = parent === undefined ? undefined : instances.get(parent.id);
    if (parent === undefined || waiting === undefined) return;
    const TaskScheduledId = parent.task;
    const event =
      status === 'Completed'
        ? historyEvent({ EventType: EventType.SubOrchestrationInstanceCompleted, TaskScheduledId, Result: output })
        : historyEvent({
            EventType: EventType.SubOrchestrationInstanceFailed,
            TaskScheduledId,
            Reason: `Sub-orchestration '${name}' ended as ${status}`,
            Details: output,
            FailureDetails: null,
          });
    deliver(waiting, parent.execution, event);
  };

  const deliver = (instance: LiveInstance, execution: number, event: HistoryEvent): void => {
    if (instance.execution !== execution) return;
    if (event.EventType === EventType.TaskCompleted || event.EventType === EventType.TaskFailed) {
      instance.pending.delete(event.TaskScheduledId);
    } else if (event.EventType === EventType.TimerFired) instance.pending.delete(event.TimerId);
    instance.inbox.push(event);
    options.files.save(instance);
    wake(instance);
  };

  const wake = (instance: LiveInstance): void => {
    if (instance.busy || instance.inbox.length === 0 || stopped) return;
    instance.busy = true;
    instance.episodeAt = Date.now();
    options.files.save(instance);
    setImmediate(() => void runEpisode(instance));
  };

  /** Plays the orchestrator function once, over all that has happened. */
  const runEpisode = async (instance: LiveInstance): Promise<void> => {
    const { execution } = instance;
    instance.status = 'Running';
    instance.updatedAt = Date.now();
    instance.history.push(historyEvent({ EventType: EventType.OrchestratorStarted }), ...instance.inbox.splice(0));
    const state = await play(instance);
    instance.busy = false;
    instance.episodeAt = undefined;
    // Terminated meanwhile: what came of it is of no interest.
    if (instance.execution === execution) {
      try {
        apply(instance, state);
      } catch (error) {
        fail(instance, (error as Error).message);
      }
      if (!isFinished(instance.status)) options.files.save(instance);
    }
    wake(instance);
  };

  const play = async (instance: LiveInstance): Promise<OrchestratorState> => {
    try {
      const fn = orchestrators.get(instance.name.toLowerCase());
      if (fn === undefined) throw new Error(unknownFunction(instance.name, 'an orchestrator', orchestrators.values()));
      const trigger = { string: orchestratorPayload(instance, instance.history) };
      const { returnValue } = await options.invoke(fn, { trigger });
      return JSON.parse(toJson(returnValue) ?? '{}') as OrchestratorState;
    } catch (error) {
      return stateOf(error);
    }
  };

  /** Takes over what an episode has come to. */
  const apply = (instance: LiveInstance, state: OrchestratorState): void => {
    if (state.customStatus !== undefined) instance.customStatus = JSON.stringify(state.customStatus);
    if (state.error !== undefined) return fail(instance, state.error);
    const plan = planActions(state.actions?.flat() ?? [], instance.history);
    if (plan.continueAsNew !== undefined) return startOver(instance, plan.continueAsNew.input, plan.unseen);
    if (state.isDone === true) return finish(instance, 'Completed', JSON.stringify(state.output ?? null));
    const known = new Map(
      instance.history.filter((event) => event.EventId >= 0).map((event) => [event.EventId, event]),
    );
    for (const event of instance.history) event.IsPlayed = true;
    for (const command of plan.commands) {
      const event = known.get(command.id);
      if (event === undefined) perform(instance, command);
      else checkReplay(event, command);
      if (command.kind === 'timer' && command.canceled) {
        instance.timers.get(command.id)?.();
        instance.timers.delete(command.id);
        instance.pending.delete(command.id);
      }
    }
    instance.history.push(historyEvent({ EventType: EventType.OrchestratorCompleted }));
  };

  const startOver = (instance: LiveInstance, input: unknown, unseen: readonly HistoryEvent[]): void => {
    cancelTimers(instance);
    instance.pending.clear();
    instance.execution++;
    instance.input = typeof input === 'string' ? input : JSON.stringify(input ?? null);
    instance.history = [];
    instance.inbox.unshift(executionStarted(instance), ...unseen);
  };

  const perform = (instance: LiveInstance, command: Command): void => {
    const { id } = command;
    if (command.kind === 'activity') {
      runActivity(instance, command);
      instance.history.push(
        historyEvent({ EventType: EventType.TaskScheduled, EventId: id, Name: command.name, IsPlayed: true }),
      );
      return;
    }
    if (command.kind === 'subOrchestration') {
      startSubOrchestration(instance, command);
      return;
    }
    setTimer(instance, command);
    const FireAt = new Date(command.fireAt).toISOString();
    instance.history.push(historyEvent({ EventType: EventType.TimerCreated, EventId: id, FireAt, IsPlayed: true }));
  };

  const runActivity = (instance: LiveInstance, command: Extract<Command, { kind: 'activity' }>): void => {
    const { execution } = instance;
    const { id } = command;
    instance.pending.set(id, { command });
    activities.run(instance.id, command, {
      begun: () => {
        if (instance.execution !== execution) return;
        instance.pending.set(id, { command, takenAt: Date.now() });
        options.files.save(instance);
      },
      done: (event) => deliver(instance, execution, event),
    });
  };

  const setTimer = (instance: LiveInstance, command: Extract<Command, { kind: 'timer' }>): void => {
    const { execution } = instance;
    const { id, fireAt } = command;
    const FireAt = new Date(fireAt).toISOString();
    const fired = (): void => {
      instance.timers.delete(id);
      deliver(instance, execution, historyEvent({ EventType: EventType.TimerFired, TimerId: id, FireAt }));
    };
    instance.pending.set(id, { command });
    instance.timers.set(id, callAt(fireAt, fired));
  };

  /** Continues with what an earlier host of the deployment has left. */
  const resume = (instance: LiveInstance): void => {
    instances.add(instance);
    const { workItemMs, controlMs } = options.visibility;
    const now = Date.now();
    const runAgain = (command: Extract<Command, { kind: 'activity' }>): void => {
      try {
        runActivity(instance, command);
      } catch (error) {
        fail(instance, (error as Error).message);
      }
    };
    for (const [id, { command, takenAt }] of instance.pending) {
      if (command.kind === 'timer') setTimer(instance, command);
      else if (takenAt === undefined) runAgain(command);
      else {
        const visible = (): void => {
          instance.timers.delete(id);
          runAgain(command);
        };
        instance.timers.set(id, callAt(hiddenUntil(takenAt, workItemMs, now), visible));
      }
    }
    if (instance.episodeAt === undefined) return wake(instance);
    instance.busy = true;
    callAt(hiddenUntil(instance.episodeAt, controlMs, now), () => {
      if (!stopped && !isFinished(instance.status)) void runEpisode(instance);
    });
  };

  const startSubOrchestration = (
    parent: LiveInstance,
    { id, name, input, instanceId }: Extract<Command, { kind: 'subOrchestration' }>,
  ): void => {
    const fn = orchestrators.get(name.toLowerCase());
    if (fn === undefined) throw new Error(unknownFunction(name, 'an orchestrator', orchestrators.values()));
    const childId =
      instanceId === undefined ? `${parent.id}:${String(parent.execution)}:${String(id)}` : checkInstanceId(instanceId);
    if (underWay(childId) !== undefined) {
      throw new Error(`an orchestration instance with the id '${childId}' is under way already`);
    }
    const child = newInstance(childId, fn.name, JSON.stringify(input ?? null), {
      id: parent.id,
      execution: parent.execution,
      task: id,
    });
    instances.add(child);
    parent.history.push(
      historyEvent({
        EventType: EventType.SubOrchestrationInstanceCreated,
        EventId: id,
        Name: fn.name,
        InstanceId: childId,
        IsPlayed: true,
      }),
    );
    wake(child);
  };

  const underWay = (instanceId: string): LiveInstance | undefined => {
    const instance = instances.get(instanceId);
    return instance === undefined || isFinished(instance.status) ? undefined : instance;
  };

  for (const instance of options.files.load()) resume(instance);

  return {
    start(functionName, instanceId, input) {
      const fn = orchestrators.get(functionName.toLowerCase());
      if (fn === undefined) {
        throw new InvalidRequestError(unknownFunction(functionName, 'an orchestrator', orchestrators.values()));
      }
      const id = checkInstanceId(instanceId ?? randomUUID().replaceAll('-', ''));
      const existing = underWay(id);
      if (existing !== undefined) {
        throw new InstanceExistsError(`An Orchestration instance with the status ${existing.status} already exists.`);
      }
      const instance = newInstance(id, fn.name, input, undefined);
      instances.add(instance);
      options.files.save(instance);
      wake(instance);
      return instance;
    },
    get: instances.get,
    list: instances.list,
    raiseEvent(instanceId, eventName, input) {
      const instance = underWay(instanceId);
      const event = historyEvent({ EventType: EventType.EventRaised, Name: eventName, Input: input });
      if (instance !== undefined) deliver(instance, instance.execution, event);
    },
    terminate(instanceId, reason) {
      const instance = underWay(instanceId);
      if (instance !== undefined) finish(instance, 'Terminated', JSON.stringify(reason));
    },
    purge: instances.purge,
    stop() {
      stopped = true;
      activities.stop();
      for (const instance of instances.list()) cancelTimers(instance);
    },
  };
}

function newInstance(id: string, name: string, input: string, parent: Instance['parent']): LiveInstance {
  const now = Date.now();
  return {
    id,
    name,
    input,
    parent,
    status: 'Pending',
    output: undefined,
    customStatus: undefined,
    createdAt: now,
    updatedAt: now,
    history: [],
    inbox: [executionStarted({ name, input })],
    execution: 0,
    timers: new Map(),
    pending: new Map(),
    busy: false,
    episodeAt: undefined,
  };
}

function executionStarted({ name, input }: Pick<Instance, 'name' | 'input'>): HistoryEvent {
  return historyEvent({ EventType: EventType.ExecutionStarted, Name: name, Input: input });
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
