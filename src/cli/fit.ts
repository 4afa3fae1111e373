import { oneLine } from '../core/text';
import { columnsOf, type Style, style } from './output';

const WIDTH = 80;

/** A text, or a part of one, in its colour. */
export interface Span {
  readonly text: string;
  readonly format?: Style | undefined;
}

/** A column of a table that has to fit into a line. */
export interface Column {
  /** Its heading too. */
  readonly name: string;
  readonly cells: readonly (readonly Span[])[];
  readonly align?: 'right';
  /**
   * What remains of a text that is too long. Default: its start, before an ellipsis. `newest`: its end, without one.
   * `parts`: the spans that fit whole, so that no number loses its unit.
   */
  readonly cut?: 'middle' | 'newest' | 'parts';
}

/**
 * Makes the columns of a table with a line for each of these rows.
 *
 * @param cut of the columns that say nothing else
 */
export function columnsOver<T>(rows: readonly T[], cut?: Column['cut']) {
  return (name: string, cell: (row: T) => string | readonly Span[], more: Partial<Column> = {}): Column => {
    const found = rows.map((row) => cell(row));
    const cells = found.map((one) => (typeof one === 'string' ? [{ text: one }] : one));
    return { name, cells, ...(cut !== undefined && { cut }), ...more };
  };
}

/** How a column gives way where the line is too short: to this width, or, for 0, entirely. */
export type Concession = readonly [column: string, width: number];

const GAP = 2;

/**
 * A table no wider than `width` columns: first its heading, then a line for each row. The concessions are made in their order,
 * and none further than needed.
 */
export function fittedTable(
  columns: readonly Column[],
  concessions: readonly Concession[],
  width = WIDTH,
): readonly string[] {
  const used = columns.filter(({ cells }) => cells.some((cell) => widthOf(textOf(cell)) > 0));
  const widths = fitted(used, concessions, width);
  const shown = used.filter(({ name }) => (widths.get(name) ?? 0) > 0);
  const lineOf = (cells: readonly (readonly Span[])[]): string =>
    paint(
      fitLine(
        shown.flatMap((column, index) => {
          const last = index === shown.length - 1;
          const cell = padded(cells[index] ?? [], column, widths.get(column.name) ?? 0, last);
          return last ? cell : [...cell, { text: ' '.repeat(GAP) }];
        }),
        width,
      ),
    ).trimEnd();
  const heading = lineOf(shown.map(({ name }) => [{ text: name, format: 'bold' }]));
  const rows = used[0]?.cells.length ?? 0;
  return [heading, ...Array.from({ length: rows }, (_, row) => lineOf(shown.map(({ cells }) => cells[row] ?? [])))];
}

function fitted(
  columns: readonly Column[],
  concessions: readonly Concession[],
  width: number,
): ReadonlyMap<string, number> {
  const natural = new Map(
    columns.map(({ name, cells }) => [name, Math.max(name.length, ...cells.map((cell) => widthOf(textOf(cell))))]),
  );
  const widths = new Map(natural);
  const excess = (): number => {
    const shown = [...widths.values()].filter((each) => each > 0);
    return shown.reduce((sum, each) => sum + each, 0) + GAP * (shown.length - 1) - width;
  };
  for (const [name, least] of concessions) {
    const over = excess();
    if (over <= 0) break;
    const now = widths.get(name) ?? 0;
    if (now > least) widths.set(name, least === 0 ? 0 : Math.max(least, now - over));
  }
  // A column that went may have left more room than was needed.
  for (const [name] of concessions.toReversed()) {
    const now = widths.get(name) ?? 0;
    if (now > 0) widths.set(name, Math.min(natural.get(name) ?? now, now + Math.max(0, -excess())));
  }
  return widths;
}

function padded(cell: readonly Span[], { align, cut }: Column, width: number, last: boolean): readonly Span[] {
  const fits = cutSpans(cell, width, cut);
  const pad: Span = { text: ' '.repeat(Math.max(0, width - widthOf(textOf(fits)))) };
  if (align === 'right') return [pad, ...fits];
  return last ? fits : [...fits, pad];
}

