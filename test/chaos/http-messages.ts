/** A whole request or answer of HTTP/1.1. */
export interface Message {
  /** The first line. */
  readonly first: string;
  readonly body: Buffer;
  /** As it was sent. */
  readonly bytes: Buffer;
}

const HEAD_END = '\r\n\r\n';

/** Cuts a connection's bytes into whole messages. Each has a length, or comes in chunks. */
export function messages(): (chunk: Buffer) => readonly Message[] {
  let pending = Buffer.alloc(0);
  return (chunk) => {
    pending = Buffer.concat([pending, chunk]);
    const found: Message[] = [];
    for (;;) {
      const next = messageIn(pending);
      if (next === undefined) return found;
      found.push(next);
      pending = pending.subarray(next.bytes.length);
    }
  };
}

/** Undefined: not all of it has come. */
function messageIn(bytes: Buffer): Message | undefined {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const head = bytes.toString('latin1', 0, headEnd);
  const start = headEnd + HEAD_END.length;
  const body = /\r\ntransfer-encoding: *chunked/i.test(head)
    ? chunked(bytes, start)
    : whole(bytes, start, Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0));
  if (body === undefined) return undefined;
  return { first: head.slice(0, (head + '\r\n').indexOf('\r\n')), body: body.text, bytes: bytes.subarray(0, body.end) };
}

interface Body {
  readonly text: Buffer;
  /** Where the message ends. */
  readonly end: number;
}

function whole(bytes: Buffer, start: number, length: number): Body | undefined {
  const end = start + length;
  return bytes.length < end ? undefined : { text: bytes.subarray(start, end), end };
}

function chunked(bytes: Buffer, start: number): Body | undefined {
  const parts: Buffer[] = [];
  for (let at = start; ;) {
    const line = bytes.indexOf('\r\n', at);
    if (line < 0) return undefined;
    const length = Number.parseInt(bytes.toString('latin1', at, line), 16);
    if (Number.isNaN(length)) throw new Error('a chunk without a length');
    if (length === 0) {
      // Trailers may follow. An empty line ends them, and with them the message.
      const end = bytes.indexOf(HEAD_END, line);
      return end < 0 ? undefined : { text: Buffer.concat(parts), end: end + HEAD_END.length };
    }
    const next = line + 2 + length + 2;
    if (bytes.length < next) return undefined;
    parts.push(bytes.subarray(line + 2, next - 2));
    at = next;
  }
}
