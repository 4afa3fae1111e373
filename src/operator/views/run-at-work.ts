import type { EpochMs, JobName } from '../../core/brand';
import { given } from '../../core/given';
import { itemTableAtWork } from '../../core/item-table';
import { orchestrationIn } from '../../core/orchestration';
import { allPieces, type CallOptions, type PieceStore } from '../../lease/store';
import type { ShownRecord } from './list-runs';

/** A plan has 10,000 items at most. */
const PIECES_A_PAGE = 5_000;

/** What is at work for a run between its attempts: its items, or its orchestration. */
export type AtWork = Pick<ShownRecord, 'items' | 'orchestration' | 'progress'>;

/** What is at work for a run, from its pieces: mostly one listing. */
export async function readAtWork(
  store: PieceStore,
  run: { readonly job: JobName; readonly key: string; readonly scheduledFor: EpochMs },
  options: CallOptions | undefined,
): Promise<AtWork> {
  const request = { key: run.key, limit: PIECES_A_PAGE };
  const pieces = await allPieces((next) => store.listPieces(run.job, { ...request, ...next }, options));
  return { ...given({ items: itemTableAtWork(pieces) }), ...orchestrationIn(pieces, run) };
}

/** Adds to a run in progress what is at work for it. Reads nothing for runs that have left nothing to others. */
export async function withAtWork(
  store: PieceStore,
  record: ShownRecord,
  key: string,
  options: CallOptions | undefined,
): Promise<ShownRecord> {
  const isOpen = record.outcome === 'running' || record.outcome === 'retrying';
  if (!isOpen || !record.attempts.some(({ outcome }) => outcome === 'planned')) return record;
  const run = { job: record.job as JobName, key, scheduledFor: Date.parse(record.scheduledFor) };
  return { ...record, ...(await readAtWork(store, run, options)) };
}
