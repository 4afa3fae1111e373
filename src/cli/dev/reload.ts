import { exec } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import type { Cluster } from '../../local/cluster/cluster';
import { ClusterError } from '../../local/cluster/child';
import { AppLoadError, readPackage } from '../../local/host/app-folder';
import type { DevJobs, JobsChange } from './dev-jobs';
import type { Printer } from './print';

/** Files are polled this often: unlike events, polling misses no change on any file system. */
const POLL_EVERY_MS = 500;
const CODE = /\.[cm]?js$/;
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
function collectFiles(folder: string, name: RegExp, files: string[] = []): readonly string[] {
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

export type FileWatch = ReturnType<typeof watchFiles>;

/**
 * Polls files, and reports changes that have lasted from one poll to the next. Changes count from this call on, even
 * before `start`.
 *
 * @param list the files; undefined: not to be polled now
 */
export function watchFiles(list: () => readonly string[] | undefined) {
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
    /**
     * @param onChange polling waits until it is done
     * @param onError takes an error of it, or of the polling, which goes on
     */
    start(onChange: (files: readonly string[]) => Promise<void>, onError: (error: unknown) => void): void {
      const step = async (): Promise<void> => {
        const changed = changes();
        if (changed.length > 0) await onChange(changed);
      };
      const arm = (): void => {
        if (!stopped) timer = setTimeout(() => void step().catch(onError).finally(arm), POLL_EVERY_MS);
      };
      arm();
    },
    /** Whether files have changed since the last report. */
    isStale: (): boolean => differences(known, versions() ?? known).length > 0,
    /** Takes these files as they are now, and those that are gone as gone. */
    accept(files: readonly string[]): void {
      const listed = new Set(list());
      known = new Map([...[...known].filter(([file]) => listed.has(file)), ...versionsOf(files)]);
      last = known;
    },
    stop(): void {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

// A build writes declarations, which would start the next one.
const SOURCE = /(?<!\.d)\.[cm]?[jt]sx?$/;

const TYPESCRIPT = /(?<!\.d)\.[cm]?tsx?$/;

/** Files of an app beside its code that an instance reads when it starts. */
const SETTINGS = ['host.json', 'local.settings.json', 'package.json'];
const NAMES = 3;

export interface ReloadOptions {
  readonly app: string;
  readonly main: string | undefined;
  /** Builds the app; undefined: its sources are not watched. */
  readonly build: string | undefined;
  readonly cluster: Cluster;
  readonly jobs: DevJobs | undefined;
  readonly printer: Printer;
  readonly isEnding: () => boolean;
}

/** Watches the jobs, the code, its sources and the settings of an app, from before its instances have read them. */
export function watchApp(options: Pick<ReloadOptions, 'app' | 'main' | 'build' | 'jobs'>): FileWatch {
  const { app, main, build, jobs } = options;
  const settings = SETTINGS.map((file) => path.join(app, file));
  return watchFiles(() => {
    const code = codeFiles(app, main) ?? (build === undefined ? undefined : []);
    const sources = build === undefined ? [] : sourceFiles(app);
    return code && [...new Set([...(jobs?.watched ?? []), ...settings, ...code, ...sources])];
  });
}

/**
 * Drains the instances and restarts them when the app has changed. Changed sources are built first, so that jobs which
 * were declared after their handlers find them. Invalid jobs restart nothing, and nor does a build that fails.
 */
export function reloadOnChange(watch: FileWatch, options: ReloadOptions): void {
  const { app, main, cluster, jobs, printer, isEnding } = options;
  let held: readonly string[] = [];
  const onChange = async (changed: readonly string[]): Promise<void> => {
    const files = [...new Set([...held, ...changed])];
    held = files;
    const built = await isBuilt(files, options);
    // Also of a build that failed: it would be tried forever.
    if (options.build !== undefined) watch.accept(codeFiles(app, main) ?? []);
    if (!built) return;
    held = [];
    const news = whatChanged(app, files, jobs);
    if (news.kind === 'invalid') {
      printer.error(`${news.message}\nThe instances continue with the old jobs.`);
      return;
    }
    if (news.changes.length === 0 || isEnding()) return;
    printer.note([...news.changes, 'Restarting…'].join('\n'));
    try {
      await cluster.restart();
    } catch (error) {
      if (!(error instanceof ClusterError)) throw error;
      // Instances that read the next change already, such as a job before its handler was built, start again with it.
      if (!isEnding() && !watch.isStale())
        printer.error(`${error.message}\nThe instances restart when a file changes.`);
    }
  };
  let told: string | undefined;
  // An error of the file system, such as that of a full disk, is printed once: the instances run on.
  const onError = (error: unknown): void => {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    if (error.message !== told) printer.error(`${error.message}\nThe instances continue, and files are watched again.`);
    told = error.message;
  };
  watch.start(onChange, onError);
}

/** Builds the app if one of these files is a source that is not built code itself. */
async function isBuilt(files: readonly string[], { app, main, build, printer }: ReloadOptions): Promise<boolean> {
  if (build === undefined) return true;
  const built = new Set(codeFiles(app, main));
  const sources = new Set(sourceFiles(app));
  const builtFolders = new Set([...built].map((file) => topOf(app, file)));
  // Another build, such as that of `npm run pack`, may leave out what this one wrote.
  const isGone = (file: string): boolean =>
    !fs.existsSync(file) && !(CODE.test(file) && builtFolders.has(topOf(app, file)));
  const isSource = (file: string): boolean => !built.has(file) && (sources.has(file) || isGone(file));
  if (!files.some(isSource)) return true;
  printer.note(`Building: ${build}`);
  const failure = await runBuild(build, app);
  if (failure === undefined) return true;
  printer.error(`${failure} The instances continue with the old build.`);
  return false;
}

/** The folder directly below the app in which a file lies. */
function topOf(app: string, file: string): string | undefined {
  return path.relative(app, file).split(path.sep)[0];
}

/** Without changes if an instance would notice none. */
function whatChanged(app: string, files: readonly string[], jobs: DevJobs | undefined): JobsChange {
  const isJobs = (file: string): boolean => jobs?.watched.includes(file) === true;
  const names = files.filter((file) => !isJobs(file)).map((file) => path.relative(app, file));
  const change = files.some(isJobs) ? jobs?.reload() : undefined;
  if (change?.kind === 'invalid') return change;
  const some = names.length > NAMES ? [...names.slice(0, NAMES), `${names.length - NAMES} more files`] : names;
  return {
    kind: 'valid',
    changes: [...(change?.changes ?? []), ...(names.length === 0 ? [] : [`${some.join(', ')} changed`])],
  };
}

/**
 * The sources of an app: the code below `src`, and TypeScript in its other folders, where JavaScript is what a build
 * wrote. An app without `src` may have all of its code anywhere.
 */
export function sourceFiles(app: string): readonly string[] {
  const src = path.join(app, 'src');
  if (!fs.existsSync(src)) return collectFiles(app, SOURCE);
  return [...new Set([...collectFiles(src, SOURCE), ...collectFiles(app, TYPESCRIPT)])];
}

/** Runs a build command in the app's folder. If it fails, resolves to its output and a sentence that names it. */
export function runBuild(command: string, app: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    // A compiler's list of errors.
    exec(command, { cwd: app, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      const printed = `${stdout}${stderr}`.trim() || error?.message;
      resolve(error === null ? undefined : `${printed}\n"${command}" failed.`);
    });
  });
}
