import { type Call, callOf, type Head } from './calls';

/** A part of what a client sends. */
export interface Part {
  /** With the first part of a request. */
  readonly call: Call | undefined;
  readonly bytes: Buffer;
}

/** A part of what storage sends. */
export interface Answer {
  readonly status: number;
  readonly bytes: Buffer;
}

/** How a proxy finds the calls in a connection of which the client sends one request at a time. */
export interface Protocol {
  requests(): (chunk: Buffer) => readonly Part[];
  /** @returns what can be passed on, given the call that is being answered */
  answers(): (chunk: Buffer, call: Call | undefined) => readonly Answer[];
}

export const httpProtocol: Protocol = {
  requests,
  answers: () => (bytes) => {
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(bytes.toString('latin1', 0, 12))?.[1]);
    return [{ status, bytes }];
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
