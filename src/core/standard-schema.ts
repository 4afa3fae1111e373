/**
 * The part of Standard Schema (https://standardschema.dev, version 1) that cronlease uses: any library that follows it,
 * such as zod, valibot or arktype, can check a job's input.
 */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

/** What a schema has made of a value. */
export type Checked =
  | { readonly kind: 'fits'; readonly value: unknown }
  | { readonly kind: 'refused'; readonly issues: readonly CheckedIssue[] }
  | { readonly kind: 'threw'; readonly error: unknown }
  /** It returned a promise, which is not awaited. */
  | { readonly kind: 'asynchronous' };

export interface CheckedIssue {
  readonly message: string;
  /** Where it is in the value. */
  readonly path: readonly (string | number)[];
}

/** Checks a value by a schema of a handler. */
export function checkBy(schema: StandardSchema, value: unknown): Checked {
  let result: StandardResult<unknown> | Promise<StandardResult<unknown>>;
  try {
    result = schema['~standard'].validate(value);
  } catch (error) {
    return { kind: 'threw', error };
  }
  if (result instanceof Promise) {
    result.catch(() => undefined); // its outcome no longer matters
    return { kind: 'asynchronous' };
  }
  if (result.issues === undefined) return { kind: 'fits', value: result.value };
  const issues = result.issues.map(({ message, path = [] }) => ({
    message,
    path: path.map((part) => {
      const key = typeof part === 'object' ? part.key : part;
      return typeof key === 'symbol' ? String(key) : key;
    }),
  }));
  return { kind: 'refused', issues };
}
