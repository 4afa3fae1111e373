import { type Sitting, madeOf, tableOf } from '../kept';
import { systems } from '../systems/index';
import { WARM_MS } from '../measure/run';
import type { Result } from '../measure/result';
import { perRun, share } from './numbers';
import {
  callsTable,
  grouped,
  idleTable,
  killTable,
  loadTables,
  loadTitle,
  logsTable,
  markdownTable,
  packagesTable,
  shortageTable,
  startTable,
} from './tables';

/** Above it, figures are provisional. */
const QUIET_SHARE = 0.03;

/** The file of a load's plot. */
export function plotFile(load: string): string {
  return `${load.replace('/', '-per-')}.svg`;
}

/** The page, as Markdown. */
export function pageOf(sitting: Sitting): string {
  const { results, kills, idles, logs, shortages } = sitting;
  return [
    '# Performance',
    'This page compares cronlease with what people would use instead. All ran the same jobs on one machine, one ' +
      'system after another. Each table comes from one measurement session and names its commit. `npm run bench` makes ' +
      'this page; do not edit it.',
    ...provisional(sitting),
    ...machine(sitting),
    ...compared(sitting),
    ...[...grouped(results, ({ load, skewMs }) => loadTitle(load, skewMs))].flatMap(([title, ofLoad], index) => {
      const [first] = ofLoad;
      const table = loadTables(results)[index];
      if (first === undefined || table === undefined) return [];
      const plot = first.skewMs === 0 ? [`![${title}](performance/${plotFile(first.load)})`] : [];
      return [`## ${title}`, ...plot, markdownTable(table), madeAt(sitting, tableOf(first))];
    }),
    ...(kills.length === 0 ? [] : [...KILLED, markdownTable(killTable(kills)), madeAt(sitting, 'kills')]),
    ...(shortages.length === 0
      ? []
      : [...SHORT, markdownTable(shortageTable(shortages)), madeAt(sitting, 'shortages')]),
    ...(idles.length === 0 ? [] : [...IDLE, markdownTable(idleTable(idles)), madeAt(sitting, 'idles')]),
    ...started(sitting),
    ...(logs.length === 0 ? [] : [...LOGS, markdownTable(logsTable(logs)), madeAt(sitting, 'logs')]),
    ...calls(sitting),
    ...cpuByPart(sitting),
    ...caveats(sitting),
  ].join('\n\n');
}

function provisional({ results }: Sitting): string[] {
  const most = Math.max(0, ...results.map(({ usage }) => usage.othersShare));
  if (most <= QUIET_SHARE) return [];
  return [
    `**These figures are provisional.** Other programs used up to ${share(most)} of the machine during a run. ` +
      'A run on a quiet machine replaces them.',
  ];
}

function machine({ machine: { at, commit, changed, cpu, cores, memoryGb, system, node, versions }, results }: Sitting) {
  const loads = results.map(({ loadBefore }) => loadBefore);
  return [
    '## The sitting',
    [
      `- commit \`${commit}\`${changed ? ', with changes that are not committed' : ''}, ${at}`,
      `- ${cpu}, ${String(cores)} cores, ${String(memoryGb)} GB, ${system}, Node ${node.slice(1)}`,
      `- ${versions.join(', ')}`,
      ...(loads.length === 0
        ? []
        : [`- load average before a run: ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}`]),
    ].join('\n'),
    'To repeat it, run `npm run bench`; `npm run bench -- --quick` plays a part of it in under 20 minutes. ' +
      'The servers are those of `apt-get install redis-server etcd-server postgresql`. `npm run bench -- --help` ' +
      'shows how to pick systems and loads. The results are in [performance/results.json](performance/results.json).',
  ];
}

function compared({ results, kills, idles, leftOut, failures }: Sitting): string[] {
  const used = new Set([...results, ...kills, ...idles].map(({ system }) => system));
  return [
    '## What is compared',
    systems
      .filter(({ name }) => used.has(name))
      .map(({ name, title }) => `- \`${name}\`: ${title}`)
      .join('\n'),
    'Three workers each, every one a Node process. The handler notes its start and waits for 20 ms. Lateness is the ' +
      'time from the due time to that note. Each system is started again for each run, with its own server.',
    ...leftOut.map(({ system, reason }) => `\`${system}\` is left out: ${reason}.`),
    ...(failures.length === 0
      ? []
      : [
          ['Runs that failed:', ...failures.map(({ run, reason }) => `- ${run}: ${reason.split('\n')[0] ?? ''}`)].join(
            '\n',
          ),
        ]),
  ];
}

