import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { given } from '../../core/given';
import {
  type Cluster,
  deploymentOf,
  FIRST_PORT,
  freePorts,
  type OwnServer,
  startCluster,
  SWEEP_INTERVAL,
} from '../../local/cluster/cluster';
import type { ClusterEvent } from '../../local/cluster/deployment';
import type { LogLine } from '../../local/host/core-api';
import { AppLoadError, readLocalSettings, readPackage, readPackageJson } from '../../local/host/app-folder';
import { isServer, SERVERS } from '../../local/servers/servers';
import { systemClock } from '../../system-clock';
import { FORCED, style, UsageError } from '../output';
import { claimFolder } from './dev-file';
import type { DevJobs } from './dev-jobs';
import { killHint, warnedOnce } from './news';
import { humanPrinter, jsonPrinter, type Printer } from './print';
import { codeFiles, reloadOnChange, runBuild, watchApp } from './reload';

/** The options of the command, with the same defaults, and what it knows of the app's jobs and storage. */
export interface DevOptions {
  readonly app?: string;
  readonly main?: string;
  readonly instances?: number;
  readonly sameApp?: number;
  readonly port?: number;
  readonly storage?: string;
  readonly container?: string;
  readonly data?: string;
  /** How long to run, in milliseconds, once everything answers. Default: until a signal. */
  readonly durationMs?: number;
  readonly build?: string;
  readonly restart?: boolean;
  readonly inspect?: boolean;
  readonly strict?: boolean;
  /** Opens the storage of the deployments, once its connection string is known. */
  readonly openStorage?: (storage: string, container: string) => DevStorage;
  readonly jobs?: DevJobs | undefined;
  /** IANA name of the time zone for printed times. Default: UTC. */
  readonly timeZone?: string;
  readonly verbose?: boolean;
  readonly json?: boolean;
}

/** The coordination storage, as `dev` uses it. */
export interface DevStorage {
  /** Creates the containers that the deployments and the commands expect. Called before the deployments start. */
  prepare(): Promise<void>;
  /** The deployments that have recorded a tick since {@link prepare}. */
  ticking(): Promise<ReadonlySet<string>>;
}

const TICK = 'cronleaseTick';
/** The longest wait for the ticks at the start: a tick proves its task hub first. */
const TICKS_WITHIN_MS = 5_000;
const POLL_EVERY_MS = 50;

/** Signals closer together than this count as one: Ctrl+C arrives from the terminal, and again from npm. */
const SAME_SIGNAL_MS = 500;

/** The number of deployments: one, where its instances are counted. */
function deploymentsIn({ instances, sameApp }: Pick<DevOptions, 'instances' | 'sameApp'>): number {
  return instances ?? (sameApp === undefined ? 3 : 1);
}

function processesIn(options: Pick<DevOptions, 'instances' | 'sameApp'>): number {
  return deploymentsIn(options) * (options.sameApp ?? 1);
}

/** What is wrong with the options; undefined: nothing. */
function mistakeIn({ port = FIRST_PORT, storage = 'embedded', data, ...options }: DevOptions): string | undefined {
  const instances = processesIn(options);
  if (options.sameApp !== undefined && instances > 20) {
    return `--same-app ${options.sameApp}: with ${deploymentsIn(options)} deployments these are ${instances} instances. Use 20 at most.`;
  }
  if (port + instances - 1 > 65_535) {
    return `--port ${port}: it must be a whole number from 0 (any free port) to ${65_536 - instances}.`;
  }
  if (ownServer(storage) !== undefined) return undefined;
  if (!/=|^[a-z]+:\/\//i.test(storage)) {
    // The message does not repeat the value, which may be a key.
    const own = ['embedded', ...Object.keys(SERVERS)].map((name) => JSON.stringify(name)).join(', ');
    return `--storage: it must be ${own}, a connection string, or a URL such as postgres://HOST/DATABASE.`;
  }
  if (data === undefined) return undefined;
  return '--data is for a server that is started here: leave out --data or --storage.';
}

