import { wordOf } from '../../core/guide';
import { RAN_OUTCOMES } from '../../core/outcome';
import { showDay, showSpan, showTimeOfDay } from '../../core/show-time';
import { oneLine } from '../../core/text';
import type { ClusterEvent } from '../../local/cluster/deployment';

export interface LineOptions {
  readonly timeZone: string;
  /** Whether to print tokens, first attempts, claims and the reasons of successes too. */
  readonly verbose: boolean;
}

/** The terminal's names of events that only a local cluster has. */
const NAMES: Readonly<Record<string, string>> = {
  instanceExited: 'exited',
  instanceStarted: 'restarted',
};
/** A start later than this is marked as late. */
const LATE_MS = 1000;
export const ATTEMPT_ENDS: readonly string[] = [...RAN_OUTCOMES, 'retrying', 'fannedOut', 'superseded'];
const RUN_ENDS: readonly string[] = RAN_OUTCOMES;

export function eventName(event: string): string {
  return NAMES[event] ?? wordOf(event);
}

export function eventLines({ timeZone, verbose }: LineOptions): (event: ClusterEvent) => string {
  /** When each running handler was called, and how many attempts of each run only planned it. */
  const started = new Map<string, number>();
  const planned = new Map<string, number>();

  const due = ({ scheduledFor, through, count, event, at }: ClusterEvent): string => {
    const show = (iso: string): string => {
      const instant = Date.parse(iso);
      const time = showTimeOfDay(instant, timeZone);
      return showDay(instant, timeZone) === showDay(Date.parse(at), timeZone)
        ? time
        : `${showDay(instant, timeZone)} ${time}`;
    };
    const counted = event === 'fannedOut' ? 'items' : 'due times';
    return [
      scheduledFor === undefined ? undefined : `due ${show(scheduledFor)}`,
      through === undefined ? undefined : `to ${show(through)}`,
      count === undefined || count === 1 ? undefined : `(${count} ${counted})`,
    ]
      .filter((part) => part !== undefined)
      .join(' ');
  };

  const attempt = ({ attempt: number, runId = '' }: ClusterEvent): string | undefined => {
    if (number === undefined) return undefined;
    const counted = number - (planned.get(runId) ?? 0);
    return verbose ? `attempt ${number}` : counted > 1 ? `attempt ${counted}` : undefined;
  };

  /**
   * The duration of the run, as its record has it, or, at another end of an attempt, from the handler's call to here.
   */
  const took = ({ event, at, runId = '', token = 0, durationMs }: ClusterEvent): string | undefined => {
    const key = `${runId} ${token}`;
    if (event === 'started') started.set(key, Date.parse(at));
    if (!ATTEMPT_ENDS.includes(event)) return undefined;
    const since = started.get(key);
    started.delete(key);
    if (RUN_ENDS.includes(event)) return durationMs === undefined ? undefined : `took ${showSpan(durationMs)}`;
    return since === undefined ? undefined : `took ${showSpan(Date.parse(at) - since)}`;
  };

  const lateness = (told: ClusterEvent): string | undefined => {
    const { latenessMs, event, runId = '' } = told;
    if (latenessMs === undefined) return undefined;
    if (event === 'started' && planned.has(runId)) return 'gathers the results';
    return verbose || latenessMs >= LATE_MS ? `${showSpan(latenessMs)} late${waits(told)}` : undefined;
  };
  const waits = ({ waitedForGroupMs, waitedForConcurrencyMs }: ClusterEvent): string =>
    wait(waitedForGroupMs, 'a place in its group') + wait(waitedForConcurrencyMs, 'the concurrency limit');
  const wait = (waitedMs: number | undefined, what: string): string =>
    waitedMs === undefined ? '' : `, ${showSpan(waitedMs)} of it for ${what}`;

  const facts = (event: ClusterEvent): readonly (string | undefined)[] => [
    attempt(event),
    verbose && event.token !== undefined ? `token ${event.token}` : undefined,
    took(event),
    lateness(event),
    event.ageMs === undefined ? undefined : `no success for ${showSpan(Math.floor(event.ageMs / 1000) * 1000)}`,
    event.skewMs === undefined ? undefined : `its clock is ${showSkew(event.skewMs)} the storage service's`,
    event.job === undefined ? `process ${event.pid}` : undefined,
    event.reason === 'completed' && !verbose ? undefined : event.reason,
  ];

  return (event) => {
    const parts = [due(event), ...facts(event)].filter((part) => part !== undefined && part !== '');
    const { runId } = event;
    if (runId !== undefined) {
      if (event.event === 'fannedOut') planned.set(runId, (planned.get(runId) ?? 0) + 1);
      else if (RUN_ENDS.includes(event.event)) planned.delete(runId);
    }
    return oneLine(parts.join(', '));
  };
}

function showSkew(ms: number): string {
  return `${showSpan(Math.abs(ms))} ${ms > 0 ? 'ahead of' : 'behind'}`;
}
