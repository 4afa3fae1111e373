import type { Call } from './calls';
import type { Answer, Part, Protocol, Sent } from './protocol';
import { callOfCommand } from './redis-calls';

/** RESP2, in which a client sends commands as arrays of texts, and an answer comes for each of them, in order. */
export const redisProtocol: Protocol = { requests, answers };

function requests(): (chunk: Buffer) => readonly Part[] {
  const cut = values();
  return (chunk) =>
    cut(chunk).map(({ value, bytes }) => ({
      call: callOfCommand(Array.isArray(value) ? value.map(String) : []),
      bytes,
    }));
}

function answers(): (chunk: Buffer, next: () => Sent | undefined) => readonly Answer[] {
  const cut = values();
  return (chunk, next) =>
    cut(chunk).map(({ value, bytes }) => {
      const to = next();
      return { to, status: statusOf(value, to?.call), bytes };
    });
}

/** An error is an `Error`, and nothing is null. */
type Value = string | number | null | Error | readonly Value[];

/** The status that blobs would have answered. */
function statusOf(value: Value, call: Call | undefined): number {
  if (value instanceof Error) return 500;
  if (call === undefined || call.kind === 'list' || call.kind === 'other') return 200;
  if (value === 0) return 409;
  return call.kind === 'row' || call.kind === 'renew' || call.kind === 'release' ? 200 : 201;
}

interface Found {
  readonly value: Value;
  /** Where it ends. */
  readonly end: number;
}

/** Cuts a connection's bytes into whole values. */
function values(): (chunk: Buffer) => { readonly value: Value; readonly bytes: Buffer }[] {
  let pending = Buffer.alloc(0);
  return (chunk) => {
    pending = Buffer.concat([pending, chunk]);
    const found: { readonly value: Value; readonly bytes: Buffer }[] = [];
    for (;;) {
      const next = valueAt(pending, 0);
      if (next === undefined) return found;
      found.push({ value: next.value, bytes: pending.subarray(0, next.end) });
      pending = pending.subarray(next.end);
    }
  };
}

/** Undefined: not all of it has come. */
function valueAt(bytes: Buffer, from: number): Found | undefined {
  const line = bytes.indexOf('\r\n', from);
  if (line === -1) return undefined;
  const [type, text] = [bytes.toString('latin1', from, from + 1), bytes.toString('utf8', from + 1, line)];
  const start = line + 2;
  switch (type) {
    case '+':
      return { value: text, end: start };
    case '-':
      return { value: new Error(text), end: start };
    case ':':
      return { value: Number(text), end: start };
    case '$':
      return textAt(bytes, start, Number(text));
    case '*':
      return arrayAt(bytes, start, Number(text));
    default:
      throw new Error(`a value of RESP2 cannot begin with ${JSON.stringify(type)}`);
  }
}

function textAt(bytes: Buffer, start: number, length: number): Found | undefined {
  if (length === -1) return { value: null, end: start };
  const end = start + length + 2;
  return bytes.length < end ? undefined : { value: bytes.toString('utf8', start, end - 2), end };
}

function arrayAt(bytes: Buffer, start: number, count: number): Found | undefined {
  const value: Value[] = [];
  let end = start;
  for (let index = 0; index < count; index += 1) {
    const next = valueAt(bytes, end);
    if (next === undefined) return undefined;
    value.push(next.value);
    end = next.end;
  }
  return { value: count === -1 ? null : value, end };
}
