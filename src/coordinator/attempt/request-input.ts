import { parseRecordKey } from '../../core/key';
import type { Asked } from '../../core/origin';
import type { RecordedError } from '../../core/recorded-error';
import { ForeignRecordError } from '../../core/record';
import { checkBy, type StandardSchema } from '../../core/standard-schema';
import type { RequestStore } from '../../lease/store';
import type { RunnableJob } from '../coordinator';
import type { Ask } from '../row-writer';

/** The input of one run: its own, or the job's. */
export type RunInput =
  | { readonly kind: 'input'; readonly input: unknown }
  /** The run ends as failed, without a call of its handler. */
  | { readonly kind: 'refused'; readonly error: RecordedError };

/**
 * Reads and checks the input that a manual run brought along. A run without one costs no call.
 *
 * @param key the run's
 * @throws StoreError when storage does not answer
 */
export async function inputOf(
  {
    input,
    handler,
  }: Pick<RunnableJob, 'input'> & { readonly handler: { readonly input?: StandardSchema | undefined } },
  key: string,
  asked: Pick<Asked, 'hasInput'> | undefined,
  ask: Ask<Pick<RequestStore, 'readRequest'>>,
): Promise<RunInput> {
  const id = parseRecordKey(key)?.request;
  // The job's own input came out of this very handler's schema when the app started.
  if (asked?.hasInput !== true || id === undefined) return { kind: 'input', input: copyOf(input) };
  let body: string | undefined;
  try {
    body = await ask((store, signal) => store.readRequest(id, { signal }));
  } catch (error) {
    if (error instanceof ForeignRecordError) return refused(error.message);
    throw error;
  }
  if (body === undefined) {
    return refused(`the input of manual run "${id}" is gone: it is kept as long as ledger records`);
  }
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return refused(`the input of manual run "${id}" is not JSON: something other than cronlease wrote it`);
  }
  return checked(handler.input, value);
}

/**
 * A handler may change its input, and the next run of this process must not begin with what it left. What a schema has
 * made of the input may also have values of other kinds than JSON: those are not copied.
 */
function copyOf(input: unknown): unknown {
  try {
    return copyIn(input, new Map());
  } catch {
    // A proxy need not allow any look at it, and a list of objects in one another may be too deep.
    return input;
  }
}

function copyIn(value: unknown, copies: Map<object, unknown>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const isList = Array.isArray(value);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!isList && prototype !== Object.prototype && prototype !== null) return value;
  const known = copies.get(value);
  if (known !== undefined) return known;
  const copy: object = isList ? [] : (Object.create(prototype as object | null) as object);
  copies.set(value, copy);
  for (const [key, member] of Object.entries(Object.getOwnPropertyDescriptors(value))) {
    // Others compute their value when it is read.
    const isValue = 'value' in member;
    Object.defineProperty(copy, key, isValue ? { ...member, value: copyIn(member.value, copies) } : member);
  }
  return copy;
}

function refused(message: string): RunInput {
  return { kind: 'refused', error: { name: 'InvalidInputError', message } };
}

/** The output of the handler's schema, or all that does not fit. Without a schema, anything fits. */
function checked(schema: StandardSchema | undefined, value: unknown): RunInput {
  if (schema === undefined) return { kind: 'input', input: value };
  const result = checkBy(schema, value);
  switch (result.kind) {
    case 'fits':
      return { kind: 'input', input: result.value };
    case 'threw':
      return refused(`the input could not be checked: the handler's schema threw ${String(result.error)}`);
    case 'asynchronous':
      return refused("the input could not be checked: the handler's schema is asynchronous");
    case 'refused': {
      const problems = result.issues.map(({ message, path }) => {
        return path.length === 0 ? message : `${path.join('.')}: ${message}`;
      });
      return refused(`the handler's schema refuses the input: ${problems.join('; ')}`);
    }
  }
}
