import type { Millis } from './brand';

/** The kinds of calls to storage, in the order in which tables show them. */
export const CALL_KINDS = [
  'listing',
  'read',
  'properties',
  'write',
  'append',
  'metadata',
  'acquire',
  'renew',
  'change',
  'release',
  'break',
  'delete',
  'container',
] as const;

/** What one call to storage asks for. `write` creates or replaces a blob, `metadata` writes a row's or a control's. */
export type CallKind = (typeof CALL_KINDS)[number];

/** How many calls of each kind; a missing kind: none. */
export type CallCounts = Readonly<Partial<Record<CallKind, number>>>;

/** `conflict`: its condition or lease did not hold. `noAnswer`: it may or may not have taken effect. */
export const CALL_RESULTS = ['ok', 'conflict', 'notFound', 'denied', 'throttled', 'error', 'noAnswer'] as const;

export type CallResult = (typeof CALL_RESULTS)[number];

/** A call that is over. */
export interface CallOutcome {
  readonly kind: CallKind;
  readonly result: CallResult;
  readonly ms: Millis;
}

/** @param status of HTTP; undefined: there was no answer */
export function callResult(status: number | undefined): CallResult {
  if (status === undefined) return 'noAnswer';
  if (status < 400) return 'ok';
  switch (status) {
    case 401:
    case 403:
      return 'denied';
    case 404:
      return 'notFound';
    case 409:
    case 412:
      return 'conflict';
    case 429:
    case 503:
      return 'throttled';
    default:
      return 'error';
  }
}
