import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppLoadError, readLocalSettings, readPackage } from '../host/app-folder';
import { type Cluster, type ClusterOptions, startCluster, SWEEP_INTERVAL } from './cluster';
import { ClusterError } from './cluster-error';
import type { ClusterEvent } from './deployment';
import type { DevFile } from './dev-file';
import { refuseSecondCluster, writeDevFile } from './dev-file';
import type { DevJobs } from './dev-jobs';
import { killHint } from './hint';
import { warnedOnce } from './news';
import { reloadOnChange, watchApp } from './reload';
import { humanPrinter, jsonPrinter, type Printer } from './print';

/** Options of `cronlease dev`, with the defaults that apply where one is absent. */
export interface DevOptions {
  /** Folder of any function app whose `main` registers a coordinator. Default: the current one. */
  readonly app?: string;
  /** Number of deployments, each with one instance. Default: 3. */
  readonly instances?: number;
  /** Port of the first one; the others count up. 0: any free ones. Default: 7071. */
  readonly port?: number;
  /** `embedded` (Azurite, the default) or a connection string. */
  readonly storage?: string;
  /** Coordination container. Default: the setting `CRONLEASE_CONTAINER`, or else `cronlease`. */
  readonly container?: string;
  /** Folder for Azurite's data. Default: in memory. */
  readonly data?: string;
  /** How long to run, in milliseconds, from when everything answers. Default: until it is stopped. */
  readonly durationMs?: number;
  /** Whether an instance that ended is started again after 5 s. Default: true. */
  readonly restart?: boolean;
  /** Whether instances listen for a debugger. Default: false. */
  readonly inspect?: boolean;
  /** Whether a function that the embedded host cannot run is an error. Default: it is skipped. */
  readonly strict?: boolean;
  /** Opens the storage that the deployments use, once its connection string is there. */
  readonly openStorage?: (storage: string, container: string) => DevStorage;
  /** The app's jobs. Default: nothing is known of them. */
  readonly jobs?: DevJobs | undefined;
  /** IANA name of the zone that times are printed in. Default: UTC. */
  readonly timeZone?: string;
  /** Claims, tokens, first attempts and whole stack traces too. Default: false. */
  readonly verbose?: boolean;
  /** JSON lines on standard output. Default: lines for people. */
  readonly json?: boolean;
}

/** What is asked of storage, which this room does not know. */
export interface DevStorage {
  /** Makes what the deployments and the commands expect. Called before the deployments start. */
  prepare(): Promise<void>;
  /** The deployments that have reported since {@link prepare} that they tick. */
  ticking(): Promise<ReadonlySet<string>>;
}

/** The function of the coordinator that ticks. */
const TICK = 'cronleaseTick';
/** A tick proves its task hub first. One that takes longer is not waited for. */
const TICKS_WITHIN_MS = 5_000;
const LOOK_EVERY_MS = 50;

/** Exit codes, as everywhere in `cronlease`. */
const OK = 0;
const NO = 1;
const USAGE = 2;
/** Stopped by force. */
const FORCED = 130;

/** Signals closer together than this are one: Ctrl+C arrives from the terminal, and again from npm. */
const SAME_SIGNAL_MS = 500;

function usageError({ instances = 3, port = 7071, storage = 'embedded', data }: DevOptions): string | undefined {
  if (!Number.isInteger(instances) || instances < 1 || instances > 20) {
    return `--instances ${instances}: it must be a whole number from 1 to 20.`;
  }
  if (!Number.isInteger(port) || port < 0 || port + instances - 1 > 65_535) {
    return `--port ${port}: it must be a whole number from 0 (any free port) to ${65_536 - instances}.`;
  }
  if (storage !== 'embedded' && !storage.includes('=')) {
    // It may be a key.
    return '--storage: it must be "embedded" or a connection string.';
  }
  if (storage !== 'embedded' && data !== undefined) {
    return '--data is for the embedded storage; leave it out, or leave out --storage.';
  }
  return undefined;
}

function useColor(): boolean {
  // https://no-color.org and https://force-color.org
  const force = process.env['FORCE_COLOR'];
  if (force !== undefined && force !== '') return force !== '0' && force !== 'false';
  return process.stdout.isTTY && (process.env['NO_COLOR'] ?? '') === '';
}

/** What ends the command, and what forces its end. */
interface Ending {
  /** Aborted once the command is to end. */
  readonly signal: AbortSignal;
  /** Ends the command, as by Ctrl+C. */
  end(): void;
  dispose(): void;
}

/** Ends at SIGINT, SIGTERM, a closed terminal, or a standard output that nobody reads; a second signal forces. */
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

