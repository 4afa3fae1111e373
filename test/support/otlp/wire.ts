/** The type of a field of a protobuf message. */
export type FieldType =
  | 'string'
  | 'bytes'
  | 'bool'
  | 'varint'
  | 'sint64'
  | 'fixed32'
  | 'fixed64'
  | 'sfixed64'
  | 'double'
  | { readonly message: () => Message };

interface Field {
  readonly name: string;
  readonly type: FieldType;
  readonly repeated?: true;
}

/** A message's fields by their numbers. */
export type Message = Readonly<Record<number, Field>>;

/** A decoded message: bytes are hex, and 64-bit numbers are bigint. */
export type Decoded = { readonly [name: string]: unknown };

const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 };

function wireOf(type: FieldType): number {
  switch (type) {
    case 'bool':
    case 'varint':
    case 'sint64':
      return WIRE.varint;
    case 'fixed64':
    case 'sfixed64':
    case 'double':
      return WIRE.fixed64;
    case 'fixed32':
      return WIRE.fixed32;
    default:
      return WIRE.bytes;
  }
}

/**
 * Decodes a message by the wire format of protobuf. Unlike other decoders it accepts no field that the schema lacks: a
 * sender that invents one has a bug.
 *
 * @throws Error
 */
export function decodeMessage(bytes: Buffer, message: Message, where: string): Decoded {
  const decoded: Record<string, unknown> = {};
  const reader = new Reader(bytes, where);
  while (!reader.atEnd) {
    const tag = Number(reader.varint());
    const number = tag >>> 3;
    const wire = tag & 7;
    const field = message[number];
    if (field === undefined) throw new Error(`${where}: there is no field ${String(number)}`);
    const path = `${where}.${field.name}`;
    const isPacked = field.repeated === true && wire === WIRE.bytes && wireOf(field.type) !== WIRE.bytes;
    if (!isPacked && wire !== wireOf(field.type)) throw new Error(`${path}: has wire type ${String(wire)}`);
    const values: unknown[] = [];
    if (isPacked) {
      const packed = new Reader(reader.bytes(), path);
      while (!packed.atEnd) values.push(readValue(packed, field.type, path));
    } else {
      values.push(readValue(reader, field.type, path));
    }
    const known = decoded[field.name];
    decoded[field.name] =
      field.repeated === true ? [...((known as unknown[] | undefined) ?? []), ...values] : values[0];
  }
  return decoded;
}

function readValue(reader: Reader, type: FieldType, where: string): unknown {
  if (typeof type === 'object') return decodeMessage(reader.bytes(), type.message(), where);
  switch (type) {
    case 'string':
      return new TextDecoder('utf-8', { fatal: true }).decode(reader.bytes());
    case 'bytes':
      return reader.bytes().toString('hex');
    case 'bool':
      return reader.varint() !== 0n;
    case 'varint':
      return Number(reader.varint());
    case 'sint64':
      return BigInt.asIntN(64, reader.varint());
    case 'fixed32':
      return reader.fixed(4).readUInt32LE();
    case 'fixed64':
      return reader.fixed(8).readBigUInt64LE();
    case 'sfixed64':
      return reader.fixed(8).readBigInt64LE();
    case 'double':
      return reader.fixed(8).readDoubleLE();
  }
}

class Reader {
  #at = 0;

  constructor(
    private readonly buffer: Buffer,
    private readonly where: string,
  ) {}

  get atEnd(): boolean {
    return this.#at >= this.buffer.length;
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.fixed(1)[0] ?? 0;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new Error(`${this.where}: a number has more than ten bytes`);
  }

  bytes(): Buffer {
    return this.fixed(Number(this.varint()));
  }

  fixed(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.buffer.length) throw new Error(`${this.where}: the message ends too early`);
    const part = this.buffer.subarray(this.#at, end);
    this.#at = end;
    return part;
  }
}
