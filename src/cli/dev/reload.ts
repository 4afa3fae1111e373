import { exec } from 'node:child_process';
import fs, { existsSync } from 'node:fs';
import path from 'node:path';
import type { Cluster } from '../../local/cluster/cluster';
import { ClusterError } from '../../local/cluster/child';
import type { DevJobs, JobsChange } from './dev-jobs';
import type { Printer } from './print';
import { CODE, codeFiles, collectFiles, type FileWatch, watchFiles } from './watch-files';

// A build writes declarations, which would start the next one.
const SOURCE = /(?<!\.d)\.[cm]?[jt]sx?$/;

const TYPESCRIPT = /(?<!\.d)\.[cm]?tsx?$/;

/** Files of an app beside its code that an instance reads when it starts. */
const SETTINGS = ['host.json', 'local.settings.json', 'package.json'];
/** The most names to print; others are counted. */
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
export function watchApp({
  app,
  main,
  build,
  jobs,
}: Omit<ReloadOptions, 'cluster' | 'printer' | 'isEnding'>): FileWatch {
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
  watch.start(onChange, tellOnce(printer));
}

/** Prints an error of the file system once, such as that of a full disk: the instances run on. */
function tellOnce(printer: Pick<Printer, 'error'>): (error: unknown) => void {
  let told: string | undefined;
  return (error) => {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    if (error.message !== told) printer.error(`${error.message}\nThe instances continue, and files are watched again.`);
    told = error.message;
  };
}

/** Builds the app if one of these files is a source that is not built code itself. */
async function isBuilt(files: readonly string[], { app, main, build, printer }: ReloadOptions): Promise<boolean> {
  if (build === undefined) return true;
  const built = new Set(codeFiles(app, main));
  const sources = new Set(sourceFiles(app));
  const builtFolders = new Set([...built].map((file) => topOf(app, file)));
  // Another build, such as that of `npm run pack`, may leave out what this one wrote.
  const isGone = (file: string): boolean =>
    !existsSync(file) && !(CODE.test(file) && builtFolders.has(topOf(app, file)));
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
