import path from 'node:path';
import type { Cluster } from './cluster';
import { ClusterError } from './cluster-error';
import type { DevJobs } from './dev-jobs';
import type { Printer } from './print';
import { codeFiles, type FileWatch, watchFiles } from './watch-files';

/** Files of an app beside its code that an instance reads when it starts. */
const SETTINGS = ['host.json', 'local.settings.json', 'package.json'];
/** The most names to print; others are counted. */
const NAMES = 3;

export interface ReloadOptions {
  readonly app: string;
  readonly cluster: Cluster;
  readonly jobs: DevJobs | undefined;
  readonly printer: Printer;
  readonly isEnding: () => boolean;
}

/** Watches the jobs, the code and the settings of an app, from before its instances have read them. */
export function watchApp(app: string, main: string | undefined, jobs: DevJobs | undefined): FileWatch {
  const settings = SETTINGS.map((file) => path.join(app, file));
  return watchFiles(() => {
    const code = codeFiles(app, main);
    return code && [...(jobs?.watched ?? []), ...settings, ...code];
  });
}

/** Drains the instances and restarts them when the app has changed. Invalid jobs restart nothing. */
export function reloadOnChange(watch: FileWatch, { app, cluster, jobs, printer, isEnding }: ReloadOptions): void {
  watch.start(async (files) => {
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
      if (!isEnding()) printer.error(`${error.message}\nThe instances restart when a file changes.`);
    }
  });
}

type News =
  | { readonly kind: 'invalid'; readonly message: string }
  /** The changes, one a line; none: no change that an instance would notice. */
  | { readonly kind: 'valid'; readonly changes: readonly string[] };

function whatChanged(app: string, files: readonly string[], jobs: DevJobs | undefined): News {
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
