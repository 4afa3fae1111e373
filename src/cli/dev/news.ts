import type { ClusterEvent } from '../../local/cluster/deployment';
import type { LogLine } from '../../local/host/core-api';
import { ATTEMPT_ENDS } from './event-line';

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
    const { job, ageMs } = event;
    if (job === undefined) return [event];
    if (event.event === 'overdue' && ageMs !== undefined) {
      const since = Date.parse(event.at) - ageMs;
      if (since <= (told.get(job) ?? -Infinity)) return [];
      told.set(job, since);
      overdue.add(job);
      return [event];
    }
    if (event.event !== 'succeeded' || !overdue.delete(job)) return [event];
    const { at, deployment, pid } = event;
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