const KILLED = [
  '## A killed worker',
  'One worker runs a long job when it gets `kill -9`. Five other jobs are due every second, or every minute if the ' +
    'system has no seconds. `never` means not within 90 s. Nothing starts a worker again.',
  'When a worker of cronlease dies, the jobs that it had claimed stay claimed until its leases end. A claim has a lease ' +
    'of 15 s, as the peers have; only a run that lasts longer gets the lease of its job, which is 30 s by default. A job ' +
    'that is due every second is claimed 0.8 s ahead, so a worker holds it nearly all the time. If the killed worker ' +
    'holds it, the due times until its lease ends are missed, and each is recorded. Jobs that are free, or that another ' +
    'worker holds, continue without a gap. Which worker holds the five jobs is a matter of chance. If cronlease misses ' +
    'nothing in this table, a different worker held them. The second attempt is that of the interrupted run. Most of ' +
    'the peers never make one.',
];

const SHORT = [
  '## A shortage of CPU',
  'While 100 jobs are due every second, other processes of a higher priority take so many cores for 10 s. On time ' +
    'again is the first due time after that from which on every job starts within 250 ms, up to the end 40 s later. ' +
    'All figures are of these 50 s.',
];

const IDLE = [
  '## Nothing due',
  'Jobs that are not due for hours. The calls of an hour are extrapolated. Calls are requests to blob storage, ' +
    'commands of Redis (those inside its scripts too), messages to etcd, and transactions of PostgreSQL.',
];

const LOGS = [
  '## Logs under load',
  'One run of cronlease writes 3,000 lines in 15 s, with and without jobs that are due every second. The load ' +
    'average is that of the machine at the end of the run. The first and the last 1,000 lines of an attempt are kept, ' +
    'whatever the load; the log names the gap between them.',
];

/** Tables may outlive the sitting that made them. */
function madeAt(sitting: Sitting, table: string): string {
  const { commit, at } = madeOf(sitting, table);
  return `Commit \`${commit}\`, ${at}.`;
}

function started(sitting: Sitting): string[] {
  const [starts] = sitting.starts;
  if (starts === undefined) return [];
  return [
    '## The start of an app',
    'From the start of the process until the functions of the app are registered, medians of starts by turns. The ' +
      "worker's own part is left out, and so is the time that Azure takes for a new instance.",
    markdownTable(startTable(starts)),
    'A deployed app is one file, so most of its start is reading and compiling that file. ' +
      'The HTTP API, the dashboard, stores beside blobs and telemetry are loaded when they are needed. ' +
      '`NODE_COMPILE_CACHE` names a folder in which Node keeps what it has compiled. It has to outlast the process, ' +
      'and the disk of a new instance is empty, so the templates leave it out.',
    'Without the bundle, each package adds this time:',
    markdownTable(packagesTable(starts)),
    madeAt(sitting, 'starts'),
  ];
}

function cpuByPart(sitting: Sitting): string[] {
  const { profile } = sitting;
  if (profile === undefined) return [];
  return [
    '## Where the CPU goes',
    `${profile.title}, by a profile of one worker, which itself takes some CPU. The storage SDK, node's HTTP, the Durable ` +
      'SDK and garbage collection are the price of the calls that a run needs: four to storage, one to Durable. ' +
      'The naive lease, which makes two or three of these calls and does nothing else, shows their minimum cost.',
    markdownTable(profile),
    madeAt(sitting, 'profile'),
  ];
}

function calls(sitting: Sitting): string[] {
  const { results } = sitting;
  const loads = [...new Set(results.map(({ load }) => load))];
  const tables = loads.flatMap((load) => callsTable(results, load) ?? []);
  if (tables.length === 0) return [];
  return [
    '## Calls by kind',
    'Requests to blob storage for each run, losers of races and listings included.',
    ...tables.flatMap((table) => [`**${table.title.replace('calls by kind, ', '')}**`, markdownTable(table)]),
    'The builds are those of the tables above.',
  ];
}

