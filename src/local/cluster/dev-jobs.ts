import type { EpochMs } from '../../core/brand';

/** The result of reading the jobs files again. */
export type JobsChange =
  | { readonly kind: 'invalid'; readonly message: string }
  /** `changes`: the differences, one job a line. */
  | { readonly kind: 'valid'; readonly changes: readonly string[] };

/** The app's jobs, for `cronlease dev`. This room does not read them itself. */
export interface DevJobs {
  /** The jobs file for the instances; undefined: the one that the app itself names. */
  readonly file: string | undefined;
  /** The files to read again when they change. */
  readonly watched: readonly string[];
  /** Writes the file for the instances, if it is one of ours. */
  write(): void;
  /** Removes the file that {@link write} wrote. */
  remove(): void;
  /** All jobs, each with its next due time after `now`. */
  jobs(now: EpochMs): readonly { readonly name: string; readonly next: EpochMs | undefined }[];
  /** Reads the files again. An invalid file changes nothing. */
  reload(): JobsChange;
}
