import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { ConfigError, formatIssue } from '../config/config-error';
import { type LoadedJobs, loadJobs, type LoadOptions } from '../config/load';
import { nearest } from '../config/suggest';
import type { JobSpec } from '../core/job';
import { OperatorError } from '../operator/operator-error';
import { type FileAtHand, unknownJob } from '../operator/subject';
import { readDevFile } from './dev/dev-file';

import { STORE_LIMITS } from '../stores/limits';
import { CliError, UsageError, warn } from './output';

export const DEFAULT_FILE = 'jobs.json';

export interface FileOptions {
  /** Undefined: {@link DEFAULT_FILE}, which may be missing for a command that can work without it. */
  readonly file?: string | undefined;
}

/**
 * Reads the jobs without handlers. Throws `ConfigError`, or `CliError` `NoJobsFile` if no file is named or found.
 *
 * @param more further checks
 */
export function loadFile({ file }: FileOptions, more: Pick<LoadOptions, 'clockChanges'> = {}): LoadedJobs {
  try {
    const source = file ?? readDevFile('.')?.jobs ?? DEFAULT_FILE;
    return loadJobs(source, { leaseMs: STORE_LIMITS.leaseMs, now: Date.now(), ...more });
  } catch (error) {
    if (file !== undefined || !(error instanceof ConfigError) || !isMissing(error)) throw error;
    const message = `there is no ${DEFAULT_FILE} in ${process.cwd()}, and this command needs the jobs file: add --file FILE`;
    throw new CliError('NoJobsFile', message, { cause: error });
  }
}

/** The jobs file may lie anywhere in its app, whose root has host.json. */
export function appFolderOf(file: string): string {
  const first = dirname(resolve(file));
  for (let folder = first; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'host.json'))) return folder;
    if (dirname(folder) === folder) return first;
  }
}

/** The jobs, for a command that needs no file: undefined if the default file is missing or invalid. */
export function loadFileIfAny(options: FileOptions): LoadedJobs | undefined {
  try {
    return loadFile(options);
  } catch (error) {
    if (isNoJobsFile(error)) return undefined;
    if (!(error instanceof ConfigError) || options.file !== undefined) throw error;
    warn(`${DEFAULT_FILE} is not valid, and is ignored: "cronlease validate" lists its errors`);
    return undefined;
  }
}

/** As {@link loadFileIfAny}, for an operator's action. */
export function fileAtHand(options: FileOptions): FileAtHand | undefined {
  return atHand(loadFileIfAny(options), options);
}

export function atHand(loaded: LoadedJobs | undefined, { file = DEFAULT_FILE }: FileOptions): FileAtHand | undefined {
  return loaded && { source: file, jobs: loaded.jobsFile.jobs };
}

/** Whether {@link loadFile} failed because no file was named and the default one is missing. */
export function isNoJobsFile(error: unknown): boolean {
  return error instanceof CliError && error.code === 'NoJobsFile';
}

function isMissing({ cause }: ConfigError): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
}

/** The job of this name. Throws `OperatorError` `UnknownJob`. */
export function jobIn({ jobsFile }: LoadedJobs, name: string, { file = DEFAULT_FILE }: FileOptions): JobSpec {
  const spec = jobsFile.jobs.find((job) => job.name === name);
  if (spec !== undefined) return spec;
  const known = jobsFile.jobs.map((job) => job.name);
  throw unknownJob(name, known, file);
}

/**
 * The jobs with the tag that the options name, in the file that was loaded or is now; undefined: they name no tag. Throws
 * `OperatorError` `UnknownJob` when no job has it.
 */
export function jobsTagged(
  options: FileOptions & { readonly tag?: string | undefined },
  loaded?: LoadedJobs,
): readonly JobSpec[] | undefined {
  const { tag, file = DEFAULT_FILE } = options;
  if (tag === undefined) return undefined;
  const { jobs } = (loaded ?? loadFile(options)).jobsFile;
  const specs = jobs.filter(({ tags }) => tags.includes(tag));
  if (specs.length > 0) return specs;
  const tags = [...new Set(jobs.flatMap((job) => job.tags))].sort();
  const meant = nearest(tag, tags);
  const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`;
  const list = tags.length === 0 ? 'No job there has a tag.' : `Tags: ${tags.join(', ')}.`;
  throw new OperatorError('UnknownJob', `no job in ${file} has the tag ${JSON.stringify(tag)}.${hint} ${list}`);
}

/** The warnings of the file, or those about one of its jobs. */
export function printWarnings({ warnings }: Pick<LoadedJobs, 'warnings'>, job?: string): void {
  for (const issue of warnings) {
    const path = `jobs.${job ?? ''}`;
    if (job === undefined || issue.path === path || issue.path.startsWith(`${path}.`)) warn(formatIssue(issue));
  }
}

/** The largest file that is read from git. */
const MOST_BYTES = 256 * 1024 * 1024;

export interface JobsAtRef {
  readonly jobs: readonly JobSpec[];
  readonly revision: number;
  /** The sentence for people where there is nothing to compare with. */
  readonly notice?: string;
}

/**
 * The jobs of the same file at a git revision. A file that is missing or invalid there has no jobs, and a notice.
 *
 * @throws CliError `NoRevision` if the folder is in no repository, or git does not know the revision
 * @throws UsageError
 */
export function jobsAt(ref: string, { file = DEFAULT_FILE }: FileOptions): JobsAtRef {
  if (ref === '' || ref.startsWith('-')) throw new UsageError(`--against ${JSON.stringify(ref)} is not a git revision`);
  const folder = dirname(resolve(file));
  const commit = git(folder, ['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`]);
  if (commit === undefined) {
    throw new CliError(
      'NoRevision',
      `--against ${JSON.stringify(ref)}: git knows no such commit in ${folder}. Name a branch, tag or commit; a shallow clone has to fetch it first.`,
    );
  }
  const hash = commit.toString().trim();
  try {
    const { jobsFile } = loadedAt(hash, folder, basename(file));
    return { jobs: jobsFile.jobs, revision: jobsFile.revision };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const why = isMissing(error) ? `has no ${basename(file)}` : `has a ${basename(file)} that is not valid`;
    return { jobs: [], revision: 0, notice: `${ref} ${why}: every job counts as added.` };
  }
}

function loadedAt(commit: string, folder: string, file: string): LoadedJobs {
  const readFile = (path: string): Uint8Array => {
    const content = git(folder, ['show', `${commit}:./${relative(folder, path).replaceAll('\\', '/')}`]);
    if (content !== undefined) return content;
    throw Object.assign(new Error(`${path} does not exist at ${commit}`), { code: 'ENOENT' });
  };
  return loadJobs(file, { baseFolder: folder, readFile, leaseMs: STORE_LIMITS.leaseMs });
}

/** What git prints; undefined if it refuses. */
function git(folder: string, parameters: readonly string[]): Buffer | undefined {
  const { status, stdout, error } = spawnSync('git', parameters, { cwd: folder, maxBuffer: MOST_BYTES });
  if (error === undefined) return status === 0 ? stdout : undefined;
  throw new CliError('NoRevision', `git cannot be run in ${folder}, and --against needs it: ${error.message}`, {
    cause: error,
  });
}
