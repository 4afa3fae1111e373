import type { JobName } from '../../core/brand';
import { isObject } from '../../core/metadata';
import { NonRetryableError } from '../../handler/handler';
import type { ClosableFence } from '../../lease/fence';
import type { Handled } from '../bounded';
import { describeError, reading } from './describe-error';

/** The largest result of a handler, in bytes of JSON. */
const RESULT_LIMIT = 32 * 1024;

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
    const final = isFinal(thrown);
    const reason = final ? 'nonRetryable' : 'handlerError';
    return { kind: 'threw', retryable: !final, reason, error: describeError(thrown) };
  }
}

function isFinal(thrown: unknown): boolean {
  const read = (): boolean =>
    thrown instanceof NonRetryableError || (isObject(thrown) && thrown['code'] === 'NonRetryable');
  return reading(read) ?? false;
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
