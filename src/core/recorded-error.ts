import { isObject } from './metadata';
import { MASK, type Redact } from './redact';

/** An error that a handler threw, as the ledger keeps it. */
export interface RecordedError {
  /** The error's name. */
  readonly name: string;
  /** The error's message. */
  readonly message: string;
  /** The error's `code`, such as `ECONNREFUSED`. Absent if it has none. */
  readonly code?: string;
  /** The stack, cut to 8 KB. Absent if the handler threw something without one. */
  readonly stack?: string;
  /** Its `cause`, cut to 2 KB of stack. At most eight causes and inner errors are kept in all. */
  readonly cause?: RecordedError;
  /** The errors that an `AggregateError` holds. */
  readonly errors?: readonly RecordedError[];
}

/** How many causes and inner errors of one error are kept, and so how deep one can lie. */
export const MOST_CAUSES = 8;

/** Whether a stored value can be read as an error. */
export function isRecordedError(value: unknown, depth = 0): value is RecordedError {
  if (depth > MOST_CAUSES || !isObject(value)) return false;
  const { name, message, code, stack, cause, errors = [] } = value;
  return (
    [name, message, code ?? '', stack ?? ''].every((text) => typeof text === 'string') &&
    (cause === undefined || isRecordedError(cause, depth + 1)) &&
    Array.isArray(errors) &&
    errors.every((inner) => isRecordedError(inner, depth + 1))
  );
}

/** The error with each of its texts changed, those of its causes too. */
export function mapTexts(error: RecordedError, change: (text: string) => string): RecordedError {
  const { name, message, code, stack, cause, errors } = error;
  return {
    name: change(name),
    message: change(message),
    ...(code === undefined ? {} : { code: change(code) }),
    ...(stack === undefined ? {} : { stack: change(stack) }),
    ...(cause === undefined ? {} : { cause: mapTexts(cause, change) }),
    ...(errors === undefined ? {} : { errors: errors.map((inner) => mapTexts(inner, change)) }),
  };
}

/** The error without secrets. */
export function redactError(error: RecordedError, redact: Redact | undefined): RecordedError {
  return redact === undefined ? error : mapTexts(error, (text) => redact([text], text.length)[0] ?? MASK);
}

/** The error and what lies behind it: `TypeError: fetch failed, caused by Error: connect ECONNREFUSED 10.0.0.4:5432`. */
export function errorText(error: RecordedError): string {
  const { cause, errors = [] } = error;
  const inner = errors.length === 0 ? '' : ` (${errors.map(errorText).join('; ')})`;
  return `${headOf(error)}${inner}${cause === undefined ? '' : `, caused by ${errorText(cause)}`}`;
}

/** In a list, an error is cut to this many characters. */
const LINE_CHARACTERS = 200;

/**
 * The error on one line: its first line, and that of the innermost error behind it, if it says more.
 *
 * @param most characters
 */
export function firstLine(error: RecordedError, most = LINE_CHARACTERS): string {
  const outer = headLine(error);
  const inner = messageLine(innermost(error));
  if (outer.includes(inner)) return cut(outer, most);
  // A long outer message leaves half of the line to the cause.
  const end = cut(`: ${inner}`, Math.max(most - outer.length, Math.ceil(most / 2)));
  return cut(outer, most - end.length) + end;
}

/** The deepest cause that says something. Of several errors, the first. */
function innermost(error: RecordedError): RecordedError {
  const behind = error.cause ?? error.errors?.[0];
  const deepest = behind === undefined ? error : innermost(behind);
  return messageLine(deepest) === '' ? error : deepest;
}

function messageLine({ message, code = '' }: RecordedError): string {
  return message.trim() === '' ? code : (message.trim().split('\n', 1)[0] ?? '');
}

function headLine(error: RecordedError): string {
  const said = messageLine(error);
  return said === '' ? error.name : `${error.name}: ${said}`;
}

function cut(line: string, most: number): string {
  return line.slice(0, most).replace(/[\uD800-\uDBFF]$/, '');
}

/** The stacks of the error and of what lies behind it, each below the other. */
export function errorTrace(error: RecordedError): string {
  const { stack, cause, errors = [] } = error;
  return [
    stack ?? headOf(error),
    ...errors.map((inner) => `Inner error: ${errorTrace(inner)}`),
    ...(cause === undefined ? [] : [`Caused by: ${errorTrace(cause)}`]),
  ].join('\n');
}

/** The name and the message. An error of the network may have no message but its code. */
function headOf({ name, message, code }: RecordedError): string {
  const said = message === '' ? code : message;
  return said === undefined ? name : `${name}: ${said}`;
}

/**
 * A stack trace with only the frames of the user's own code, without those of Node, packages and cronlease.
 *
 * @param own the folder of the running cronlease; if that is a clone, its `src/jobs` is the user's code
 */
export function userFrames(stack: string, own: string): string {
  return stack
    .split('\n')
    .filter((line) => !/^\s+at\s/.test(line) || !isForeign(line, own))
    .join('\n');
}

function isForeign(frame: string, own: string): boolean {
  if (/[(\s]node:|webpack:\/\/|[\\/]node_modules[\\/]|\(<anonymous>\)|\(native\)/.test(frame)) return true;
  const path = frame.replaceAll('\\', '/').replaceAll('file://', '');
  const root = `${own.replaceAll('\\', '/')}/`;
  return path.includes(`${root}dist/lib/`) || (path.includes(`${root}src/`) && !path.includes(`${root}src/jobs/`));
}
