import { brief } from '../core/text';
import { StoreUnavailableError } from '../lease/store';

/** Compares names, so that `@azure/identity` need not be loaded. A token service that is down is not a refusal. */
export function isTokenRefused(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  if (!/^(CredentialUnavailable|(Aggregate)?Authentication(Required)?)Error$/.test(error.name)) return false;
  const status = 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 400;
  return status < 500 && status !== 429;
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

/** The layout of the container is missing. */
export class NoContainerError extends Error {
  override readonly name = 'NoContainerError';
}

/**
 * Loads the client of a store, which only apps with that store install.
 *
 * @throws StoreUnavailableError if it is not installed
 */
export async function installed<T>(name: string, location: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    if (!(cause instanceof Error) || !('code' in cause) || !String(cause.code).endsWith('MODULE_NOT_FOUND'))
      throw cause;
    const said = `${location}: the package ${name} is not installed. Run "npm install ${name}" in the app.`;
    throw new StoreUnavailableError(said, { cause });
  }
}

/** The remedy is the same in every store, because the tick is the same (`tick/missing-container.ts`). */
const REMEDY =
  'The container does not exist: check its name. If it was deleted, a running app creates it again after 75 s.';

/** @param more what else may be the cause in this store */
export function noContainer(said: string, cause: Error, more = ''): StoreUnavailableError {
  return new StoreUnavailableError(`${said}. ${REMEDY}${more}`, { cause, noContainer: true });
}
