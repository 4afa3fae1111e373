import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpFunction } from './functions';
import type { Invoke } from './invoke';

/** An answer that the app has ended is here at once. A function that returned nothing has none. */
const ANSWER_WITHIN_MS = 1_000;

/**
 * Passes a request on as a stream, and its answer back, as the real host does for an app with `enableHttpStream`: to the
 * address that `@azure/functions` has opened, with the id of the invocation. Rejects with the error of the function.
 */
export async function passOn(
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
  const shown = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  const triggerMetadata = {
    Headers: { json: JSON.stringify(shown) },
    ...Object.fromEntries(Object.entries(params).map(([name, string]) => [name, { string }])),
  };
  await invoke(fn, { trigger: { http: {} }, triggerMetadata, invocationId });
  if (await Promise.race([answered, sleep(ANSWER_WITHIN_MS, false)])) return;
  response.writeHead(204).end();
}
