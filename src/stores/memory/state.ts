import type { ETag, JobName } from '../../core/brand';
import type { Clock } from '../../core/clock';
import type { CallOptions, Metadata } from '../../lease/store';
import { checkMetadata } from '../limits';
import type { Head } from '../port';
import type { Lease } from './lease';

export interface State {
  readonly clock: Clock;
  /** How its ETags begin. */
  readonly etags: string;
  readonly rows: Map<JobName, Row>;
  /** By what the names of their blobs begin with. */
  readonly folders: Map<string, Folder>;
  writes: number;
}

/** Entries of one kind, or of one job, by their ids. */
export type Folder = Map<string, Entry>;

export interface Entry extends Head {
  readonly body: string;
}

export interface Row extends Pick<Head, 'etag' | 'metadata'> {
  readonly lease: Lease;
}

/** Handles share the folders, so that one is never replaced. */
export function folderOf({ folders }: State, name: string): Folder {
  const folder: Folder = folders.get(name) ?? new Map();
  folders.set(name, folder);
  return folder;
}

export function heed(options: CallOptions | undefined): void {
  options?.signal?.throwIfAborted();
}

/** What a write leaves of a row or an entry. */
export function written(state: State, metadata: Metadata): Pick<Head, 'etag' | 'metadata'> {
  checkMetadata(metadata);
  state.writes += 1;
  const etag = `"${state.etags}${state.writes.toString(16)}"` as ETag;
  return { etag, metadata: Object.freeze({ ...metadata }) };
}
