import { given } from '../core/given';
import { isObject, parsedJson } from '../core/metadata';
import { type Header, isSameOrigin } from '../core/http-request';
import { brief, oneLine } from '../core/text';
import { RequestError } from './problem';
import { type ApiKey, keyOf, sameSecret } from './keys';
import { includes, type Rights, rightsOf, type Role } from './rights';

/** The facts on which access depends. They come from the environment of the app, never from a request. */
export interface AccessSettings {
  /** Whether the platform authenticates callers, and so removes `x-ms-client-principal` from what they send. */
  readonly platformAuth: boolean;
  readonly keys: readonly ApiKey[];
  /** The secret of a running `cronlease dev`. Undefined everywhere else. */
  readonly devSecret: string | undefined;
  readonly readOnly: boolean;
}

/** A way in: a person's browser, a program with a login of Entra, or a machine with a key. */
export type Channel = 'browser' | 'app' | 'key';

export interface Caller extends Rights {
  /** `TENANT/OBJECT` of a login of Entra. */
  readonly identity?: string;
  /** The person, the application, or the name of the key. */
  readonly actor: string;
  readonly channel: Channel;
}

/** The parts of a request on which access depends. */
export interface Knock {
  readonly header: Header;
  /** Whether the path is one that the platform lets through without a login: only keys count there. */
  readonly keyed: boolean;
}

export const KEY_HEADER = 'x-cronlease-key';
export const DEV_HEADER = 'x-cronlease-dev';
/** A header that neither a form nor a link can send, and a page of another site only if we allowed it. */
export const CHANGE_HEADER = 'x-cronlease-request';
const PRINCIPAL_HEADER = 'x-ms-client-principal';

/**
 * A request that claims more than one identity gets the first of these; a wrong key is never ignored. Decision 103.
 *
 * @throws RequestError 401 or 403
 */
export function callerOf(settings: AccessSettings, knock: Knock): Caller {
  const key = keySent(knock);
  if (key !== undefined) return callerByKey(settings, key, knock);
  if (knock.keyed) throw withoutKey(settings);
  const secret = knock.header(DEV_HEADER);
  if (secret !== undefined) return callerUnderDev(settings, secret, knock);
  const principal = knock.header(PRINCIPAL_HEADER);
  if (principal === undefined) throw nobody('headers', 'no login and no key was sent');
  if (!settings.platformAuth) {
    throw nobody(PRINCIPAL_HEADER, 'Azure does not authenticate the callers of this app, so any caller can send it');
  }
  return callerByLogin(principal, knock);
}

/** The key that a request presents; undefined if it has none. */
export function keySent(knock: Knock): string | undefined {
  return knock.header(KEY_HEADER) ?? (knock.keyed ? basicKey(knock) : undefined);
}

/**
 * The password of basic authentication, for programs that cannot send a custom header, such as older versions of
 * Prometheus. It counts only below `keyed/`: elsewhere, `authorization` is for the platform.
 */
function basicKey({ header }: Knock): string | undefined {
  const sent = /^basic +([A-Za-z0-9+/]+=*)$/i.exec(header('authorization') ?? '')?.[1];
  if (sent === undefined) return undefined;
  const [, password] = /^[^:]*:(.*)$/s.exec(Buffer.from(sent, 'base64').toString('utf8')) ?? [];
  return password;
}

function withoutKey({ keys }: AccessSettings): RequestError {
  if (keys.length === 0) return nobody(KEY_HEADER, 'this app has no keys', 'list keys in CRONLEASE_API_KEYS');
  const remedy = `send a key in ${KEY_HEADER}, or as the password of basic authentication`;
  return nobody(KEY_HEADER, 'no key was sent, and this path accepts nothing else', remedy, ASK_FOR_KEY);
}

function callerByKey({ keys }: AccessSettings, presented: string, { keyed }: Knock): Caller {
  const key = keyOf(keys, presented);
  if (key !== undefined) return { ...key.rights, actor: key.name, channel: 'key' };
  const issue = {
    place: KEY_HEADER,
    problem: 'the key is not one of this app',
    remedy: 'send a key whose SHA-256 is in CRONLEASE_API_KEYS',
  };
  throw new RequestError(401, 'WrongKey', issue, keyed ? ASK_FOR_KEY : DO_NOT_ASK);
}

