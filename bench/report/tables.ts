import { durableCalls } from '../../src/operator/cost/situation';
import type { Figures } from '../figures/judge';
import type { IdleResult } from '../measure/idle';
import type { KillResult } from '../measure/kill';
import type { LogsResult } from '../measure/logs';
import type { Result } from '../measure/result';
import type { ShortageResult } from '../measure/shortage';
import type { Starts } from '../measure/start';
import type { Sitting, Table } from '../kept';
import { median, milliseconds, perRun, seconds, share, totalCalls } from './numbers';

interface Column {
  readonly header: string;
  cell(repeated: readonly Result[]): string;
}

function middle(of: (result: Result) => number): Column['cell'] {
  return (repeated) => milliseconds(median(repeated.map(of)));
}

function total<T>(repeated: readonly T[], of: (result: T) => number): number {
  return repeated.reduce((sum, result) => sum + of(result), 0);
}

function eachRun(of: (result: Result) => number | undefined): Column['cell'] {
  return (repeated) => {
    if (repeated.some((result) => of(result) === undefined)) return '–';
    return perRun(
      total(repeated, (result) => of(result) ?? 0),
      total(repeated, ({ runs }) => runs),
    );
  };
}

const COLUMNS: readonly Column[] = [
  { header: 'p50, ms', cell: middle(({ figures }) => figures.lateness.p50) },
  { header: 'p99, ms', cell: middle(({ figures }) => figures.lateness.p99) },
  {
    header: 'max, ms',
    cell: (repeated) => milliseconds(Math.max(...repeated.map(({ figures }) => figures.lateness.max))),
  },
  { header: 'doubled', cell: doubledCell },
  { header: 'missed', cell: missedCell },
  { header: 'of', cell: (repeated) => total(repeated, ({ figures }) => figures.dueTimes).toLocaleString('en-US') },
  { header: 'CPU of workers, ms a run', cell: eachRun(({ usage }) => usage.workersCpuMs) },
  { header: 'of the server', cell: eachRun(({ usage }) => usage.backendCpuMs) },
  { header: 'calls a run', cell: eachRun(({ usage }) => totalCalls(usage.calls)) },
  {
    header: 'MB a worker',
    cell: (repeated) => Math.max(...repeated.map(({ usage }) => usage.workerMb)).toFixed(0),
  },
];

/** By the model of `cronlease cost`, from what the embedded hub has done. */
const DURABLE: Column = {
  header: "Durable's calls a run",
  cell: eachRun(({ usage: { hubWork } }) => {
    if (hubWork === undefined) return undefined;
    const { queue, table } = durableCalls(hubWork);
    return queue + table;
  }),
};

/** In runs with skewed clocks: how long before its due time a handler started, by the right clock. */
const EARLY: Column = {
  header: 'early by, ms',
  cell: (repeated) => milliseconds(Math.max(0, -Math.min(...repeated.map(({ figures }) => figures.lateness.min)))),
};

/** A later attempt is not a double: the system knows of both. Its handler has run again all the same. */
function doubledCell(repeated: readonly Pick<Result, 'figures'>[]): string {
  const doubled = String(total(repeated, ({ figures }) => figures.duplicates));
  const again = total(
    repeated,
    ({ figures: { starts, duplicates, dueTimes, misses } }) => starts - duplicates - (dueTimes - misses),
  );
  return again === 0 ? doubled : `${doubled} (${again.toLocaleString('en-US')} later attempts)`;
}

function missedCell(repeated: readonly Result[]): string {
  const misses = total(repeated, ({ figures }) => figures.misses);
  const unrecorded = total(repeated, ({ figures }) => figures.unrecorded);
  return missedText({ misses, unrecorded });
}

function missedText({ misses, unrecorded }: Pick<Figures, 'misses' | 'unrecorded'>): string {
  return misses === unrecorded ? String(misses) : `${String(misses)} (${String(unrecorded)} without a record)`;
}

/** One table for each load, straight and skewed, in the order of the results: medians of the repetitions. */
export function loadTables(results: readonly Result[]): Table[] {
  return [...grouped(results, ({ load, skewMs }) => loadTitle(load, skewMs))].map(([title, ofLoad]) => {
    const columns = [
      ...COLUMNS,
      ...(ofLoad.some(({ usage }) => usage.hubWork !== undefined) ? [DURABLE] : []),
      ...(ofLoad.some(({ skewMs }) => skewMs > 0) ? [EARLY] : []),
    ];
    return {
      title,
      header: ['system', ...columns.map(({ header }) => header)],
      rows: [...grouped(ofLoad, ({ system }) => system)].map(([system, repeated]) => [
        system,
        ...columns.map(({ cell }) => cell(repeated)),
      ]),
    };
  });
}

export function loadTitle(load: string, skewMs = 0): string {
  const [count = '', unit] = load.split('/');
  const jobs = `${Number(count).toLocaleString('en-US')} ${count === '1' ? 'job' : 'jobs'}`;
  const text = unit === 's' ? `${jobs} a second` : `${jobs} in the same minute`;
  return skewMs === 0 ? text : `${text}, clocks ${String(skewMs)} ms apart`;
}

export function killTable(kills: readonly KillResult[]): Table {
  return {
    title: 'kill -9 of the worker that holds work',
    header: ['system', 'all jobs run again after', 'second attempt after', 'doubled', 'missed', 'of'],
    rows: kills.map(({ system, allAgainMs, secondAttemptMs, figures }) => [
      system,
      seconds(allAgainMs),
      seconds(secondAttemptMs),
      String(figures.duplicates),
      missedText(figures),
      String(figures.dueTimes),
    ]),
  };
}

