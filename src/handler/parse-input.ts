import { type StandardSchema, checkBy } from '../core/standard-schema';

/** The input of a manual run does not fit the handler. */
export class InputError extends Error {
  readonly code = 'Input';
  override readonly name = 'InputError';
}

/**
 * Checks the input of a manual run by the handler's schema, and returns the schema's output. Without a schema, anything
 * fits.
 *
 * @throws InputError with all that does not fit, or if the schema throws or is asynchronous
 */
export function parseInput(schema: StandardSchema | undefined, value: unknown): unknown {
  if (schema === undefined) return value;
  const checked = checkBy(schema, value);
  switch (checked.kind) {
    case 'fits':
      return checked.value;
    case 'threw': {
      const { error: cause } = checked;
      throw new InputError(`the input could not be checked: the handler's schema threw ${String(cause)}`, { cause });
    }
    case 'asynchronous':
      throw new InputError("the input could not be checked: the handler's schema is asynchronous");
    case 'refused': {
      const problems = checked.issues.map(({ message, path }) => {
        return path.length === 0 ? message : `${path.join('.')}: ${message}`;
      });
      throw new InputError(`the handler's schema refuses the input: ${problems.join('; ')}`);
    }
  }
}
