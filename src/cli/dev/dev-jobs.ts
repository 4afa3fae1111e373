import fs from 'node:fs';
import path from 'node:path';
import { ConfigError, valueAt } from '../../config/config-error';
import { loadJobs } from '../../config/load';
import { readJsonFile } from '../../config/json';
import { isObject } from '../../core/metadata';
import type { EpochMs } from '../../core/brand';
import { actualTime, type JobsFile } from '../../core/job';
import { readLocalSettings } from '../../local/host/app-folder';
import { STORE_LIMITS } from '../../stores/limits';
import { UsageError } from '../output';
import { DEFAULT_FILE } from '../jobs-file';
import { devFolder, removeDevFolder } from './dev-file';

interface DevJobsOptions {
  /** Absolute path of the app's folder. */
  readonly app: string;
  /** The app's jobs file. Default: `jobs.json` in its folder, if there is one. */
  readonly file: string | undefined;
  readonly more: string | undefined;
}

interface Loaded {
  readonly jobsFile: JobsFile;
  /** The settings as written in the file. */
  readonly settings: Settings;
  /** The other members of the file. Calendars need no other file. */
  readonly top: Settings;
  readonly files: readonly string[];
}

type Settings = Readonly<Record<string, unknown>>;

/** The checks of the app, except for its handlers. */
const CHECKS = { leaseMs: STORE_LIMITS.leaseMs };

/** The jobs file that the settings of the app name, in place of the one in its code; undefined: none that exists. */
export function fileInSettings(app: string, env: NodeJS.ProcessEnv): string | undefined {
  const file = { ...readLocalSettings(app), ...env }['CRONLEASE_JOBS_FILE'];
  return file && fs.existsSync(path.resolve(app, file)) ? file : undefined;
}

/** A member as it stands in a file; empty: the file has none. */
function membersIn(file: string, member: 'jobs' | 'groups' | 'notify'): Settings {
  const value = valueAt(readJsonFile(file, '').value, [member]);
  return isObject(value) ? value : {};
}

/** The members of a file's top that are not empty. */
function filled(top: Readonly<Record<string, Settings>>): Settings {
  return Object.fromEntries(Object.entries(top).filter(([, members]) => Object.keys(members).length > 0));
}

export type DevJobs = ReturnType<typeof devJobs>;

/** The result of reading the jobs files again: the differences, one job a line. */
export type JobsChange =
  | { readonly kind: 'invalid'; readonly message: string }
  | { readonly kind: 'valid'; readonly changes: readonly string[] };

/**
 * The jobs that `cronlease dev` runs: those of the app's file, and those of `more`. With `more`, both go into
 * `.cronlease/jobs.json`, which the instances and the other commands then read.
 *
 * @throws UsageError when a named file does not exist
 */
