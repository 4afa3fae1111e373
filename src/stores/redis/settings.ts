import type { Millis } from '../../core/brand';
import { exposureOf, type NamedServer } from '../exposure';
import { decoded, invalidUrl, TLS_PARAMETERS, type TlsFiles } from '../http/url';
import type { StorageSettingsError } from '../settings-error';

export interface RedisServer extends NamedServer {
  readonly host: string;
  readonly port: number;
  /** The number of the database. A cluster has only 0. */
  readonly db: number;
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** Undefined: the connection is not encrypted. */
  readonly tls: TlsFiles | undefined;
  /** How many replicas must have each write before it counts as answered, and how long that may take. */
  readonly wait: { readonly replicas: number; readonly ms: Millis } | undefined;
}

const PORT = 6379;
const WAIT_MS = 1_000;
const PARAMETERS = ['waitReplicas', 'waitMs', ...TLS_PARAMETERS];
const FORM = { store: 'Redis', example: 'rediss://USER:PASSWORD@HOST:6379/0' };

export function isRedis(text: string): boolean {
  return /^(rediss?|valkeys?):\/\//i.test(text.trim());
}

/**
 * Reads a URL of Redis or Valkey.
 *
 * @throws StorageSettingsError without a cause, because any part of the URL may be its password
 */
export function serverOf(text: string): RedisServer {
  const given = text.trim();
  const secure = /^(rediss|valkeys):/i.test(given);
  const url = URL.parse(given);
  if (url === null || url.hostname === '')
    throw invalid('it is not a URL: escape special characters of the password with %');
  if (url.hash !== '') throw invalid('it has a "#", which must be %23');
  if (url.hostname.includes(',')) {
    throw invalid('it names several hosts: name the one that leads to the primary, or any node of a cluster');
  }
  const db = /^\/?(\d*)\/?$/.exec(url.pathname)?.[1];
  if (db === undefined) throw invalid('its path is not the number of a database, such as /0');
  const unknown = [...url.searchParams.keys()].find((name) => !PARAMETERS.includes(name));
  // The parameter itself may be the rest of a password.
  if (unknown !== undefined) throw invalid(`it has a parameter other than ${PARAMETERS.join(', ')}`);
  const port = Number(url.port || PORT);
  const parameter = (name: string): string | undefined => url.searchParams.get(name) || undefined;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const [cacert, cert, key] = [parameter('cacert'), parameter('cert'), parameter('key')];
  return {
    url: given,
    location: `${url.protocol}//${url.hostname}:${String(port)}/${String(Number(db))}`,
    exposure: exposureOf([{ host }], secure, 'rediss'),
    host,
    port,
    db: Number(db),
    user: decoded(FORM, url.username),
    password: decoded(FORM, url.password),
    tls: secure ? { cacert, cert, key } : undefined,
    wait: waitOf(parameter('waitReplicas'), parameter('waitMs')),
  };
}

function waitOf(replicas: string | undefined, ms: string | undefined): RedisServer['wait'] {
  if (replicas === undefined && ms === undefined) return undefined;
  if (!/^[1-9]\d?$/.test(replicas ?? '')) throw invalid('waitReplicas is not a number from 1 to 99');
  if (ms !== undefined && !/^[1-9]\d{0,3}$/.test(ms)) throw invalid('waitMs is not a number from 1 to 9999');
  return { replicas: Number(replicas), ms: ms === undefined ? WAIT_MS : Number(ms) };
}

function invalid(problem: string): StorageSettingsError {
  return invalidUrl(FORM, problem);
}
