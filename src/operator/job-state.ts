import { asideKey } from '../core/backfill';
import type { EpochMs, ETag, JobName } from '../core/brand';
import { type Control, controlOf } from '../core/control';
import { runIdOf } from '../core/key';
import { type Row, asideRow, decodeRow, isAtRest } from '../core/row';
import { readRecord } from '../coordinator/ledger';
import type { JobRowStore, LeaseState, LedgerStore, Listing } from '../lease/store';

export interface JobState {
  /** Undefined: no coordinator has seen the job yet. */
  readonly row: Row | undefined;
  /** A broken lease counts as held: its holder may still trust it. */
  readonly lease: 'available' | 'held' | 'expired';
  readonly control: Control;
  readonly controlEtag: ETag | undefined;
  /** The storage service's time. */
  readonly now: EpochMs;
}

/** Reads a job's state. Throws `ForeignMetadataError` if cronlease did not write row or control. */
export async function readState(store: JobRowStore, job: JobName): Promise<JobState> {
  return stateIn(await store.list({ job }), job);
}

export function stateIn({ date, jobs }: Listing, job: JobName): JobState {
  const { row, control, date: seenAt = date } = jobs.get(job) ?? {};
  return {
    row: row && decodeRow(row.metadata),
    lease: leaseOf(row?.lease ?? 'available'),
    control: controlOf(control),
    controlEtag: control?.etag,
    now: seenAt,
  };
}

/** Whether an operator forgot the job, whose row stays for its token. False for a blob that cronlease did not write. */
export function isForgotten({ jobs }: Listing, job: JobName): boolean {
  return jobs.get(job)?.row?.metadata['forgotten'] !== undefined;
}

export function leaseOf(state: LeaseState): JobState['lease'] {
  return state === 'available' || state === 'expired' ? state : 'held';
}

/** The id of the run in progress; undefined if there is none. Reads the ledger only if the row does not decide. */
export async function currentRun(
  store: LedgerStore,
  job: JobName,
  { row, lease }: Pick<JobState, 'row' | 'lease'>,
): Promise<string | undefined> {
  if (row?.run === undefined || isAtRest(row, lease)) return undefined;
  if (row.phase === 'running') {
    const found = await readRecord(store, job, row.run.key);
    if (found?.record.state === 'final') return undefined;
  }
  return runIdOf(job, row.run.key);
}

/** The id of the back-filled run that waits for its next attempt while due times go first. */
export function asideRunId(job: JobName, row: Row | undefined): string | undefined {
  const key = asideKey(row?.backfill);
  return key === undefined ? undefined : runIdOf(job, key);
}

/** The state as if that run were the row's own. Its row is undefined where there is none. */
export function asideState(state: JobState): JobState {
  const row = state.row && asideRow(state.row);
  if (row?.run === undefined) return { ...state, row: undefined };
  const { backfill } = state.control;
  const asked = backfill !== undefined && backfill.id === row.backfill?.id ? { origin: backfill.origin } : {};
  return { ...state, row: { ...row, run: { ...row.run, ...asked } } };
}
