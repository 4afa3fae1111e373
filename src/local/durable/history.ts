/** As in the extension: the wait before a request that was accepted is polled. */
export const POLL_AFTER_MS = 30_000;

/** The numbers of history events that the Durable extension sends to `durable-functions`. */
export const EventType = {
  ExecutionStarted: 0,
  TaskScheduled: 4,
  TaskCompleted: 5,
  TaskFailed: 6,
  SubOrchestrationInstanceCreated: 7,
  SubOrchestrationInstanceCompleted: 8,
  SubOrchestrationInstanceFailed: 9,
  TimerCreated: 10,
  TimerFired: 11,
  OrchestratorStarted: 12,
  OrchestratorCompleted: 13,
  EventSent: 14,
  EventRaised: 15,
} as const;

type FailureType = typeof EventType.TaskFailed | typeof EventType.SubOrchestrationInstanceFailed;

interface Common {
  /** The number of the task or timer that the event creates; -1 for other events. */
  readonly EventId: number;
  /** Whether an earlier episode has seen it. */
  IsPlayed: boolean;
  /** ISO 8601. */
  readonly Timestamp: string;
}

/** One event of an orchestration's history, in the extension's own form. */
export type HistoryEvent = Common &
  (
    | { readonly EventType: typeof EventType.ExecutionStarted; readonly Name: string; readonly Input: string | null }
    | { readonly EventType: typeof EventType.TaskScheduled; readonly Name: string }
    | {
        readonly EventType: typeof EventType.TaskCompleted | typeof EventType.SubOrchestrationInstanceCompleted;
        readonly TaskScheduledId: number;
        readonly Result: string | null;
      }
    | {
        readonly EventType: typeof EventType.SubOrchestrationInstanceCreated;
        readonly Name: string;
        readonly InstanceId: string;
      }
    | {
        readonly EventType: FailureType;
        readonly TaskScheduledId: number;
        readonly Reason: string;
        readonly Details: string;
        readonly FailureDetails: null;
      }
    | { readonly EventType: typeof EventType.TimerCreated; readonly FireAt: string }
    | { readonly EventType: typeof EventType.TimerFired; readonly TimerId: number; readonly FireAt: string }
    | { readonly EventType: typeof EventType.OrchestratorStarted }
    | { readonly EventType: typeof EventType.OrchestratorCompleted }
    | {
        /** A message to an entity. Its input is the JSON of a request with an `id`, which names the answering event. */
        readonly EventType: typeof EventType.EventSent;
        readonly Name: 'op';
        readonly InstanceId: string;
        readonly Input: string;
      }
    | { readonly EventType: typeof EventType.EventRaised; readonly Name: string; readonly Input: string | null }
  );

type Own<E> = E extends HistoryEvent ? Omit<E, keyof Common> & Partial<Pick<Common, 'EventId' | 'IsPlayed'>> : never;

export type NewEvent = Own<HistoryEvent>;

export function historyEvent(event: NewEvent): HistoryEvent {
  return { EventId: -1, IsPlayed: false, Timestamp: new Date().toISOString(), ...event };
}

export function failure(type: FailureType, TaskScheduledId: number, Reason: string, Details: string): HistoryEvent {
  return historyEvent({ EventType: type, TaskScheduledId, Reason, Details, FailureDetails: null });
}

export function orchestratorPayload(
  instance: { readonly id: string; readonly input: string; readonly parent: { readonly id: string } | undefined },
  history: readonly HistoryEvent[],
): string {
  return JSON.stringify({
    history,
    input: JSON.parse(instance.input) as unknown,
    instanceId: instance.id,
    isReplaying: history.some((event) => event.IsPlayed),
    parentInstanceId: instance.parent?.id ?? null,
    upperSchemaVersion: 1,
    upperSchemaVersionNew: 3,
    longRunningTimerIntervalDuration: '3.00:00:00',
    // Unlimited, where Azure Storage allows 6 days: timers here may have any length, so none needs splitting.
    maximumShortTimerDuration: '10675199.02:48:05.4775807',
    defaultHttpAsyncRequestSleepTimeMillseconds: POLL_AFTER_MS,
  });
}
