import type { JobName } from '../../core/brand';
import type { LedgerStore, ListedRecord, Metadata, PieceStore } from '../../lease/store';
import { inParallel } from '../../core/in-parallel';

/**
 * How much of a job's ledger is copied. `newest`: so much that `requires`, `why` and lists go on without a gap. `ended`:
 * everything but the records of runs that are not over.
 */
export type History = 'newest' | 'all' | 'ended';

const NEWEST = 20;
const PAGE = 1_000;

interface Copy<Store = LedgerStore> {
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
  for await (const page of pagesOf(from.store, job, Math.min(wanted, PAGE))) {
    const missing = page.slice(0, wanted).filter(({ key }) => !there.has(key));
    const results = await inParallel(missing, ({ key, summary }) => copyRecord(copy, key, summary, history));
    copied += results.filter(Boolean).length;
    wanted -= page.length;
    if (wanted <= 0) break;
  }
  return copied;
}

/** Returns whether the other account lacked it. */
export async function copyRecord(
  { job, from, to }: Copy,
  key: string,
  summary?: Metadata,
  history: History = 'all',
): Promise<boolean> {
  const found = await from.store.readRecord(job, key);
  if (found === undefined || (history === 'ended' && isOpen(found.body))) return false;
  const stored = { body: found.body, summary: summary ?? (await summaryOf(from.store, job, key)) };
  return (await to.store.createRecord(job, key, stored)).kind === 'created';
}

/** Copies what a run that fans out has planned and done. */
export async function copyPieces({ job, from, to }: Copy<PieceStore>, key: string): Promise<void> {
  let continuation: string | undefined;
  do {
    const next = continuation === undefined ? {} : { continuation };
    const page = await from.store.listPieces(job, { key, limit: PAGE, ...next });
    await inParallel(page.pieces, async ({ name, summary }) => {
      const body = await from.store.readPiece(job, key, name);
      if (body !== undefined) await to.store.createPiece(job, key, name, { body, summary });
    });
    continuation = page.continuation;
  } while (continuation !== undefined);
}

async function summaryOf(store: LedgerStore, job: JobName, key: string): Promise<Metadata> {
  const { records } = await store.listRecords(job, { prefix: key, limit: 1 });
  return records[0]?.summary ?? {};
}

async function keysIn(store: LedgerStore, job: JobName): Promise<ReadonlySet<string>> {
  const keys = new Set<string>();
  for await (const page of pagesOf(store, job, PAGE)) for (const { key } of page) keys.add(key);
  return keys;
}

async function* pagesOf(store: LedgerStore, job: JobName, limit: number): AsyncGenerator<readonly ListedRecord[]> {
  let continuation: string | undefined;
  do {
    const page = await store.listRecords(job, { limit, ...(continuation !== undefined && { continuation }) });
    yield page.records;
    continuation = page.continuation;
  } while (continuation !== undefined);
}

/** What no build of cronlease wrote is copied as it is. */
function isOpen(body: string): boolean {
  try {
    const record: unknown = JSON.parse(body);
    return typeof record === 'object' && record !== null && 'state' in record && record.state === 'open';
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}
