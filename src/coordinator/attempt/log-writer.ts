import type { JobName, Millis } from '../../core/brand';
import { type LogEntry, storeEntries } from '../../core/log-entry';
import { CALL_LIMIT_MS, within } from '../../lease/deadline';
import type { LogStore } from '../../lease/store';
import type { Trust } from '../../lease/trust';
import type { Coordinator } from '../coordinator';

/** One log, and who may write it for how long. Decision 097. */
export interface LogPlace {
  readonly coordinator: Pick<Coordinator, 'clock'> & {
    readonly store: Pick<LogStore, 'createLog' | 'appendLog' | 'readLog'>;
  };
  readonly trust: Pick<Trust, 'remaining'>;
  readonly job: JobName;
  /** The key of the run. */
  readonly key: string;
  /** The name of the log, which has no other writer. Asked for once, when there is something to write. */
  readonly name: () => string;
}

/** Appends entries to a log, each once, whatever answers are lost. */
export interface LogWriter {
  /** Entries that were sent, or are being sent, and are not known to be written. */
  readonly unsure: readonly LogEntry[];
  /** The log may exist. */
  readonly hasBegun: boolean;
  /** Calls in a row that failed. */
  readonly failures: number;
  /** Why the last write failed. */
  readonly problem: unknown;
  /**
   * Writes what is unsure, or else what `take` returns. Never rejects. Calls must not overlap.
   *
   * @param limit of each storage call
   * @returns whether something was written
   */
  write(take: () => readonly LogEntry[], limit: Millis): Promise<boolean>;
}

interface Batch {
  readonly entries: readonly LogEntry[];
  readonly text: string;
}

/** Another writer's text is in the log. */
class ForeignLogError extends Error {
  override readonly name = 'ForeignLogError';
}

export function createLogWriter({ coordinator, trust, job, key, name }: LogPlace): LogWriter {
  const { clock, store } = coordinator;
  /** It is sent with the same text at the same place until it is known to be there. */
  let batch: Batch | undefined;
  let log: string | undefined;
  let isCreated = false;
  let bytes = 0;
  let failures = 0;
  let problem: unknown;

  const append = async ({ text }: Batch, limit: Millis): Promise<void> => {
    const call = <T>(send: (log: string, signal: AbortSignal) => Promise<T>): Promise<T> => {
      const named = (log ??= name());
      return within(clock, Math.min(limit, CALL_LIMIT_MS, trust.remaining()), (signal) => send(named, signal));
    };
    if (!isCreated) {
      // It exists if the answer to an earlier call was lost.
      await call((log, signal) => store.createLog(job, key, log, { signal }));
      isCreated = true;
    }
    if ((await call((log, signal) => store.appendLog(job, key, log, { text, at: bytes }, { signal }))) === 'refused') {
      const range = { from: bytes, limit: text.length };
      const found = await call((log, signal) => store.readLog(job, key, log, range, { signal }));
      if (found !== text) throw new ForeignLogError(`log ${String(log)} of run ${key} contains text of another writer`);
    }
    bytes += text.length;
  };
  return {
    get unsure() {
      return batch?.entries ?? [];
    },
    get hasBegun() {
      return log !== undefined;
    },
    get failures() {
      return failures;
    },
    get problem() {
      return problem;
    },
    async write(take, limit) {
      if (trust.remaining() <= 0 || problem instanceof ForeignLogError) return false;
      try {
        if (batch === undefined) {
          const entries = take();
          if (entries.length === 0) return false;
          batch = { entries, text: storeEntries(entries) };
        }
        await append(batch, limit);
      } catch (error) {
        // Of any kind: a log must not fail its run. The caller reports the problem.
        problem = error;
        failures += 1;
        return false;
      }
      batch = undefined;
      failures = 0;
      return true;
    },
  };
}
