import { isObject, parsedJson } from '../../core/metadata';
import type { Caller } from '../../lease/trial';

/** The identity of a token of Entra ID. */
export interface Identity {
  readonly kind: 'user' | 'application';
  /** A name for people: a user's sign-in name, or an application's id. */
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
 * Reads the identity from a token of Entra ID, for messages only. No decision depends on it.
 *
 * @returns undefined if the text is not such a token
 * @see https://learn.microsoft.com/entra/identity-platform/access-token-claims-reference
 */
export function callerIn(token: string): Identity | undefined {
  const [, payload = ''] = token.split('.');
  // A token is opaque to everyone but its audience, so any format is legal.
  const claims = parsedJson(Buffer.from(payload, 'base64url').toString('utf8'));
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
