/**
 * Loaded into the emulator's process before everything else: it counts the requests by kind, and answers with the
 * counts at its own path. A proxy in between would cost time and CPU that no system has to pay.
 */
import http from 'node:http';
import { CALLS_PATH, kindOf } from './kind-of-call';

const counts: Record<string, number> = {};
const emit = http.Server.prototype.emit as (this: http.Server, event: string, ...args: unknown[]) => boolean;

http.Server.prototype.emit = function emitCounted(this: http.Server, event: string, ...args: unknown[]): boolean {
  const [request, response] = args;
  if (event !== 'request' || !(request instanceof http.IncomingMessage)) return emit.call(this, event, ...args);
  if (request.url === CALLS_PATH && response instanceof http.ServerResponse) {
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify(counts));
    return true;
  }
  const kind = kindOf(request.method ?? '', request.url ?? '', request.headers['x-ms-lease-action']);
  counts[kind] = (counts[kind] ?? 0) + 1;
  return emit.call(this, event, ...args);
};
