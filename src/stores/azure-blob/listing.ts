import type { ContainerClient, RequestPolicyFactory } from '@azure/storage-blob';
import type { EpochMs } from '../../core/brand';
import { given } from '../../core/given';
import { type CallOptions, type ListedRow, StoreUnavailableError } from '../../lease/store';
import type { Ask } from './ask';
import { quoted } from './layout';
import { type ListedBlob, type ListingPage, parseListing } from './listing-xml';
import { leaseOf } from './rows';

interface Page extends ListingPage {
  readonly date?: Date;
}

/** One page of a listing, with its Date. */
export interface DatedPage {
  readonly blobs: readonly ListedBlob[];
  readonly date: EpochMs;
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
) => Promise<DatedPage & Pick<ListingPage, 'continuation'>>;

export function pageAsker(container: ContainerClient, ask: Ask, pageSize: number): AskPage {
  return async (what, { limit = pageSize, ...request }, options) => {
    const sized = { ...request, limit: Math.min(limit, pageSize) };
    const question = { what, no: request.start === undefined ? [] : NO_RANGES, options };
    const answer = await ask(question, (abortSignal) => page(container, sized, abortSignal));
    if (answer.kind === 'no') throw new RangesRefusedError(`${what}: the service does not list from a name on`);
    return { ...answer.value, date: answer.date };
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

/** The pages of calls that are under way. The key is the call's signal, which no other call has. */
const wanted = new WeakMap<object, { page?: ListingPage }>();

/** An empty listing for the SDK, because the real one is parsed here. */
const READ_ELSEWHERE = { segment: { blobItems: [] } };

/**
 * Makes a listing call with this signal, and returns its page as parsed by {@link parseListing}. The SDK makes the
 * call, with its credentials, policies and errors. Only the body of an answer with status 200 bypasses its parser.
 */
async function readListing<T>(
  abortSignal: AbortSignal,
  send: () => Promise<T>,
): Promise<{ readonly answer: T; readonly page: ListingPage }> {
  const place: { page?: ListingPage } = {};
  wanted.set(abortSignal, place);
  const answer = await send();
  if (place.page === undefined) throw new Error('a listing needs a client of connectContainer or connectService');
  return { answer, page: place.page };
}

/**
 * A policy for the pipelines of all clients that list blobs. Other calls, and other listings, pass unchanged.
 * Decision 027.
 */
export const unreadListings: RequestPolicyFactory = {
  create: (next) => ({
    async sendRequest(request) {
      const place = request.abortSignal === undefined ? undefined : wanted.get(request.abortSignal);
      if (place === undefined) return next.sendRequest(request);
      // The SDK does not parse a body that was requested as a stream.
      request.streamResponseStatusCodes = new Set([200]);
      const response = await next.sendRequest(request);
      if (response.status !== 200) return response;
      try {
        place.page = await parseListing(decoded(response.readableStreamBody));
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new StoreUnavailableError(`the listing cannot be read: ${reason}`, { cause });
      }
      response.parsedBody = READ_ELSEWHERE;
      return response;
    },
  }),
};

async function* decoded(body: NodeJS.ReadableStream | undefined): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of body ?? [])
    yield typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
  yield decoder.decode();
}