/** The server that the cluster starts; undefined: the storage is elsewhere. */
function ownServer(storage: string): OwnServer | undefined {
  if (storage === 'embedded') return 'azurite';
  return isServer(storage) ? storage : undefined;
}

/** Ends at SIGINT, SIGTERM, a closed terminal, or a closed standard output; a second signal forces the end. */
function watchSignals(force: () => void) {
  const controller = new AbortController();
  const { signal } = controller;
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => resolve(), { once: true });
  let first = 0;
  const end = (): void => controller.abort();
  const onSignal = (): void => {
    if (first === 0) first = performance.now();
    else if (performance.now() - first > SAME_SIGNAL_MS) force();
    end();
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const name of signals) process.on(name, onSignal);
  process.stdout.on('error', end);
  return {
    signal,
    ended,
    end,
    dispose(): void {
      for (const name of signals) process.off(name, onSignal);
      process.stdout.off('error', end);
    },
  };
}

/**
 * Prints the reports of the cluster: events once everything answers, so that the first line is `ready`, each warning
 * once, and one hint.
 */
function reportsTo(printer: Printer, others: boolean) {
  const hint = killHint(others, printer.hint);
  const isNew = warnedOnce();
  let held: ClusterEvent[] | undefined = [];
  const print = (event: ClusterEvent): void => {
    printer.event(event);
    hint.event(event);
  };
  return {
    event: (event: ClusterEvent): void => void (held === undefined ? print(event) : held.push(event)),
    log(line: LogLine, deployment: string): void {
      if (isNew(line, deployment)) printer.log(line, deployment);
    },
    release(): void {
      const events = held ?? [];
      held = undefined;
      events.forEach(print);
    },
    stop: hint.stop,
  };
}

/** Waits until all deployments that have a tick have ticked: then every command finds them from the first second. */
async function untilTicking(cluster: Cluster, ticking: DevStorage['ticking'], signal: AbortSignal): Promise<void> {
  const names = cluster
    .instances()
    .filter(({ functions }) => functions.some(({ name }) => name === TICK))
    .map(({ deployment }) => deploymentOf(deployment));
  const deadline = performance.now() + TICKS_WITHIN_MS;
  while (names.length > 0 && performance.now() < deadline && !signal.aborted) {
    const found = await ticking();
    if (names.every((name) => found.has(name))) return;
    await sleep(POLL_EVERY_MS);
  }
}

/** The port of the first instance. If the usual ones are taken, and no option names one, the cluster uses others. */
async function choosePort({ port }: DevOptions, instances: number, printer: Printer): Promise<number> {
  if (port !== undefined) return port;
  const { first, taken } = (await freePorts(instances)) ?? { first: FIRST_PORT, taken: undefined };
  if (taken !== undefined) {
    const used = instances === 1 ? `${first}` : `${first} to ${first + instances - 1}`;
    printer.note(`Port ${taken} is taken; cronlease dev uses ${used}.`);
  }
  return first;
}

function placeOf(options: DevOptions, app: string) {
  const settings = { ...readLocalSettings(app), ...process.env };
  const data = options.data === undefined ? undefined : path.resolve(options.data);
  if (data !== undefined) fs.mkdirSync(data, { recursive: true });
  return {
    container: options.container ?? settings['CRONLEASE_CONTAINER'] ?? 'cronlease',
    data,
    sweepInterval: settings['CRONLEASE_SWEEP_INTERVAL'] ?? SWEEP_INTERVAL,
  };
}

function clusterOptions({ storage = 'embedded', main, sameApp, restart, inspect, strict, jobs }: DevOptions) {
  const server = ownServer(storage);
  return {
    ...(server === undefined ? { storage } : { storage: undefined, server }),
    main,
    sameApp,
    restart: restart ?? true,
    inspect: inspect ?? false,
    strict: strict ?? false,
    settings: given({
      CRONLEASE_JOBS_FILE: jobs?.file,
      CRONLEASE_SHARDS: process.env['CRONLEASE_SHARDS'] || undefined,
    }),
  };
}

