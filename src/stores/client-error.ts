import type { CallResult } from '../core/storage-call';
import { brief } from '../core/text';
import { type Denial, StoreDeniedError, StoreError, StoreUnavailableError } from '../lease/store';

/** How errors of a service are translated into the port's terms. */
export interface Faults {
  /** @param where the operation, its object and the service, for messages */
  failure(error: unknown, where: string): StoreError;
  resultOf(error: unknown): CallResult;
}

/** How the errors of one service are told apart. */
interface FaultRules<Why extends Denial> {
  /** Whether the service has answered with it. Others, but for {@link NoContainerError}, are of the connection. */
  readonly isAnswer: (error: unknown) => boolean;
  /** Why it is a refusal of the caller; undefined: it is none. */
  readonly denialOf: (error: unknown, message: string) => Why | undefined;
  readonly isNoContainer?: (error: unknown) => boolean;
  readonly isThrottled: (error: unknown) => boolean;
  readonly remedies: Readonly<Record<Why, string>> & {
    /** Of errors of the connection. */
    readonly unreachable: string;
    /** What else may be the cause where the container does not exist. */
    readonly noContainer?: string;
  };
  /** The remedy of another answer, if it has its own. */
  readonly remedyOf: (error: unknown, message: string) => string | undefined;
  /** What a message has before that of the error. */
  readonly prefixOf?: (error: unknown) => string;
}

export function faultsOf<Why extends Denial>(rules: FaultRules<Why>): Faults {
  const { isAnswer, denialOf, isThrottled, remedies, remedyOf, prefixOf = () => '' } = rules;
  const isNoContainer = (error: unknown) => error instanceof NoContainerError || rules.isNoContainer?.(error) === true;
  return {
    failure(error, where) {
      if (error instanceof StoreError) return error;
      const cause = causeOf(error);
      if (isTokenRefused(error)) {
        const said = `${where}: no token is available: ${cause.message}`;
        return new StoreDeniedError(`${said}. ${NO_TOKEN}`, { cause, why: 'noToken' });
      }
      const said = `${where}: ${prefixOf(error)}${cause.message}`;
      if (isNoContainer(error)) return noContainer(said, cause, remedies.noContainer);
      if (!isAnswer(error)) return new StoreUnavailableError(`${said}. ${remedies.unreachable}`, { cause });
      const why = denialOf(error, cause.message);
      if (why !== undefined) return new StoreDeniedError(`${said}. ${remedies[why]}`, { cause, why });
      const remedy = remedyOf(error, cause.message) ?? 'The call may or may not have taken effect.';
      return new StoreUnavailableError(`${said}. ${remedy}`, { cause });
    },
    resultOf(error) {
      if (isNoContainer(error)) return 'error';
      if (!isAnswer(error)) return 'noAnswer';
      if (denialOf(error, String(error)) !== undefined) return 'denied';
      return isThrottled(error) ? 'throttled' : 'error';
    },
  };
}

const NO_TOKEN =
  'Give the app a managed identity; a person names a URL with a password, without CRONLEASE_STORAGE__credential.';

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

/** An SDK's error may have an object as its message. */
function textOf(error: unknown): string {
  const message: unknown = error instanceof Error ? error.message : String(error);
  return typeof message === 'string' ? message : JSON.stringify(message);
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

/** The remedy is the same in every store, because the tick is the same (`tick/survey.ts`). */
const REMEDY =
  'The container does not exist: check its name. If it was deleted, a running app creates it again after 75 s.';

/** @param more what else may be the cause in this store */
export function noContainer(said: string, cause: Error, more = ''): StoreUnavailableError {
  return new StoreUnavailableError(`${said}. ${REMEDY}${more}`, { cause, noContainer: true });
}