function caveats({ results }: Sitting): string[] {
  const repetitions = Math.max(1, ...results.map(({ repetition }) => repetition));
  return [
    '## What these figures do not show',
    [
      '- Workers, servers and the benchmark share one machine, so a system that uses much CPU delays itself. The ' +
        'CPU of the storage emulator is listed apart from that of the workers. On Azure, storage has its own ' +
        'machines, and each call takes a few milliseconds longer.',
      '- The Functions host is the embedded one. On Azure, a hand-over from the tick to the handler may take longer, ' +
        'which `cronlease-50ms` and `cronlease-1s` imitate: each activity starts that much later. A job that is due ' +
        'every second is claimed at most 0.8 s ahead. With 1 s more it cannot keep up, and a due time that passes ' +
        'during a run is recorded as overlapped.',
      repetitions === 1
        ? '- Each figure is of one run.'
        : `- Percentiles are medians of ${String(repetitions)} runs; doubled and missed due times are sums, and a ` +
          'maximum is that of all runs.',
      `- A rate is measured from ${String(WARM_MS / 1000)} s after all jobs have run once. Until then, Node compiles what ` +
        'it runs: after three workers have started together with 100 jobs a second, some jobs are up to 1.5 s late for a ' +
        'few seconds, and some due times pass during a run.',
      '- The speed of a shared machine changes from hour to hour, so compare systems within a table.',
      '- The jobs of a burst are due once, in a minute that begins at least 30 s after all of them are known. CPU and ' +
        'calls of a burst include that wait, and the time after the handlers until workers and server are at rest.',
      '- The peers have settings in their favour: leases of 15 s, the shortest of blob storage; Redis without ' +
        'persistence; concurrency above what is due at once, except for graphile-worker, whose idle polling grows ' +
        'with it. For bursts of more than 2,000 jobs cronlease has a `maxConcurrentActivityFunctions` of half of them, ' +
        'so that all can be claimed ahead. By default it is 1,000 for each instance.',
      '- At 100 jobs a second on blob storage, cronlease and the emulator use more than half a core, and more on a ' +
        'slower machine. With other work beside them on two cores, jobs fall behind. A job that has fallen behind ' +
        'catches up slowly: each of its last due times still runs, and one that passes during a run is recorded as ' +
        'overlapped.',
      '- On blob storage, jobs are claimed up to 34 s ahead of a burst, which is how long the longest lease covers the ' +
        'wait. What two cores cannot claim in that time starts late, as those that were claimed end. What has not started ' +
        '20 s after the last start counts as missed here.',
      '- A due time without a record is one that the row of its job still owed when the measurement ended. A sweep ' +
        'writes what rows owe, once a minute.',
      '- With the small heaps of `cronlease dev`, 5,000 jobs are about what two cores claim on the emulator in those ' +
        '34 s, so how late the last ones are differs from run to run. With the heaps of Azure, Node lets the heap grow: ' +
        'an instance of cronlease takes as much memory in such a burst as a worker of `blob-leader` or `etcd-election`.',
      '- Four calls of a run are acquisition, row, record and release. Further acquisitions are those that another ' +
        'instance won. Further row writes come from due times that pass before the end of a run, so that they get ' +
        'their outcome. With a job every second, any run that is a second late writes its row twice.',
      ...callsOfDurable(results),
      ...storesOnOneBuild(results),
      ...memoryOfSdk(results),
      '- `croner` gives each job to one worker permanently. It is the lower bound, because no other worker takes over ' +
        'if that one dies.',
    ].join('\n'),
  ];
}

function callsOfDurable(results: readonly Result[]): string[] {
  if (results.every(({ usage }) => usage.hubWork === undefined)) return [];
  return [
    "- Durable's calls are those of its Azure Storage back end, by the model of `cronlease cost`, for the " +
      'orchestrations, activities and turns that the embedded hub has counted.',
  ];
}

/** The runs of a system at 100 jobs a second. */
function atHundred(results: readonly Result[], name: string): readonly Result[] {
  return results.filter(
    ({ system, load, skewMs, runs }) => system === name && load === '100/s' && skewMs === 0 && runs > 0,
  );
}

/** What a run costs without the calls to blob storage, from the same build on other stores. */
function storesOnOneBuild(results: readonly Result[]): string[] {
  const cpu = (name: string): string | undefined => {
    const found = atHundred(results, name);
    const total = (of: (result: Result) => number): number => found.reduce((sum, result) => sum + of(result), 0);
    if (found.length === 0) return undefined;
    return perRun(
      total(({ usage }) => usage.workersCpuMs),
      total(({ runs }) => runs),
    );
  };
  const [blobs, redis] = [cpu('cronlease'), cpu('cronlease-redis')];
  if (blobs === undefined || redis === undefined) return [];
  return [
    `- At 100 jobs a second a run costs the workers ${redis} ms of CPU on Redis and ${blobs} ms on blob storage, with the same build, decisions, hand-overs and records. ` +
      'The difference is the price of four requests ' +
      'by the storage SDK over HTTP. It limits the CPU of a run on blob storage, and with it how late runs are ' +
      'once the machine has no CPU left.',
  ];
}

/** What a worker takes that makes the calls of the same SDK, and does little else. */
function memoryOfSdk(results: readonly Result[]): string[] {
  const memory = (name: string): string | undefined => {
    const found = atHundred(results, name);
    return found.length === 0 ? undefined : Math.max(...found.map(({ usage }) => usage.workerMb)).toFixed(0);
  };
  const [own, naive] = [memory('cronlease'), memory('naive-lease')];
  if (own === undefined || naive === undefined) return [];
  return [
    `- At 100 jobs a second an instance of cronlease takes ${own} MB with the heaps of \`cronlease dev\`. The naive ` +
      `lease, which makes three calls with the same SDK for each run and does little else, takes ${naive} MB.`,
  ];
}
