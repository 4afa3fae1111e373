import type { EpochMs, JobName } from './brand';
import { brief } from './text';

/** What can be seen happening, by name. `cronlease dev --json` prints each as one line. */
export type EventName =
  | 'claimed'
  | 'started'
  | 'retrying'
  | 'fannedOut'
  | 'succeeded'
  | 'failed'
  | 'timedOut'
  | 'stalled'
  | 'cancelled'
  | 'takenOver'
  | 'superseded'
  | 'overlapped'
  | 'collapsed'
  | 'expired'
  | 'paused'
  | 'disabled'
  | 'overdue'
  | 'clockSkew'
  | 'unhealthy'
  | 'healthy'
  | 'warning';

export interface CoordinatorEvent {
  readonly event: EventName;
  readonly at: EpochMs;
  readonly job?: JobName;
  readonly scheduledFor?: EpochMs;
  readonly runId?: string;
  readonly token?: number;
  readonly attempt?: number;
  readonly reason?: string;
  /** For a stretch of due times with one fate: its last one, and how many they are. `fannedOut`: how many items. */
  readonly through?: EpochMs;
  readonly count?: number;
  /** How late the handler started, for `started`. */
  readonly latenessMs?: number;
  /** For how long the job has been without a success, for `overdue`. */
  readonly ageMs?: number;
  /** How far this machine's clock is ahead of the storage service's, for `clockSkew`. */
  readonly skewMs?: number;
}

/** Where the coordinator says what happens. */
export type Observer = (event: CoordinatorEvent) => void;

/** An event's line in the host's log: this prefix, then one JSON object. */
export const EVENT_PREFIX = 'cronlease ';

/** The event as one log line; instants as ISO 8601, its reason cut: Application Insights cuts long lines anywhere. */
export function formatEvent(event: CoordinatorEvent, deployment: string): string {
  const { at, scheduledFor, through, reason, event: name, ...rest } = event;
  return (
    EVENT_PREFIX +
    JSON.stringify({
      event: name,
      at: new Date(at).toISOString(),
      deployment,
      ...rest,
      ...(reason === undefined ? {} : { reason: brief(reason) }),
      ...(scheduledFor === undefined ? {} : { scheduledFor: new Date(scheduledFor).toISOString() }),
      ...(through === undefined ? {} : { through: new Date(through).toISOString() }),
    })
  );
}
