import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { given } from '../../core/given';
import {
  type Cluster,
  type ClusterOptions,
  deploymentOf,
  FIRST_PORT,
  freePorts,
  type OwnServer,
  startCluster,
  SWEEP_INTERVAL,
} from '../../local/cluster/cluster';
import type { ClusterEvent } from '../../local/cluster/deployment';
import { AppLoadError, readLocalSettings, readPackage, readPackageJson } from '../../local/host/app-folder';
import { isServer, SERVERS } from '../../local/servers/servers';
import { systemClock } from '../../system-clock';
import { FORCED, style, UsageError } from '../output';
import { claimFolder, type DevFile } from './dev-file';
import type { DevJobs } from './dev-jobs';
import { killHint, warnedOnce } from './news';
import { humanPrinter, jsonPrinter, type Printer } from './print';
import { reloadOnChange, runBuild, watchApp } from './reload';
import { codeFiles, type FileWatch } from './watch-files';

export interface DevOptions {
  /** Folder of any function app whose `main` registers a coordinator. Default: the current one. */
  readonly app?: string;
  /** The files that register its functions: a path or a glob. Default: `main` of its `package.json`. */
  readonly main?: string;
  /** Number of deployments. Default: 3, or 1 with `sameApp`. */
  readonly instances?: number;
  /** Number of instances of each deployment. Default: 1. */
  readonly sameApp?: number;
  /** Port of the first one; the others count up. 0: any free ports. Default: 7071, or the next free ones. */
  readonly port?: number;
  /** `embedded` (Azurite, the default), `postgres`, `redis`, `zookeeper`, `etcd` or `consul` (a server that is installed here), or a connection string. */
  readonly storage?: string;
  /** Coordination container. Default: the setting `CRONLEASE_CONTAINER`, or else `cronlease`. */
  readonly container?: string;
  /** Folder for the data of the server that is started. Default: in memory, or in a temporary folder. */
  readonly data?: string;
  /** How long to run, in milliseconds, once everything answers. Default: until a signal. */
  readonly durationMs?: number;
  /** The command that builds the app, at the start and when a source has changed. Default: sources are not watched. */
  readonly build?: string;
  /** Whether an instance that has ended is restarted after 5 s. Default: true. */
  readonly restart?: boolean;
  /** Whether instances listen for a debugger. Default: false. */
  readonly inspect?: boolean;
  /** Whether a function that the embedded host cannot run is an error. Default: it is skipped. */
  readonly strict?: boolean;
  /** Opens the storage of the deployments, once its connection string is known. */
  readonly openStorage?: (storage: string, container: string) => DevStorage;
  /** The app's jobs. Default: unknown. */
  readonly jobs?: DevJobs | undefined;
  /** IANA name of the time zone for printed times. Default: UTC. */
  readonly timeZone?: string;
  /** Whether to print claims, tokens, first attempts and whole stack traces too. Default: false. */
  readonly verbose?: boolean;
  /** Whether to print JSON lines. Default: lines for people. */
  readonly json?: boolean;
}

/** The coordination storage, as `dev` uses it. */
export interface DevStorage {
  /** Creates the containers that the deployments and the commands expect. Called before the deployments start. */
  prepare(): Promise<void>;
  /** The deployments that have recorded a tick since {@link prepare}. */
  ticking(): Promise<ReadonlySet<string>>;
}

/** The function of the coordinator that ticks. */
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
  if (!Number.isInteger(instances) || instances < 1 || instances > 20) {
    return `--instances ${instances}: it must be a whole number from 1 to 20.`;
  }
  if (!Number.isInteger(port) || port < 0 || port + instances - 1 > 65_535) {
    return `--port ${port}: it must be a whole number from 0 (any free port) to ${65_536 - instances}.`;
  }
  if (ownServer(storage) === undefined && !/=|^[a-z]+:\/\//i.test(storage)) {
    // The message does not repeat the value, which may be a key.
    const own = ['embedded', ...Object.keys(SERVERS)].map((name) => JSON.stringify(name)).join(', ');
    return `--storage: it must be ${own}, a connection string, or a URL such as postgres://HOST/DATABASE.`;
  }
  if (ownServer(storage) === undefined && data !== undefined) {
    return '--data is for a server that is started here: leave out --data or --storage.';
  }
  return undefined;
}

/** The server that the cluster starts; undefined: the storage is elsewhere. */
function ownServer(storage: string): OwnServer | undefined {
  if (storage === 'embedded') return 'azurite';
  return isServer(storage) ? storage : undefined;
}

interface Ending {
  readonly signal: AbortSignal;
  end(): void;
  dispose(): void;
}

/** Ends at SIGINT, SIGTERM, a closed terminal, or a closed standard output; a second signal forces the end. */
function watchSignals(force: () => void): Ending {
  const controller = new AbortController();
  let first = 0;
  const end = (): void => controller.abort();
  const onSignal = (): void => {
    if (first === 0) first = performance.now();
    else if (performance.now() - first > SAME_SIGNAL_MS) force();
    end();
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, onSignal);
  process.stdout.on('error', end);
  return {
    signal: controller.signal,
    end,
    dispose() {
      for (const signal of signals) process.off(signal, onSignal);
      process.stdout.off('error', end);
    },
  };
}

