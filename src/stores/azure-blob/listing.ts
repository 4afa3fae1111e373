import { given } from '../../core/given';
import type { ContainerClient } from '@azure/storage-blob';
import type { EpochMs } from '../../core/brand';
import { type CallOptions, type ListedRow, StoreUnavailableError } from '../../lease/store';
import type { Ask } from './ask';
import { quoted } from './layout';
import type { ListedBlob } from './listed-blob';
import type { ListingPage } from './listing-xml';
import { leaseOf } from './rows';
import { readListing } from './unread-listing';

interface Page extends ListingPage {
  readonly date?: Date;
}

interface PageRequest {
  readonly prefix: string;
  readonly limit: number;
  /** The first name that is listed, or that of no blob. */
  readonly start?: string | undefined;
  readonly continuation?: string | undefined;
}

/** The service does not list from a name on, or in another order than that of names. */
export class RangesRefusedError extends StoreUnavailableError {}

/** The answers of a service that does not list from a name on. */
const NO_RANGES = ['UnsupportedQueryParameter', 'InvalidQueryParameterValue'];

/** Requests one page of a listing, with at most `limit` blobs and never more than the store's page size. */
export type AskPage = (
  what: string,
  request: Omit<PageRequest, 'limit'> & { readonly limit?: number },
  options: CallOptions | undefined,
) => Promise<{ readonly value: ListingPage; readonly date: EpochMs }>;

export function pagesOf(container: ContainerClient, ask: Ask, pageSize: number): AskPage {
  return async (what, { limit = pageSize, ...request }, options) => {
    const sized = { ...request, limit: Math.min(limit, pageSize) };
    const question = { what, no: request.start === undefined ? [] : NO_RANGES, options };
    const answer = await ask(question, (abortSignal) => page(container, sized, abortSignal));
    if (answer.kind === 'no') throw new RangesRefusedError(`${what}: the service does not list from a name on`);
    return answer;
  };
}

/** Requests one page by one call, in order of name. Leaves out folders: cronlease writes none. */
export async function page(
  container: ContainerClient,
  { prefix, limit, start, continuation }: PageRequest,
  abortSignal: AbortSignal,
): Promise<Page> {
  const from = start === undefined ? {} : { startFrom: start };
  const pages = container.listBlobsFlat({ prefix, ...from, includeMetadata: true, abortSignal }).byPage({
    maxPageSize: limit,
    ...given({ continuationToken: continuation }),
  });
  const { answer, page } = await readListing(abortSignal, () => pages.next());
  const date = answer.done ? undefined : answer.value.date;
  return { ...page, blobs: page.blobs.filter(({ isFolder }) => !isFolder), ...(date && { date }) };
}

export function rowOf(blob: ListedBlob): ListedRow {
  return {
    etag: quoted(blob.etag),
    ...leaseOf(blob.lease),
    ...(blob.endless && { endless: true as const }),
    get metadata() {
      return blob.metadata;
    },
  };
}
