import type { ETag, JobName, Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import type { CallOptions, Metadata } from '../../lease/store';
import { FOLDERS } from '../azure-blob/layout';
import type { SeenLease } from '../lease-automaton';
import type { Facet, Head } from '../port';

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

/** The lease of one blob. It ends at `until`, a time of the service's monotonic clock. */
interface Lease extends Omit<SeenLease, 'isOver'> {
  readonly leaseMs: Millis;
  readonly until: Millis;
}

export const NO_LEASE: Lease = { holder: undefined, isBroken: false, leaseMs: 0, until: 0 };

/** The lease after a break: it ends after `period`, or earlier when it would have ended anyway. */
export function breakLease(lease: Lease, period: Millis, now: Millis): Lease {
  if (lease.holder === undefined) return lease;
  return { ...lease, isBroken: true, until: Math.min(lease.until, now + period) };
}

/** Handles share the folders, so that one is never replaced. */
export function folderOf({ folders }: State, facet: Facet, job?: JobName): Folder {
  const name = FOLDERS[facet] + (job === undefined ? '' : `${job}/`);
  const folder: Folder = folders.get(name) ?? new Map();
  folders.set(name, folder);
  return folder;
}

export function heed(options: CallOptions | undefined): void {
  options?.signal?.throwIfAborted();
}

/** What a write leaves of a row or an entry. */
export function written(state: State, metadata: Metadata): Pick<Head, 'etag' | 'metadata'> {
  state.writes += 1;
  const etag = `"${state.etags}${state.writes.toString(16)}"` as ETag;
  return { etag, metadata: Object.freeze({ ...metadata }) };
}
