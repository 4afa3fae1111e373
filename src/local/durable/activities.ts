import type { ActivityFunction } from '../host/functions';
import type { Invoke } from '../host/invoke';
import type { TypedData } from '../host/rpc';
import type { Command } from './actions';
import { EventType, failure, historyEvent, type HistoryEvent } from './history';

type ActivityCommand = Extract<Command, { readonly kind: 'activity' }>;

export interface ActivityOptions {
  readonly activities: readonly ActivityFunction[];
  readonly invoke: Invoke;
  readonly maxConcurrentActivities: number;
  /** How long an activity's message takes to arrive, in ms, as queues that are polled take. Default: 0. */
  readonly handOverDelayMs?: number | undefined;
  /** Called with the error of a function that failed. */
  readonly onError: (functionName: string, message: string) => void;
}

/** Runs activities, with a limit on how many run at once. */
export interface Activities {
  /**
   * @param on.begun - called when the host takes the activity's message
   * @throws an error if there is no such activity function
   */
  run(
    instanceId: string,
    command: ActivityCommand,
    on: { readonly begun: () => void; readonly done: (event: HistoryEvent) => void },
  ): void;
  /** Begins no more activities. */
  stop(): void;
}

/** A function's return value as JSON. */
export function toJson(data: TypedData | null | undefined): string | null {
  if (data === null || data === undefined) return null;
  if (typeof data.string === 'string') return JSON.stringify(data.string);
  if (typeof data.json === 'string') return data.json;
  if (data.bytes) return JSON.stringify(Buffer.from(data.bytes).toString('base64'));
  const number = data.int ?? data.double;
  return number === null || number === undefined ? null : JSON.stringify(number);
}

/**
 * @param functions - by name in lower case
 * @throws an error of this class, which names the functions that there are, if none has the name
 */
export function functionOf<F extends { readonly name: string }>(
  functions: ReadonlyMap<string, F>,
  name: string,
  kind: 'an orchestrator' | 'an activity' | 'an entity',
  Refusal: new (message: string) => Error = Error,
): F {
  const found = functions.get(name.toLowerCase());
  if (found !== undefined) return found;
  const names = Array.from(functions.values(), (fn) => fn.name);
  throw new Refusal(
    `The function '${name}' doesn't exist, is disabled, or is not ${kind} function. Those there are: ` +
      (names.length === 0 ? 'none.' : `'${names.join("', '")}'.`),
  );
}

/** An activity's call and its outcome, as the extension reports it to the orchestrator. */
async function callActivity(
  { invoke, onError }: ActivityOptions,
  fn: ActivityFunction,
  instanceId: string,
  { id, input }: ActivityCommand,
): Promise<HistoryEvent> {
  // durable-functions turns strings into JSON itself, and leaves everything else as it is.
  const trigger: TypedData =
    input === undefined || input === null ? {} : { string: typeof input === 'string' ? input : JSON.stringify(input) };
  try {
    const { returnValue } = await invoke(fn, { trigger, triggerMetadata: { instanceId: { string: instanceId } } });
    return historyEvent({ EventType: EventType.TaskCompleted, TaskScheduledId: id, Result: toJson(returnValue) });
  } catch (error) {
    const { message, stack = message } = error instanceof Error ? error : new Error(String(error));
    onError(fn.name, stack);
    const details = JSON.stringify({ Message: message, StackTraceString: stack });
    return failure(EventType.TaskFailed, id, `Activity function '${fn.name}' failed: ${message}`, details);
  }
}

export function createActivities(options: ActivityOptions): Activities {
  const activities = new Map(options.activities.map((fn) => [fn.name.toLowerCase(), fn]));
  const waiting: (() => Promise<void>)[] = [];
  const { handOverDelayMs: delayMs = 0 } = options;
  let running = 0;
  let stopped = false;

  const begin = (): void => {
    while (running < options.maxConcurrentActivities && !stopped) {
      const next = waiting.shift();
      if (next === undefined) return;
      running++;
      void next().finally(() => {
        running--;
        begin();
      });
    }
  };
  return {
    run(instanceId, command, { begun, done }) {
      const fn = functionOf(activities, command.name, 'an activity');
      const arrive = (): void => {
        waiting.push(async () => {
          begun();
          done(await callActivity(options, fn, instanceId, command));
        });
        begin();
      };
      if (delayMs === 0) arrive();
      else setTimeout(arrive, delayMs);
    },
    stop() {
      stopped = true;
    },
  };
}
