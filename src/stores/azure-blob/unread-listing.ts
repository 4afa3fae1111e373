import type { RequestPolicyFactory } from '@azure/storage-blob';
import { StoreUnavailableError } from '../../lease/store';
import { type ListingPage, parseListing } from './listing-xml';

/** The pages of calls that are under way. The key is the call's signal, which no other call has. */
const wanted = new WeakMap<object, { page?: ListingPage }>();

/** An empty listing for the SDK, because the real one is parsed here. */
const READ_ELSEWHERE = { segment: { blobItems: [] } };

/**
 * Makes a listing call with this signal, and returns its page as parsed by {@link parseListing}. The SDK makes the
 * call, with its credentials, policies and errors. Only the body of an answer with status 200 bypasses its parser.
 */
export async function readListing<T>(
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
