import { type Row, seconds } from './row';

/** What `--json` writes. */
export interface Measured {
  /** ISO 8601. */
  readonly at: string;
  readonly store: string;
  /** The revision of the other build, with `--with` only. */
  readonly other?: string;
  /** What else a reader must know. */
  readonly note?: string;
  readonly rows: readonly Row[];
}

const HEADER = [
  'scenario',
  'due times',
  'duplicates',
  'losses',
  'gap, others',
  'gap, held',
  'take-over',
  'leader notices',
  'caught up',
  'started early',
  'stale writes refused / let in',
  'seconds',
  '',
];

function cells(row: Row): string[] {
  const time = (ms: number | undefined): string => (ms === undefined ? '–' : seconds(ms));
  return [
    row.name,
    String(row.dueTimes),
    String(row.duplicates) + forgiven(row.forgiven),
    String(row.losses) + forgiven(row.forgivenLosses),
    time(row.gapOthersMs),
    time(row.gapHeldMs),
    time(row.takeOverMs),
    time(row.toldMs),
    time(row.caughtUpMs),
    row.earlyMs < 10 ? '–' : time(row.earlyMs),
    `${String(row.refused)} / ${String(row.staleWrites)}`,
    String(row.seconds),
    row.misses.length === 0 ? 'ok' : 'MISSED',
  ];
}

/** What the emulator's own loss of confirmed writes explains. */
function forgiven(count: number): string {
  return count > 0 ? ` (+${String(count)})` : '';
}

/** What each row shows, and what was missed. */
function remarks(rows: readonly Row[]): string[] {
  return rows.flatMap(({ name, misses }) => misses.map((miss) => `${name}: ${miss}`));
}

export function plainTable(rows: readonly Row[]): string {
  const table = [HEADER, ...rows.map(cells)];
  const widths = HEADER.map((_, column) => Math.max(...table.map((line) => line[column]?.length ?? 0)));
  const lines = table.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return [...lines, '', ...remarks(rows)].join('\n').trimEnd();
}

export function markdownTable(rows: readonly Row[]): string {
  const line = (columns: readonly string[]): string => `| ${columns.join(' | ')} |`;
  const withText = (row: Row): string[] => {
    const [, ...rest] = cells(row);
    return [`${row.shows} \`${row.name}\``, ...rest];
  };
  const rule = HEADER.map((_, column) => (column === 0 ? '---' : '--:'));
  const missed = remarks(rows).map((remark) => `- ${remark}`);
  return [line(HEADER), line(rule), ...rows.map((row) => line(withText(row))), '', ...missed].join('\n').trimEnd();
}

/** A line for each row. */
export function measuredText({ rows, ...head }: Measured): string {
  // JSON has no Infinity: what never happened is written as such.
  const lines = rows.map((row) =>
    JSON.stringify(row, (_key, value: unknown) => (value === Infinity ? 'never' : value)),
  );
  return `{\n${Object.entries(head)
    .map(([name, value]) => `  "${name}": ${JSON.stringify(value)},\n`)
    .join('')}  "rows": [\n    ${lines.join(',\n    ')}\n  ]\n}\n`;
}
