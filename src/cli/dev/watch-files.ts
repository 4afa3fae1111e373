import fs from 'node:fs';
import path from 'node:path';
import { AppLoadError, readPackage } from '../../local/host/app-folder';

/** Files are polled this often: unlike events, polling misses no change on any file system. */
const POLL_EVERY_MS = 500;
export const CODE = /\.[cm]?js$/;
/** A folder with more code than this is not an app's build. */
const FILES_AT_MOST = 5_000;

/**
 * The built code of an app: all code in the folders of the files that `main` (default: that of its `package.json`) names, which may import each other.
 * Undefined while there is none, as in the middle of a build.
 */
export function codeFiles(app: string, main?: string): readonly string[] | undefined {
  let entryPoints: readonly string[];
  try {
    ({ entryPoints } = readPackage(app, main));
  } catch (error) {
    if (error instanceof AppLoadError) return undefined;
    throw error;
  }
  const tops = new Set(entryPoints.map((file) => path.relative(app, file).split(path.sep)[0] ?? ''));
  const files: string[] = [];
  for (const top of tops) {
    const start = path.join(app, top);
    const isFolder = fs.statSync(start, { throwIfNoEntry: false })?.isDirectory();
    collectFiles(isFolder ? start : app, CODE, files);
  }
  return files;
}

/** Adds the files of a folder with such names, without those of packages. */
export function collectFiles(folder: string, name: RegExp, files: string[] = []): readonly string[] {
  for (const entry of entriesOf(folder)) {
    if (files.length >= FILES_AT_MOST) break;
    if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) collectFiles(file, name, files);
    else if (name.test(entry.name)) files.push(file);
  }
  return files;
}

/** A build may just have removed the folder, or it is not the app's own, such as the data of a container. */
const UNREADABLE = ['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM'];

function entriesOf(folder: string): readonly fs.Dirent[] {
  try {
    return fs.readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (UNREADABLE.includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}

function versionsOf(files: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    files.map((file) => {
      const stat = fs.statSync(file, { throwIfNoEntry: false });
      return [file, stat === undefined ? 'missing' : `${stat.mtimeMs} ${stat.size}`];
    }),
  );
}

function differences(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): readonly string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter((file) => before.get(file) !== after.get(file));
}

/** Polls files, and reports changes that have lasted from one poll to the next. */
export interface FileWatch {
  /**
   * @param onChange polling waits until it is done
   * @param onError takes an error of it, or of the polling, which goes on
   */
  start(onChange: (files: readonly string[]) => Promise<void>, onError: (error: unknown) => void): void;
  /** Whether files have changed since the last report. */
  isStale(): boolean;
  /** Takes these files as they are now, and those that are gone as gone. */
  accept(files: readonly string[]): void;
  stop(): void;
}

/**
 * Changes count from this call on, even before `start`.
 *
 * @param list the files; undefined: not to be polled now
 */
export function watchFiles(list: () => readonly string[] | undefined): FileWatch {
  const versions = (): ReadonlyMap<string, string> | undefined => {
    const files = list();
    return files && versionsOf(files);
  };
  let known = versions() ?? new Map<string, string>();
  let last = known;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  const changes = (): readonly string[] => {
    const now = versions();
    if (now === undefined) return [];
    const settled = differences(last, now).length === 0;
    last = now;
    if (!settled) return [];
    const changed = differences(known, now);
    known = now;
    return changed;
  };
  return {
    start(onChange, onError) {
      const step = async (): Promise<void> => {
        const changed = changes();
        if (changed.length > 0) await onChange(changed);
      };
      const arm = (): void => {
        if (!stopped) timer = setTimeout(() => void step().catch(onError).finally(arm), POLL_EVERY_MS);
      };
      arm();
    },
    isStale: () => differences(known, versions() ?? known).length > 0,
    accept(files) {
      const listed = new Set(list());
      known = new Map([...[...known].filter(([file]) => listed.has(file)), ...versionsOf(files)]);
      last = known;
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
