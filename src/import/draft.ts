import type { EpochMs } from '../core/brand';
import type { JobInFile } from '../config/job-in-file';
import { ScheduleError } from '../core/schedule/schedule-error';
import { maskSecrets } from '../core/redact';

/** A place in a file that is imported. Lines count from 1. */
export interface SourceLine {
  readonly file: string;
  readonly line: number;
}

export interface SourceOptions {
  readonly now: EpochMs;
  /** The zone in which a source runs that names none. */
  readonly timeZone: string;
}

/** Something of a source that the jobs file does not carry, or carries in another way. */
export interface Note extends SourceLine {
  /** The words of the source that the note is about. */
  readonly what: string;
  readonly why: string;
  readonly remedy: string;
  /** Whether no job was made of it. */
  readonly leftOut: boolean;
}

/** A job before it has its name. */
export interface Draft extends SourceLine {
  /** The source's name for it, valid or not. */
  readonly name: string;
  readonly settings: JobInFile;
}

export interface Found {
  readonly drafts: readonly Draft[];
  readonly notes: readonly Note[];
}

/** A source that is not what it should be: no part of it is imported. */
export class ImportError extends Error {
  readonly code = 'InvalidSource';
  override readonly name = 'ImportError';

  constructor(
    readonly place: SourceLine,
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(`${place.file}:${place.line}: ${reason}`, options);
  }
}

/** Collects what is found in one file. Secrets in commands and other texts are masked: people paste what it prints. */
export interface Finds extends Found {
  add(line: number, name: string, settings: JobInFile): void;
  /** Notes that something is carried in another way, or not at all, while its job is. */
  note(line: number, what: string, why: string, remedy: string): void;
  leaveOut(line: number, what: string, why: string, remedy: string): void;
  /** As {@link leaveOut}, with what is wrong with `schedule`. Throws any error that is not about a schedule. */
  leaveOutFor(error: unknown, line: number, what: string, schedule: string): void;
}

export function findsIn(file: string): Finds {
  const drafts: Draft[] = [];
  const notes: Note[] = [];
  const addNote = (leftOut: boolean) => (line: number, what: string, why: string, remedy: string) => {
    notes.push({ file, line, what: maskSecrets(what), why: maskSecrets(why), remedy: maskSecrets(remedy), leftOut });
  };
  const leaveOut = addNote(true);
  return {
    drafts,
    notes,
    add: (line, name, { description, ...settings }) => {
      const masked = description === undefined ? {} : { description: maskSecrets(description) };
      drafts.push({ file, line, name, settings: { ...settings, ...masked } });
    },
    note: addNote(false),
    leaveOut,
    leaveOutFor: (error, line, what, schedule) => {
      if (!(error instanceof ScheduleError)) throw error;
      leaveOut(line, what, `${schedule} ${error.message}`, asSentence(error.remedy));
    },
  };
}

export function asSentence(remedy: string): string {
  return `${remedy.charAt(0).toUpperCase()}${remedy.slice(1)}.`;
}

interface LogicalLine {
  /** Of its beginning. Lines count from 1. */
  readonly line: number;
  readonly text: string;
}

/** The lines of a file of settings: trimmed, without empty lines and comments, and joined where a backslash ends one. */
export function logicalLines(text: string, comment: RegExp): readonly LogicalLine[] {
  const found: { line: number; text: string }[] = [];
  let open: { line: number; text: string } | undefined;
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const part = raw.trim();
    if (open === undefined && (part === '' || comment.test(part))) continue;
    const line: { line: number; text: string } = open ?? { line: index + 1, text: '' };
    const continues = /(?<!\\)(?:\\\\)*\\$/.test(part);
    line.text += continues ? part.slice(0, -1) : part;
    if (continues) open = line;
    else {
      found.push(line);
      open = undefined;
    }
  }
  if (open !== undefined) found.push(open);
  return found;
}