/** Resolves when the command must end; rejects when the cluster cannot continue. */
function untilEnd(cluster: Cluster, ending: Ending, durationMs: number | undefined): Promise<void> {
  const cancel = durationMs === undefined ? undefined : systemClock.after(durationMs, ending.end);
  const asked = new Promise<void>((resolve) => {
    if (ending.signal.aborted) resolve();
    ending.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  return Promise.race([asked, cluster.failed]).finally(() => cancel?.());
}

/** Holds events back until everything answers, so that the first line is `ready`. */
function holdUntilReady(print: (event: ClusterEvent) => void): {
  readonly emit: (event: ClusterEvent) => void;
  readonly release: () => void;
} {
  let held: ClusterEvent[] | undefined = [];
  return {
    emit: (event) => void (held === undefined ? print(event) : held.push(event)),
    release() {
      const events = held ?? [];
      held = undefined;
      events.forEach(print);
    },
  };
}

/** The container, the data folder and the sweep interval of a cluster with these options. */
function placeOf(
  options: DevOptions,
  app: string,
): { readonly container: string; readonly data: string | undefined; readonly sweepInterval: string } {
  const settings = { ...readLocalSettings(app), ...process.env };
  const data = options.data === undefined ? undefined : path.resolve(options.data);
  if (data !== undefined) fs.mkdirSync(data, { recursive: true });
  return {
    container: options.container ?? settings['CRONLEASE_CONTAINER'] ?? 'cronlease',
    data,
    sweepInterval: settings['CRONLEASE_SWEEP_INTERVAL'] ?? SWEEP_INTERVAL,
  };
}

/** Prints the reports of the cluster: events once everything answers, each warning once, and one hint. */
function reportsTo(
  printer: Printer,
  others: boolean,
): Pick<Printer, 'event' | 'log'> & { readonly release: () => void; readonly stop: () => void } {
  const hint = killHint(others, printer.hint);
  const isNew = warnedOnce();
  const { emit, release } = holdUntilReady((event) => {
    printer.event(event);
    hint.event(event);
  });
  return {
    event: emit,
    log(line, deployment) {
      if (isNew(line, deployment)) printer.log(line, deployment);
    },
    release,
    stop: hint.stop,
  };
}

/** The contents of the file for the other commands. */
function devFile(cluster: Cluster, container: string, sweepInterval: string, jobs: DevJobs | undefined): DevFile {
  const file = { storage: cluster.storage, container, pid: process.pid, sweepInterval };
  return jobs?.file === undefined ? file : { ...file, jobs: jobs.file };
}

/** Waits until all deployments that have a tick have ticked: then every command finds them from the first second. */
async function untilTicking(cluster: Cluster, ticking: DevStorage['ticking'], ending: Ending): Promise<void> {
  const names = cluster
    .instances()
    .filter(({ functions }) => functions.some(({ name }) => name === TICK))
    .map(({ deployment }) => deploymentOf(deployment));
  const deadline = performance.now() + TICKS_WITHIN_MS;
  while (names.length > 0 && performance.now() < deadline && !ending.signal.aborted) {
    const found = await ticking();
    if (names.every((name) => found.has(name))) return;
    await sleep(POLL_EVERY_MS);
  }
}

/** The options of the cluster that `dev` passes on, with their defaults. */
function clusterOptions({
  storage = 'embedded',
  restart = true,
  ...options
}: DevOptions): Pick<ClusterOptions, 'main' | 'storage' | 'server' | 'restart' | 'inspect' | 'strict' | 'settings'> {
  const { main, inspect = false, strict = false, jobs } = options;
  const server = ownServer(storage);
  return {
    ...(server === undefined ? { storage } : { storage: undefined, server }),
    main,
    restart,
    inspect,
    strict,
    settings: given({
      CRONLEASE_JOBS_FILE: jobs?.file,
      CRONLEASE_SHARDS: process.env['CRONLEASE_SHARDS'] || undefined,
    }),
  };
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

/** Takes what the first build has written as the app to start. It counts as no change. */
function acceptBuild(
  failure: string | undefined,
  { app, main, watch }: { readonly app: string; readonly main: string | undefined; readonly watch: FileWatch },
): void {
  if (failure !== undefined) throw new AppLoadError(failure);
  readPackage(app, main);
  watch.accept(codeFiles(app, main) ?? []);
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
  const { sameApp } = options;
  const instances = deploymentsIn(options);
  const processes = processesIn(options);
  const reports = reportsTo(printer, processes > 1);
  const watch = watchApp({ app, main, build, jobs });
  try {
    if (build !== undefined) printer.note(`Building: ${build}`);
    const built = build === undefined ? undefined : runBuild(build, app);
    printer.note('Starting the storage…');
    const port = await choosePort(options, processes, printer);
    let opened: DevStorage | undefined;
    cluster = await startCluster({
      ...clusterOptions(options),
      app,
      instances,
      sameApp,
      container,
      data,
      port,
      async prepare(connection) {
        if (built !== undefined) acceptBuild(await built, { app, main, watch });
        printer.note(`Starting ${instances === 1 ? 'the app' : `${String(instances)} deployments of the app`}…`);
        jobs?.write();
        opened = options.openStorage?.(connection, container);
        await opened?.prepare();
      },
      onEvent: reports.event,
      onLog: reports.log,
      signal: ending.signal,
    });
    if (opened !== undefined) await untilTicking(cluster, opened.ticking, ending);
    claim.publish(devFile(cluster, container, sweepInterval, jobs));
    const now = Date.now();
    printer.ready(cluster, { app, container, data, now, jobs: jobs?.jobs(now) ?? [] });
    reports.release();
    const isEnding = (): boolean => ending.signal.aborted;
    reloadOnChange(watch, { app, main, build, cluster, jobs, printer, isEnding });
    await untilEnd(cluster, ending, durationMs);
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
