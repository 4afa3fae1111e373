import type { ETag, JobName } from '../../core/brand';
import type { Clock } from '../../core/clock';
import type { CallOptions, ListedPiece, ListedPresence, Metadata } from '../../lease/store';
import { BODY_BYTES, checkBody, checkMetadata } from '../limits';
import type { Lease } from './lease';

export interface State {
  readonly clock: Clock;
  /** How its ETags begin. */
  readonly etags: string;
  readonly rows: Map<JobName, Row>;
  readonly controls: Map<JobName, Stored>;
  readonly ledgers: Map<JobName, Map<string, Ledgered>>;
  /** The text of each log, by job, and by key and name. */
  readonly logs: Map<JobName, Map<string, string>>;
  readonly pieces: Map<JobName, Map<string, Omit<ListedPiece, 'date'> & { readonly body: string }>>;
  readonly requests: Map<string, string>;
  readonly presences: Map<string, ListedPresence>;
  readonly notices: Map<string, Ledgered>;
  readonly audits: Map<string, Stored>;
  readonly groups: Map<string, Omit<Ledgered, 'metadata'>>;
  writes: number;
}

export interface Stored {
  readonly etag: ETag;
  readonly metadata: Metadata;
}

export interface Row extends Stored {
  readonly lease: Lease;
}

export interface Ledgered extends Stored {
  readonly body: string;
}

export function heed(options: CallOptions | undefined): void {
  options?.signal?.throwIfAborted();
}

export function store(state: State, metadata: Metadata): Stored {
  checkMetadata(metadata);
  state.writes += 1;
  const etag = `"${state.etags}${state.writes.toString(16)}"` as ETag;
  return { etag, metadata: Object.freeze({ ...metadata }) };
}

export function limited(what: string, body: string): string {
  return checkBody(what, Buffer.byteLength(body) > BODY_BYTES ? undefined : body);
}

export function dateOf(clock: Clock): number {
  return Math.floor(clock.now() / 1000) * 1000;
}
