import { oneLine } from '../core/text';
import { type Style, style, withoutColours } from './output';

const WIDTH = 80;

/** A text, or a part of one, in its colour. */
export interface Span {
  readonly text: string;
  readonly format?: Style | undefined;
}

type Cell = string | Span | readonly Span[];

/** A column of a table: its heading, which is its name, and its cell in the line of each row. */
export type Column<Row> = readonly [
  name: string,
  cell: (row: Row) => Cell,
  how?: {
    readonly align?: 'right';
    /**
     * What remains of a text that is too long. Default: its start, before an ellipsis. `newest`: its end, without one.
     * `parts`: the spans that fit whole, so that no number loses its unit.
     */
    readonly cut?: 'middle' | 'newest' | 'parts';
  },
];

export const RIGHT = { align: 'right' } as const;
export const MIDDLE = { cut: 'middle' } as const;

/** How a column gives way where the line is too short: to this width, or, for 0, entirely. */
export type Concession = readonly [column: string, width: number];

const GAP = 2;

/**
 * A table no wider than `width` columns: first its heading, then a line for each row. The concessions are made in their
 * order, and none further than needed. A column without any text is left out.
 */
export function fittedTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  concessions: readonly Concession[],
  width = WIDTH,
): readonly string[] {
  const used = columns
    .map(([name, cell, how = {}]) => ({ name, how, cells: rows.map((row) => spansOf(cell(row))) }))
    .filter(({ cells }) => cells.some((cell) => spansWidth(cell) > 0));
  const natural = used.map(
    ({ name, cells }) => [name, Math.max(name.length, ...cells.map((cell) => spansWidth(cell)))] as const,
  );
  const widths = fitted(new Map(natural), concessions, width);
  const shown = used.filter(({ name }) => (widths.get(name) ?? 0) > 0);
  const lineOf = (cellOf: (column: (typeof shown)[number]) => readonly Span[]): string => {
    const cells = shown.map((column, index) => {
      const cell = padded(cellOf(column), column.how, widths.get(column.name) ?? 0, index === shown.length - 1);
      return index === 0 ? cell : [{ text: ' '.repeat(GAP) }, ...cell];
    });
    return paint(fitLine(cells.flat(), width)).trimEnd();
  };
  return [
    lineOf(({ name }) => [{ text: name, format: 'bold' }]),
    ...rows.map((_, row) => lineOf(({ cells }) => cells[row] ?? [])),
  ];
}

function spansOf(cell: Cell): readonly Span[] {
  if (typeof cell === 'string') return [{ text: oneLine(cell) }];
  const spans = 'text' in cell ? [cell] : cell;
  return spans.map(({ text, format }) => ({ text: oneLine(text), format }));
}

function fitted(
  natural: ReadonlyMap<string, number>,
  concessions: readonly Concession[],
  width: number,
): ReadonlyMap<string, number> {
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

type How = NonNullable<Column<never>[2]>;

function padded(cell: readonly Span[], { align, cut }: How, width: number, last: boolean): readonly Span[] {
  const fits = spansWidth(cell) <= width ? cell : cutSpans(cell, width, cut);
  const pad: Span = { text: ' '.repeat(Math.max(0, width - spansWidth(fits))) };
  if (align === 'right') return [pad, ...fits];
  return last ? fits : [...fits, pad];
}

function cutSpans(cell: readonly Span[], width: number, how: How['cut']): readonly Span[] {
  switch (how) {
    case 'newest':
      return wholeSpans(cell.toReversed(), width).toReversed();
    case 'middle': {
      const characters = graphemes(textOf(cell));
      const end = Math.floor((width - 1) / 2);
      const text = `${characters.slice(0, width - 1 - end).join('')}…${end === 0 ? '' : characters.slice(-end).join('')}`;
      return [{ text, format: cell[0]?.format }];
    }
    case 'parts': {
      const whole = wholeSpans(cell, width);
      return whole.length === 0 ? fitLine(cell, width) : whole;
    }
    case undefined:
      return fitLine(cell, width);
  }
}

/** The first spans, as many as fit whole. */
function wholeSpans(spans: readonly Span[], width: number): readonly Span[] {
  const tooLong = spans.findIndex((_, index) => spansWidth(spans.slice(0, index + 1)) > width);
  return tooLong === -1 ? spans : spans.slice(0, tooLong);
}

/** One line of text, in at most this width. */
export function fitText(text: string, width: number, format?: Style): string {
  return paint(fitLine([{ text: oneLine(text), format }], width));
}

/** The spans in at most this width: a text that is too long ends with an ellipsis. */
function fitLine(parts: readonly Span[], width: number): readonly Span[] {
  if (spansWidth(parts) <= width) return parts;
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
    if (longer !== undefined && spansWidth(longer) <= width) lines.splice(-1, 1, longer);
    else lines.push([...group]);
  }
  return lines.map((line) => paint(fitLine(line, width)));
}

function paint(parts: readonly Span[]): string {
  return parts.map(({ text, format }) => (format === undefined ? text : style(format, text))).join('');
}

function textOf(parts: readonly Span[]): string {
  return parts.map(({ text }) => text).join('');
}

function spansWidth(parts: readonly Span[]): number {
  return widthOf(textOf(parts));
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

/** A text in lines of whole words, which may have colours of ours; those after the first are indented. */
export function folded(text: string, indent = 2, width = WIDTH): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/(?<=\S) (?=\S)/)) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line === '' || widthOf(withoutColours(longer)) <= width) line = longer;
    else {
      lines.push(line);
      line = ' '.repeat(indent) + word;
    }
  }
  return [...lines, line];
}