export function shortageTable(shortages: readonly ShortageResult[]): Table {
  return {
    title: '100 jobs a second, CPU taken for 10 s',
    header: [
      ...['cores taken', 'system', 'on time again after', 'p50, ms', 'max, ms', 'doubled', 'missed', 'of'],
      ...['CPU of workers, ms a run', 'of the server', 'calls a run'],
    ],
    rows: [...grouped(shortages, ({ cores }) => String(cores)).values()].flat().map((shortage) => {
      const { system, cores, onTimeAfterMs, figures, usage, runs } = shortage;
      const calls = totalCalls(usage.calls);
      return [
        ...[String(cores), system, seconds(onTimeAfterMs)],
        ...[milliseconds(figures.lateness.p50), milliseconds(figures.lateness.max), doubledCell([shortage])],
        ...[missedText(figures), figures.dueTimes.toLocaleString('en-US')],
        ...[perRun(usage.workersCpuMs, runs), perRun(usage.backendCpuMs, runs)],
        calls === undefined ? '–' : perRun(calls, runs),
      ];
    }),
  };
}

export function idleTable(idles: readonly IdleResult[]): Table {
  return {
    title: 'jobs that are not due',
    header: ['system', 'jobs', 'of a core, each worker', 'of a core, server', 'calls an hour', 'MB a worker'],
    rows: idles.map(({ system, jobs, workerShare, serverShare, callsPerHour, workerMb }) => [
      system,
      jobs.toLocaleString('en-US'),
      share(workerShare),
      share(serverShare),
      callsPerHour === undefined ? '–' : Math.round(callsPerHour).toLocaleString('en-US'),
      workerMb.toFixed(0),
    ]),
  };
}

export function logsTable(logs: readonly LogsResult[]): Table {
  return {
    title: 'the log of a run that says much',
    header: [
      ...['other jobs a second', 'load average', 'lines', 'in, s', 'of the first 1,000', 'of the last 1,000'],
      ...['in the gap that the log names', 'lost'],
    ],
    rows: logs.map(({ beside, load, lines, seconds: wrote, kept, keptFirst, keptLast, missing }) => [
      ...[String(beside), load.toFixed(1), lines.toLocaleString('en-US'), wrote.toFixed(1)],
      ...[keptFirst, keptLast, missing, lines - kept - missing].map((count) => count.toLocaleString('en-US')),
    ]),
  };
}

const MEGABYTE = 1024 * 1024;

export function startTable({ turns, apps }: Pick<Starts, 'turns' | 'apps'>): Table {
  return {
    title: `start of an app, medians of ${String(turns)}`,
    header: ['what starts', 'time, ms', 'CPU, ms', 'files', 'MB of files', 'MB of memory'],
    rows: apps.map(({ title, ms, cpuMs, files, bytes, residentBytes }) => [
      ...[title, ms.toFixed(0), cpuMs.toFixed(0), files.toLocaleString('en-US')],
      ...[(bytes / MEGABYTE).toFixed(1), (residentBytes / MEGABYTE).toFixed(0)],
    ]),
  };
}

/** Packages that have their own row. */
const SHOWN = 10;

/** The packages that take longest, and all others together. */
export function packagesTable({ packages }: Pick<Starts, 'packages'>): Table {
  const others = packages.slice(SHOWN);
  const rest = { name: `${String(others.length)} others`, ms: others.reduce((sum, { ms }) => sum + ms, 0) };
  return {
    title: 'start of the library, by package',
    header: ['package', 'time, ms'],
    rows: [...packages.slice(0, SHOWN), ...(others.length === 0 ? [] : [rest])].map(({ name, ms }) => [
      name,
      ms.toFixed(1),
    ]),
  };
}

/** The calls of each run by kind, of the systems on blob storage; undefined: there is none at this load. */
export function callsTable(results: readonly Result[], load: string): Table | undefined {
  const counted = results.filter((result) => result.load === load && result.skewMs === 0 && isOnBlobs(result));
  if (counted.length === 0) return undefined;
  const kinds = [...new Set(counted.flatMap(({ usage }) => Object.keys(usage.calls ?? {})))].toSorted();
  return {
    title: `calls by kind, ${loadTitle(load)}`,
    header: ['system', ...kinds],
    rows: [...grouped(counted, ({ system }) => system)].map(([system, repeated]) => [
      system,
      ...kinds.map((kind) => eachRun(({ usage }) => usage.calls?.[kind] ?? 0)(repeated)),
    ]),
  };
}

function isOnBlobs({ usage: { calls = {} } }: Result): boolean {
  return 'acquire' in calls || 'renew' in calls;
}

export function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

export function plainTable({ title, header, rows }: Table): string {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const lines = all.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  '),
  );
  return [title, ...lines, ''].join('\n');
}

export function markdownTable({ header, rows }: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(header), line(header.map((_, index) => (index === 0 ? '---' : '--:'))), ...rows.map(line)].join('\n');
}

export function plainTables({ results, kills, idles, starts, logs, shortages }: Sitting): string {
  return [
    ...loadTables(results),
    ...(kills.length === 0 ? [] : [killTable(kills)]),
    ...(shortages.length === 0 ? [] : [shortageTable(shortages)]),
    ...(idles.length === 0 ? [] : [idleTable(idles)]),
    ...starts.flatMap((one) => [startTable(one), packagesTable(one)]),
    ...(logs.length === 0 ? [] : [logsTable(logs)]),
  ]
    .map(plainTable)
    .join('\n')
    .trimEnd();
}
