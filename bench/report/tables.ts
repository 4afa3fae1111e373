import type { Result } from '../measure/result';
import { median, milliseconds, perRun, totalCalls } from './numbers';

export interface Table {
  readonly title: string;
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

const HEADER = [
  'system',
  'p50',
  'p99',
  'max',
  'earliest',
  'doubled',
  'missed',
  'unrecorded',
  'of',
  'workers, ms',
  'server, ms',
  'calls',
  'MB',
];

/** One table for each load and each skew, in the order of the results: the median of the repetitions. */
export function tablesOf(results: readonly Result[]): Table[] {
  return [...grouped(results, ({ load, skewMs }) => titleOf(load, skewMs))].map(([title, ofLoad]) => ({
    title,
    header: HEADER,
    rows: [...grouped(ofLoad, ({ system }) => system)].map(([system, repeated]) => rowOf(system, repeated)),
  }));
}

function titleOf(load: string, skewMs: number): string {
  const [count = '', unit] = load.split('/');
  const jobs = Number(count).toLocaleString('en-US');
  const text =
    unit === 's' ? `${jobs} ${jobs === '1' ? 'job' : 'jobs'} each second` : `${jobs} jobs in the same minute`;
  return skewMs === 0 ? text : `${text}, clocks ${String(skewMs)} ms apart`;
}

function rowOf(system: string, repeated: readonly Result[]): string[] {
  const middle = (of: (result: Result) => number): number => median(repeated.map(of));
  const sum = (of: (result: Result) => number): number => repeated.reduce((total, result) => total + of(result), 0);
  const runs = sum((result) => result.runs);
  const calls = repeated.map(({ usage }) => totalCalls(usage.calls));
  return [
    system,
    milliseconds(middle(({ figures }) => figures.lateness.p50)),
    milliseconds(middle(({ figures }) => figures.lateness.p99)),
    milliseconds(Math.max(...repeated.map(({ figures }) => figures.lateness.max))),
    milliseconds(Math.min(...repeated.map(({ figures }) => figures.lateness.min))),
    String(sum(({ figures }) => figures.duplicates)),
    String(sum(({ figures }) => figures.misses)),
    String(sum(({ figures }) => figures.unrecorded)),
    String(sum(({ figures }) => figures.dueTimes)),
    perRun(
      sum(({ usage }) => usage.workersCpuMs),
      runs,
    ),
    perRun(
      sum(({ usage }) => usage.backendCpuMs),
      runs,
    ),
    calls.includes(undefined)
      ? '–'
      : perRun(
          calls.reduce<number>((total, count) => total + (count ?? 0), 0),
          runs,
        ),
    Math.max(...repeated.map(({ usage }) => usage.workerMb)).toFixed(0),
  ];
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

function plainTable({ title, header, rows }: Table): string {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const lines = all.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  '),
  );
  return [title, ...lines, ''].join('\n');
}

export function plainTables(results: readonly Result[]): string {
  return tablesOf(results).map(plainTable).join('\n').trimEnd();
}
