import type { JobName } from '../../core/brand';
import { isObject } from '../../core/metadata';
import type { RecordedError } from '../../core/record';
import { AttemptAbortedError, NonRetryableError } from '../../handler/handler';
import type { ClosableFence } from '../../lease/fence';
import type { Handled } from '../bounded';

/** The largest result of a handler, in bytes of JSON. */
const RESULT_LIMIT = 32 * 1024;
/** A stack in the ledger is cut to this many characters. */
const STACK_LIMIT = 8 * 1024;

/**
 * Calls the handler, unless its fence no longer trusts: the process may have stood still since any earlier look, if
 * only because it reported the start to a pipe that nobody read. Never rejects: an error of the handler is an answer.
 */
export async function callHandler(
  job: JobName,
  fence: Pick<ClosableFence, 'check'>,
  call: () => unknown,
): Promise<Handled> {
  try {
    fence.check();
    return checkResult(job, await call());
  } catch (thrown) {
    const final = thrown instanceof NonRetryableError || (isObject(thrown) && thrown['code'] === 'NonRetryable');
    const reason = final ? 'nonRetryable' : 'handlerError';
    return { kind: 'threw', retryable: !final, reason, error: describeError(thrown) };
  }
}

/** A result that the ledger cannot hold is an error of the handler that a retry would not fix. */
function checkResult(job: JobName, value: unknown): Handled {
  if (value === undefined) return { kind: 'returned', result: undefined };
  const refuse = (problem: string): Handled => ({
    kind: 'threw',
    retryable: false,
    reason: 'invalidResult',
    error: { name: 'InvalidResultError', message: `the handler of job "${job}" returned ${problem}` },
  });
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    const [problem] = describeError(error).message.split('\n');
    return refuse(`what is not JSON (${String(problem)}): return plain data, or nothing`);
  }
  if (json === undefined) return refuse(`a ${typeof value}, which is not JSON: return plain data, or nothing`);
  const bytes = Buffer.byteLength(json);
  if (bytes > RESULT_LIMIT) {
    return refuse(
      `${String(bytes)} bytes of JSON, more than ${String(RESULT_LIMIT)}: store it elsewhere, return its name`,
    );
  }
  return { kind: 'returned', result: JSON.parse(json) };
}

/** A thrown value, Error or not, as the ledger keeps it. */
export function describeError(thrown: unknown): RecordedError {
  // The stack of an abort is cronlease's own, and helps nobody.
  if (thrown instanceof AttemptAbortedError) return { name: thrown.name, message: thrown.message };
  if (thrown instanceof Error) {
    const name = textOf(thrown, 'name') ?? 'Error';
    const stack = textOf(thrown, 'stack');
    return { name, message: textOf(thrown, 'message') ?? '', ...(stack === undefined ? {} : { stack }) };
  }
  return { name: 'NotAnError', message: `thrown: ${printable(thrown)}`.slice(0, STACK_LIMIT) };
}

/** An Error of the handler may contain anything, even getters that throw. */
function textOf(error: Error, member: 'name' | 'message' | 'stack'): string | undefined {
  let value: unknown;
  try {
    value = error[member];
  } catch {
    // A member that cannot be read is left out; the others are kept.
    return undefined;
  }
  return value === undefined ? undefined : printable(value).slice(0, STACK_LIMIT);
}

function printable(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    // Circular, or with a getter that throws: its type is all that can be said safely.
    return Object.prototype.toString.call(value);
  }
}
