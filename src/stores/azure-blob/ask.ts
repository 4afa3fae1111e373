import { isRestError, type RestError } from '@azure/storage-blob';
import type { EpochMs } from '../../core/brand';
import { type CallOptions, type Denial, StoreDeniedError, StoreUnavailableError } from '../../lease/store';
import { causeOf, isTokenRefused, noContainer } from '../client-error';
import { limited, type Service } from '../metered';

/** The service's answer, with the time by its own clock. `no`: the condition or the lease of the call did not hold. */
export type Answer<T> =
  { readonly kind: 'yes'; readonly value: T; readonly date: EpochMs } | { readonly kind: 'no'; readonly date: EpochMs };

interface Question {
  /** The operation and its object, for messages. */
  readonly what: string;
  /** The service's error codes that are answers, not errors. */
  readonly no: readonly string[];
  readonly options: CallOptions | undefined;
}

export type Ask = <T extends { readonly date?: Date }>(
  question: Question,
  send: (abortSignal: AbortSignal) => Promise<T>,
) => Promise<Answer<T>>;

/**
 * Makes each call once, and translates its error into the port's terms. The caller's signal or the time limit ends a
 * call.
 */
export function asker(service: Pick<Service, 'location' | 'clock' | 'callTimeoutMs'>): Ask {
  return ({ what, no, options }, send) => {
    const where = `${what} at ${service.location}`;
    return limited(service, where, options?.signal, async (abortSignal) => {
      try {
        const value = await send(abortSignal);
        return { kind: 'yes', value, date: checkDate(value.date?.getTime(), where) };
      } catch (error) {
        if (error instanceof StoreUnavailableError || !no.includes(codeOf(error) ?? '')) throw failure(error, where);
        return { kind: 'no', date: checkDate(dateOf(error), where) };
      }
    });
  };
}

function checkDate(date: number | undefined, where: string): EpochMs {
  if (date !== undefined && !Number.isNaN(date)) return date;
  throw new StoreUnavailableError(`${where}: the answer has no Date header. Check whether a proxy removes it.`);
}

const BLOB_GONE = ['BlobNotFound', 'ResourceNotFound'];
const CHANGED = ['ConditionNotMet'];
const NOT_OURS = [
  'LeaseAlreadyPresent',
  'LeaseIsBreakingAndCannotBeAcquired',
  'LeaseIsBrokenAndCannotBeRenewed',
  'LeaseIdMismatchWithLeaseOperation',
  'LeaseNotPresentWithLeaseOperation',
  'LeaseIdMismatchWithBlobOperation',
  'LeaseNotPresentWithBlobOperation',
  'LeaseLost',
];

/**
 * The error codes that mean `no`, by kind of call.
 *
 * @see https://learn.microsoft.com/rest/api/storageservices/blob-service-error-codes
 */
export const NO = {
  read: BLOB_GONE,
  // The service refuses to create a leased blob with 412 LeaseIdMissing; the emulator does so with 409, as for any
  // blob.
  create: ['BlobAlreadyExists', 'LeaseIdMissing', ...CHANGED],
  replace: [...BLOB_GONE, ...CHANGED],
  lease: [...BLOB_GONE, ...CHANGED, ...NOT_OURS],
  append: [...BLOB_GONE, 'AppendPositionConditionNotMet'],
} as const;

/** The service's own error code. If the answer has no body, only its headers have the code. */
export function codeOf(error: unknown): string | undefined {
  if (!isRestError(error)) return undefined;
  const details: unknown = error.details;
  const code =
    typeof details === 'object' && details !== null && 'errorCode' in details ? details.errorCode : undefined;
  return typeof code === 'string' ? code : (error.response?.headers.get('x-ms-error-code') ?? error.code);
}

/** When the service refused, by its clock. */
export function dateOf(error: unknown): number | undefined {
  const header = isRestError(error) ? error.response?.headers.get('date') : undefined;
  return header === undefined ? undefined : Date.parse(header);
}

export function failure(error: unknown, where: string): StoreDeniedError | StoreUnavailableError {
  if (error instanceof StoreUnavailableError) return error;
  if (isRestError(error) && error.statusCode !== undefined) return refusal(error, error.statusCode, where);
  const cause = causeOf(error);
  if (isTokenRefused(error)) {
    const said = `${where}: no token is available: ${cause.message}`;
    const remedy = 'Give the app a managed identity; a person signs in with "az login".';
    return new StoreDeniedError(`${said}. ${remedy}`, { cause, why: 'noToken' });
  }
  const remedy = 'Check whether this machine can reach the service.';
  return new StoreUnavailableError(`${where}: ${cause.message}. ${remedy}`, { cause });
}

function refusal(error: RestError, status: number, where: string): StoreDeniedError | StoreUnavailableError {
  const code = codeOf(error);
  // The service appends lines with request id and time. The SDK appends whole bodies.
  const cause = causeOf(error);
  const said = `${where}: ${[status, code].filter(Boolean).join(' ')}`;
  if (status === 401 || status === 403) {
    return new StoreDeniedError(`${said}. ${deniedRemedy(code)}`, { cause, why: denialOf(status, code) });
  }
  if (code === 'ContainerNotFound') return noContainer(said, cause);
  const remedy = unavailableRemedy(code) ?? cause.message;
  return new StoreUnavailableError(`${said}. ${remedy}`, { cause, retryAfterMs: retryAfter(error) });
}

/** The `Retry-After` header in whole seconds. Storage never uses its other form, a date. */
function retryAfter(error: RestError): number | undefined {
  const seconds = Number(error.response?.headers.get('retry-after') ?? NaN);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined;
}

function denialOf(status: number, code: string | undefined): Denial | undefined {
  if (code === 'AuthorizationPermissionMismatch') return 'role';
  // The answer of a firewall, and of accounts without public access.
  if (code === 'AuthorizationFailure') return 'network';
  return status === 401 || code === 'AuthenticationFailed' ? 'credentials' : undefined;
}

function deniedRemedy(code: string | undefined): string {
  switch (code) {
    case 'AuthenticationFailed':
    case 'InvalidAuthenticationInfo':
      return (
        'The service does not accept these credentials. Check the account key, the SAS and its expiry, or the tenant of ' +
        'the identity. Check also that the clock of this machine is less than 15 minutes off.'
      );
    case 'KeyBasedAuthenticationNotPermitted':
      return 'The account does not accept keys: use CRONLEASE_STORAGE__blobServiceUri and an identity.';
    case 'AccountIsDisabled':
      return 'The account is disabled: check whether its subscription is.';
    default:
      return (
        'Assign the role Storage Blob Data Contributor on the container to the identity of this app (it takes effect ' +
        'within minutes). With a key or SAS, check that it is right and allows this. Check also the firewall of the account.'
      );
  }
}

function unavailableRemedy(code: string | undefined): string | undefined {
  switch (code) {
    case 'ContainerBeingDeleted':
      return 'The container is being deleted, which takes about 30 s. A running app then creates it again.';
    case 'LeaseIdMissing':
      return 'Another program holds a lease on this blob. cronlease never does, so break the lease.';
    default:
      return undefined;
  }
}
