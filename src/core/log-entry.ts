import type { EpochMs } from './brand';
import { asciiJson, isInstant, isObject, isWhole, parsedJson } from './metadata';
import { OVERLAP, type Redact } from './redact';

/** The level of a line. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** The levels of a log, by rising weight. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const satisfies readonly LogLevel[];

/** A handler's last report of progress. */
export interface Progress {
  /** What it is doing, cut to 200 characters. */
  readonly note?: string;
  /** How much of the work is done, from 0 to 1. */
  readonly fraction?: number;
}

/** What all entries of a log have. */
interface Said {
  /**
   * The number of the line among those of its attempt, from 1: a reader drops lines that it has seen already. Of a gap:
   * that of its first line. Of progress: that of the line before it.
   */
  readonly n: number;
  /** When it was said. ISO 8601 in UTC. */
  readonly at: string;
  /** The number of the attempt: of the item, if there is one. */
  readonly attempt: number;
  /** The item of a fan-out that logged it. */
  readonly item?: number;
}

/** One line of a handler's log. */
export interface LogLine extends Said {
  readonly level: LogLevel;
  /** The line, cut to 8,192 characters. */
  readonly text: string;
}

/** One report of progress. */
export interface LogProgress extends Said {
  readonly progress: Progress;
}

/** Missing lines: the attempt logged more than is kept. */
export interface LogGap extends Said {
  readonly gap: {
    readonly lines: number;
  };
}

/** One entry of a log. It is stored as one line of JSON in printable ASCII. */
export type LogEntry = LogLine | LogProgress | LogGap;

/** The stored form of entries: a line of JSON each, in ASCII, so that a character is a byte. */
export function storeEntries(entries: readonly LogEntry[]): string {
  return entries.map((entry) => `${asciiJson(entry)}\n`).join('');
}

/** Reads stored entries back. Lines that cronlease did not write are left out. */
export function parseEntries(text: string): readonly LogEntry[] {
  return text.split('\n').flatMap((line) => {
    const value = line === '' ? undefined : parsedJson(line);
    return isLogEntry(value) ? [value] : [];
  });
}

export function isLogEntry(value: unknown): value is LogEntry {
  if (!isObject(value)) return false;
  const { n, at, attempt, item, level, text, progress, gap } = value;
  if (!isWhole(n) || !isWhole(attempt) || !isTime(at)) return false;
  if (item !== undefined && !isWhole(item)) return false;
  if (progress !== undefined) return isProgress(progress);
  if (gap !== undefined) return isObject(gap) && isWhole(gap['lines']);
  return LOG_LEVELS.some((known) => known === level) && typeof text === 'string';
}

export function isProgress(value: unknown): value is Progress {
  if (!isObject(value)) return false;
  const { note, fraction } = value;
  return (note === undefined || typeof note === 'string') && (fraction === undefined || typeof fraction === 'number');
}

function isTime(value: unknown): boolean {
  const instant = typeof value === 'string' ? Date.parse(value) : NaN;
  return isInstant(instant) && new Date(instant).toISOString() === value;
}

/** How much of what one attempt says is kept. */
export interface LogLimits {
  /** Of the first half, which is written as it comes, and again of the last half, which is written at the end. */
  readonly half: { readonly bytes: number; readonly lines: number };
}

/** 256 KB or 2,000 lines. */
export const ATTEMPT_LOG: LogLimits = { half: { bytes: 128 * 1024, lines: 1_000 } };
/** For one call of an item: 128 KB or 1,000 lines. */
export const ITEM_LOG: LogLimits = { half: { bytes: 64 * 1024, lines: 500 } };

/** A line has at most so many characters, and a note of how many more there were. */
export const LINE_CHARACTERS = 8_192;
export const NOTE_CHARACTERS = 200;

export interface Speaker {
  readonly attempt: number;
  readonly item?: number;
}

/** What an attempt said, until it is written. It holds at most both halves of the limit. */
export interface LogBuffer {
  /** @param text as {@link lineOf} makes it */
  add(at: EpochMs, level: LogLevel, text: string): void;
  progress(at: EpochMs, progress: Progress): void;
  /** What waits to be written. Lines of the last half do not wait before the end. */
  readonly news: 'lines' | 'progress' | 'none';
  readonly last: Progress | undefined;
  /** Nothing is added from here on, and the last half waits to be written too. */
  end(): void;
  /** Takes what waits to be written, in order, with notes of progress without secrets. */
  take(redact: Redact): readonly LogEntry[];
}

