import type { EpochMs, JobName } from './brand';
import type { Trigger } from './outcome';
import { brief } from './text';

/**
 * The events, by name. `cronlease dev --json` prints each as one line. docs/reference/events.md is made from these
 * comments and from those of the members below.
 */
export type EventName =
  /** This deployment claimed an attempt. */
  | 'claimed'
  /** The handler was called, `latenessMs` after the due time. */
  | 'started'
  /** The attempt ended, and the run continues with another one. */
  | 'retrying'
  /** A fan-out was planned, and instances work on its `count` items. */
  | 'fannedOut'
  /** The run ended as `succeeded`. */
  | 'succeeded'
  /** The run ended as `failed`. */
  | 'failed'
  /** The run ended as `timedOut`. */
  | 'timedOut'
  /** The run ended as `stalled`. */
  | 'stalled'
  /** The run ended as `cancelled`. */
  | 'cancelled'
  /** This deployment claimed an attempt because the run's last holder died or lost its lease. */
  | 'takenOver'
  /** An attempt found that it no longer leads, and ended without effect. */
  | 'superseded'
  /** The due times are recorded as `overlapped`. */
  | 'overlapped'
  /** The due times are recorded as `collapsed`. */
  | 'collapsed'
  /** The due times are recorded as `expired`. */
  | 'expired'
  /** The due times are recorded as `paused`. */
  | 'paused'
  /** The due times are recorded as `disabled`. */
  | 'disabled'
  /** The job has had no success for `ageMs`, longer than its `alertAfter`. Repeated at each sweep. */
  | 'overdue'
  /** This machine's clock is more than 2 s off the storage service's. Repeated every five minutes. */
  | 'clockSkew'
  /**
   * This deployment claims no job, or leaves one out; `reason` names the cause. Repeated at each sweep while the
   * trouble lasts; a new reason is logged at once.
   */
  | 'unhealthy'
  /** This deployment claims again. After trouble with storage, once that has not recurred for half a minute. */
  | 'healthy'
  /** Most runs of this process start late; `reason` names what it lacks. */
  | 'overloaded'
  /** Most runs start on time again. */
  | 'onTime'
  /** A notice was created and is being sent; `reason` is the change that it reports. */
  | 'noticed'
  /** A notice has reached the receiver that `reason` names. */
  | 'noticeSent'
  /** A notice did not reach a receiver and is not retried, or a receiver was disabled; `reason` names the cause. */
  | 'noticeLost'
  /** Something needs attention, but jobs run. */
  | 'warning';

export interface CoordinatorEvent {
  /** The name, one of the above. */
  readonly event: EventName;
  /** When it happened. */
  readonly at: EpochMs;
  /** The job, if the event is about one. */
  readonly job?: JobName;
  /** The due time, or the oldest one of several. */
  readonly scheduledFor?: EpochMs;
  /** The run. */
  readonly runId?: string;
  /** The fencing token of the attempt. */
  readonly token?: number;
  /** The number of the attempt, from 1. */
  readonly attempt?: number;
  /** Why, cut to 300 characters: a [reason](outcomes.md), or a sentence. */
  readonly reason?: string;
  /** The newest due time, if the event is about several with one outcome. */
  readonly through?: EpochMs;
  /** How many due times they are, or, for `fannedOut`, how many items. */
  readonly count?: number;
  /** How late the handler started, for `started`; the latest start, for `overloaded`. */
  readonly latenessMs?: number;
  /** How long the handler waited for its instance's concurrency limit, for `started`. Absent if it did not. */
  readonly waitedForConcurrencyMs?: number;
  /** How long it waited for a place in its job's group, for `started`. Absent if it did not. */
  readonly waitedForGroupMs?: number;
  /** From the first call of the handler to the end of the run, if the event is that end. */
  readonly durationMs?: number;
  /** What started the run, if the event is its end. */
  readonly trigger?: Trigger;
  /** The id of the run's trace, if the app exports traces. */
  readonly traceId?: string;
  /** How long the job has had no success, for `overdue`. */
  readonly ageMs?: number;
  /** How far this machine's clock is ahead of the storage service's, for `clockSkew`. */
  readonly skewMs?: number;
}

/** Receives the coordinator's events. */
export type Observer = (event: CoordinatorEvent) => void;

/** An event's line in the host's log: this prefix, then one JSON object. */
export const EVENT_PREFIX = 'cronlease ';

/** One log line, with instants as ISO 8601. Application Insights cuts long lines anywhere, so the reason is cut. */
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
