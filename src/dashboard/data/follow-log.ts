import { given } from '../../core/given';
import { pathOf } from '../../client/operations';
import { useEffect, useState } from 'preact/hooks';
import { ApiError, type Failure, read } from './api';
import type { RunLog } from '../../client/types';

export type LogEntry = RunLog['entries'][number];

export interface FollowedLog {
  readonly entries: readonly LogEntry[];
  readonly progress: RunLog['progress'];
  readonly leftOut: number;
  /** Whether the run is over, and all of its log is here. */
  readonly ended: boolean;
  /** Whether an answer has come. */
  readonly loaded: boolean;
  readonly failure: Failure | undefined;
}

const NOTHING: FollowedLog = {
  entries: [],
  progress: null,
  leftOut: 0,
  ended: false,
  loaded: false,
  failure: undefined,
};
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
    const of: Record<string, string> = item === undefined ? {} : { item: String(item) };
    return followLog(runId, of, (change) => setLog(change));
  }, [runId, item]);
  return log;
}

function followLog(
  runId: string,
  of: Readonly<Record<string, string>>,
  set: (change: (last: FollowedLog) => FollowedLog) => void,
): () => void {
  let timer: number | undefined;
  let from: string | undefined;
  let failures = 0;
  let state: 'waiting' | 'asking' | 'done' = 'waiting';

  const ask = async (): Promise<void> => {
    if (state !== 'waiting' || document.hidden) return;
    state = 'asking';
    let waitMs: number;
    try {
      const { body, leastPollMs } = await read(pathOf('getLog', [runId], { ...of, ...given({ from }) }));
      const { entries, next, ended, progress, leftOut } = body as RunLog;
      if (isOver()) return;
      const isMore = next !== from && entries.length > 0;
      from = next;
      failures = 0;
      set((last) => ({
        entries:
          entries.length === 0 ? last.entries : [...last.entries, ...entries].toSorted((a, b) => a.token - b.token),
        progress: progress ?? last.progress,
        leftOut: Math.max(leftOut, last.leftOut),
        ended,
        loaded: true,
        failure: undefined,
      }));
      state = ended ? 'done' : 'waiting';
      waitMs = isMore ? 0 : (leastPollMs ?? DEFAULT_MS);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (isOver()) return;
      const { failure } = error;
      set((last) => ({ ...last, failure }));
      state = 'waiting';
      waitMs = Math.min(LAST_RETRY_MS, DEFAULT_MS * 2 ** failures);
      failures += 1;
    }
    if (state === 'waiting') timer = setTimeout(() => void ask(), waitMs);
  };

  let over = false;
  const isOver = (): boolean => over;
  const onVisible = (): void => {
    if (document.hidden || state !== 'waiting') return;
    clearTimeout(timer);
    void ask();
  };
  document.addEventListener('visibilitychange', onVisible);
  void ask();
  return () => {
    over = true;
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', onVisible);
  };
}
