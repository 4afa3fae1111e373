import { createHmac } from 'node:crypto';
import { type IncomingMessage, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that has come to the receiver. */
export interface Hook {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly at: number;
}

/** What the receiver does: a status, or nothing at all. */
export type HookAnswer = number | 'lost';

export interface Webhooks {
  readonly port: number;
  readonly hooks: readonly Hook[];
  close(): void;
}

/** A real receiver of webhooks on this machine, which may lose, delay and refuse. */
export async function startWebhooks(answer: (hook: Hook) => HookAnswer | Promise<HookAnswer>): Promise<Webhooks> {
  const hooks: Hook[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString()));
    request.on('end', () => {
      const hook = { path: request.url ?? '', headers: request.headers, body, at: Date.now() };
      hooks.push(hook);
      void Promise.resolve(answer(hook)).then((status) => {
        if (status === 'lost') request.socket.destroy();
        else response.writeHead(status).end(status < 300 ? '' : `refused ${hook.path}`);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    hooks,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Whether a hook is signed by this secret, as the receiver's side of Standard Webhooks checks it. */
export function isSignedBy(secret: string, { headers, body }: Hook): boolean {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  const expected = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
  return String(headers['webhook-signature']).split(' ').includes(expected);
}
