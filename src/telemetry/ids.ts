import { hash, randomFillSync } from 'node:crypto';

/** The ids of a run's trace. */
export interface RunIds {
  readonly traceId: string;
  /** Of the span of the whole run. */
  readonly spanId: string;
}

/**
 * The ids of a run's trace, the same for every instance: one that takes the run over continues its trace although it
 * was not told, and no row has to hold an id. Decision 114.
 *
 * @param location the coordination container, because other environments may have the same jobs
 */
export function idsOf(location: string, runId: string): RunIds {
  const digest = hash('sha256', `cronlease\n${location}\n${runId}`);
  return { traceId: digest.slice(0, 32), spanId: digest.slice(32, 48) };
}

/** Makes random ids, except for the next span of a run, whose ids are given. */
export class IdSource {
  #next: RunIds | undefined;

  /** Calls `start`, which starts one span without a parent: it gets these ids. */
  with<T>(ids: RunIds, start: () => T): T {
    this.#next = ids;
    try {
      return start();
    } finally {
      this.#next = undefined;
    }
  }

  readonly generateTraceId = (): string => this.#next?.traceId ?? randomHex(16);
  readonly generateSpanId = (): string => this.#next?.spanId ?? randomHex(8);
}

/** Random bytes are drawn many at a time: one call for each id was the largest part of a span's cost. */
const pool = Buffer.alloc(4_096);
let used = pool.length;

/** An id of zeros is invalid. */
function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const id = pool.toString('hex', used, used + bytes);
  used += bytes;
  return /^0+$/.test(id) ? randomHex(bytes) : id;
}

/** How many runs at once are remembered: all that an instance works on. */
const REMEMBERED = 1_000;

/**
 * The same, computed once for each key. At least the last `most` keys are remembered, at most twice as many: two maps
 * take turns. A single map that drops its oldest key would search the holes of dropped keys each time.
 */
export function remembering<Value>(compute: (key: string) => Value, most = REMEMBERED): (key: string) => Value {
  let young = new Map<string, Value>();
  let old = new Map<string, Value>();
  return (key) => {
    const found = young.get(key);
    if (found !== undefined) return found;
    const value = old.get(key) ?? compute(key);
    if (young.size >= most) {
      old = young;
      young = new Map();
    }
    young.set(key, value);
    return value;
  };
}

export interface TraceContext extends RunIds {
  readonly flags: number;
}

/** W3C trace context, version 00. */
export function formatTraceparent({ traceId, spanId, flags }: TraceContext): string {
  return `00-${traceId}-${spanId}-${(flags & 0xff).toString(16).padStart(2, '0')}`;
}

/** Undefined if the text is not a trace context of version 00. */
export function parseTraceparent(text: string): TraceContext | undefined {
  const match = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(text);
  if (match === null) return undefined;
  const [, traceId = '', spanId = '', flags = ''] = match;
  return /^0+$/.test(traceId) || /^0+$/.test(spanId)
    ? undefined
    : { traceId, spanId, flags: Number.parseInt(flags, 16) };
}