function cutSpans(cell: readonly Span[], width: number, how: Column['cut']): readonly Span[] {
  const parts = cell.map(({ text, format }): Span => ({ text: oneLine(text), format }));
  const whole = textOf(parts);
  if (widthOf(whole) <= width) return parts;
  switch (how) {
    case 'newest':
      return lastOf(parts, width);
    case 'middle': {
      const characters = graphemes(whole);
      const end = Math.floor((width - 1) / 2);
      const text = `${characters.slice(0, width - 1 - end).join('')}…${end === 0 ? '' : characters.slice(-end).join('')}`;
      return [{ text, format: parts[0]?.format }];
    }
    case 'parts': {
      const tooLong = parts.findIndex((_, index) => widthOf(textOf(parts.slice(0, index + 1))) > width);
      return tooLong === 0 ? fitLine(parts, width) : parts.slice(0, tooLong);
    }
    default:
      return fitLine(parts, width);
  }
}

function lastOf(parts: readonly Span[], width: number): readonly Span[] {
  let left = width;
  const kept: Span[] = [];
  for (const { text, format } of parts.toReversed()) {
    const size = widthOf(text);
    if (size > left) break;
    kept.unshift({ text, format });
    left -= size;
  }
  return kept;
}

/** The spans in at most this width: a text that is too long ends with an ellipsis. */
export function fitLine(parts: readonly Span[], width: number): readonly Span[] {
  if (widthOf(textOf(parts)) <= width) return parts;
  let left = width - 1;
  const kept: Span[] = [];
  for (const { text, format } of parts) {
    let part = '';
    for (const character of graphemes(text)) {
      const size = widthOf(character);
      if (size > left) return [...kept, { text: `${withoutBareNumber(part)}…`, format }];
      part += character;
      left -= size;
    }
    kept.push({ text: part, format });
  }
  return kept;
}

/** Without a number at the end that the cut would take its unit from. */
function withoutBareNumber(text: string): string {
  return text.replace(/\s+\d[\d.,]* ?[a-z]?$/, '');
}

/** Groups of spans, two spaces apart, on as many lines as they need. */
export function wrapped(groups: readonly (readonly Span[])[], width: number): readonly string[] {
  const lines: Span[][] = [];
  for (const group of groups) {
    const line = lines.at(-1);
    const longer = line && [...line, { text: ' '.repeat(GAP) }, ...group];
    if (longer !== undefined && widthOf(textOf(longer)) <= width) lines.splice(-1, 1, longer);
    else lines.push([...group]);
  }
  return lines.map((line) => paint(fitLine(line, width)));
}

/** A text in lines of whole words, those after the first one indented. A word that is too long has its own line. */
export function wordLines(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const longer = lines.length === 0 ? word : `${lines.at(-1) ?? ''} ${word}`;
    if (widthOf(longer) <= width) lines.splice(-1, 1, longer);
    else lines.push(`  ${word}`);
  }
  return lines;
}

export function paint(parts: readonly Span[]): string {
  return parts.map(({ text, format }) => (format === undefined ? text : style(format, text))).join('');
}

function textOf(parts: readonly Span[]): string {
  return parts.map(({ text }) => oneLine(text)).join('');
}

const PLAIN = /^[\x20-\x7E]*$/;
const INVISIBLE = /^[\p{Mark}\p{Format}]+$/u;
const WIDE = /[\p{Emoji_Presentation}\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\u3000-\u303F\uFF01-\uFF60]/u;

/** How many cells of a terminal a text takes. */
export function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length;
  return graphemes(text).reduce((sum, each) => sum + (WIDE.test(each) ? 2 : INVISIBLE.test(each) ? 0 : 1), 0);
}

function graphemes(text: string): readonly string[] {
  if (PLAIN.test(text)) return [...text];
  return [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment);
}

/** A text in lines of at most 80 columns; those after the first are indented. */
export function folded(text: string, indent = 2): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/(?<=\S) (?=\S)/)) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line === '' || columnsOf(longer) <= WIDTH) line = longer;
    else {
      lines.push(line);
      line = ' '.repeat(indent) + word;
    }
  }
  return [...lines, line];
}
