import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { LogLine } from '../host/core-api';
import type { HostOptions } from '../host/host';
import { isPortTaken } from '../host/http-server';
import { type Azurite, startAzurite } from './azurite';
import { describeExit, ClusterError, type Guard, startGuard } from './child';
import {
  type ClusterEvent,
  type ClusterInstance,
  createDeployment,
  type Deployment,
  createTimerLocks,
} from './deployment';
import { SERVERS, type ServerName, type ServerTitle, startStorageServer } from '../servers/servers';

export type OwnServer = 'azurite' | ServerName;

export interface ClusterOptions extends Pick<HostOptions, 'app' | 'main' | 'settings' | 'strict'> {
  readonly instances: number;
  /** The number of instances of each deployment. Default: 1. */
  readonly sameApp?: number | undefined;
  /** The port of the first instance; the others count up from it. 0: any free ports. */
  readonly port: number;
  /** A connection string; undefined: the cluster starts its own server. */
  readonly storage: string | undefined;
  /** That server. Default: Azurite. */
  readonly server?: OwnServer;
  readonly container: string;
  /** Folder in which the server keeps its data; undefined: in memory, or in a temporary folder. */
  readonly data: string | undefined;
  /** Folders that are removed if this process dies before the cluster ends. */
  readonly temporary?: readonly string[];
  /** Whether the cluster restarts an instance that has ended, after 5 s. */
  readonly restart: boolean;
  /** Whether instances listen for a debugger: on 9229 and up, or on any free port if `port` is 0. */
  readonly inspect: boolean;
  /** Called with the connection string before the deployments start. */
  readonly prepare?: ((storage: string) => Promise<void>) | undefined;
  readonly onEvent: (event: ClusterEvent) => void;
  /** A line of an instance's log that is not an event. */
  readonly onLog: (line: LogLine, deployment: string) => void;
  readonly signal?: AbortSignal;
}

export interface Cluster {
  readonly storage: string;
  /** The emulator's process id, if it was started here. */
  readonly azuritePid: number | undefined;
  /** The server beside the emulator that was started here, if one was. */
  readonly database?: { readonly name: ServerTitle; readonly pid: number } | undefined;
  instances(): readonly ClusterInstance[];
  /** Restarts a deployment whose instance has ended. Rejects with {@link ClusterError}. */
  start(deployment: string): Promise<void>;
  /** Drains all instances and restarts them. Rejects with {@link ClusterError} if one cannot start. */
  restart(): Promise<void>;
  stop(): Promise<void>;
  kill(): Promise<void>;
  /** Rejects with {@link ClusterError} when the cluster cannot continue. Never resolves. */
  readonly failed: Promise<never>;
}

export const SWEEP_INTERVAL = '2s';

export function deploymentOf(instance: string): string {
  return instance.replace(/\.\d+$/, '');
}

/** The audit of the jobs on Azure has no place for changes on this machine. */
const NO_SECOND_AUDIT = Object.fromEntries(
  ['', '__blobServiceUri', '__credential', '__clientId', '__managedIdentityResourceId'].map((part) => [
    `CRONLEASE_AUDIT${part}`,
    '',
  ]),
);

/** The settings that make each instance its own deployment, on the shared storage. */
function settingsOf(name: string, storage: string, container: string): Record<string, string> {
  return {
    CRONLEASE_STORAGE: storage,
    // An identity's settings, such as in local.settings.json, would name a second storage.
    CRONLEASE_STORAGE__blobServiceUri: '',
    // The code or local.settings.json may name several accounts, of which only this one is here.
    CRONLEASE_SHARDS: 'CRONLEASE_STORAGE',
    ...NO_SECOND_AUDIT,
    CRONLEASE_CONTAINER: container,
    CRONLEASE_DEPLOYMENT: name,
    // The host and Durable need a storage account on Azure. The embedded host does not.
    AzureWebJobsStorage: /^[a-z]+:\/\//i.test(storage) ? 'UseDevelopmentStorage=true' : storage,
    AzureFunctionsWebHost__hostid: name,
    // A hub's name must be letters and digits.
    TASKHUB_NAME: name.replace(/[^A-Za-z0-9]/g, ''),
  };
}

function givenUp(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const abort = (): void => reject(new ClusterError('The start was interrupted.'));
    if (signal?.aborted === true) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}

