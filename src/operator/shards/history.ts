import type { JobName } from '../../core/brand';
import { parseRecordKey } from '../../core/key';
import { isObject, parsedJson } from '../../core/metadata';
import type { LedgerStore, Metadata, PieceStore, RequestStore } from '../../lease/store';
import { inParallel } from '../../core/in-parallel';
import { isKeyed, noteOf } from '../operations/once';
import { pagesOf } from '../pages';

/**
 * How much of a job's ledger is copied. `newest`: so much that `requires`, `why` and lists go on without a gap. `ended`:
 * everything but the records of runs that are not over.
 */
export type History = 'newest' | 'all' | 'ended';

const NEWEST = 20;
const PAGE = 1_000;

interface Copy<Store = LedgerStore & RequestStore> {
  readonly job: JobName;
  readonly from: { readonly store: Store };
  readonly to: { readonly store: Store };
}

/** Copies the records that the other account lacks. Returns how many. */
export async function copyHistory(copy: Copy, history: History): Promise<number> {
  const { job, from, to } = copy;
  const there = history === 'newest' ? new Set<string>() : await keysIn(to.store, job);
  let copied = 0;
  let wanted = history === 'newest' ? NEWEST : Infinity;
  const limit = Math.min(wanted, PAGE);
  for await (const { records } of pagesOf((next) => from.store.listRecords(job, { limit, ...next }))) {
    const missing = records.slice(0, wanted).filter(({ key }) => !there.has(key));
    const results = await inParallel(missing, ({ key, summary }) => copyRecord(copy, key, summary, history));
    copied += results.filter(Boolean).length;
    wanted -= records.length;
    if (wanted <= 0) break;
  }
  return copied;
}

/** Returns whether the other account lacked it, or the end of its run. */
export async function copyRecord(
  { job, from, to }: Copy,
  key: string,
  summary?: Metadata,
  history: History = 'all',
): Promise<boolean> {
  const found = await from.store.readRecord(job, key);
  if (found === undefined || (history === 'ended' && isOpen(found.body))) return false;
  const stored = { body: found.body, summary: summary ?? (await summaryOf(from.store, job, key)) };
  const request = parseRecordKey(key)?.request;
  // Before the record, which is not copied again.
  if (request !== undefined && stored.summary['trigger'] !== 'backfill') await copyRequest({ from, to }, request);
  if ((await to.store.createRecord(job, key, stored)).kind === 'created') return true;
  if (isOpen(found.body)) return false;
  // The run was not over when a move that was interrupted, or one to the account that the job leaves, has copied it.
  const there = await to.store.readRecord(job, key);
  if (there === undefined || !isOpen(there.body) || tokenIn(there.body) > tokenIn(found.body)) return false;
  return (await to.store.replaceRecord(job, key, stored, there.etag)).kind === 'replaced';
}

/** A rerun without an input has that of the earlier run. A request that is sent again with its key is the same one. */
export async function copyRequest(
  { from, to }: Pick<Copy<RequestStore>, 'from' | 'to'>,
  request: string,
): Promise<void> {
  const copied = async (id: string): Promise<boolean> => {
    const body = await from.store.readRequest(id);
    if (body !== undefined) await to.store.createRequest(id, body);
    return body !== undefined;
  };
  await copied(request);
  let turn = 0;
  while (isKeyed(request) && (await copied(noteOf(request, turn)))) turn += 1;
}

/** Copies what a run that fans out has planned and done. */
export async function copyPieces({ job, from, to }: Copy<PieceStore>, key: string): Promise<void> {
  for await (const { pieces } of pagesOf((next) => from.store.listPieces(job, { key, limit: PAGE, ...next }))) {
    await inParallel(pieces, async ({ name, summary }) => {
      const body = await from.store.readPiece(job, key, name);
      if (body !== undefined) await to.store.createPiece(job, key, name, { body, summary });
    });
  }
}

async function summaryOf(store: LedgerStore, job: JobName, key: string): Promise<Metadata> {
  // A page may be empty and not the last one.
  for await (const { records } of pagesOf((next) => store.listRecords(job, { prefix: key, limit: 1, ...next }))) {
    if (records[0] !== undefined) return records[0].summary;
  }
  return {};
}

/** Of the records of runs that are over. */
async function keysIn(store: LedgerStore, job: JobName): Promise<ReadonlySet<string>> {
  const keys = new Set<string>();
  for await (const { records } of pagesOf((next) => store.listRecords(job, { limit: PAGE, ...next }))) {
    for (const { key, summary } of records) if (summary['state'] !== 'open') keys.add(key);
  }
  return keys;
}

function isOpen(body: string): boolean {
  return membersOf(body)['state'] === 'open';
}

/** The token of the attempt that wrote a record; 0: of none. */
function tokenIn(body: string): number {
  return Number(membersOf(body)['token'] ?? 0);
}

/** What no build of cronlease wrote is copied as it is. */
function membersOf(body: string): Readonly<Record<string, unknown>> {
  const record = parsedJson(body);
  return isObject(record) ? record : {};
}
