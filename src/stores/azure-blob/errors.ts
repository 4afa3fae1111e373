import { isRestError, type RestError } from '@azure/storage-blob';
import { brief } from '../../core/text';
import { type Denial, StoreDeniedError, StoreUnavailableError } from '../../lease/store';

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
 * By kind of call, the error codes that are its `no`.
 *
 * @see https://learn.microsoft.com/rest/api/storageservices/blob-service-error-codes
 */
export const NO = {
  read: BLOB_GONE,
  // A leased blob answers its creation with 412 LeaseIdMissing; on the emulator with 409 like any other.
  create: ['BlobAlreadyExists', 'LeaseIdMissing', ...CHANGED],
  replace: [...BLOB_GONE, ...CHANGED],
  lease: [...BLOB_GONE, ...CHANGED, ...NOT_OURS],
} as const;

/** The service's own code for an error; without a body it is in the headers only. */
export function codeOf(error: unknown): string | undefined {
  if (!isRestError(error)) return undefined;
  const details: unknown = error.details;
  const code =
    typeof details === 'object' && details !== null && 'errorCode' in details ? details.errorCode : undefined;
  return typeof code === 'string' ? code : (error.response?.headers.get('x-ms-error-code') ?? error.code);
}

/** When the service said no, by its clock. */
export function dateOf(error: unknown): number | undefined {
  const header = isRestError(error) ? error.response?.headers.get('date') : undefined;
  return header === undefined ? undefined : Date.parse(header);
}

/** The error in the port's terms. */
export function failure(error: unknown, where: string): StoreDeniedError | StoreUnavailableError {
  if (error instanceof StoreUnavailableError) return error;
  if (isRestError(error) && error.statusCode !== undefined) return refusal(error, error.statusCode, where);
  if (isCredentialFailure(error)) {
    const said = `${where}: no token could be had: ${firstLine(error.message)}`;
    return new StoreDeniedError(`${said}. Give the app a managed identity; a person signs in with "az login".`, {
      cause: causeOf(error),
      why: 'noToken',
    });
  }
  const cause = causeOf(error);
  return new StoreUnavailableError(`${where}: ${cause.message}. Can the service be reached from here?`, { cause });
}

function refusal(error: RestError, status: number, where: string): StoreDeniedError | StoreUnavailableError {
  const code = codeOf(error);
  const said = `${where}: ${[status, code].filter(Boolean).join(' ')}`;
  if (status === 401 || status === 403) {
    return new StoreDeniedError(`${said}. ${deniedRemedy(code)}`, {
      cause: causeOf(error),
      why: denialOf(status, code),
    });
  }
  return new StoreUnavailableError(`${said}. ${unavailableRemedy(code) ?? firstLine(error.message)}`, {
    cause: causeOf(error),
    retryAfterMs: retryAfter(error),
  });
}

/** The error as a log may show it: without its request and response, and with the beginning of its message. */
function causeOf(error: unknown): Error {
  const cause = new Error(firstLine(error instanceof Error ? error.message : String(error)));
  if (error instanceof Error) {
    cause.name = error.name;
    delete cause.stack;
  }
  return cause;
}

/** Whole seconds; the other form, a date, is not used by storage. */
function retryAfter(error: RestError): number | undefined {
  const seconds = Number(error.response?.headers.get('retry-after') ?? NaN);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined;
}

function denialOf(status: number, code: string | undefined): Denial | undefined {
  if (code === 'AuthorizationPermissionMismatch') return 'role';
  // What a firewall answers, and accounts without public access.
  if (code === 'AuthorizationFailure') return 'network';
  return status === 401 || code === 'AuthenticationFailed' ? 'credentials' : undefined;
}

function deniedRemedy(code: string | undefined): string {
  switch (code) {
    case 'AuthenticationFailed':
    case 'InvalidAuthenticationInfo':
      return (
        'The service does not accept these credentials: check the account key, the SAS and its end, or the tenant of ' +
        'the identity, and that the clock of this machine is right to 15 minutes.'
      );
    case 'KeyBasedAuthenticationNotPermitted':
      return 'The account takes no keys: use CRONLEASE_STORAGE__blobServiceUri and an identity.';
    default:
      return (
        'Assign the role Storage Blob Data Contributor on the container to the identity of this app (it takes effect ' +
        'within minutes); with a key or SAS check that it is right and allows this; and check the firewall of the account.'
      );
  }
}

function unavailableRemedy(code: string | undefined): string | undefined {
  switch (code) {
    case 'ContainerNotFound':
      return 'The container does not exist: create it, or check its name.';
    case 'ContainerBeingDeleted':
      return 'The container is being deleted: it can be made anew when that is done, after about 30 s.';
    case 'LeaseIdMissing':
      return 'Somebody holds a lease on this blob, which cronlease never does: break it.';
    default:
      return undefined;
  }
}

/** By name, so that `@azure/identity` need not be loaded; a token service that is down is not a refusal. */
function isCredentialFailure(error: unknown): error is Error {
  if (
    !(error instanceof Error) ||
    !/^(CredentialUnavailable|(Aggregate)?Authentication(Required)?)Error$/.test(error.name)
  ) {
    return false;
  }
  const status = 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 400;
  return status < 500 && status !== 429;
}

/** The service adds lines with request id and time, and the SDK whole bodies, or an object made of one. */
function firstLine(message: unknown): string {
  const text = typeof message === 'string' ? message : JSON.stringify(message);
  return brief(text.split('\n', 1)[0] ?? '').replace(/\.$/, '');
}
