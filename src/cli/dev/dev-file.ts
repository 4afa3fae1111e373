import fs from 'node:fs';
import path from 'node:path';
import { ClusterError } from '../../local/cluster/child';

/** The file that `cronlease dev` keeps for the other commands while it runs. */
export interface DevFile {
  readonly storage: string;
  readonly container: string;
  /** The process id of `cronlease dev` itself. */
  readonly pid: number;
  /** The jobs file that its instances use, where that is not `jobs.json`. */
  readonly jobs?: string | undefined;
  /** The longest time until a deployment sees a request: a duration. */
  readonly sweepInterval?: string | undefined;
}

export function devFolder(app: string): string {
  return path.join(app, '.cronlease');
}

function fileOf(app: string): string {
  return path.join(devFolder(app), 'dev.json');
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Another user's process, which is alive all the same.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** The members of the file; none if it does not exist, or is damaged. */
function readFile(app: string): Partial<Record<keyof DevFile, unknown>> {
  try {
    const json: unknown = JSON.parse(fs.readFileSync(fileOf(app), 'utf8'));
    return json ?? {};
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return {};
    throw error;
  }
}

/**
 * Reads `.cronlease/dev.json` of an app's folder, which names the storage of its running cluster. Undefined if no
 * cluster runs, even if a killed one left its file behind.
 */
export function readDevFile(app: string): DevFile | undefined {
  const { storage, container, pid, jobs, sweepInterval } = readFile(app);
  if (typeof storage !== 'string' || typeof container !== 'string' || typeof pid !== 'number') return undefined;
  if (!isAlive(pid)) return undefined;
  return {
    storage,
    container,
    pid,
    ...(typeof jobs === 'string' ? { jobs } : {}),
    ...(typeof sweepInterval === 'string' ? { sweepInterval } : {}),
  };
}

/**
 * Takes an app's folder for this process, before its cluster starts: of two that start together, one is refused.
 *
 * @throws {@link ClusterError} if another cluster runs in this folder, or starts: two would overwrite each other's file,
 * and a command could not choose between them.
 */
export function claimFolder(app: string) {
  const file = fileOf(app);
  refuseSecond(app);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  // A killed cluster has left it.
  fs.rmSync(file, { force: true });
  try {
    fs.writeFileSync(file, textOf({ pid: process.pid }), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') refuseSecond(app);
    throw error;
  }
  return {
    publish(content: DevFile): void {
      // The file appears whole or not at all, because a command may read it at any time. It contains the account's key.
      const temporary = `${file}.${process.pid}`;
      fs.writeFileSync(temporary, textOf(content), { mode: 0o600 });
      fs.renameSync(temporary, file);
    },
    /** Removes the file of this cluster. */
    release(): void {
      if (readFile(app).pid === process.pid) fs.rmSync(file, { force: true });
      removeDevFolder(app);
    },
  };
}

function textOf(content: object): string {
  return `${JSON.stringify(content)}\n`;
}

function refuseSecond(app: string): void {
  const { pid } = readFile(app);
  // In a container, a process often has the id of the one that was killed.
  if (typeof pid !== 'number' || pid === process.pid || !isAlive(pid)) return;
  throw new ClusterError(
    `"cronlease dev" runs in this folder already, as process ${pid}. Stop it first. ` +
      `(If that process is something else, delete ${fileOf(app)}.)`,
  );
}

/** Removes the folder of `cronlease dev`, if it is empty. */
export function removeDevFolder(app: string): void {
  try {
    fs.rmdirSync(devFolder(app));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST' && code !== 'ENOENT') throw error;
  }
}
