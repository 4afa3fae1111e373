import type { ETag, Millis } from '../../core/brand';

export interface CallOptions {
  readonly signal?: AbortSignal;
}

export type Metadata = Readonly<Record<string, string>>;

export type CreateAnswer = { readonly kind: 'created'; readonly etag: ETag } | { readonly kind: 'exists' };
export type WriteAnswer = { readonly kind: 'written'; readonly etag: ETag } | { readonly kind: 'refused' };

export interface PageRequest {
  readonly limit: number;
  readonly continuation?: string;
}

/** The items of a page, under their name. Only an undefined continuation is the end. */
export type Paged<Name extends string, Item> = { readonly [Items in Name]: readonly Item[] } & {
  readonly continuation: string | undefined;
};

/** Storage did not do what was asked. A lost race is not an error. */
export abstract class StoreError extends Error {
  abstract readonly code: string;
}

/** The service could not be reached, throttled, or failed. The call may or may not have taken effect. */
export class StoreUnavailableError extends StoreError {
  readonly code = 'StoreUnavailable';
  override readonly name = 'StoreUnavailableError';
  /** The service's `Retry-After`, if it sent one. */
  readonly retryAfterMs: Millis | undefined;
  /** The service answers, and has no such container: nothing of it is stored. */
  readonly noContainer: boolean;

  constructor(
    message: string,
    options: { readonly cause?: unknown; readonly retryAfterMs?: Millis | undefined; readonly noContainer?: true } = {},
  ) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs;
    this.noContainer = options.noContainer ?? false;
  }
}

/**
 * Why the service refused the caller, if known. `noToken`: the caller has no usable identity. `credentials`: the
 * service does not accept its credentials. `role`: the caller lacks permission. `network`: the service refuses this
 * network.
 */
export type Denial = 'noToken' | 'credentials' | 'role' | 'network';

/** The service refused the caller: wrong credentials, or a missing role. */
export class StoreDeniedError extends StoreError {
  readonly code = 'StoreDenied';
  override readonly name = 'StoreDeniedError';
  readonly why: Denial | undefined;

  constructor(message: string, options: { readonly cause?: unknown; readonly why?: Denial | undefined } = {}) {
    super(message, options);
    this.why = options.why;
  }
}

/** The value exceeds the store's limits, or the lease length does. Nothing was sent. */
export class StoreLimitError extends Error {
  readonly code = 'StoreLimit';
  override readonly name = 'StoreLimitError';
}

/** The answer of a call, or the error if storage did not do what was asked. */
export async function orStoreError<Answer>(call: Promise<Answer>): Promise<Answer | StoreError> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof StoreError) return error;
    throw error;
  }
}
