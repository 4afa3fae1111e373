import { given } from '../../core/given';
import { MOST_CAUSES, type RecordedError } from '../../core/recorded-error';
import { MASK, OVERLAP, type Redact, redactNothing } from '../../core/redact';
import { formatDuration } from '../../core/duration';
import { CallError } from '../../handler/call-handler';
import { AttemptAbortedError } from '../../handler/handler';
import type { Aborter, Ended } from '../bounded';

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
export function reading<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    // A part that cannot be read is left out; the others are kept.
    return undefined;
  }
}
