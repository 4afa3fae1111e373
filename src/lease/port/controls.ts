import type { EpochMs, ETag, JobName } from '../../core/brand';
import type { CallOptions, Metadata } from './call';

/** Controls of jobs, one record for each, and those of the fleet and of the layout under their reserved names. */
export interface ControlStore {
  readControl(
    job: JobName,
    options?: CallOptions,
  ): Promise<{ readonly control: ListedControl | undefined; readonly date: EpochMs }>;

  /**
   * Replaces the control record; with `ifMatch` undefined, only if there is none. `refused`: another instance was
   * faster.
   */
  writeControl(
    job: JobName,
    metadata: Metadata,
    ifMatch: ETag | undefined,
    options?: CallOptions,
  ): Promise<'written' | 'refused'>;

  /** Removes the control record. `refused`: changed since `ifMatch`, or gone. */
  removeControl(job: JobName, ifMatch: ETag, options?: CallOptions): Promise<'removed' | 'refused'>;
}

export interface ListedControl {
  readonly etag: ETag;
  readonly metadata: Metadata;
}
