import type { Call } from './calls';
import { callOfRequest } from './etcd-calls';
import { messages } from './http-messages';
import type { Answer, Part, Protocol, Sent } from './protocol';

/** The gateway of etcd: JSON over HTTP. A transaction that was refused has the status 200. */
export const etcdProtocol: Protocol = { requests, answers };

function requests(): (chunk: Buffer) => readonly Part[] {
  const cut = messages();
  return (chunk) =>
    cut(chunk).map(({ first, body, bytes }) => ({
      call: callOfRequest(first.split(' ')[1] ?? '', body.toString('utf8')),
      bytes,
    }));
}

function answers(): (chunk: Buffer, next: () => Sent | undefined) => readonly Answer[] {
  const cut = messages();
  return (chunk, next) =>
    cut(chunk).map(({ first, body, bytes }) => {
      const to = next();
      return { to, status: statusOf(Number(first.split(' ')[1]), body, to?.call), bytes };
    });
}

/** The status that blobs would have answered. */
function statusOf(status: number, body: Buffer, call: Call | undefined): number {
  if (status !== 200 || call === undefined || call.kind === 'list' || call.kind === 'other') return status;
  // The gateway leaves out what is false.
  const { succeeded = false } = JSON.parse(body.toString('utf8')) as { readonly succeeded?: boolean };
  if (!succeeded) return 409;
  return call.kind === 'row' || call.kind === 'renew' || call.kind === 'release' ? 200 : 201;
}