/** Resolves when the command is to end; rejects when the cluster cannot go on. */
function untilEnd(cluster: Cluster, ending: Ending, durationMs: number | undefined): Promise<void> {
  const timer = durationMs === undefined ? undefined : setTimeout(ending.end, durationMs);
  const asked = new Promise<void>((resolve) => {
    if (ending.signal.aborted) resolve();
    ending.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  return Promise.race([asked, cluster.failed]).finally(() => clearTimeout(timer));
}

/** Events before everything answers wait: the first line is `ready`. */
function holdBack(print: (event: ClusterEvent) => void): {
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

/** Where a cluster of these options keeps its rows, ledger and data, and how soon its requests are seen. */
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

/** Passes on what the cluster reports: events once everything answers, warnings once, and one hint. */
function reportsTo(
  printer: Printer,
  others: boolean,
): Pick<Printer, 'event' | 'log'> & { readonly release: () => void; readonly stop: () => void } {
  const hint = killHint(others, printer.hint);
  const isNew = warnedOnce();
  const { emit, release } = holdBack((event) => {
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

/** What the other commands read while this one runs. */
function devFile(cluster: Cluster, container: string, sweepInterval: string, jobs: DevJobs | undefined): DevFile {
  const file = { storage: cluster.storage, container, pid: process.pid, sweepInterval };
  return jobs?.file === undefined ? file : { ...file, jobs: jobs.file };
}

/** Waits until all deployments with a tick have ticked, so that every command finds them from the first second. */
async function untilTicking(cluster: Cluster, ticking: DevStorage['ticking'], ending: Ending): Promise<void> {
  const names = cluster
    .instances()
    .filter(({ functions }) => functions.some(({ name }) => name === TICK))
    .map(({ deployment }) => deployment);
  const deadline = performance.now() + TICKS_WITHIN_MS;
  while (names.length > 0 && performance.now() < deadline && !ending.signal.aborted) {
    const found = await ticking();
    if (names.every((name) => found.has(name))) return;
    await sleep(LOOK_EVERY_MS);
  }
}

/** The options of the cluster that `dev` passes on, with their defaults. */
function clusterOptions({
  port = 7071,
  storage = 'embedded',
  restart = true,
  ...options
}: DevOptions): Pick<ClusterOptions, 'port' | 'storage' | 'restart' | 'inspect' | 'strict' | 'settings'> {
  const { inspect = false, strict = false, jobs } = options;
  return {
    port,
    storage: storage === 'embedded' ? undefined : storage,
    restart,
    inspect,
    strict,
    settings: jobs?.file === undefined ? {} : { CRONLEASE_JOBS_FILE: jobs.file },
  };
}

async function runCluster(options: DevOptions, app: string, printer: Printer): Promise<void> {
  // An app that is not there, or not built, is told before anything starts.
  readPackage(app);
  refuseSecondCluster(app);
  const { durationMs, jobs } = options;
  const { container, data, sweepInterval } = placeOf(options, app);
  let cluster: Cluster | undefined;
  let removeDevFile = (): void => undefined;
  // Also when an exception ends this process: nothing is left behind.
  const killAll = (): void => {
    void cluster?.kill();
    removeDevFile();
    jobs?.remove();
  };
  const ending = watchSignals(() => {
    killAll();
    process.exit(FORCED);
  });
  process.on('exit', killAll);
  const instances = options.instances ?? 3;
  const reports = reportsTo(printer, instances > 1);
  const watch = watchApp(app, jobs);
  try {
    printer.note('Starting…');
    let opened: DevStorage | undefined;
    cluster = await startCluster({
      ...clusterOptions(options),
      ...{ app, instances, container, data },
      async prepare(connection) {
        jobs?.write();
        opened = options.openStorage?.(connection, container);
        await opened?.prepare();
      },
      onEvent: reports.event,
      onLog: reports.log,
      signal: ending.signal,
    });
    if (opened !== undefined) await untilTicking(cluster, opened.ticking, ending);
    removeDevFile = writeDevFile(app, devFile(cluster, container, sweepInterval, jobs));
    printer.ready(cluster, { app, container, data, jobs: jobs?.jobs(Date.now()) ?? [] });
    reports.release();
    reloadOnChange(watch, { app, cluster, jobs, printer, isEnding: () => ending.signal.aborted });
    await untilEnd(cluster, ending, durationMs);
    watch.stop();
    printer.note('Stopping…');
    await cluster.stop();
  } catch (error) {
    await cluster?.kill();
    // Stopped while it started: that is no failure.
    if (cluster === undefined && ending.signal.aborted) return;
    throw error;
  } finally {
    watch.stop();
    reports.stop();
    removeDevFile();
    jobs?.remove();
    process.off('exit', killAll);
    ending.dispose();
  }
}

/**
 * `cronlease dev`: runs an app as several deployments on this machine until it is stopped, and prints what happens.
 * @returns the exit code: 0 stopped, 1 could not start or go on (standard error says why), 2 wrong options
 */
export async function runDev(options: DevOptions): Promise<number> {
  const output = {
    out: (text: string) => void process.stdout.write(text),
    err: (text: string) => void process.stderr.write(text),
    color: useColor(),
    timeZone: options.timeZone,
    verbose: options.verbose,
  };
  const printer = options.json === true ? jsonPrinter(output) : humanPrinter(output);
  const wrong = usageError(options);
  if (wrong !== undefined) {
    printer.error(wrong);
    return USAGE;
  }
  try {
    await runCluster(options, path.resolve(options.app ?? '.'), printer);
    return OK;
  } catch (error) {
    if (!(error instanceof ClusterError || error instanceof AppLoadError)) throw error;
    printer.error(error.message);
    return NO;
  }
}
