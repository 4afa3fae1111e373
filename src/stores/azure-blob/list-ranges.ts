import type { ListOptions } from '../../lease/store';
import type { DatedPage } from './gather';
import { JOBS_PREFIX } from './layout';
import type { ListedBlob } from './listed-blob';
import { type AskPage, RangesRefusedError } from './listing';
import type { RangeCursor } from './ranges';

/** What was read of a range. */
export interface RangeRead {
  readonly place: RangeCursor;
  /** Its pages, without the blobs of the next range. */
  readonly pages: readonly DatedPage[];
  /** Whether the caller had enough before its end. */
  readonly isCut: boolean;
  /** Where its next page begins. */
  readonly marker?: string | undefined;
}

type Ending = Pick<ListOptions, 'signal' | 'enough'>;

/**
 * Lists the blobs under `jobs/` in these ranges, `atOnce` of them side by side. The first page of the first range is read even if
 * the caller has enough.
 *
 * @returns the answers in the order of the ranges
 * @throws RangesRefusedError if the service does not list by name: only the range of all names can be listed then
 * @throws StoreError
 */
export async function listRanges(
  askPage: AskPage,
  places: readonly RangeCursor[],
  { atOnce, ...ending }: Ending & { readonly atOnce: number },
): Promise<readonly RangeRead[]> {
  const failed = new AbortController();
  const reads: RangeRead[] = [];
  let next = 0;
  const readInTurn = async (): Promise<void> => {
    for (let index = next; index < places.length; index = next) {
      next += 1;
      try {
        reads[index] = await readRange(askPage, places[index] ?? {}, ending, { failed: failed.signal, index });
      } catch (error) {
        // The others would read for nothing.
        failed.abort(error);
        return;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, places.length) }, readInTurn));
  failed.signal.throwIfAborted();
  return reads;
}

async function readRange(
  askPage: AskPage,
  place: RangeCursor,
  ending: Ending,
  { failed, index }: { readonly failed: AbortSignal; readonly index: number },
): Promise<RangeRead> {
  const { start, end, limit } = place;
  const pages: DatedPage[] = [];
  let { marker } = place;
  let last = start ?? '';
  for (;;) {
    const { signal } = ending;
    const enough = index === 0 && pages.length === 0 ? undefined : ending.enough;
    if (enough?.aborted === true) return { place, pages, isCut: true, marker };
    const request = { prefix: JOBS_PREFIX, continuation: marker, start, ...(limit !== undefined && { limit }) };
    const answer = await askPage('list jobs', request, {
      signal: AbortSignal.any([signal, failed, enough].filter((signal) => signal !== undefined)),
    }).catch((error: unknown) => {
      if (enough?.aborted === true && !failed.aborted) return undefined;
      throw error;
    });
    if (answer === undefined) return { place, pages, isCut: true, marker };
    const { blobs, continuation } = answer.value;
    if (start !== undefined || end !== undefined) last = checkOrder(blobs, last);
    const beyond = end === undefined ? -1 : blobs.findIndex(({ name }) => name >= end);
    pages.push({ blobs: beyond < 0 ? blobs : blobs.slice(0, beyond), date: answer.date });
    if (beyond >= 0 || continuation === undefined) return { place, pages, isCut: false };
    marker = continuation;
  }
}

/**
 * Whether the service lists by name, from `start` on, as the ranges need it. One that does not know the parameter lists
 * from the beginning; an account with a hierarchical namespace has another order.
 *
 * @param last the name before these
 * @returns the last name
 * @throws RangesRefusedError
 */
function checkOrder(blobs: readonly ListedBlob[], last: string): string {
  let before = last;
  for (const { name } of blobs) {
    if (name < before) throw new RangesRefusedError(`list jobs: the service lists ${name} after ${before}`);
    before = name;
  }
  return before;
}
