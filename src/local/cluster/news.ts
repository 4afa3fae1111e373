import type { LogLine } from '../host/core-api';
import type { ClusterEvent } from './deployment';

/** Longer than the time between two sweeps: what is reported again within it has lasted. */
const LASTS_MS = 180_000;
/** What the instances of one cluster report while they start, they report within this time. */
const SAME_START_MS = 60_000;

/** Texts that differ in numbers alone, such as ports and process ids, are one. */
function withoutNumbers(text: string): string {
  return text.replaceAll(/\d+/g, '#');
}

/**
 * Every deployment reports at each sweep that a job is overdue. People read it once, and then that it is over.
 *
 * @returns what to print of an event: nothing, it, or it and more
 */
export function overdueNews(): (event: ClusterEvent) => readonly ClusterEvent[] {
  /** By job: since when it has had no success, as last reported. One that looked before a success may report late. */
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
 * An instance reports at each sweep what is still wrong, and every instance warns of the same thing. People read
 * trouble once for each instance, and a warning once for the cluster.
 *
 * @returns whether to print an event
 */
export function troubleNews(): (event: ClusterEvent) => boolean {
  /** By process, or 0 for the cluster, and by what was reported: when that was last. */
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
 * All instances load the same code, and warn of the same. A line that is no function's is passed on once.
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
