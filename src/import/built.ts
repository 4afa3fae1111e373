import { type Found, ImportError, findsIn } from './draft';
import { LOOKS_LIKE_TIMER } from './timers';

/** A file in a folder into which builds write. */
export interface BuiltFile {
  readonly file: string;
  readonly text: string;
}

/**
 * Notes on the timers of built files that none of the sources has: those were left out, or are elsewhere.
 *
 * @param found of the sources
 * @param read reads a built file as if it were a source
 */
export function noteOnBuilt(
  built: readonly BuiltFile[],
  found: readonly Found[],
  read: (file: string, text: string) => Found,
): Found['notes'] {
  const known = new Set(found.flatMap(namesIn));
  return built.flatMap(({ file, text }) => {
    const finds = findsIn(file);
    const missing = new Map(timersOf(file, text, read).filter(([name]) => !known.has(name)));
    const [line = 1] = missing.values();
    if (missing.size > 0) {
      const why = 'a build made this file, and no source that was read has it';
      const remedy = `Name the folder of its source, or this file: cronlease import timers ${file}`;
      finds.leaveOut(line, [...missing.keys()].join(', '), why, remedy);
    }
    return finds.notes;
  });
}

function namesIn({ drafts, notes }: Found): readonly string[] {
  return [...drafts.map(({ name }) => name), ...notes.map(({ what }) => what)];
}

function timersOf(
  file: string,
  text: string,
  read: (file: string, text: string) => Found,
): readonly (readonly [name: string, line: number])[] {
  try {
    const { drafts, notes } = read(file, text);
    const leftOut = notes.filter((note) => note.leftOut).map(({ what, line }) => [what, line] as const);
    return [...drafts.map(({ name, line }) => [name, line] as const), ...leftOut];
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    return LOOKS_LIKE_TIMER.test(text) ? [['a timer', 1]] : [];
  }
}
