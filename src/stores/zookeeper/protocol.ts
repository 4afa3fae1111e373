/** ZooKeeper's numbers of requests. Decision 124. */
const TYPE = { create: 1, delete: 2, exists: 3, get: 4, set: 5, children: 12, check: 13, multi: 14 } as const;
const AUTH = 100;
/** It is answered out of turn, under a fixed number. */
export const AUTH_ID = -4;
export const NO_VERSION = -1;

/** One part of a transaction. Paths are absolute. */
export type Op =
  | { readonly kind: 'create'; readonly path: string; readonly data: Buffer }
  | { readonly kind: 'set'; readonly path: string; readonly data: Buffer; readonly version: number }
  | { readonly kind: 'check' | 'delete'; readonly path: string; readonly version: number };

/** What ZooKeeper notes of a node. */
export interface Stat {
  /** The transaction that created the node. No two nodes have the same, even if one has the other's path. */
  readonly createdBy: bigint;
  /** The transaction that wrote the node last. */
  readonly writtenBy: bigint;
  /** When the node was last written, by the clock of the leader of that time. */
  readonly writtenMs: number;
  readonly version: number;
}

export interface Node {
  readonly data: Buffer;
  readonly stat: Stat;
}

/** Who may use the nodes that are created: their creator by its credentials, or everyone. */
export type Access = 'creator' | 'everybody';

const ALL_RIGHTS = 31;

export function connectRequest(sessionMs: number): readonly Field[] {
  return [
    { int: 0 },
    { long: 0n },
    { int: sessionMs },
    // Each connection has its own session: nothing here depends on one.
    { long: 0n },
    { bytes: Buffer.alloc(16) },
    { flag: false },
  ];
}

export function authRequest(user: string, password: string): readonly Field[] {
  return [{ int: AUTH_ID }, { int: AUTH }, { int: 0 }, { text: 'digest' }, { text: `${user}:${password}` }];
}

export function readRequest(id: number, kind: 'exists' | 'get' | 'children', path: string): readonly Field[] {
  return [{ int: id }, { int: TYPE[kind] }, { text: path }, { flag: false }];
}

export function multiRequest(id: number, ops: readonly Op[], access: Access): readonly Field[] {
  const parts = ops.flatMap((op) => [{ int: TYPE[op.kind] }, { flag: false }, { int: -1 }, ...fieldsOf(op, access)]);
  return [{ int: id }, { int: TYPE.multi }, ...parts, { int: -1 }, { flag: true }, { int: -1 }];
}

function fieldsOf(op: Op, access: Access): readonly Field[] {
  switch (op.kind) {
    case 'create': {
      const who = access === 'creator' ? ['auth', ''] : ['world', 'anyone'];
      const acl = [{ int: 1 }, { int: ALL_RIGHTS }, ...who.map((text) => ({ text }))];
      return [{ text: op.path }, { bytes: op.data }, ...acl, { int: 0 }];
    }
    case 'set':
      return [{ text: op.path }, { bytes: op.data }, { int: op.version }];
    default:
      return [{ text: op.path }, { int: op.version }];
  }
}

export function statIn(reader: Reader): Stat {
  const createdBy = reader.long();
  const writtenBy = reader.long();
  reader.long();
  const writtenMs = Number(reader.long());
  const version = reader.int();
  for (const skip of [reader.int, reader.int, reader.long, reader.int, reader.int, reader.long]) skip();
  return { createdBy, writtenBy, writtenMs, version };
}

/** What became of a transaction: the stats of the nodes that it set, in order; or its first error. */
export type MultiAnswer = { readonly stats: readonly Stat[] } | { readonly error: number };

export function multiAnswerIn(reader: Reader): MultiAnswer {
  const stats: Stat[] = [];
  let error = 0;
  for (;;) {
    const type = reader.int();
    const isLast = reader.flag();
    const code = reader.int();
    if (isLast) return error === 0 ? { stats } : { error };
    if (type === -1) {
      reader.int();
      // Of the other parts it says that they were not tried.
      if (code !== 0 && (error === 0 || error === ROLLED_BACK)) error = code;
    } else if (type === TYPE.create) reader.text();
    else if (type === TYPE.set) stats.push(statIn(reader));
  }
}

const ROLLED_BACK = -2;

/** ZooKeeper's encoding: numbers in big-endian order, and texts and byte strings after their length. */
export type Field =
  | { readonly int: number }
  | { readonly long: bigint }
  | { readonly flag: boolean }
  | { readonly bytes: Buffer }
  | { readonly text: string };

/** A frame: the fields after their length. */
export function frameOf(fields: readonly Field[]): Buffer {
  const parts = fields.map(encoded);
  const length = Buffer.alloc(4);
  length.writeInt32BE(parts.reduce((sum, part) => sum + part.length, 0));
  return Buffer.concat([length, ...parts]);
}

function encoded(field: Field): Buffer {
  if ('int' in field) {
    const buffer = Buffer.alloc(4);
    buffer.writeInt32BE(field.int);
    return buffer;
  }
  if ('long' in field) {
    const buffer = Buffer.alloc(8);
    buffer.writeBigInt64BE(field.long);
    return buffer;
  }
  if ('flag' in field) return Buffer.from([field.flag ? 1 : 0]);
  const bytes = 'text' in field ? Buffer.from(field.text) : field.bytes;
  return Buffer.concat([encoded({ int: bytes.length }), bytes]);
}

export type Reader = ReturnType<typeof readerOf>;

/** Reads the fields of one frame in turn. Each method throws a `RangeError` past the frame's end. */
export function readerOf(frame: Buffer) {
  let at = 0;
  const advance = (by: number): number => {
    at += by;
    return at - by;
  };
  const int = (): number => frame.readInt32BE(advance(4));
  const bytes = (): Buffer => {
    // No content is -1.
    const length = Math.max(0, int());
    const from = advance(length);
    if (at > frame.length) throw new RangeError('the answer ends before its content does');
    return frame.subarray(from, at);
  };
  return {
    int,
    bytes,
    long: () => frame.readBigInt64BE(advance(8)),
    flag: () => frame.readUInt8(advance(1)) !== 0,
    text: () => bytes().toString(),
    list: <T>(read: () => T): T[] => Array.from({ length: Math.max(0, int()) }, read),
  };
}

/** Joins what a connection receives to frames. */
export function framesTo(onFrame: (frame: Buffer) => void): (data: Buffer) => void {
  let chunks: Buffer[] = [];
  let received = 0;
  let needed = 4;
  return (data) => {
    chunks.push(data);
    received += data.length;
    if (received < needed) return;
    let all = Buffer.concat(chunks);
    needed = 4;
    while (all.length >= 4) {
      const length = all.readInt32BE();
      if (length < 0) throw new RangeError('the answer has no length');
      if (all.length < 4 + length) {
        needed = 4 + length;
        break;
      }
      onFrame(all.subarray(4, 4 + length));
      all = all.subarray(4 + length);
    }
    chunks = [all];
    received = all.length;
  };
}
