import type { StandardResult, StandardSchema } from '../core/standard-schema';

/** The input of a request does not fit the handler. */
export class InputError extends Error {
  readonly code = 'Input';
  override readonly name = 'InputError';
}

/**
 * Checks the input of a request by the handler's schema, and returns the schema's output. Without a schema, anything
 * fits.
 *
 * @throws InputError with all that does not fit, or if the schema throws or is asynchronous
 */
export function parseInput(schema: StandardSchema | undefined, value: unknown): unknown {
  if (schema === undefined) return value;
  const result = validate(schema, value);
  if (result instanceof Promise) {
    result.catch(() => undefined); // its outcome no longer matters
    throw new InputError("the input could not be checked: the handler's schema is asynchronous");
  }
  if (result.issues === undefined) return result.value;
  const problems = result.issues.map(({ message, path = [] }) => {
    const place = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
    return place === '' ? message : `${place}: ${message}`;
  });
  throw new InputError(`the handler's schema refuses the input: ${problems.join('; ')}`);
}

function validate(schema: StandardSchema, value: unknown): StandardResult<unknown> | Promise<StandardResult<unknown>> {
  try {
    return schema['~standard'].validate(value);
  } catch (error) {
    throw new InputError(`the input could not be checked: the handler's schema threw ${String(error)}`, {
      cause: error,
    });
  }
}