interface Kept {
  readonly line: LogLine;
  readonly bytes: number;
}

interface Reported {
  readonly n: number;
  readonly at: string;
  readonly progress: Progress;
}

export function createLogBuffer(speaker: Speaker, { half }: LogLimits): LogBuffer {
  const left = { ...half };
  const tailLeft = { ...half };
  let waiting: Kept[] = [];
  let tail: Kept[] = [];
  let headIsFull = false;
  let dropped: { readonly n: number; readonly at: string; lines: number } | undefined;
  let reported: Reported | undefined;
  let isNew = false;
  let ended = false;
  let n = 0;

  const drop = ({ line: { n, at }, bytes }: Kept): void => {
    tailLeft.bytes += bytes;
    tailLeft.lines += 1;
    dropped ??= { n, at, lines: 0 };
    dropped.lines += 1;
  };
  const keepLast = (kept: Kept): void => {
    tail.push(kept);
    tailLeft.bytes -= kept.bytes;
    tailLeft.lines -= 1;
    while (tailLeft.bytes < 0 || tailLeft.lines < 0) {
      const oldest = tail.shift();
      if (oldest === undefined) return;
      drop(oldest);
    }
  };
  return {
    get news() {
      if (waiting.length > 0 || (ended && (tail.length > 0 || dropped !== undefined))) return 'lines';
      return isNew ? 'progress' : 'none';
    },
    get last() {
      return reported?.progress;
    },
    add(at, level, text) {
      if (ended) return;
      n += 1;
      const line: LogLine = { n, at: new Date(at).toISOString(), ...speaker, level, text };
      const kept = { line, bytes: storeEntries([line]).length };
      headIsFull ||= kept.bytes > left.bytes || left.lines === 0;
      if (headIsFull) {
        keepLast(kept);
        return;
      }
      left.bytes -= kept.bytes;
      left.lines -= 1;
      waiting.push(kept);
    },
    progress(at, progress) {
      if (ended) return;
      reported = { n, at: new Date(at).toISOString(), progress };
      isNew = true;
    },
    end() {
      ended = true;
    },
    take(redact) {
      const lines = ended ? [...waiting, ...tail] : waiting;
      const gap: readonly LogEntry[] =
        ended && dropped !== undefined
          ? [{ n: dropped.n, at: dropped.at, ...speaker, gap: { lines: dropped.lines } }]
          : [];
      const progress = isNew && reported !== undefined ? [{ ...reported, ...speaker }] : [];
      waiting = [];
      isNew = false;
      if (ended) [tail, dropped] = [[], undefined];
      return [
        ...lines.map(({ line }) => line),
        ...gap,
        ...progress.map((report) => ({ ...report, progress: redactNote(report.progress, redact) })),
      ].toSorted((a, b) => a.n - b.n);
    },
  };
}

/** A line as it is logged and kept: without secrets, and cut. */
export function lineOf(text: string, redact: Redact): string {
  const more = text.length - LINE_CHARACTERS;
  const [shown = ''] = redact([copyOf(text, LINE_CHARACTERS + OVERLAP)], LINE_CHARACTERS);
  return more > 0 ? `${shown}… (${String(more)} more characters)` : shown;
}

/** The beginning of a text. A slice keeps the whole text that it was cut from in memory; its copy does not. */
function copyOf(text: string, most: number): string {
  return text.length <= most ? text : (JSON.parse(JSON.stringify(text.slice(0, most))) as string);
}

/** The progress as it may be stored: without secrets, its note cut. */
export function redactNote(progress: Progress, redact: Redact): Progress {
  const { note } = progress;
  if (note === undefined) return progress;
  const [redacted = ''] = redact([note.slice(0, NOTE_CHARACTERS + OVERLAP)], NOTE_CHARACTERS);
  return { ...progress, note: redacted };
}

/** How many lines an entry stands for. */
export function linesOf(entry: LogEntry): number {
  if ('gap' in entry) return entry.gap.lines;
  return 'progress' in entry ? 0 : 1;
}
