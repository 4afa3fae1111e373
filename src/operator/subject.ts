import { nearest } from '../config/suggest';
import type { JobName } from '../core/brand';
import type { JobSpec } from '../core/job';
import type { CallOptions, JobRowStore } from '../lease/store';
import { isForgotten } from './job-state';
import { OperatorError } from './operator-error';

/** So many names are enough for a message. */
const NAMES = 20;

/** A job that is acted on. `spec` is known where the caller's jobs file has the job. */
export interface Subject {
  readonly name: JobName;
  readonly spec?: JobSpec | undefined;
}

/** The jobs file that a caller has at hand. */
export interface FileAtHand {
  /** For messages: its path. */
  readonly source: string;
  readonly jobs: readonly JobSpec[];
}

/**
 * The job of this name, if the file or the store has it: an operator may have no file at hand.
 *
 * @throws OperatorError `UnknownJob`
 */
export async function subjectOf(
  store: JobRowStore,
  job: string,
  file: FileAtHand | undefined,
  options?: CallOptions,
): Promise<Subject> {
  const name = job as JobName;
  const spec = file?.jobs.find((candidate) => candidate.name === name);
  if (spec === undefined) await assertKnown(store, name, file, options);
  return { name, spec };
}

/**
 * Asserts that the store has the job, and that nobody forgot it.
 *
 * @throws OperatorError `UnknownJob`
 */
async function assertKnown(
  store: JobRowStore,
  name: JobName,
  file: FileAtHand | undefined,
  options?: CallOptions,
): Promise<void> {
  const listing = await store.list(options);
  const known = [...listing.jobs.keys()].filter((job) => !isForgotten(listing, job));
  if (!known.includes(name)) throw unknownAnywhere(name, file, { location: store.location, jobs: known });
}

/** For a job that neither the file nor the store has. */
export function unknownAnywhere(
  name: string,
  file: FileAtHand | undefined,
  store: { readonly location: string; readonly jobs: Iterable<string> },
): OperatorError {
  const inFile = file?.jobs.map((job) => job.name) ?? [];
  const where = file === undefined ? store.location : `${file.source} or ${store.location}`;
  return unknownJob(name, [...new Set<string>([...inFile, ...store.jobs])].sort(), where);
}

/** @param where that has no such job */
export function unknownJob(name: string, known: readonly string[], where: string): OperatorError {
  const some = known.length > NAMES ? [...known.slice(0, NAMES), `and ${known.length - NAMES} more`] : known;
  const meant = nearest(name, known);
  const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`;
  const list = known.length === 0 ? 'It has none.' : `Known: ${some.join(', ')}.`;
  return new OperatorError('UnknownJob', `there is no job ${JSON.stringify(name)} in ${where}.${hint} ${list}`);
}
