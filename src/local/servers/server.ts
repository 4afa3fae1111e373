import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, readdirSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ClusterError, type Exit, type Guard } from '../cluster/child';

const START_MS = 60_000;
const POLL_MS = 20;
const ANSWER_MS = 2_000;
/** Where Debian puts the programs of PostgreSQL, the newest last. */
const POSTGRES = '/usr/lib/postgresql';

/** The path of an installed program; undefined: it is not installed. */
export function findProgram(name: string): string | undefined {
  const given = (process.env['PATH'] ?? '').split(path.delimiter);
  // Debian puts servers where no user's PATH has them. A PATH without its other programs is to find none of them.
  const folders = given.includes('/usr/bin') ? [...given, '/usr/sbin', ...postgresFolders()] : given;
  return folders.map((folder) => path.join(folder, name)).find(isExecutable);
}

function postgresFolders(): string[] {
  try {
    const versions = readdirSync(POSTGRES).toSorted((a, b) => Number(b) - Number(a));
    return versions.map((version) => path.join(POSTGRES, version, 'bin'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const given = new Set<number>();

/** A port of loopback that was free a moment ago. A server that needs several gets no port twice. */
export async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  if (given.has(port)) return freePort();
  given.add(port);
  return port;
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

export interface Server {
  readonly pid: number;
  readonly exited: Promise<Exit>;
  /** @param signal default: the one that ends it at once */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** A server of coordination storage on loopback, with its files in its own folder. */
export interface StorageServer extends Server {
  /** As in `CRONLEASE_STORAGE`, without a password: only this machine can connect. */
  readonly url: string;
  readonly port: number;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface StorageServerOptions {
  /** Folder in which the data are kept; undefined: a temporary one. */
  readonly data?: string | undefined;
  readonly port?: number | undefined;
  readonly guard?: Guard | undefined;
  /**
   * Further settings, each a name and its values, such as `['appendfsync', 'everysec']`. Those of Consul are options of
   * its agent.
   */
  readonly settings?: readonly (readonly string[])[];
  /** Whether to resolve only once it serves clients, which the first members of a cluster cannot. Default: true. */
  readonly untilReady?: boolean;
  /** The number of a server in its ensemble of ZooKeeper. */
  readonly id?: number;
}

interface ServerOptions {
  /** Absolute; it exists. */
  readonly folder: string;
  /** Ends the server with this process, however that ends. Undefined: its owner sees to that. */
  readonly guard?: Guard | undefined;
  readonly program: string;
  readonly args: readonly string[];
  readonly port: number;
  /** Whether it serves its clients, once it accepts connections. Default: it does. */
  readonly isReady?: ((port: number) => boolean | Promise<boolean>) | undefined;
  /** The user that it runs as; undefined: this process's own. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** The signal that ends it at once. */
  readonly end?: NodeJS.Signals | undefined;
}

/**
 * Starts a server. Resolves once it accepts connections, and is ready.
 *
 * @throws {@link ClusterError} once it has ended, or after a minute, when it is killed
 */
export async function startServer(options: ServerOptions): Promise<Server> {
  const { program, args, port, isReady = () => true, user = {}, end = 'SIGKILL', folder, guard } = options;
  // A terminal's Ctrl+C goes to its whole process group, and a server ends last.
  const child = spawn(program, args, { ...user, cwd: folder, detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-2_000)));
  let ended: Exit | undefined;
  const exited = new Promise<Exit>((resolve) => {
    child.once('error', (error) => (errors += error.message));
    child.once('close', (code, signal) => resolve((ended = { code, signal })));
  });
  const pid = child.pid ?? 0;
  guard?.watch({ pid, exited });
  const stop = async (signal = end): Promise<void> => {
    child.kill(signal);
    await exited;
  };
  const deadline = performance.now() + START_MS;
  let listens = false;
  const hasStarted = async (): Promise<boolean> => (listens ||= await accepts(port)) && isReady(port);
  while (!(await hasStarted())) {
    if (ended !== undefined) throw new ClusterError(`${program} ended during its start.\n${errors}`);
    if (performance.now() > deadline) {
      await stop();
      const lack = listens ? 'become ready' : 'listen';
      throw new ClusterError(
        `${program} does not ${lack} on port ${String(port)} after ${START_MS / 1000} s.\n${errors}`,
      );
    }
    await pause(POLL_MS);
  }
  return { pid, exited, stop };
}

/** Whether a server answers this path on loopback with one of these statuses. */
export async function answers(port: number, path: string, ...statuses: readonly number[]): Promise<boolean> {
  try {
    const { status, body } = await fetch(`http://127.0.0.1:${String(port)}${path}`, {
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    await body?.cancel();
    return statuses.includes(status);
  } catch {
    // It does not answer yet.
    return false;
  }
}