/**
 * Starts deployments that race for one set of jobs: a server unless `storage` names one, and a host process for
 * each deployment. Resolves once all of them answer. If one cannot start, this ends them all.
 * @throws {@link ClusterError}
 */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const guard = startGuard();
  const hubs = mkdtempSync(path.join(tmpdir(), 'cronlease-hubs-'));
  for (const folder of [hubs, ...(options.temporary ?? [])]) guard.remove(folder);
  const end = async (): Promise<void> => {
    rmSync(hubs, { recursive: true, force: true });
    await guard.end();
  };
  let own: Server | undefined;
  try {
    own = options.storage === undefined ? await startOwn(options, guard) : undefined;
  } catch (error) {
    await end();
    throw error;
  }
  const storage = options.storage ?? own?.connectionString ?? '';
  // With it, and only from this machine, the HTTP API needs no login.
  const secret = randomBytes(32).toString('base64url');
  const deployments = deploymentsOf(options, { storage, secret, hubs, guard });
  let stopping = false;
  const failed = watchServer(own, () => stopping);
  const cluster: Cluster = {
    storage,
    azuritePid: own?.name === 'Azurite' ? own.pid : undefined,
    database: own === undefined || own.name === 'Azurite' ? undefined : { name: own.name, pid: own.pid },
    instances: () => deployments.flatMap((deployment) => deployment.answering() ?? []),
    failed,
    async start(name) {
      await deployments.find((deployment) => deployment.name === name)?.start();
    },
    async restart() {
      await Promise.all(deployments.map((deployment) => deployment.restart()));
    },
    async stop() {
      stopping = true;
      await Promise.all(deployments.map((deployment) => deployment.stop()));
      await own?.stop();
      await end();
    },
    async kill() {
      stopping = true;
      await Promise.all([...deployments.map((deployment) => deployment.kill()), own?.kill()]);
      await end();
    },
  };
  try {
    await options.prepare?.(storage);
    const started = Promise.all(deployments.map((deployment) => deployment.start()));
    await Promise.race([started, failed, givenUp(options.signal)]);
  } catch (error) {
    await cluster.kill();
    throw error;
  }
  return cluster;
}

/** Each instance of a deployment has its name, with a number if there are several. */
function deploymentsOf(
  options: ClusterOptions,
  { storage, secret, hubs, guard }: { readonly storage: string; secret: string; hubs: string; guard: Guard },
): Deployment[] {
  const { instances, sameApp: each = 1, port, inspect, container } = options;
  return Array.from({ length: instances }, (_, place) => {
    const deployment = `local-${String(place + 1)}`;
    const timerLocks = each === 1 ? undefined : createTimerLocks(() => performance.now());
    return Array.from({ length: each }, (__, number) => {
      const name = each === 1 ? deployment : `${deployment}.${String(number + 1)}`;
      const index = place * each + number;
      const settings = { ...settingsOf(deployment, storage, container), CRONLEASE_DEV_SECRET: secret };
      return createDeployment({
        ...options,
        name,
        port: port === 0 ? 0 : port + index,
        inspectPort: inspect ? (port === 0 ? 0 : 9229 + index) : undefined,
        settings: { ...settings, ...options.settings },
        // Short, so that the others soon notice a dead holder.
        defaults: {
          CRONLEASE_SWEEP_INTERVAL: SWEEP_INTERVAL,
          CRONLEASE_ENVIRONMENT: 'local',
          CRONLEASE_ENVIRONMENT_COLOR: 'green',
        },
        hubFolder: path.join(hubs, name),
        timerLocks,
        guard,
      });
    });
  }).flat();
}

interface Server extends Pick<Azurite, 'pid' | 'connectionString' | 'exited'> {
  readonly name: 'Azurite' | ServerTitle;
  stop(): Promise<unknown>;
  kill(): Promise<unknown>;
}

async function startOwn({ server, app, data }: ClusterOptions, guard: Guard): Promise<Server> {
  if (server === undefined || server === 'azurite') return { name: 'Azurite', ...(await startAzurite(app, data)) };
  const { title, end } = SERVERS[server];
  const { pid, url, exited, stop } = await startStorageServer(server, { data, guard });
  return { name: title, pid, connectionString: url, exited, stop: () => stop(end), kill: () => stop() };
}

function watchServer(server: Server | undefined, isStopping: () => boolean): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  // A caller need not listen.
  promise.catch(() => undefined);
  void server?.exited.then((exit) => {
    if (!isStopping()) reject(new ClusterError(`${server.name} ended unexpectedly (${describeExit(exit)}).`));
  });
  return promise;
}

/** The port of the first instance, unless an option names another: that of `func start`. */
export const FIRST_PORT = 7071;
/** How far apart the ports lie that are tried. */
const STEP = 10;
const HIGHEST_PORT = 65_535;

/** Consecutive ports, and the taken one that kept the cluster from the ports before. */
interface FoundPorts {
  readonly first: number;
  readonly taken: number | undefined;
}

/**
 * Finds as many free ports in a row as there are instances. Another program may take one of them before its instance
 * does; then the cluster does not start, and reports that port.
 *
 * @param first where the search begins
 * @returns undefined if there are none from there on
 */
export async function freePorts(count: number, first = FIRST_PORT): Promise<FoundPorts | undefined> {
  const step = Math.ceil(count / STEP) * STEP;
  let taken: number | undefined;
  for (let from = first; from + count - 1 <= HIGHEST_PORT; from += step) {
    const found = await takenAmong(from, count);
    if (found === undefined) return { first: from, taken };
    taken ??= found;
  }
  return undefined;
}

async function takenAmong(first: number, count: number): Promise<number | undefined> {
  for (let port = first; port < first + count; port += 1) if (!(await isFree(port))) return port;
  return undefined;
}

async function isFree(port: number): Promise<boolean> {
  const server = net.createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if (isPortTaken(error)) return false;
    throw error;
  }
  await once(server.close(), 'close');
  return true;
}
