import { spawnSync } from 'node:child_process';
import { basename, dirname, relative, resolve } from 'node:path';
import { ConfigError } from '../../config/config-error';
import { type LoadedJobs, loadJobs } from '../../config/load';
import type { JobSpec } from '../../core/job';
import { STORE_LIMITS } from '../../stores/limits';
import { CliError, UsageError } from '../cli-error';
import { DEFAULT_FILE, type FileOptions } from '../jobs-file';
import { warn } from '../output';

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
    const missing = error.cause instanceof Error && 'code' in error.cause && error.cause.code === 'ENOENT';
    const why = missing ? `has no ${basename(file)}` : `has a ${basename(file)} that is not valid`;
    return { jobs: [], revision: 0, notice: `${ref} ${why}: every job counts as added.` };
  }
}

/** Warns about a revision that cannot be compared with. */
export function warnOfNotice({ notice }: JobsAtRef): void {
  if (notice !== undefined) warn(notice);
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
