import { format } from 'node:util';
import type { Millis, JobName } from '../../core/brand';
import { sleep } from '../../core/clock';
import { runIdOf } from '../../core/key';
import {
  type LogLimits,
  type Speaker,
  type LogEntry,
  type LogLevel,
  type Progress,
  createLogBuffer,
  linesOf,
  redactNote,
  storeEntries,
} from '../../core/log-entry';
import type { RecordedEnd } from '../../core/record';
import { redactNothing } from '../../core/redact';
import { CALL_LIMIT_MS, within } from '../../lease/deadline';
import type { LogStore } from '../../lease/store';
import type { Trust } from '../../lease/trust';
import type { Coordinator, Report } from '../coordinator';

/** A line waits this long, so that lines that follow each other closely go by one call. Decision 098. */
const FLUSH_AFTER_MS: Millis = 2_000;
/** The same only for progress, which a handler may report often. */
const FLUSH_PROGRESS_AFTER_MS: Millis = 10_000;
/** The longest wait after calls that failed. */
const FLUSH_AT_MOST_MS: Millis = 30_000;
/** How long the end of a run may wait for its log, and which part of its trust: the settling needs the rest. */
const LAST_FLUSH_MS: Millis = 1_000;
const LAST_FLUSH_SHARE = 1 / 4;
/** The same for an attempt without a record that could take the lines. */
const ONLY_FLUSH_MS: Millis = 5_000;
/** More bytes of entries lie in the record's own body only if storage does not take them in time. */
const RECORD_BYTES = 16 * 1024;
/** A warning follows so many failures in a row: some 15 s. */
const WARN_AFTER = 3;

/** One log, and who may write it for how long. Decision 097. */
interface LogPlace {
  readonly coordinator: Pick<Coordinator, 'clock'> & {
    readonly store: Pick<LogStore, 'createLog' | 'appendLog' | 'readLog'>;
  };
  readonly trust: Pick<Trust, 'remaining'>;
  readonly job: JobName;
  readonly key: string;
  /** The name of the log, which has no other writer. Asked for once, when there is something to write. */
  readonly name: () => string;
}

class ForeignLogError extends Error {
  override readonly name = 'ForeignLogError';
}

/** Appends entries to a log, each once, whatever answers are lost. */
class LogWriter {
  readonly #place: LogPlace;
  /** It is sent with the same text at the same place until it is known to be there. */
  #batch: { readonly entries: readonly LogEntry[]; readonly text: string } | undefined;
  #log: string | undefined;
  #isCreated = false;
  #bytes = 0;
  /** Calls in a row that failed. */
  failures = 0;
  /** Why the last write failed. */
  problem: unknown;

  constructor(place: LogPlace) {
    this.#place = place;
  }

  /** Entries that were sent, or are being sent, and are not known to be written. */
  get unsure(): readonly LogEntry[] {
    return this.#batch?.entries ?? [];
  }

  /** The log may exist. */
  get hasBegun(): boolean {
    return this.#log !== undefined;
  }

