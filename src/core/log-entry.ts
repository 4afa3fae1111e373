import { asciiJson, isInstant, isObject, isWhole, parsedJson } from './metadata';

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
