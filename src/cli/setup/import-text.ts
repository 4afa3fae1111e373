import type { Note } from '../../import/draft';
import type { Imported } from '../../import/jobs-document';
import { style, table } from '../output';

const COLUMNS = 80;

/** What a person reads after an import: the notes, those on things left out first, the handlers, and what comes next. */
export function importReport({ jobs, notes }: Imported, sources: readonly string[], out: string | undefined): string[] {
  const lines: string[] = [];
  const leftOut = notes.filter((note) => note.leftOut);
  const others = notes.filter((note) => !note.leftOut);
  if (leftOut.length > 0)
    lines.push(style('bold', `Left out: ${leftOut.length}`, process.stderr), ...listOf(leftOut), '');
  if (others.length > 0) lines.push(style('bold', 'Not the same', process.stderr), ...listOf(others), '');
  if (jobs.length === 0) return lines;
  const isRenamed = jobs.some(({ job, name }) => job !== name);
  const rows = jobs.map(({ job, name, file, line }) => [job, ...(isRenamed ? [name] : []), `${file}:${line}`]);
  const heading = ['HANDLER', ...(isRenamed ? ['SOURCE NAME'] : []), 'FROM'];
  lines.push(style('bold', 'Handlers to write', process.stderr), table(heading, rows), '');
  const written = out === undefined ? '' : `, in ${out}`;
  lines.push(`${count(jobs.length, 'job')} from ${sources.join(', ')}${written}.`);
  const file = out === undefined || out === 'jobs.json' ? '' : ` --file ${out}`;
  const next = `Next: run "cronlease validate${file}", and compare "cronlease next${file}" with the due times of the old scheduler.`;
  return [...lines, ...wrap(next, '', '  ')];
}

/** Notes with the same text are one, with all their places. */
function listOf(notes: readonly Note[]): readonly string[] {
  const groups = Map.groupBy(notes, ({ file, why, remedy }) => JSON.stringify([file, why, remedy]));
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const { file, why, remedy } = first;
    const places = group.map(({ line, what }) => `${file}:${line}: ${what}`);
    return [
      ...places.flatMap((place) => wrap(place, '', '    ')),
      ...wrap(`${why}.`, '  ', '  '),
      ...wrap(remedy, '  ', '  '),
    ];
  });
}

function wrap(text: string, first: string, next: string): readonly string[] {
  const lines: string[] = [];
  let line = first;
  for (const word of text.split(/\s+/)) {
    const isEmpty = line === first || line === next;
    if (!isEmpty && line.length + 1 + word.length > COLUMNS) {
      lines.push(line);
      line = `${next}${word}`;
    } else line += isEmpty ? word : ` ${word}`;
  }
  return [...lines, line];
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