  /**
   * Writes what is unsure, or else what `take` returns. Never rejects. Calls must not overlap.
   *
   * @param limit of each storage call
   * @returns whether something was written
   */
  async write(take: () => readonly LogEntry[], limit: Millis): Promise<boolean> {
    if (this.#place.trust.remaining() <= 0 || this.problem instanceof ForeignLogError) return false;
    try {
      if (this.#batch === undefined) {
        const entries = take();
        if (entries.length === 0) return false;
        this.#batch = { entries, text: storeEntries(entries) };
      }
      await this.#append(this.#batch.text, limit);
    } catch (error) {
      // Of any kind: a log must not fail its run. The caller reports the problem.
      this.problem = error;
      this.failures += 1;
      return false;
    }
    this.#batch = undefined;
    this.failures = 0;
    return true;
  }

  async #append(text: string, limit: Millis): Promise<void> {
    const { coordinator, trust, job, key, name } = this.#place;
    const { clock, store } = coordinator;
    const log = (this.#log ??= name());
    const call = <T>(send: (signal: AbortSignal) => Promise<T>): Promise<T> =>
      within(clock, Math.min(limit, CALL_LIMIT_MS, trust.remaining()), send);
    if (!this.#isCreated) {
      // It exists if the answer to an earlier call was lost.
      await call((signal) => store.createLog(job, key, log, { signal }));
      this.#isCreated = true;
    }
    const at = this.#bytes;
    if ((await call((signal) => store.appendLog(job, key, log, { text, at }, { signal }))) === 'refused') {
      const range = { from: at, limit: text.length };
      const found = await call((signal) => store.readLog(job, key, log, range, { signal }));
      if (found !== text) throw new ForeignLogError(`log ${log} of run ${key} contains text of another writer`);
    }
    this.#bytes += text.length;
  }
}

/** What a record keeps of what was said. */
type Said = Pick<RecordedEnd, 'progress' | 'log'>;

export type AttemptLog = ReturnType<typeof createAttemptLog>;

interface Saying extends LogPlace {
  readonly coordinator: LogPlace['coordinator'] & Pick<Coordinator, 'serviceTime' | 'redact'>;
  readonly report: Report;
  readonly speaker: Speaker;
  readonly limits: LogLimits;
}

/** For a job with `logs` `none`. */
export const NO_LOG: AttemptLog = {
  line: () => undefined,
  progress: () => undefined,
  finish: async () => undefined,
  conclude: async () => ({}),
  stop: () => undefined,
};

/**
 * What an attempt, or one call of an item, says. Nothing here rejects, and nothing keeps the handler waiting. An attempt
 * that ends its run loses no line of its limits, however slow storage is: its record takes what is left. Others lose
 * lines if storage fails for too long, and a warning says how many.
 */
export function createAttemptLog(saying: Saying) {
  const { speaker, limits, trust } = saying;
  const { clock, serviceTime, redact = redactNothing } = saying.coordinator;
  const buffer = createLogBuffer(speaker, limits);
  const writer = new LogWriter(saying);
  const warn = warnOnce(saying);
  /** What the buffer had at the end, and the writer has not taken yet. */
  const rest: LogEntry[] = [];
  let isOver = false;
  let dueAt = Infinity;
  let disarm = (): void => undefined;
  let writing: Promise<unknown> | undefined;

  const take = (): readonly LogEntry[] => (isOver ? rest.splice(0) : buffer.take(redact));
  const arm = (): void => {
    const after = waitFor(writer.unsure.length > 0 ? 'lines' : buffer.news, writer.failures);
    if (isOver || writing !== undefined || clock.monotonic() + after >= dueAt) return;
    disarm();
    dueAt = clock.monotonic() + after;
    disarm = clock.after(after, () => {
      dueAt = Infinity;
      writing = writer.write(take, CALL_LIMIT_MS).then(() => {
        writing = undefined;
        if (writer.failures >= WARN_AFTER) warn('cannot be written at present', writer.problem);
        arm();
      });
    });
  };
  const end = (): void => {
    if (isOver) return;
    disarm();
    buffer.end();
    rest.push(...buffer.take(redact));
    isOver = true;
  };
  const left = (): readonly LogEntry[] => [...writer.unsure, ...rest];
  const writeLast = async (mostMs: Millis): Promise<void> => {
    const limit = Math.min(mostMs, trust.remaining() * LAST_FLUSH_SHARE);
    const until = clock.monotonic() + limit;
    const done = new AbortController();
    const writeAll = async (): Promise<void> => {
      await writing;
      while (clock.monotonic() < until && (await writer.write(take, until - clock.monotonic())));
      done.abort();
    };
    await Promise.race([writeAll(), sleep(clock, limit, done.signal)]);
  };
  const lost = (entries: readonly LogEntry[]): void => {
    const lines = entries.reduce((sum, entry) => sum + linesOf(entry), 0);
    if (lines > 0) warn(`has lost ${String(lines)} ${lines === 1 ? 'line' : 'lines'}`, writer.problem);
  };

  return {
    /** @param text as `lineOf` makes it */
    line(level: LogLevel, text: () => string): void {
      if (isOver) return;
      buffer.add(serviceTime.now(), level, text());
      arm();
    },
    progress(progress: Progress): void {
      buffer.progress(serviceTime.now(), progress);
      arm();
    },
    /** For an attempt whose run goes on, and for an item: writes what is left, for 5 s at most. */
    async finish(): Promise<void> {
      end();
      if (left().length === 0) return;
      await writeLast(ONLY_FLUSH_MS);
      lost(left());
    },
    /**
     * For an attempt that ends its run: returns what the record is to hold. Writes only what is more than 16 KB, for 1 s
     * at most; the record takes what is left then.
     */
    async conclude(): Promise<Said> {
      end();
      const progress = buffer.last === undefined ? {} : { progress: redactNote(buffer.last, redact) };
      if (storeEntries(left()).length > RECORD_BYTES) await writeLast(LAST_FLUSH_MS);
      const entries = left();
      // Earlier attempts, and items, may have said something too.
      const kept = writer.hasBegun || speaker.attempt > 1 ? 'blob' : 'inline';
      return kept === 'inline' && entries.length === 0 ? progress : { ...progress, log: { kept, entries } };
    },
    stop: end,
  };
}

function waitFor(news: 'lines' | 'progress' | 'none', failures: number): Millis {
  if (news === 'none') return Infinity;
  const after = news === 'lines' ? FLUSH_AFTER_MS : FLUSH_PROGRESS_AFTER_MS;
  return Math.min(after * 2 ** failures, FLUSH_AT_MOST_MS);
}

/** One warning for each log, whatever else goes wrong with it. */
function warnOnce({ report, job, key, speaker: { attempt, item } }: Saying): (what: string, problem: unknown) => void {
  let hasWarned = false;
  const whose = `${item === undefined ? '' : `item ${String(item)}, `}attempt ${String(attempt)}`;
  return (what, problem) => {
    if (hasWarned) return;
    hasWarned = true;
    report.log('warn', `job "${job}": the log of ${whose} of run ${runIdOf(job, key)} ${what}:`, problem);
  };
}

/** The text as the host shows it. A value that cannot be shown must not fail the handler. */
export function textOf(message: readonly unknown[]): string {
  try {
    return format(...message);
  } catch {
    return '(a message that cannot be shown)';
  }
}
