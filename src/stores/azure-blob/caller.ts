import { isObject } from '../../core/metadata';
import type { Caller } from '../../lease/trial';

/** The identity that a token of Entra ID is for. */
export interface Identity {
  readonly kind: 'user' | 'application';
  /** As people know it: a user's sign-in name, or an application's id. */
  readonly name: string;
  readonly objectId: string;
  readonly tenant: string;
}

/** The identity as messages show it. */
export function shownCaller({ kind, name, objectId, tenant }: Identity): Caller {
  return {
    name: `the ${kind} ${name}${name === objectId ? '' : ` (object id ${objectId})`}`,
    realm: `tenant ${tenant}`,
  };
}

/**
 * Who a token of Entra ID is for. It is only read, to be told; nothing is decided by it.
 *
 * @returns undefined when it is no such token
 * @see https://learn.microsoft.com/entra/identity-platform/access-token-claims-reference
 */
export function callerIn(token: string): Identity | undefined {
  const [, payload = ''] = token.split('.');
  let claims: unknown;
  try {
    claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
  } catch {
    // Tokens are opaque to whoever they are not for.
    return undefined;
  }
  if (!isObject(claims)) return undefined;
  const text = (...names: readonly string[]): string | undefined =>
    names.map((name) => claims[name]).find((value) => typeof value === 'string' && value !== '') as string | undefined;
  const objectId = text('oid');
  const tenant = text('tid');
  if (objectId === undefined || tenant === undefined) return undefined;
  const user = text('upn', 'preferred_username', 'unique_name', 'email');
  const isApplication = claims['idtyp'] === 'app' || user === undefined;
  return {
    kind: isApplication ? 'application' : 'user',
    name: (isApplication ? text('app_displayname', 'appid', 'azp') : user) ?? objectId,
    objectId,
    tenant,
  };
}
