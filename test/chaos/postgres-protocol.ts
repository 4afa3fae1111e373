import type { Call } from './calls';
import { callOfStatement } from './postgres-calls';
import type { Answer, Part, Protocol, Sent } from './protocol';

/** PostgreSQL's protocol 3, without TLS and without a password. */
export const postgresProtocol: Protocol = { requests, answers };

/**
 * Cuts what a client sends into requests: all messages up to the one that asks for an answer. The start of a connection
 * is one as well.
 */
function requests(): (chunk: Buffer) => readonly Part[] {
  const cut = messages(true);
  let gathered: Message[] = [];
  return (chunk) =>
    cut(chunk).flatMap((message) => {
      gathered.push(message);
      // Sync, a simple query, the start, and the farewell, which nothing answers.
      if (!['S', 'Q', 'X', ''].includes(message.type)) return [];
      const bytes = Buffer.concat(gathered.map((one) => one.bytes));
      const call = message.type === 'X' ? undefined : callOf(gathered);
      gathered = [];
      return [{ call, bytes }];
    });
}

/** Cuts what the server sends into answers, each up to `ReadyForQuery`. */
function answers(): (chunk: Buffer, next: () => Sent | undefined) => readonly Answer[] {
  const cut = messages(false);
  let gathered: Message[] = [];
  return (chunk, next) =>
    cut(chunk).flatMap((message) => {
      gathered.push(message);
      if (message.type !== 'Z') return [];
      const to = next();
      const bytes = Buffer.concat(gathered.map((one) => one.bytes));
      const answer = { to, status: statusOf(gathered, to?.call), bytes };
      gathered = [];
      return [answer];
    });
}

interface Message {
  /** A letter; empty for the start of a connection, which has none. */
  readonly type: string;
  readonly body: Buffer;
  readonly bytes: Buffer;
}

function messages(hasStart: boolean): (chunk: Buffer) => Message[] {
  let pending = Buffer.alloc(0);
  let letters = hasStart ? 0 : 1;
  return (chunk) => {
    const found: Message[] = [];
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= letters + 4) {
      const end = letters + pending.readUInt32BE(letters);
      if (pending.length < end) break;
      const bytes = pending.subarray(0, end);
      found.push({ type: bytes.toString('latin1', 0, letters), body: bytes.subarray(letters + 4), bytes });
      pending = pending.subarray(end);
      letters = 1;
    }
    return found;
  };
}

function callOf(parts: readonly Message[]): Call {
  const parse = parts.find(({ type }) => type === 'P');
  const bind = parts.find(({ type }) => type === 'B');
  const query = parts.find(({ type }) => type === 'Q');
  if (query !== undefined) return callOfStatement(textAt(query.body, 0).text, []);
  if (parse === undefined) return { kind: 'other' };
  const name = textAt(parse.body, 0);
  return callOfStatement(textAt(parse.body, name.end).text, bind === undefined ? [] : valuesOf(bind.body));
}

function valuesOf(body: Buffer): string[] {
  const portal = textAt(body, 0);
  const statement = textAt(body, portal.end);
  let at = statement.end + 2 + 2 * body.readUInt16BE(statement.end);
  const values: string[] = [];
  const count = body.readUInt16BE(at);
  at += 2;
  for (let index = 0; index < count; index += 1) {
    const length = Math.max(0, body.readInt32BE(at));
    values.push(body.toString('utf8', at + 4, at + 4 + length));
    at += 4 + length;
  }
  return values;
}

function textAt(body: Buffer, from: number): { readonly text: string; readonly end: number } {
  const end = body.indexOf(0, from);
  return { text: body.toString('utf8', from, end), end: end + 1 };
}

/** The status that blobs would have answered. */
function statusOf(parts: readonly Message[], call: Call | undefined): number {
  if (parts.some(({ type }) => type === 'E')) return 500;
  const complete = parts.findLast(({ type }) => type === 'C');
  const rows = complete === undefined ? 1 : Number(textAt(complete.body, 0).text.split(' ').at(-1));
  if (call === undefined || call.kind === 'list' || call.kind === 'other') return 200;
  if (rows === 0) return 409;
  return call.kind === 'row' || call.kind === 'renew' || call.kind === 'release' ? 200 : 201;
}