function callerByLogin(header: string, { header: read }: Knock): Caller {
  const principal = readPrincipal(header);
  if (principal === undefined) throw nobody(PRINCIPAL_HEADER, 'it does not hold a login of Microsoft Entra');
  const { name, rights, identity } = principal;
  if (rights !== undefined) {
    const channel = isBrowser(read) ? 'browser' : 'app';
    return { ...rights, actor: name, channel, ...given({ identity }) };
  }
  throw new RequestError(403, 'NoRole', {
    place: PRINCIPAL_HEADER,
    problem: 'the login has none of the roles viewer, payloads, operator and admin',
    remedy: 'have an app role assigned to you in Microsoft Entra, and log in again',
  });
}

/** Callers that `cronlease dev` lets in have every role, and come from this machine only. */
function callerUnderDev({ devSecret }: AccessSettings, secret: string, knock: Knock): Caller {
  if (devSecret === undefined || !sameSecret(devSecret, secret)) {
    throw nobody(DEV_HEADER, 'it is not the secret of a running "cronlease dev"');
  }
  const host = knock.header('host') ?? '';
  const origin = knock.header('origin');
  if (!isLoopback(host) || (origin !== undefined && origin !== `http://${host.toLowerCase()}`)) {
    throw notFromHere('"cronlease dev" answers only its own pages');
  }
  return { role: 'admin', payloads: true, actor: 'developer', channel: isBrowser(knock.header) ? 'browser' : 'app' };
}

/** Throws a {@link RequestError} if the caller may not call a route, or not from here or now if it is a change. */
export function checkCall(
  settings: AccessSettings,
  caller: Caller,
  needed: Role,
  isChange: boolean,
  { header }: Knock,
): void {
  if (!includes(caller.role, needed)) {
    throw new RequestError(403, 'RoleTooLow', {
      place: 'role',
      problem: `the role ${caller.role} may not do this`,
      remedy: `ask a person with the role ${needed}`,
    });
  }
  if (!isChange) return;
  if (settings.readOnly) {
    throw new RequestError(403, 'ReadOnly', {
      place: 'CRONLEASE_MANAGE_READ_ONLY',
      problem: 'this app does not accept changes over HTTP',
      remedy: 'use the command line, or set it to "false"',
    });
  }
  if (header(CHANGE_HEADER) !== '1') {
    throw new RequestError(403, 'NotFromHere', {
      place: CHANGE_HEADER,
      problem: 'a change needs this header, so that no page of another site can make it',
      remedy: `send "${CHANGE_HEADER}: 1"`,
    });
  }
  if (!isSameOrigin(header)) throw notFromHere('a change from a page of another site is refused');
}

function isBrowser(header: Header): boolean {
  return header('sec-fetch-site') !== undefined || header('origin') !== undefined;
}

function isLoopback(host: string): boolean {
  return /^(localhost|127\.0\.0\.1|\[::1\]):\d{1,5}$/i.test(host);
}

function notFromHere(problem: string): RequestError {
  const remedy = 'open the page of this app itself';
  return new RequestError(403, 'NotFromHere', { place: 'Origin', problem, remedy });
}

/** Has a browser ask its person for the key. */
const ASK_FOR_KEY = {
  'www-authenticate': 'Basic realm="cronlease: any name, and a key as password", charset="UTF-8"',
};
const DO_NOT_ASK = { 'www-authenticate': 'CronleaseKey' };

function nobody(
  place: string,
  problem: string,
  remedy = `log in with Microsoft Entra, or send a key in ${KEY_HEADER}`,
  headers = DO_NOT_ASK,
): RequestError {
  return new RequestError(401, 'NotAuthenticated', { place, problem, remedy }, headers);
}

/** More than the platform sends: a caller with 200 groups has 20 KB. */
const MOST_CHARACTERS = 65_536;
/** Microsoft Entra, as the platform names it in `auth_typ`. */
const ENTRA = 'aad';
/** Claims that name a person, or else an application: first those the directory gives, then what a person may write. */
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
function readPrincipal(header: string) {
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
    /** For people: its owner may have chosen it. */
    name: name === undefined ? 'unknown' : brief(oneLine(name)).slice(0, 100),
    /** `TENANT/OBJECT`; undefined if the login does not hold both. */
    identity: object === undefined || tenant === undefined ? undefined : `${tenant}/${object}`.toLowerCase(),
    /** Undefined: none of the app's roles was assigned to the caller. */
    rights: rightsOf([...valuesOf(roleType), ...valuesOf('roles')]),
  };
}
