import type { Machine } from '../machine';
import {
  type Cost,
  type ListingCost,
  type ListingResult,
  type Part,
  type ScaleResult,
  type Table,
  totalCalls,
} from './figures';

/** The results of one table, and where they were measured. */
export interface Measured<Result> {
  readonly machine: Machine;
  readonly results: readonly Result[];
}

export interface ScaleSitting {
  readonly memory: Measured<ScaleResult>;
  readonly emulator: Measured<ScaleResult>;
  readonly listings: Measured<ListingResult>;
}

const HEADER = `# How it grows

\`npm run bench:scale\` measures how cost grows with the number of jobs, and generates this page and [the results](performance/scale.json). All instances run the real tick and the real attempts. The task hub is left out: an orchestration begins at once, in the instance that started it.

Ideally, cost does not depend on jobs that are not due, and grows linearly with those that are. Read each column downwards. Ten times the jobs may cost an idle minute ten times the CPU, because a sweep reads each row. A due time should always cost the same.
`;

const CEILING = `
## The ceiling of one storage account

| limit of Azure Storage | what uses it up |
| --- | --- |
| 20,000 requests a second for an account, 40,000 in some regions | a due time takes 4 calls and a share of a listing, 5 at most: 20,000 / 5 = 4,000 due times a second, or 240,000 in a minute |
| 500 requests a second for one blob | each job has its own blobs, and a due time makes 3 calls to one of them: 500 / 3 = 160 due times of one job a second; the shortest schedule has one |
| 5,000 blobs on one page of a listing | a sweep of 100,000 jobs takes 21 calls, and 41 if all of them have a control; 8 of them are made at the same time |
| one partition for names that sort close to each other, until the service has split it | a burst that grows in seconds may be throttled (503); the tick tries again, and a due time may be late, but is not lost |

An instance reaches its own limit long before the account does. Compare the CPU for each run above, to which the storage SDK and the task hub add theirs ([performance](performance.md)). The look-ahead spreads the claims of a burst over up to 34 s.

Two accounts have twice the ceiling, and each makes half of the listings: [several storage accounts](../how-to/shards.md). A due time makes the same calls as before, all of them to its own account. An idle hour makes one sweep a minute in each account: with 10,000 jobs, 3 pages a minute in one account, and 1 page a minute in each of two.

Source of the limits: [scalability targets for storage accounts](https://learn.microsoft.com/azure/storage/common/scalability-targets-standard-account) and [for Blob Storage](https://learn.microsoft.com/azure/storage/blobs/scalability-targets). No measurement here has come near them.
`;

