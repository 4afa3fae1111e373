import { CONTENDERS } from '../world/contender';
import type { Row, Summary } from './summary';

/** One figure of every contender in every scenario. */
interface Metric {
  readonly title: string;
  readonly cell: (summary: Summary) => string;
}

export const METRICS: readonly Metric[] = [
  {
    title: 'Seconds without a leader, of 120',
    cell: ({ withoutLeaderMs }) => amount(withoutLeaderMs.mean / 1000),
  },
  {
    title: 'Seconds with two leaders at once, and how often (×)',
    cell: ({ twoLeaders: { ms, times } }) => (times === 0 ? '0' : `${amount(ms / 1000)} ${amount(times)}×`),
  },
  {
    title: 'Stale writes that a store accepts: without / with fencing',
    cell: ({ stale, staleFenced }) => `${amount(stale)} / ${staleFenced === undefined ? NONE : amount(staleFenced)}`,
  },
  { title: 'Elections called', cell: ({ elections }) => amount(elections) },
  { title: 'Messages sent', cell: ({ messages }) => amount(messages) },
];

const NONE = '–';
const NAME_WIDTH = 18;
const CELL_WIDTH = 10;

/** The table as lines of at most 80 columns. */
export function textTable({ title, cell }: Metric, instances: number, rows: readonly Row[]): string {
  const line = (name: string, cells: readonly string[]): string =>
    name.padEnd(NAME_WIDTH) + cells.map((one, index) => one.padStart(widths[index] ?? CELL_WIDTH)).join('');
  const widths = CONTENDERS.map(({ name }) => Math.max(CELL_WIDTH, name.length + 1));
  const head = line(
    '',
    CONTENDERS.map(({ name }) => name),
  );
  return [
    `${title} (${String(instances)} instances)`,
    head,
    ...rows.map((row) => line(row.scenario.name, cellsOf(row, cell))),
  ].join('\n');
}

export function markdownTable({ cell }: Metric, rows: readonly Row[]): string {
  const head = ['scenario', ...CONTENDERS.map(({ name }) => name)];
  return [head, head.map((_, index) => (index === 0 ? '---' : '--:'))]
    .map(markdownLine)
    .concat(rows.map((row) => markdownRow(row, cell)))
    .join('\n');
}

export function markdownRow(row: Row, cell: Metric['cell']): string {
  return markdownLine([row.scenario.name, ...cellsOf(row, cell)]);
}

function cellsOf({ summaries }: Row, cell: Metric['cell']): string[] {
  return CONTENDERS.map((contender) => {
    const summary = summaries.get(contender);
    return summary === undefined ? NONE : cell(summary);
  });
}

function markdownLine(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

/** One digit behind the point below 100; `<0.1` for what is there but would show as none. */
function amount(value: number): string {
  if (value === 0) return '0';
  if (value < 0.05) return '<0.1';
  return value >= 99.95 ? value.toFixed(0) : value.toFixed(1);
}
