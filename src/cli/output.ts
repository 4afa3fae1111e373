import { styleText } from 'node:util';

/** Exit codes of every command. */
export const OK = 0;
export const NO = 1;
export const USAGE = 2;

type Style = Parameters<typeof styleText>[0];

export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** The one document that a command prints with `--json`. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value, undefined, 2));
}

export function warn(text: string): void {
  process.stderr.write(`${style('yellow', 'warning:', process.stderr)} ${text}\n`);
}

export function printError(text: string): void {
  process.stderr.write(`${style('red', 'error:', process.stderr)} ${text}\n`);
}

/** Coloured on a terminal only; NO_COLOR and FORCE_COLOR are heeded. */
export function style(format: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return styleText(format, text, { stream });
}

/** Rows under a heading, their columns aligned. A column whose heading is empty and that has no text takes no room. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = heading.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .filter((_, column) => (widths[column] ?? 0) > 0)
      .join('  ')
      .trimEnd();
  return [style('bold', line(heading)), ...rows.map(line)].join('\n');
}
