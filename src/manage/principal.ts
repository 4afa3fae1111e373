import { isObject, parsedJson } from '../core/metadata';
import { brief, oneLine } from '../core/text';
import { type Rights, rightsOf } from './roles';

/** The caller whom Azure's built-in authentication has logged in. */
export interface Principal {
  /** For people: its owner may have chosen it. */
  readonly name: string;
  /** `TENANT/OBJECT`; undefined if the login does not hold both. */
  readonly identity: string | undefined;
  /** Undefined: none of the app's roles was assigned to the caller. */
  readonly rights: Rights | undefined;
}

/** More than the platform sends: a caller with 200 groups has 20 KB. */
const MOST_CHARACTERS = 65_536;
/** Microsoft Entra, as the platform names it in `auth_typ`. */
const ENTRA = 'aad';
/** Claims that name a person, or else an application: first those that the directory gives, then what a person may write. */
const NAMES_GIVEN = ['preferred_username', 'upn'];
const NAMES_CHOSEN = ['name', 'appid', 'azp'];
/** Claims by their short names, and as the platform may map them. */
const OBJECT_CLAIMS = ['oid', 'http://schemas.microsoft.com/identity/claims/objectidentifier'];
const TENANT_CLAIMS = ['tid', 'http://schemas.microsoft.com/identity/claims/tenantid'];
const GUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Reads `x-ms-client-principal`. Undefined if the platform cannot have written it for a login by Entra; Static Web Apps
 * sends another shape under the same name, which is refused too.
 *
 * @see https://learn.microsoft.com/azure/app-service/configure-authentication-user-identities
 */
export function readPrincipal(header: string): Principal | undefined {
  if (header.length > MOST_CHARACTERS || !/^[A-Za-z0-9+/]+={0,2}$/.test(header)) return undefined;
  const parsed = parsedJson(Buffer.from(header, 'base64').toString('utf8'));
  if (!isObject(parsed) || parsed['auth_typ'] !== ENTRA || !Array.isArray(parsed['claims'])) return undefined;
  const { role_typ: roleType, name_typ: nameType } = parsed;
  const claims = parsed['claims'].flatMap((claim: unknown) => {
    if (!isObject(claim)) return [];
    const { typ, val } = claim;
    return typeof typ === 'string' && typeof val === 'string' ? [{ typ, val }] : [];
  });
  const valuesOf = (type: unknown): readonly string[] =>
    claims.filter(({ typ }) => typ === type).map(({ val }) => val.trim());
  const guidIn = (types: readonly string[]): string | undefined =>
    types.flatMap(valuesOf).find((text) => GUID.test(text));
  const [object, tenant] = [guidIn(OBJECT_CLAIMS), guidIn(TENANT_CLAIMS)];
  const name = [...NAMES_GIVEN, nameType, ...NAMES_CHOSEN].flatMap(valuesOf).find((text) => text !== '');
  return {
    name: name === undefined ? 'unknown' : brief(oneLine(name)).slice(0, 100),
    identity: object === undefined || tenant === undefined ? undefined : `${tenant}/${object}`.toLowerCase(),
    rights: rightsOf([...valuesOf(roleType), ...valuesOf('roles')]),
  };
}
