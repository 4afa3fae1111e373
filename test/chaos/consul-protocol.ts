import type { Call } from './calls';
import { callOfRequest } from './consul-calls';
import { messages } from './http-messages';
import type { Answer, Part, Protocol, Sent } from './protocol';

/** The HTTP API of an agent of Consul. A transaction that was refused has the status 409. */
export const consulProtocol: Protocol = { requests, answers };

function requests(): (chunk: Buffer) => readonly Part[] {
  const cut = messages();
  return (chunk) =>
    cut(chunk).map(({ first, body, bytes }) => {
      const [method = '', path = ''] = first.split(' ');
      return { call: callOfRequest(method, path, body.toString('utf8')), bytes };
    });
}

function answers(): (chunk: Buffer, next: () => Sent | undefined) => readonly Answer[] {
  const cut = messages();
  return (chunk, next) =>
    cut(chunk).map(({ first, body, bytes }) => {
      const to = next();
      return { to, status: statusOf(Number(first.split(' ')[1]), body.toString('utf8'), to?.call), bytes };
    });
}

/** The status that blobs would have answered. */
function statusOf(status: number, said: string, call: Call | undefined): number {
  if (status !== 200 || call === undefined || call.kind === 'list' || call.kind === 'other') return status;
  // A value that another one has replaced meanwhile.
  if (call.kind === 'fenced' && said.trim() === 'false') return 409;
  return call.kind === 'row' || call.kind === 'renew' || call.kind === 'release' ? 200 : 201;
}
