import { mkdirSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Cluster, startCluster } from './cluster';
import { boundOf } from './bound';

const USAGE = `Usage: npm run bench:telemetry -- [options]

Measures the CPU that metrics and traces add to a run. Starts two local clusters of one instance each, side by side: one
with an OTLP receiver and one without. Their jobs have handlers that do nothing. A measurement begins once the first
export is over, so that it shows no start; what the start costs is printed apart.

  --pairs N      pairs of clusters, one with and one without: 2 at least (10)
  --jobs N       jobs that are due every second (30)
  --seconds N    how long each cluster is measured (60)
  --every N      metrics are exported every N seconds (60, as usual); measure for a multiple of it
  --metrics      only metrics, no traces
  --help         print this
`;

/** @param folder for the app and the files of its clusters */
export async function main(args: readonly string[], root: string, folder: string): Promise<number> {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const options = { pairs: text, jobs: text, seconds: text, every: text, metrics: flag, help: flag } as const;
  const { values } = parseArgs({ args: [...args], options });
  if (values.help === true) {
    console.log(USAGE);
    return 0;
  }
  const pairs = Number(values.pairs ?? 10);
  if (!(pairs >= 2)) {
    console.error(
      `--pairs is ${JSON.stringify(values.pairs)}: use 2 or more, because one pair has no confidence bound`,
    );
    return 2;
  }
  const load = { jobs: Number(values.jobs ?? 30), seconds: Number(values.seconds ?? 60) };
  // One process of "cronlease dev" for each folder.
  const apps = ['with', 'without'].map((name) => path.join(folder, name));
  for (const app of apps) writeApp(app, root, load.jobs);
  const sink = await startSink();
  const everySeconds = Number(values.every ?? 60);
  const env = {
    ...exportTo(sink.url, everySeconds),
    ...(values.metrics === true ? { OTEL_TRACES_EXPORTER: 'none' } : {}),
  };
  const shares: number[] = [];
  const starts: number[] = [];
  try {
    for (let pair = 0; pair < pairs; pair += 1) {
      const isOnFirst = pair % 2 === 1;
      const { on, off, start } = await measurePair({ root, apps, ...load, everySeconds, env, isOnFirst });
      shares.push((on - off) / off);
      starts.push(start);
      console.log(
        `pair ${String(pair + 1)}: ${off.toFixed(2)} ms of CPU a run without, ${on.toFixed(2)} ms with: ${percent((on - off) / off)}`,
      );
    }
  } finally {
    sink.server.close();
  }
  const { mean, upper } = boundOf(shares);
  console.log(`added CPU per run: ${percent(mean)} on average, 95 % upper confidence bound ${percent(upper)}`);
  console.log(`added CPU until each job had its first run: ${boundOf(starts).mean.toFixed(0)} ms on average`);
  console.log(`the collector received ${String(sink.requests())} exports`);
  return 0;
}

interface Pair {
  readonly root: string;
  readonly apps: readonly string[];
  readonly jobs: number;
  readonly seconds: number;
  readonly everySeconds: number;
  /** The settings of the cluster that exports. */
  readonly env: Readonly<Record<string, string>>;
  readonly isOnFirst: boolean;
}

/** Until the code of a run is compiled. */
const WARM_UP_S = 30;
/** Until the receiver has answered the first export. Its code is compiled then. */
const EXPORTED_S = 5;

/**
 * Two clusters side by side, so that the machine is the same for both.
 *
 * @returns the CPU in ms of a run with and without a receiver, and how many ms the start with one took more
 */
async function measurePair({ seconds, everySeconds, env, isOnFirst, apps, ...options }: Pair) {
  const start = (isOn: boolean): Promise<Cluster> =>
    startCluster({ ...options, app: apps[isOn ? 0 : 1] ?? '', env: isOn ? env : {} });
  const clusters = await Promise.all([start(isOnFirst), start(!isOnFirst)]);
  const used = (): readonly Used[] => clusters.map((cluster) => cluster.used());
  try {
    const started = used();
    await pause(Math.max(WARM_UP_S, everySeconds + EXPORTED_S) * 1_000);
    const before = used();
    await pause(seconds * 1_000);
    const after = used();
    const runs = after.map((end, index) => perRun(before[index], end));
    const [on = 0, off = 0] = isOnFirst ? runs : runs.toReversed();
    const [startedOn, startedOff] = isOnFirst ? started : started.toReversed();
    return { on, off, start: (startedOn?.cpu ?? 0) - (startedOff?.cpu ?? 0) };
  } finally {
    await Promise.all(clusters.map((cluster) => cluster.stop()));
  }
}

type Used = ReturnType<Cluster['used']>;

function perRun(from: Used | undefined, through: Used): number {
  return (through.cpu - (from?.cpu ?? 0)) / (through.runs - (from?.runs ?? 0));
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

function exportTo(url: string, everySeconds: number): Readonly<Record<string, string>> {
  return { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_METRIC_EXPORT_INTERVAL: String(everySeconds * 1_000) };
}

function writeApp(app: string, root: string, count: number): void {
  mkdirSync(app, { recursive: true });
  const library = JSON.stringify(path.join(root, 'dist/lib/index.js'));
  writeFileSync(
    path.join(app, 'app.js'),
    `const { defineJob, registerCoordinator } = require(${library});
registerCoordinator({ jobs: 'jobs.json', handlers: { nothing: defineJob({ run() {} }) } });\n`,
  );
  const names = Array.from({ length: count }, (_, index) => `job-${String(index + 1)}`);
  const jobs = Object.fromEntries(names.map((name) => [name, { schedule: '* * * * * *', handler: 'nothing' }]));
  writeFileSync(path.join(app, 'jobs.json'), JSON.stringify({ jobs }));
  writeFileSync(path.join(app, 'package.json'), '{"main":"app.js"}');
  writeFileSync(path.join(app, 'host.json'), HOST);
}

const HOST = JSON.stringify({
  version: '2.0',
  extensions: {
    durableTask: { hubName: '%TASKHUB_NAME%', maxConcurrentActivityFunctions: 1000 },
  },
});

/** Takes every export, and keeps nothing. */
async function startSink() {
  let requests = 0;
  const server = http.createServer((request, response) => {
    requests += 1;
    request.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${String(port)}`, server, requests: () => requests };
}
