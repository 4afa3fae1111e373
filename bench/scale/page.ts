import type { Machine } from '../machine';
import type { Cost, Part, ScaleResult } from './figures';
import { totalCalls } from './figures';

export interface ScaleSitting {
  readonly machine: Machine;
  readonly results: readonly ScaleResult[];
}

const HEADER = `# How it grows

\`npm run bench:scale\` measures what jobs cost by their number, and writes this page and [the results](performance/scale.json). All instances run the real tick and the real attempts. The task hub is left out: an orchestration begins at once, in the instance that started it.

A good figure is constant in what is not due, and linear in what is. Read each column downwards: ten times the jobs may cost an idle minute ten times the CPU, since a sweep reads each row, and a due time always the same.
`;

const CEILING = `
## The ceiling of one storage account

| limit of Azure Storage | what uses it up |
| --- | --- |
| 20,000 requests a second for an account, 40,000 in some regions | a due time takes 4 calls and a share of a listing, 5 at most: 20,000 / 5 = 4,000 due times a second, or 240,000 in a minute |
| 500 requests a second for one blob | each job has blobs of its own, and a due time makes 3 calls to one of them: 500 / 3 = 160 due times of one job a second, where the shortest schedule has one |
| 5,000 blobs on one page of a listing | a sweep of 100,000 jobs takes 20 calls, and 40 if all of them have a control |
| one partition for names that sort close to each other, until the service has split it | a burst that grows in seconds may be throttled (503): the tick tries again, and a due time may be late, but is not lost |

An instance reaches a limit of its own long before the account does: compare the CPU for each run above, to which the storage SDK and the task hub add theirs ([performance](performance.md)). The look-ahead spreads the claims of a burst over up to 34 s.

Source of the limits: [scalability targets for storage accounts](https://learn.microsoft.com/azure/storage/common/scalability-targets-standard-account) and [for Blob Storage](https://learn.microsoft.com/azure/storage/blobs/scalability-targets). No measurement here has come near them.
`;

export function scalePage({ machine, results }: ScaleSitting): string {
  const memory = results.filter(({ store }) => store === 'memory');
  const azurite = results.filter(({ store }) => store === 'azurite');
  return [
    HEADER,
    '## The coordinator alone',
    'On the memory store, in simulated time: the store costs next to nothing, so this is the CPU of the coordinator. CPU and calls are those of all instances together.',
    table(
      ['jobs', 'instances', 'first sight', 'idle minute', '1 % due', 'all due', 'heap'],
      memory.map((result) => [
        ...sizes(result),
        cell(result, 'firstSight', ({ cpuMs }) => `${ms(cpuMs)}, ${perJob(result, 'firstSight')} calls a job`),
        cell(result, 'idleMinute', (cost) => `${ms(cost.cpuMs)}, ${whole(totalCalls(cost))} calls`),
        cell(result, 'onePercentDue', dueText),
        cell(result, 'allDue', dueText),
        `${result.heapMbEach.toFixed(1)} MB`,
      ]),
    ),
    '“Due” covers two minutes around the due time, with two sweeps in each instance: CPU in all, CPU for each run, calls for each run. “Heap” is what one instance keeps in memory for its jobs, the jobs of the file not included.',
    '## With the storage emulator',
    'In real time, a process for each instance, Azurite in memory beside them. A sweep is what an idle minute costs an instance on Azure. The emulator gets pages of 500 blobs, Azure Storage pages of 5,000: a sweep of 10,000 jobs takes 2 calls there.',
    table(
      [
        'jobs',
        'instances',
        'first sight',
        'calls for each row',
        'CPU of all instances',
        'a sweep: CPU of an instance',
        'calls',
      ],
      azurite.map((result) => [
        ...sizes(result),
        cell(result, 'firstSight', ({ wallMs }) => `${(wallMs / 1000).toFixed(1)} s`),
        cell(result, 'firstSight', ({ calls }) => ((calls['put jobs'] ?? 0) / result.jobs).toFixed(2)),
        cell(result, 'firstSight', ({ cpuMs }) => ms(cpuMs)),
        cell(result, 'idleMinute', ({ cpuMs }) => ms(cpuMs / result.instances)),
        cell(result, 'idleMinute', (cost) => whole((cost.calls['list'] ?? 0) / result.instances)),
      ]),
    ),
    CEILING,
    '## Machine',
    `${machine.cpu}, ${String(machine.cores)} cores, ${String(machine.memoryGb)} GB, ${machine.system}, Node ${machine.node}; commit \`${machine.commit}\`${machine.changed ? ' with changes' : ''}, ${machine.at}. The machine may have had other work: compare figures within a table. To repeat: \`npm ci\`, then \`npm run bench:scale\`.`,
  ].join('\n\n');
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
