import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpFunction } from './functions';
import type { Invoke } from './invoke';
import type { HttpCookie, HttpData, TypedData } from './rpc';

/** An answer that the app has ended is here at once. A function that returned nothing has none. */
const ANSWER_WITHIN_MS = 1_000;

/** The port is taken. The message names the port and the remedy. */
export class PortInUseError extends Error {
  readonly code = 'PortInUse';
  override readonly name = 'PortInUseError';
}

/** Answers a request; `false`: the request is not for this handler. */
export type RequestHandler = (
  request: http.IncomingMessage,
  response: http.ServerResponse,
  url: URL,
) => Promise<boolean>;

/** The real host's limit for the body of a request. */
const MAX_BODY_BYTES = 100 * 1024 * 1024;

class BodyTooLargeError extends Error {}

/** @throws an error if the body is larger than the real host would accept, or is cut off */
export async function readBody(request: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new BodyTooLargeError('The request body is larger than 100 MB.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export function sendJson(
  response: http.ServerResponse,
  status: number,
  body: unknown,
  headers: http.OutgoingHttpHeaders = {},
): true {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers });
  response.end(body === undefined ? undefined : JSON.stringify(body));
  return true;
}

/**
 * Listens on loopback. The first handler that accepts a request answers it; the answer is 404 if none does.
 * @param port - 0: any free port
 * @param onError - receives the error of a handler; the caller gets 500 (413 for a body that is too large)
 * @throws {@link PortInUseError}
 */
export async function listen(
  port: number,
  handlers: readonly RequestHandler[],
  onError: (error: unknown) => void,
): Promise<{ readonly server: http.Server; readonly port: number }> {
  const server = http.createServer((request, response) => void answer(request, response, handlers, onError));
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
  } catch (cause) {
    if (!isPortTaken(cause)) throw cause;
    const message = `Port ${port} is in use. Stop what listens there, or choose another with --port (0: any free one).`;
    throw new PortInUseError(message, { cause });
  }
  return { server, port: (server.address() as AddressInfo).port };
}

export function isPortTaken(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EADDRINUSE' || code === 'EACCES';
}

