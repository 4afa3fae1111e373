import { type IncomingHttpHeaders, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request as the target got it. */
export interface Got {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Names and values in the order in which they were sent. */
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

export interface CallTarget {
  readonly url: string;
  readonly port: number;
  readonly got: Got[];
  close(): void;
}

/** A server on this machine, which keeps what it gets. */
export async function callTarget(
  answer: (got: Got, response: ServerResponse, count: number) => void,
): Promise<CallTarget> {
  const got: Got[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (part: string) => (body += part));
    request.on('end', () => {
      const { method = '', url: path = '', headers, rawHeaders } = request;
      const one = { method, path, headers, rawHeaders, body };
      got.push(one);
      answer(one, response, got.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${String(port)}`,
    port,
    got,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
