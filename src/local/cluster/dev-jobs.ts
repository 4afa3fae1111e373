import type { EpochMs } from '../../core/brand';

/** What came of reading the jobs files again. */
export type JobsChange =
  | { readonly kind: 'invalid'; readonly message: string }
  /** `changes`: what is different, one job a line. */
  | { readonly kind: 'valid'; readonly changes: readonly string[] };

/** What `cronlease dev` has to know of the app's jobs. This room does not read them itself. */
export interface DevJobs {
  /** The file that the instances are to use; undefined: the one that the app itself names. */
  readonly file: string | undefined;
  /** Files that are read again when they change. */
  readonly watched: readonly string[];
  /** Writes the file that the instances use, where that is one of ours. */
  write(): void;
  /** Removes what {@link write} wrote. */
  remove(): void;
  /** All jobs, each with its next due time after `now`. */
  jobs(now: EpochMs): readonly { readonly name: string; readonly next: EpochMs | undefined }[];
  /** Reads the files again. An invalid file changes nothing. */
  reload(): JobsChange;
}
