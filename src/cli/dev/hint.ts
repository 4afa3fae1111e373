import type { ClusterEvent } from '../../local/cluster/deployment';
import { ATTEMPT_ENDS } from './event-line';

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
