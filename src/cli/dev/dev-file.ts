import fs from 'node:fs';
import path from 'node:path';
import { ClusterError } from '../../local/cluster/cluster-error';

/** The file that `cronlease dev` keeps for the other commands while it runs. */
export interface DevFile {
  /** Connection string. */
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

/**
 * Reads `.cronlease/dev.json` of an app's folder, which names the storage of its running cluster. Undefined if no
 * cluster runs, even if a killed one left its file behind.
 */
export function readDevFile(app: string): DevFile | undefined {
  let json: unknown;
  try {
    json = JSON.parse(fs.readFileSync(fileOf(app), 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
  const { storage, container, pid, jobs, sweepInterval } = (json ?? {}) as Partial<Record<keyof DevFile, unknown>>;
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
 * @throws {@link ClusterError} if another cluster runs in this folder: two would overwrite each other's file, and a
 * command could not choose between them.
 */
export function refuseSecondCluster(app: string): void {
  const other = readDevFile(app);
  if (other === undefined) return;
  throw new ClusterError(
    `"cronlease dev" runs in this folder already, as process ${other.pid}. Stop it first. ` +
      `(If that process is something else, delete ${fileOf(app)}.)`,
  );
}

/** Writes the file, for this user only, because it contains the account's key. Returns a function that removes it. */
export function writeDevFile(app: string, content: DevFile): () => void {
  const file = fileOf(app);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  // The file appears whole or not at all, because a command may read it at any time.
  const temporary = `${file}.${process.pid}`;
  fs.writeFileSync(temporary, `${JSON.stringify(content)}\n`, { mode: 0o600 });
  fs.renameSync(temporary, file);
  return () => {
    fs.rmSync(file, { force: true });
    removeDevFolder(app);
  };
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
