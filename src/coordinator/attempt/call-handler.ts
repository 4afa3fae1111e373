import { formatDuration } from '../../core/duration';
import { MOST_CAUSES, type RecordedError } from '../../core/recorded-error';
import { given } from '../../core/given';
import type { JobName } from '../../core/brand';
import { isObject } from '../../core/metadata';
import { type Redact, MASK, OVERLAP, redactNothing } from '../../core/redact';
import { CallError } from '../../handler/handlers';
import { NonRetryableError, AttemptAbortedError } from '../../handler/handler';
import type { ClosableFence } from '../../lease/fence';
import type { Handled, Aborter, Ended } from '../bounded';

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

/** A stack or message in the ledger is cut to this many characters, and that of a cause to so many. */
const TEXT_LIMIT = 8 * 1024;
const CAUSE_LIMIT = 2 * 1024;
const CODE_LIMIT = 100;

/** A thrown value, Error or not, as the ledger keeps it. Never throws, whatever is thrown. */
export function describeError(thrown: unknown, redact: Redact = redactNothing): RecordedError {
  const cut = (text: string, limit: number): string => redact([text.slice(0, limit + OVERLAP)], limit)[0] ?? MASK;
  const seen = new Set<unknown>();
  const describe = (value: unknown, limit: number): RecordedError => {
    seen.add(value);
    if (reading(() => value instanceof Error) !== true) {
      return { name: 'NotAnError', message: cut(`${value === thrown ? 'thrown: ' : ''}${textOf(value)}`, limit) };
    }
    const error = value as Error;
    const member = (key: 'name' | 'message' | 'stack'): string | undefined => {
      const text = memberOf(error, key);
      return text === undefined ? undefined : cut(text, limit);
    };
    const name = member('name') ?? 'Error';
    const message = member('message') ?? '';
    // The stack of an abort is cronlease's own, and of no help.
    if (reading(() => error instanceof AttemptAbortedError) === true) return { name, message };
    const code = codeOf(error, cut);
    if (reading(() => error instanceof CallError) === true) return { name, message, ...given({ code }) };
    const stack = member('stack');
    const errors = innerErrors(error).flatMap(behind);
    const [cause] = behind(reading(() => error.cause));
    return {
      name,
      message,
      ...given({ code, stack, cause }),
      ...(errors.length === 0 ? {} : { errors }),
    };
  };
  /** An error may be its own cause, or have a chain of any length behind it. */
  const behind = (value: unknown): readonly RecordedError[] =>
    value === undefined || value === null || seen.has(value) || seen.size > MOST_CAUSES
      ? []
      : [describe(value, CAUSE_LIMIT)];
  return describe(thrown, TEXT_LIMIT);
}

/** The error of an attempt that was aborted, which says so if its handler did not end within its grace. */
export function describeAbort({ signal }: Aborter, { outlivedMs }: Ended, redact?: Redact): RecordedError {
  const error = describeError(signal.reason, redact);
  if (outlivedMs === undefined) return error;
  const rest = `its handler had not ended ${formatDuration(outlivedMs)} after its signal (grace), and was given up`;
  return { ...error, message: `${error.message}; ${rest}` };
}

function innerErrors(error: Error): readonly unknown[] {
  const inner = reading(() => {
    const { errors } = error as { readonly errors?: unknown };
    return Array.isArray(errors) ? errors.slice(0, MOST_CAUSES) : [];
  });
  return inner ?? [];
}

function codeOf(error: Error, cut: (text: string, limit: number) => string): string | undefined {
  const code = reading(() => (error as { readonly code?: unknown }).code);
  return typeof code === 'string' || typeof code === 'number' ? cut(String(code), CODE_LIMIT) : undefined;
}

function memberOf(error: Error, member: 'name' | 'message' | 'stack'): string | undefined {
  const value = reading<unknown>(() => error[member]);
  return value === undefined ? undefined : textOf(value);
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return reading(() => JSON.stringify(value)) ?? reading(() => String(value)) ?? '(a value that cannot be shown)';
}

/** What is read of a handler's value: a getter, or a revoked proxy, may throw anything. */
function reading<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    // A part that cannot be read is left out; the others are kept.
    return undefined;
  }
}
