import { wordOf } from '../../core/guide';
import { RAN_OUTCOMES } from '../../core/outcome';
import { showDay, showSpan, showTimeOfDay } from '../../core/show-time';
import { oneLine } from '../../core/text';
import type { ClusterEvent } from '../../local/cluster/deployment';
import type { LogLine } from '../../local/host/core-api';
import { waitsText } from '../time';

/** Longer than the time between two sweeps: a trouble that is reported again within it has lasted. */
const LASTS_MS = 180_000;
/** The instances of one cluster start within this time of each other. */
const SAME_START_MS = 60_000;

/** Texts that differ only in numbers, such as ports and process ids, are the same. */
function withoutNumbers(text: string): string {
  return text.replaceAll(/\d+/g, '#');
}

/**
 * Every deployment reports an overdue job at each sweep. People read it once, and later that it is over.
 *
 * @returns the events to print for an event: none, the event, or the event and more
 */
export function overdueNews(): (event: ClusterEvent) => readonly ClusterEvent[] {
  /** By job: the time of its last success, as last reported. A deployment may report late, from before a success. */
  const told = new Map<string, number>();
  const overdue = new Set<string>();
  return (event) => {
    const { job, ageMs, at, deployment, pid } = event;
    if (job === undefined) return [event];
    if (event.event === 'overdue' && ageMs !== undefined) {
      const since = Date.parse(at) - ageMs;
      if (since <= (told.get(job) ?? -Infinity)) return [];
      told.set(job, since);
      overdue.add(job);
      return [event];
    }
    if (event.event !== 'succeeded' || !overdue.delete(job)) return [event];
    return [event, { event: 'overdue', at, deployment, pid, job, reason: 'no longer' }];
  };
}

/**
 * An instance repeats a lasting trouble at each sweep, and every instance gives the same warnings. People read a
 * trouble once for each instance, and a warning once for the cluster.
 *
 * @returns whether to print an event
 */
export function troubleNews(): (event: ClusterEvent) => boolean {
  /** The time of the last report, by process, or 0 for the cluster, and by text. */
  const told = new Map<number, Map<string, number>>();
  return ({ event, at, pid, job, reason }) => {
    if (event === 'healthy') told.delete(pid);
    if (event !== 'unhealthy' && event !== 'warning') return true;
    const source = event === 'warning' ? 0 : pid;
    const of = told.get(source) ?? new Map<string, number>();
    told.set(source, of);
    const what = withoutNumbers(`${job ?? ''} ${reason ?? ''}`);
    const before = of.get(what) ?? -Infinity;
    const now = Date.parse(at);
    of.set(what, now);
    return now - before > LASTS_MS;
  };
}

/**
 * All instances load the same code, and print the same warnings. A line outside of functions is printed once.
 *
 * @param now milliseconds of a monotonic clock
 * @returns whether to print a line
 */
export function warnedOnce(
  now: () => number = () => performance.now(),
): (line: LogLine, deployment: string) => boolean {
  const told = new Map<string, { readonly by: string; readonly at: number }>();
  return ({ level, message, functionName }, deployment) => {
    if (level !== 'warning' || functionName !== undefined) return true;
    const what = withoutNumbers(message);
    const before = told.get(what);
    if (before !== undefined && before.by !== deployment && now() - before.at < SAME_START_MS) return false;
    told.set(what, { by: deployment, at: now() });
    return true;
  };
}

/** A handler that runs for longer than this leaves a person enough time to kill it. */
const LONG_MS = 2_000;

/**
 * Suggests once which process to kill, when an attempt runs for long enough.
 *
 * @param others whether other instances can take the run over
 */
export function killHint(
  others: boolean,
  hint: (text: string) => void,
  platform = process.platform,
): { event(event: ClusterEvent): void; stop(): void } {
  const running = new Map<string, { readonly pid: number; readonly timer: NodeJS.Timeout }>();
  const kill = platform === 'win32' ? 'taskkill /F /PID' : 'kill -9';
  let given = false;
  const forget = (which: (key: string, pid: number) => boolean): void => {
    for (const [key, { pid, timer }] of running) {
      if (!which(key, pid)) continue;
      clearTimeout(timer);
      running.delete(key);
    }
  };
  const stop = (): void => {
    given = true;
    forget(() => true);
  };
  const suggest = ({ job = '', deployment, pid }: ClusterEvent): void => {
    stop();
    const who = others ? 'another instance takes the run over' : 'its next instance takes the run over';
    hint(`\n${job} is running on ${deployment}.\nKill that process, and ${who}:\n\n  ${kill} ${pid}\n`);
  };
  return {
    stop,
    event(event) {
      if (given) return;
      const run = `${event.runId ?? ''} ${event.token ?? 0}`;
      if (event.event === 'instanceExited') forget((_, pid) => pid === event.pid);
      else if (event.event === 'started' && event.runId !== undefined) {
        running.set(run, { pid: event.pid, timer: setTimeout(suggest, LONG_MS, event) });
      } else if (ATTEMPT_ENDS.includes(event.event)) forget((key) => key === run);
    },
  };
}

interface LineOptions {
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
      const [time, day] = [showTimeOfDay(Date.parse(iso), timeZone), showDay(Date.parse(iso), timeZone)];
      return day === showDay(Date.parse(at), timeZone) ? time : `${day} ${time}`;
    };
    const counted = event === 'fannedOut' ? 'items' : 'due times';
    const parts = [
      scheduledFor && `due ${show(scheduledFor)}`,
      through && `to ${show(through)}`,
      count !== undefined && count !== 1 && `(${count} ${counted})`,
    ];
    return parts.filter(Boolean).join(' ');
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
    return verbose || latenessMs >= LATE_MS ? `${showSpan(latenessMs)} late${waitsText(told)}` : undefined;
  };

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
