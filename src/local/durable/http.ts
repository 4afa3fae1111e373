import { EventType, failure, type HistoryEvent, POLL_AFTER_MS, historyEvent } from './history';

/** The name of the extension's own activity for calls over HTTP. */
export const HTTP_ACTIVITY = 'BuiltIn::HttpActivity';
/** The default of .NET's client, which the extension uses. */
const TIMEOUT_MS = 100_000;

export interface HttpRequest {
  readonly method: string;
  readonly uri: string;
  readonly content?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly tokenSource?: unknown;
  readonly asynchronousPatternEnabled?: boolean;
}

/** The response, in the extension's own form. */
interface HttpResponse {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly content: string;
}

/** The next poll of a request that was accepted; undefined: the response is its end. */
export function nextPoll(
  request: HttpRequest,
  response: string | null | undefined,
  now: number,
): { readonly request: HttpRequest; readonly at: number } | undefined {
  if (request.asynchronousPatternEnabled !== true || response == null) return undefined;
  const { statusCode, headers } = JSON.parse(response) as HttpResponse;
  const location = headerOf(headers, 'location');
  if (statusCode !== 202 || location === undefined) return undefined;
  const after = headerOf(headers, 'retry-after');
  return {
    request: pollOf(request, new URL(location, request.uri)),
    at: now + (after === undefined ? POLL_AFTER_MS : Number(after) * 1_000 || 0),
  };
}

/** As the extension, it keeps credentials from another origin, and the key of the function from any poll. */
function pollOf({ uri, headers = {} }: HttpRequest, location: URL): HttpRequest {
  const secret =
    location.origin === new URL(uri).origin ? ['x-functions-key'] : ['x-functions-key', 'authorization', 'cookie'];
  const kept = Object.entries(headers).filter(([name]) => !secret.includes(name.toLowerCase()));
  return { method: 'GET', uri: location.href, headers: Object.fromEntries(kept), asynchronousPatternEnabled: true };
}

function headerOf(headers: HttpResponse['headers'], wanted: string): string | undefined {
  return Object.entries(headers).find(([name]) => name.toLowerCase() === wanted)?.[1];
}

/** @throws an error that names what the embedded host cannot do */
export function checked(request: HttpRequest): HttpRequest {
  if (request.tokenSource === undefined || request.tokenSource === null) return request;
  throw new Error('The embedded host does not run a tokenSource of callHttp. Use Azure Functions Core Tools for it.');
}

/** Makes a request. Returns the event of its end: any status is a success, and a lost connection is a failure. */
export async function callHttp(id: number, request: HttpRequest): Promise<HistoryEvent> {
  try {
    const Result = JSON.stringify(await send(request));
    return historyEvent({ EventType: EventType.TaskCompleted, TaskScheduledId: id, Result });
  } catch (error) {
    const { message, cause } = error instanceof Error ? error : new Error(String(error));
    const why = cause instanceof Error ? `${message}: ${cause.message}` : message;
    return failure(EventType.TaskFailed, id, `${request.method} ${request.uri} failed: ${why}`, why);
  }
}

async function send({ method, uri, content, headers = {} }: HttpRequest): Promise<HttpResponse> {
  const sent = new Headers(headers);
  if (content !== undefined && !sent.has('content-type')) sent.set('content-type', 'text/plain');
  const response = await fetch(uri, {
    method,
    headers: sent,
    ...(content !== undefined && { body: content }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  return {
    statusCode: response.status,
    headers: Object.fromEntries(response.headers),
    content: await response.text(),
  };
}