export function scalePage({ memory, emulator, listings }: ScaleSitting): string {
  const { machine } = memory;
  return [
    HEADER,
    '## Only the coordinator',
    'On the memory store, in simulated time. The store costs next to nothing, so this is the CPU of the coordinator. CPU and calls are those of all instances together.',
    table(
      ['jobs', 'instances', 'first sight', 'idle minute', '1 % due', 'all due', 'heap'],
      memory.results.map((result) => [
        ...sizes(result),
        cell(result, 'firstSight', ({ cpuMs }) => `${ms(cpuMs)}, ${perJob(result, 'firstSight')} calls a job`),
        cell(result, 'idleMinute', (cost) => `${ms(cost.cpuMs)}, ${whole(totalCalls(cost))} calls`),
        cell(result, 'onePercentDue', dueText),
        cell(result, 'allDue', dueText),
        `${result.heapMbEach.toFixed(1)} MB`,
      ]),
    ),
    '“Due” covers two minutes around the due time, with two sweeps in each instance: CPU in all, CPU for each run, calls for each run. “Heap” is what one instance keeps in memory for its jobs, the jobs of the file not included. ' +
      whence('memory', memory),
    '## With the storage emulator',
    'In real time, a process for each instance, Azurite in memory beside them. A sweep is what an idle minute costs an instance on Azure. The emulator gets pages of 500 blobs, Azure Storage pages of 5,000: a sweep of 10,000 jobs takes 3 calls there.',
    table(
      [
        'jobs',
        'instances',
        'first sight',
        'owed from',
        'calls for each row',
        'CPU of all instances',
        'a sweep: CPU of an instance',
        'calls',
      ],
      emulator.results.map((result) => [
        ...sizes(result),
        cell(result, 'firstSight', ({ wallMs }) => `${(wallMs / 1000).toFixed(1)} s`),
        result.owedFromMs === undefined ? '' : `${(Math.max(0, result.owedFromMs) / 1000).toFixed(1)} s`,
        cell(result, 'firstSight', ({ calls }) => ((calls['put jobs'] ?? 0) / result.jobs).toFixed(2)),
        cell(result, 'firstSight', ({ cpuMs }) => ms(cpuMs)),
        cell(result, 'idleMinute', ({ cpuMs }) => ms(cpuMs / result.instances)),
        cell(result, 'idleMinute', (cost) => whole((cost.calls['list'] ?? 0) / result.instances)),
      ]),
    ),
    `“First sight” is the time until each job has a row. No due time is lost meanwhile. Rows that come later have the Date of the first listing that lacked them, and “owed from” is the latest of these after the start. Due times from then on run, or get a record. An empty cell was not measured. The time depends on how much of the processor is left, because the emulator takes most of it. 10,000 jobs and three instances took 27.6 s at a load average of 4, with 10,648 creations, and 137 s at one of 15, with 10,601, each a single run on two cores on 2026-11-23. With a connection to the emulator for each call, instead of 16 for each instance, the same took 31.9 s instead of 17.8 s on 2026-11-24, minutes apart. ${whence('emulator', emulator)}`,
    '## Listings of more than one page',
    'A server that answers each page after 100 ms stands in for Azure Storage, with pages of 5,000 blobs. The first listing of a process reads page after page. It shows where the pages end. From then on, up to 8 pages are requested at the same time, each beginning at a name, and the ranges of names follow the jobs as they come and go. One page more may be needed, because a range ends only when a name beyond it is seen. The emulator answers one request at a time, so splitting gains nothing there: 10,000 jobs took 1.2 to 2.1 s, in 20 calls one after another as in 21 by eight. Other calls would wait behind the pages, so listings are not split on it.',
    table(
      ['jobs', 'first listing', 'calls', 'CPU', 'later listings', 'calls', 'CPU'],
      listings.results.map(({ jobs, first, later }) => [whole(jobs), ...listingCells(first), ...listingCells(later)]),
    ),
    `The medians of 5 listings each, in turn. ${whence('listings', listings)}`,
    CEILING,
    '## Machine',
    `${machine.cpu}, ${String(machine.cores)} cores, ${String(machine.memoryGb)} GB, ${machine.system}, Node ${machine.node}. The machine had other work, more for some tables than for others, so compare figures within a table. To repeat: \`npm ci\`, then \`npm run bench:scale\`.`,
  ].join('\n\n');
}

function whence(table: Table, { machine: { commit, changed, at } }: Measured<unknown>): string {
  return `Commit \`${commit}\`${changed ? ' with changes' : ''}, ${at}. To repeat only this table: \`npm run bench:scale -- --only ${table}\`.`;
}

function listingCells({ wallMs, cpuMs, calls }: ListingCost): string[] {
  return [`${whole(wallMs)} ms`, whole(calls), ms(cpuMs)];
}

function sizes({ jobs, instances }: ScaleResult): string[] {
  return [whole(jobs), whole(instances)];
}

function cell({ costs }: ScaleResult, part: Part, text: (cost: Cost) => string): string {
  const cost = costs[part];
  return cost === undefined ? '' : text(cost);
}

function perJob({ costs, jobs }: ScaleResult, part: Part): string {
  const cost = costs[part];
  return cost === undefined ? '' : (totalCalls(cost) / jobs).toFixed(2);
}

function dueText(cost: Cost): string {
  const runs = Math.max(1, cost.runs);
  return `${ms(cost.cpuMs)}: ${(cost.cpuMs / runs).toFixed(2)} ms and ${(totalCalls(cost) / runs).toFixed(2)} calls a run`;
}

function ms(value: number): string {
  return value >= 10_000 ? `${(value / 1000).toFixed(1)} s` : `${value.toFixed(value < 10 ? 1 : 0)} ms`;
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}