export function devJobs({ app, file, more }: DevJobsOptions) {
  const own = path.resolve(app, file ?? DEFAULT_FILE);
  const extra = more === undefined ? undefined : path.resolve(more);
  for (const [option, named] of [
    ['--file', file === undefined ? undefined : own],
    ['--more-jobs', extra],
  ] as const) {
    if (named !== undefined && !fs.existsSync(named)) throw new UsageError(`${option}: there is no file ${named}`);
  }
  if (extra !== undefined && !fs.existsSync(own)) {
    throw new UsageError(`--more-jobs adds jobs to ${own}, which does not exist`);
  }
  const merged = extra === undefined ? undefined : path.join(devFolder(app), DEFAULT_FILE);
  const used = merged ?? (file === undefined ? undefined : own);

  const load = (): Loaded => {
    const { jobsFile, calendars, files } = loadJobs(own, CHECKS);
    const settings = membersIn(own, 'jobs');
    const [groups, notify] = [membersIn(own, 'groups'), membersIn(own, 'notify')];
    if (extra === undefined) return { jobsFile, settings, top: filled({ calendars, groups, notify }), files };
    const added =
      valueAt(readJsonFile(extra, '').value, ['calendars']) !== undefined ? loadJobs(extra, CHECKS) : undefined;
    // Where both files have the name, the app's own job, calendar, group or setting counts.
    const both = { ...membersIn(extra, 'jobs'), ...settings };
    const top = filled({
      calendars: { ...added?.calendars, ...calendars },
      groups: { ...membersIn(extra, 'groups'), ...groups },
      notify: { ...membersIn(extra, 'notify'), ...notify },
    });
    const merged = loadJobs({ revision: jobsFile.revision, ...top, jobs: both }, CHECKS);
    return { jobsFile: merged.jobsFile, settings: both, top, files: [...files, ...(added?.files ?? [])] };
  };
  let current: Loaded | undefined;
  try {
    current = load();
  } catch (error) {
    // The app refuses this file when it starts, and lists its errors, those of its handlers included.
    if (!(error instanceof ConfigError)) throw error;
  }

  const write = (): void => {
    if (merged === undefined) return;
    fs.mkdirSync(path.dirname(merged), { recursive: true });
    if (current === undefined) fs.copyFileSync(own, merged);
    else {
      const { jobsFile, settings, top } = current;
      const content = { revision: jobsFile.revision, ...top, jobs: settings };
      fs.writeFileSync(merged, `${JSON.stringify(content, undefined, 2)}\n`);
    }
  };

  return {
    /** The jobs file for the instances; undefined: the one that the app itself names. */
    file: used,
    get watched(): readonly string[] {
      return [own, ...(extra === undefined ? [] : [extra]), ...(current?.files ?? [])];
    },
    /** Writes the file for the instances, if it is one of ours. */
    write,
    remove(): void {
      if (merged === undefined) return;
      fs.rmSync(merged, { force: true });
      removeDevFolder(app);
    },
    jobs: (now: EpochMs) =>
      (current?.jobsFile.jobs ?? []).map((spec) => {
        const due = spec.enabled ? spec.timetable.next(now - spec.offsetMs) : undefined;
        return { name: spec.name, next: due === undefined ? undefined : actualTime(spec, due) };
      }),
    /** Reads the files again. An invalid file changes nothing. */
    reload(): JobsChange {
      let loaded: Loaded;
      try {
        loaded = load();
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        return { kind: 'invalid', message: error.message };
      }
      const changes = current === undefined ? ['the jobs are valid now'] : changesOf(current, loaded);
      current = loaded;
      if (changes.length > 0) write();
      return { kind: 'valid', changes: changes.map((change) => `${DEFAULT_FILE}: ${change}`) };
    },
  };
}

function changesOf(before: Loaded, after: Loaded): readonly string[] {
  const { revision } = after.jobsFile;
  return [
    ...changesBetween(before.settings, after.settings),
    ...['calendars', 'groups', 'notify'].flatMap((member) =>
      memberOf(before.top, member) === memberOf(after.top, member) ? [] : [`changed ${member}`],
    ),
    ...(before.jobsFile.revision === revision ? [] : [`revision ${revision}`]),
  ];
}

/** The differences between two versions of a jobs file, one job a line. */
export function changesBetween(before: Settings, after: Settings): readonly string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name) => {
    const [old, now] = [before[name], after[name]];
    if (JSON.stringify(old) === JSON.stringify(now)) return [];
    if (!Object.hasOwn(before, name)) return [`added ${name}${scheduleOf(now)}`];
    if (!Object.hasOwn(after, name)) return [`removed ${name}`];
    const members = new Set([...keysOf(old), ...keysOf(now)]);
    const changed = [...members].filter((key) => memberOf(old, key) !== memberOf(now, key));
    return [`changed ${name}: ${changed.join(', ')}`];
  });
}

function scheduleOf(job: unknown): string {
  return isObject(job) && typeof job['schedule'] === 'string' ? `: ${job['schedule']}` : '';
}

function keysOf(job: unknown): readonly string[] {
  return isObject(job) ? Object.keys(job) : [];
}

function memberOf(job: unknown, key: string): string | undefined {
  return isObject(job) ? JSON.stringify(job[key]) : undefined;
}
