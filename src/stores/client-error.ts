import { brief } from '../core/text';

/** Compares names, so that `@azure/identity` need not be loaded. */
export function isTokenRefused(error: unknown): boolean {
  return (
    error instanceof Error && /^(CredentialUnavailable|(Aggregate)?Authentication(Required)?)Error$/.test(error.name)
  );
}

/** A form of the error that is safe to log: clients attach commands and parameters, which may contain a password. */
export function causeOf(error: unknown): Error {
  const text = error instanceof AggregateError ? error.errors.map(String).join('; ') : textOf(error);
  const cause = new Error(brief(text.split('\n', 1)[0] ?? '').replace(/\.$/, ''));
  if (error instanceof Error) {
    cause.name = error.name;
    delete cause.stack;
  }
  return cause;
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
