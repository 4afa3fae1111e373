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

/** Reads the fields of one frame in turn. Each method throws a `RangeError` past the frame's end. */
export interface Reader {
  int(): number;
  long(): bigint;
  flag(): boolean;
  bytes(): Buffer;
  text(): string;
  list<T>(read: () => T): T[];
}

export function readerOf(frame: Buffer): Reader {
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
    list: (read) => Array.from({ length: Math.max(0, int()) }, read),
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
