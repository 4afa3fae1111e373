import type { EpochMs, ETag, JobName } from '../core/brand';
import type { Control } from '../core/control';
import { decodeControl, NO_CONTROL } from '../core/control';
import { runIdOf } from '../core/key';
import type { Row } from '../core/row';
import { decodeRow } from '../core/row';
import { readRecord } from '../coordinator/ledger';
import type { CallOptions, JobRowStore, LeaseState, LedgerStore, Listing } from '../lease/store';

/** One job as the store shows it, by one listing. */
export interface JobState {
  /** Undefined: no coordinator has seen the job yet. */
  readonly row: Row | undefined;
  /** A lease that somebody broke counts as held: its holder may still trust it. */
  readonly lease: 'available' | 'held' | 'expired';
  readonly control: Control;
  readonly controlEtag: ETag | undefined;
  /** The storage service's time. */
  readonly now: EpochMs;
}

/** Throws `ForeignMetadataError` when row or control are not cronlease's. */
export async function readState(store: JobRowStore, job: JobName, options?: CallOptions): Promise<JobState> {
  return stateIn(await store.list({ ...options, job }), job);
}

/** As {@link readState}, from a listing that has the job. */
export function stateIn({ date, jobs }: Listing, job: JobName): JobState {
  const { row, control, date: seenAt = date } = jobs.get(job) ?? {};
  return {
    row: row && decodeRow(row.metadata),
    lease: leaseOf(row?.lease ?? 'available'),
    control: control === undefined ? NO_CONTROL : decodeControl(control.metadata),
    controlEtag: control?.etag,
    now: seenAt,
  };
}

/** Whether an operator forgot the job: what is left of it only keeps its token. Blobs that are not ours are not. */
export function isForgotten({ jobs }: Listing, job: JobName): boolean {
  return jobs.get(job)?.row?.metadata['forgotten'] !== undefined;
}

export function leaseOf(state: LeaseState): JobState['lease'] {
  return state === 'available' || state === 'expired' ? state : 'held';
}

/** The run that is not over, by its id; undefined if there is none. Asks the ledger only where the row cannot tell. */
export async function currentRun(
  store: LedgerStore,
  job: JobName,
  { row, lease }: Pick<JobState, 'row' | 'lease'>,
  options?: CallOptions,
): Promise<string | undefined> {
  if (row?.run === undefined || row.phase === 'idle') return undefined;
  if (row.phase === 'running') {
    // Nobody lets go of a running row before its final record is there.
    if (lease === 'available') return undefined;
    const found = await readRecord(store, job, row.run.key, options);
    if (found?.record.state === 'final') return undefined;
  }
  return runIdOf(job, row.run.key);
}
