import { type Call, callOf, type Head } from './calls';

/** A part of what a client sends. */
export interface Part {
  /** With the first part of a request. */
  readonly call: Call | undefined;
  readonly bytes: Buffer;
}

/** A call on its way. */
export interface Sent {
  readonly call: Call;
  readonly sentAt: number;
}

/** A part of what storage sends. */
export interface Answer {
  /** What it answers. Undefined: a later part of an answer. */
  readonly to: Sent | undefined;
  readonly status: number;
  readonly bytes: Buffer;
}

/** How a proxy finds the calls in a connection, on which storage answers one request after another. */
export interface Protocol {
  requests(): (chunk: Buffer) => readonly Part[];
  /**
   * @param next the oldest request that has no answer yet, from now on answered
   * @returns what can be passed on
   */
  answers(): (chunk: Buffer, next: () => Sent | undefined) => readonly Answer[];
}

export const httpProtocol: Protocol = {
  requests,
  // A client sends one request at a time here.
  answers: () => (bytes, next) => {
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(bytes.toString('latin1', 0, 12))?.[1]);
    return [{ to: next(), status, bytes }];
  },
};

/** Cuts what a client sends into requests. */
function requests(): (chunk: Buffer) => Part[] {
  let pending = Buffer.alloc(0);
  let body = 0;
  return (chunk) => {
    const parts: Part[] = [];
    pending = Buffer.concat([pending, chunk]);
    while (pending.length > 0) {
      let take = Math.min(body, pending.length);
      let head: Head | undefined;
      if (body === 0) {
        const end = pending.indexOf('\r\n\r\n');
        if (end < 0) break;
        head = parseHead(pending.toString('latin1', 0, end));
        take = end + 4;
        body = Number(head.headers.get('content-length') ?? 0);
        if (head.headers.has('transfer-encoding')) throw new Error(`a request without a length: ${head.target}`);
      } else {
        body -= take;
      }
      parts.push({ call: head && callOf(head), bytes: pending.subarray(0, take) });
      pending = pending.subarray(take);
    }
    return parts;
  };
}

function parseHead(text: string): Head {
  const [first = '', ...lines] = text.split('\r\n');
  const [method = '', target = ''] = first.split(' ');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { method, target, headers: new Map(headers) };
}
