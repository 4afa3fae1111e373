import type { RequestPolicyFactory } from '@azure/storage-blob';
import { StoreUnavailableError } from '../../lease/store';
import { type ListingPage, parseListing } from './listing-xml';

/** Where a call's page is put, by the signal that the call is made with, which no other call has. */
const wanted = new WeakMap<object, { page?: ListingPage }>();

/** What the SDK makes of a listing that has been read here. */
const READ_ELSEWHERE = { segment: { blobItems: [] } };

/**
 * Makes a listing that is sent with this signal, and returns its page as {@link parseListing} reads it. The call is the
 * SDK's, with its credentials, policies and errors; only the body of an answer of status 200 is kept from its parser.
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

/** For the pipelines of all clients that listings are made with. Other calls, and the listings of others, pass. */
export const unreadListings: RequestPolicyFactory = {
  create: (next) => ({
    async sendRequest(request) {
      const place = request.abortSignal === undefined ? undefined : wanted.get(request.abortSignal);
      if (place === undefined) return next.sendRequest(request);
      // The SDK leaves a body that is asked for as a stream alone.
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
