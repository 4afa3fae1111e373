import { useEffect, useState } from 'preact/hooks';
import { pathOf } from '../../client/operations';
import type { RunLog } from '../../client/types';
import { type Failure, failureIn, read } from './api';

export type LogEntry = RunLog['entries'][number];

export interface FollowedLog extends Pick<RunLog, 'progress' | 'leftOut'> {
  /** Undefined: no answer has come. */
  readonly entries: readonly LogEntry[] | undefined;
  readonly failure: Failure | undefined;
}

const NOTHING: FollowedLog = { entries: undefined, progress: null, leftOut: 0, failure: undefined };
const DEFAULT_MS = 2_000;
const LAST_RETRY_MS = 60_000;

/**
 * What the handler of a run says, page after page, until the run is over. It asks nothing while the page is hidden.
 *
 * @param item only what this item of a fan-out says
 */
export function useLog(runId: string, item: number | undefined): FollowedLog {
  const [log, setLog] = useState(NOTHING);
  useEffect(() => {
    setLog(NOTHING);
    const closed = new AbortController();
    void followLog((from) => pathOf('getLog', [runId], { item, from }), setLog, closed.signal);
    return () => closed.abort();
  }, [runId, item]);
  return log;
}

async function followLog(
  pathFrom: (from: string | undefined) => string,
  set: (change: (last: FollowedLog) => FollowedLog) => void,
  closed: AbortSignal,
): Promise<void> {
  let from: string | undefined;
  let failures = 0;
  if (document.hidden) await wait(0, closed);
  while (!closed.aborted) {
    try {
      const { body, leastPollMs } = await read(pathFrom(from));
      if (closed.aborted) return;
      const answer = body as RunLog;
      set((last) => withAnswer(last, answer));
      if (answer.ended) return;
      const isMore = answer.next !== from && answer.entries.length > 0;
      from = answer.next;
      failures = 0;
      await wait(isMore ? 0 : (leastPollMs ?? DEFAULT_MS), closed);
    } catch (error) {
      const failure = failureIn(error);
      if (closed.aborted) return;
      set((last) => ({ ...last, failure }));
      failures += 1;
      await wait(Math.min(LAST_RETRY_MS, DEFAULT_MS * 2 ** (failures - 1)), closed);
    }
  }
}

function withAnswer(last: FollowedLog, { entries, progress, leftOut }: RunLog): FollowedLog {
  const before = last.entries ?? [];
  return {
    entries: entries.length === 0 ? before : [...before, ...entries].toSorted((a, b) => a.token - b.token),
    progress: progress ?? last.progress,
    leftOut: Math.max(leftOut, last.leftOut),
    failure: undefined,
  };
}

/** Waits so long, or until the page is shown again; while it is hidden, without end. */
async function wait(ms: number, closed: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const goOn = (): void => {
    if (!document.hidden) resolve();
  };
  const timer = setTimeout(goOn, ms);
  document.addEventListener('visibilitychange', goOn, { signal: closed });
  await promise;
  clearTimeout(timer);
  document.removeEventListener('visibilitychange', goOn);
}