async function runCluster(options: DevOptions, app: string, printer: Printer): Promise<void> {
  const { durationMs, jobs, main, build } = options;
  // An app that is missing or not built is refused before anything starts.
  (build === undefined ? readPackage : readPackageJson)(app, main);
  const { container, data, sweepInterval } = placeOf(options, app);
  const claim = claimFolder(app);
  let cluster: Cluster | undefined;
  // Leaves nothing behind, even when an exception ends this process.
  const killAll = (): void => {
    void cluster?.kill();
    claim.release();
    jobs?.remove();
  };
  const ending = watchSignals(() => {
    killAll();
    process.exit(FORCED);
  });
  process.on('exit', killAll);
  const instances = deploymentsIn(options);
  const reports = reportsTo(printer, processesIn(options) > 1);
  const watch = watchApp({ app, main, build, jobs });
  try {
    if (build !== undefined) printer.note(`Building: ${build}`);
    const built = build === undefined ? undefined : runBuild(build, app);
    printer.note('Starting the storage…');
    const port = await choosePort(options, processesIn(options), printer);
    let opened: DevStorage | undefined;
    cluster = await startCluster({
      ...clusterOptions(options),
      app,
      instances,
      container,
      data,
      port,
      async prepare(connection) {
        const failure = await built;
        if (failure !== undefined) throw new AppLoadError(failure);
        if (built !== undefined) {
          // What the first build has written is the app to start, and counts as no change.
          readPackage(app, main);
          watch.accept(codeFiles(app, main) ?? []);
        }
        printer.note(`Starting ${instances === 1 ? 'the app' : `${String(instances)} deployments of the app`}…`);
        jobs?.write();
        opened = options.openStorage?.(connection, container);
        await opened?.prepare();
      },
      onEvent: reports.event,
      onLog: reports.log,
      signal: ending.signal,
    });
    if (opened !== undefined) await untilTicking(cluster, opened.ticking, ending.signal);
    claim.publish({ storage: cluster.storage, container, pid: process.pid, sweepInterval, jobs: jobs?.file });
    const now = Date.now();
    printer.ready(cluster, { app, container, data, now, jobs: jobs?.jobs(now) ?? [] });
    reports.release();
    const isEnding = (): boolean => ending.signal.aborted;
    reloadOnChange(watch, { app, main, build, cluster, jobs, printer, isEnding });
    const cancel = durationMs === undefined ? undefined : systemClock.after(durationMs, ending.end);
    await Promise.race([ending.ended, cluster.failed]).finally(() => cancel?.());
    watch.stop();
    printer.note('Stopping…');
    await cluster.stop();
  } catch (error) {
    await cluster?.kill();
    // A stop during the start is not a failure.
    if (cluster === undefined && ending.signal.aborted) return;
    throw error;
  } finally {
    watch.stop();
    reports.stop();
    claim.release();
    jobs?.remove();
    process.off('exit', killAll);
    ending.dispose();
  }
}

/**
 * `cronlease dev`: runs an app as several deployments on this machine until a signal, and prints their events.
 *
 * @throws UsageError if the options are wrong
 * @throws ClusterError | AppLoadError if it cannot start or continue
 */
export async function runDev(options: DevOptions): Promise<void> {
  const mistake = mistakeIn(options);
  if (mistake !== undefined) throw new UsageError(mistake);
  const output = {
    out: (text: string) => void process.stdout.write(text),
    err: (text: string) => void process.stderr.write(text),
    color: style('red', '') !== '',
    timeZone: options.timeZone,
    verbose: options.verbose,
  };
  const printer = options.json === true ? jsonPrinter(output) : humanPrinter(output);
  await runCluster(options, path.resolve(options.app ?? '.'), printer);
}
