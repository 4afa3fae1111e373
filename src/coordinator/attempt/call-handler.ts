import type { JobName } from '../../core/brand';
import { isObject } from '../../core/metadata';
import type { Redact } from '../../core/redact';
import { CallError } from '../../handler/call-handler';
import { NonRetryableError } from '../../handler/handler';
import type { ClosableFence } from '../../lease/fence';
import type { Handled } from '../bounded';
import { describeError, reading } from './describe-error';

/** The largest result of a handler, in bytes of JSON. */
const RESULT_LIMIT = 32 * 1024;

/**
 * Calls the handler, unless its fence no longer trusts: the process may have stood still since any earlier look, if
 * only because it reported the start to a pipe that was not read. Never rejects: an error of the handler is an answer.
 * Decision 063.
 */
export async function callHandler(
  job: JobName,
  fence: Pick<ClosableFence, 'check'>,
  call: () => unknown,
  redact?: Redact,
): Promise<Handled> {
  try {
    fence.check();
    return checkResult(job, await call(), redact);
  } catch (thrown) {
    const ended = callErrorOf(thrown);
    const final = ended === undefined ? isFinal(thrown) : !ended.retryable;
    const reason = final ? 'nonRetryable' : 'handlerError';
    const retryAfterMs = ended?.retryAfterMs ?? 0;
    const wait = retryAfterMs > 0 ? { retryAfterMs } : {};
    return { kind: 'threw', retryable: !final, reason, ...wait, error: describeError(thrown, redact) };
  }
}

/** A handler may throw a proxy that allows nothing. */
function callErrorOf(thrown: unknown): CallError | undefined {
  return reading(() => (thrown instanceof CallError ? thrown : undefined));
}

/** By its code, because the handler may have another copy of the class. Decision 067. */
function isFinal(thrown: unknown): boolean {
  const read = (): boolean =>
    thrown instanceof NonRetryableError || (isObject(thrown) && thrown['code'] === 'NonRetryable');
  return reading(read) ?? false;
}

/** A result that the ledger cannot hold is an error of the handler that a retry would not fix. Decision 036. */
function checkResult(job: JobName, value: unknown, redact: Redact | undefined): Handled {
  if (value === undefined) return { kind: 'returned', result: undefined, changes: [] };
  const changes: string[] = [];
  const refuse = (problem: string): Handled => ({
    kind: 'threw',
    retryable: false,
    reason: 'invalidResult',
    error: { name: 'InvalidResultError', message: `the handler of job "${job}" returned ${problem}` },
  });
  let json: string | undefined;
  try {
    json = JSON.stringify(value, nameChanges(changes));
  } catch (error) {
    const [problem] = describeError(error, redact).message.split('\n');
    return refuse(`what is not JSON (${String(problem)}): return plain data, or nothing`);
  }
  if (json === undefined) return refuse(`a ${typeof value}, which is not JSON: return plain data, or nothing`);
  const bytes = Buffer.byteLength(json);
  if (bytes > RESULT_LIMIT) {
    return refuse(
      `${String(bytes)} bytes of JSON, more than ${String(RESULT_LIMIT)}: store it elsewhere, return its name`,
    );
  }
  return { kind: 'returned', result: JSON.parse(json), changes };
}

/** How many values that JSON cannot hold are named in a record. */
const MOST_CHANGES = 20;
/** Kinds of objects that JSON writes as `{}`, or as an object of their indices. */
const UNHELD = [Map, Set, WeakMap, WeakSet, RegExp, Promise, ArrayBuffer, Error];

/** Writes a result as JSON does, but for a BigInt, which becomes text, and names each value that is not as it was. */
function nameChanges(changes: string[]): (this: unknown, key: string, value: unknown) => unknown {
  const paths = new WeakMap<object, string>();
  return function replace(key, value) {
    const holder = this as Readonly<Record<string, unknown>>;
    const path = paths.get(holder) ?? '';
    const place = key === '' ? 'the result' : path + (Array.isArray(holder) ? `[${key}]` : `${path && '.'}${key}`);
    if (typeof value === 'object' && value !== null) paths.set(value, key === '' ? '' : place);
    const change = changeOf(holder[key], value, Array.isArray(holder));
    if (change !== undefined && changes.length < MOST_CHANGES) changes.push(`${place.slice(0, 200)}: ${change}`);
    else if (change !== undefined && changes.length === MOST_CHANGES) changes.push('and others');
    return typeof value === 'bigint' ? String(value) : value;
  };
}

/**
 * What becomes of a value that JSON cannot hold. Undefined: it is kept, or it is a member that is undefined.
 *
 * @param value as `toJSON` has made it, if there is one
 */
function changeOf(original: unknown, value: unknown, isInList: boolean): string | undefined {
  if (typeof value === 'bigint') return 'a BigInt, kept as text';
  if (typeof value === 'number' && !Number.isFinite(value)) return `${String(value)}, kept as null`;
  if (original instanceof Date && value === null) return 'an invalid Date, kept as null';
  if (typeof value === 'function' || typeof value === 'symbol' || (value === undefined && isInList)) {
    return `${value === undefined ? 'undefined' : `a ${typeof value}`}, ${isInList ? 'kept as null' : 'left out'}`;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const kind =
    UNHELD.find((one) => value instanceof one)?.name ?? (ArrayBuffer.isView(value) ? 'typed array' : undefined);
  return kind === undefined ? undefined : `a ${kind}, kept as ${kind === 'typed array' ? 'an object' : '{}'}`;
}
