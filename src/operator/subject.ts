import { nearest } from '../config/suggest';
import type { JobName } from '../core/brand';
import type { JobSpec } from '../core/job';
import type { JobRowStore } from '../lease/store';
import { isForgotten } from './job-state';
import { OperatorError } from './operator-error';

/** How many names a message lists at most. */
const NAMES = 20;

/** The job of a command. `spec` is set if the caller's jobs file has the job. */
export interface Subject {
  readonly name: JobName;
  readonly spec?: JobSpec | undefined;
}

export interface FileAtHand {
  /** Its path, for messages. */
  readonly source: string;
  readonly jobs: readonly JobSpec[];
}

/** The job of this name, if the file, if there is one, or the store has it. Throws `OperatorError` `UnknownJob`. */
export async function subjectOf(store: JobRowStore, job: string, file: FileAtHand | undefined): Promise<Subject> {
  const name = job as JobName;
  const spec = file?.jobs.find((candidate) => candidate.name === name);
  if (spec === undefined) await assertKnown(store, name, file);
  return { name, spec };
}

/** Asserts that the store has the job and that it was not forgotten. Throws `OperatorError` `UnknownJob`. */
async function assertKnown(store: JobRowStore, name: JobName, file: FileAtHand | undefined): Promise<void> {
  const listing = await store.list();
  const known = [...listing.jobs.keys()].filter((job) => !isForgotten(listing, job));
  if (!known.includes(name)) throw unknownAnywhere(name, file, { location: store.location, jobs: known });
}

/** The error for a job that neither the file nor the store has. */
export function unknownAnywhere(
  name: string,
  file: FileAtHand | undefined,
  store: { readonly location: string; readonly jobs: Iterable<string> },
): OperatorError {
  const inFile = file?.jobs.map((job) => job.name) ?? [];
  const where = file === undefined ? store.location : `${file.source} or ${store.location}`;
  return unknownJob(name, [...new Set<string>([...inFile, ...store.jobs])].sort(), where);
}

/** @param where the place that has no such job */
export function unknownJob(name: string, known: readonly string[], where: string): OperatorError {
  const some = known.length > NAMES ? [...known.slice(0, NAMES), `and ${known.length - NAMES} more`] : known;
  const meant = nearest(name, known);
  const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`;
  const list = known.length === 0 ? 'It has none.' : `Known: ${some.join(', ')}.`;
  return new OperatorError('UnknownJob', `there is no job ${JSON.stringify(name)} in ${where}.${hint} ${list}`);
}