async function answer(
  request: http.IncomingMessage,
  response: http.ServerResponse,
  handlers: readonly RequestHandler[],
  onError: (error: unknown) => void,
): Promise<void> {
  try {
    const target = request.url ?? '/';
    const url = new URL(target, `http://${request.headers.host ?? '127.0.0.1'}`);
    // Handlers would see another path than something in front of this host.
    if (target.replace(/[?#].*$/s, '') !== url.pathname) return void response.writeHead(400).end();
    for (const handle of handlers) if (await handle(request, response, url)) return;
    response.writeHead(404).end();
  } catch (error) {
    onError(error);
    if (!response.headersSent) response.writeHead(error instanceof BodyTooLargeError ? 413 : 500);
    response.end();
  }
}

export interface ServeOptions {
  readonly invoke: Invoke;
  /** Where the app takes requests as streams; undefined: it takes them as messages. */
  readonly streamsTo: string | undefined;
  /** Receives the error of a function. The caller gets 500 without a body, as on Azure. */
  readonly onError: (fn: HttpFunction, error: unknown) => void;
}

/**
 * Serves an app's HTTP functions, without keys (`authLevel`), as under Core Tools. If several routes match, the most
 * specific one answers.
 */
export function serveFunctions(
  functions: readonly HttpFunction[],
  { invoke, streamsTo, onError }: ServeOptions,
): RequestHandler {
  const ordered = functions.toSorted((a, b) => a.route.rank.localeCompare(b.route.rank));
  return async (request, response, url) => {
    const method = request.method ?? 'GET';
    for (const fn of ordered) {
      const params = fn.methods.includes(method) ? fn.route.match(url.pathname) : undefined;
      if (params === undefined) continue;
      try {
        if (streamsTo !== undefined) await passOn({ request, response }, streamsTo, { fn, params, invoke });
        else {
          const trigger = { http: await toHttpData(request, url, method, params) };
          const returned = (await invoke(fn, { trigger })).returnValue?.http ?? undefined;
          if (returned === undefined) response.writeHead(204).end();
          else sendHttpData(response, returned, method);
        }
      } catch (error) {
        if (error instanceof BodyTooLargeError) throw error;
        onError(fn, error);
        if (!response.headersSent) response.writeHead(500);
        response.end();
      }
      return true;
    }
    return false;
  };
}

async function toHttpData(
  request: http.IncomingMessage,
  url: URL,
  method: string,
  params: Readonly<Record<string, string>>,
): Promise<HttpData> {
  const bytes = await readBody(request);
  const body = bytes.length === 0 ? {} : { body: { bytes } };
  return { method, url: url.href, headers: headersOf(request), params, ...body };
}

function headersOf({ headers }: http.IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

function sendHttpData(response: http.ServerResponse, data: HttpData, method: string): void {
  for (const [name, value] of Object.entries(data.headers ?? {})) {
    if (name !== 'content-length' && name !== 'transfer-encoding') response.setHeader(name, value);
  }
  const cookies = (data.cookies ?? []).map(cookieHeader);
  if (cookies.length > 0) response.setHeader('set-cookie', cookies);
  const body = bodyBytes(data.body);
  if (method === 'HEAD') response.setHeader('content-length', body.length);
  response.writeHead(Number(data.statusCode ?? 200));
  response.end(method === 'HEAD' ? undefined : body);
}

function bodyBytes(body: TypedData | null | undefined): Buffer {
  if (body?.bytes !== undefined && body.bytes !== null) return Buffer.from(body.bytes);
  return Buffer.from(body?.string ?? body?.json ?? '');
}

function cookieHeader(cookie: HttpCookie): string {
  const sameSite = { none: undefined, lax: 'Lax', strict: 'Strict', explicitNone: 'None' }[cookie.sameSite ?? 'none'];
  const seconds = cookie.expires?.value?.seconds ?? undefined;
  const parts = [
    `${cookie.name ?? ''}=${encodeURIComponent(cookie.value ?? '')}`,
    cookie.domain?.value ? `Domain=${cookie.domain.value}` : undefined,
    cookie.path?.value ? `Path=${cookie.path.value}` : undefined,
    seconds === undefined ? undefined : `Expires=${new Date(seconds * 1000).toUTCString()}`,
    cookie.maxAge?.value === undefined || cookie.maxAge.value === null ? undefined : `Max-Age=${cookie.maxAge.value}`,
    cookie.secure?.value ? 'Secure' : undefined,
    cookie.httpOnly?.value ? 'HttpOnly' : undefined,
    sameSite === undefined ? undefined : `SameSite=${sameSite}`,
  ];
  return parts.filter((part) => part !== undefined).join('; ');
}

/**
 * Passes a request on as a stream, and its answer back, as the real host does for an app with `enableHttpStream`: to the
 * address that `@azure/functions` has opened, with the id of the invocation. Rejects with the error of the function.
 */
async function passOn(
  { request, response }: { readonly request: http.IncomingMessage; readonly response: http.ServerResponse },
  to: string,
  { fn, params, invoke }: { fn: HttpFunction; params: Readonly<Record<string, string>>; invoke: Invoke },
): Promise<void> {
  const { method, headers } = request;
  const invocationId = randomUUID();
  const proxied = http.request(new URL(request.url ?? '/', to), {
    method,
    headers: {
      ...headers,
      'x-ms-invocation-id': invocationId,
      'x-forwarded-host': headers.host ?? '127.0.0.1',
      'x-forwarded-proto': 'http',
    },
  });
  // A caller who hangs up ends the stream, which the function sees.
  response.once('close', () => proxied.destroy());
  const answered = new Promise<boolean>((resolve) => {
    // The function has read from the same stream, and throws.
    proxied.once('error', () => resolve(false));
    proxied.once('response', (answer) => {
      const { 'x-ms-invocation-id': _, ...own } = answer.headers;
      response.writeHead(answer.statusCode ?? 500, own);
      answer.pipe(response);
      resolve(true);
    });
  });
  request.pipe(proxied);
  const triggerMetadata = {
    Headers: { json: JSON.stringify(headersOf(request)) },
    ...Object.fromEntries(Object.entries(params).map(([name, string]) => [name, { string }])),
  };
  await invoke(fn, { trigger: { http: {} }, triggerMetadata, invocationId });
  if (await Promise.race([answered, sleep(ANSWER_WITHIN_MS, false)])) return;
  response.writeHead(204).end();
}
