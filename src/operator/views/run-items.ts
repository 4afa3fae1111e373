import type { JobName } from '../../core/brand';
import { type ItemTable, itemTableAtWork } from '../../core/item-table';
import { allPieces } from '../../lease/all-pieces';
import type { CallOptions, PieceStore } from '../../lease/store';
import type { ShownRecord } from './list-runs';

/** A plan has 10,000 items at most. */
const PIECES_A_PAGE = 5_000;

/** The items of a run at work, from its pieces: mostly one listing. Undefined: it has not planned any. */
export async function readItems(
  store: PieceStore,
  job: JobName,
  key: string,
  options: CallOptions | undefined,
): Promise<ItemTable | undefined> {
  const request = { key, limit: PIECES_A_PAGE };
  return itemTableAtWork(await allPieces((next) => store.listPieces(job, { ...request, ...next }, options)));
}

/** Adds the items to a run in progress that has planned some. Reads nothing for other runs. */
export async function withItems(
  store: PieceStore,
  record: ShownRecord,
  key: string,
  options: CallOptions | undefined,
): Promise<ShownRecord> {
  const isOpen = record.outcome === 'running' || record.outcome === 'retrying';
  if (!isOpen || !record.attempts.some(({ outcome }) => outcome === 'planned')) return record;
  const items = await readItems(store, record.job as JobName, key, options);
  return items === undefined ? record : { ...record, items };
}
