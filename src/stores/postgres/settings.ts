import { env } from 'node:process';
import type { Exposure, NamedServer } from '../exposure';
import { StorageSettingsError } from '../settings-error';

export function isPostgres(text: string): boolean {
  return /^postgres(ql)?:\/\//i.test(text.trim());
}

/**
 * Reads a PostgreSQL URL. pg takes what the URL leaves out from `PGHOST`, `PGPASSWORD` and their like.
 *
 * @throws StorageSettingsError without a cause, because any part of the URL may be its password
 */
export function databaseOf(text: string): NamedServer {
  const given = text.trim();
  // A URL without a host, such as postgres:///app, is legal for pg, and not for URL.
  const url = URL.parse(given.replace(/^postgres(?:ql)?:\/\/(?=\/|$)/i, 'postgres://localhost'));
  if (url === null) throw invalid('it is not a URL: escape special characters of the password with %');
  if (url.hash !== '') throw invalid('it has a "#", which must be %23');
  const named = lastOf(url.searchParams, 'host');
  const host = named ?? url.host;
  const isHostLess = /^postgres(?:ql)?:\/\/(?=\/|\?|$)/i.test(given) && named === undefined;
  if (host.includes(',') || given.split('@').at(-1)?.split('/')[0]?.includes(',') === true) {
    throw invalid('it names several hosts, which pg does not support: name the one that leads to the primary');
  }
  const hosts = [isHostLess ? (pgOwn().PGHOST ?? host) : (named ?? url.hostname)];
  const exposure = { hosts: hosts.map(bare), tls: tlsOf(url.searchParams), remedy: 'use sslmode=verify-full' };
  return { url: given, location: `postgres://${host}${url.pathname === '/' ? '' : url.pathname}`, exposure };
}

/** Read by pg itself, as by every client of PostgreSQL. */
function pgOwn(): { readonly PGHOST?: string | undefined; readonly PGSSLMODE?: string | undefined } {
  const { PGHOST, PGSSLMODE } = env;
  return { PGHOST, PGSSLMODE };
}

/** Of a parameter that is given twice, pg takes the last one. */
function lastOf(parameters: URLSearchParams, name: string): string | undefined {
  return parameters.getAll(name).at(-1);
}

/** A path is escaped in the place of a host. */
function bare(host: string): string {
  return decodeURIComponent(host).replace(/^\[|\]$/g, '');
}

/**
 * How pg connects. It verifies the certificate with `require` and `prefer` too, up to version 8; libpq and later versions
 * do not. With `uselibpqcompat`, `verify-ca` accepts the certificate of any host.
 */
function tlsOf(parameters: URLSearchParams): Exposure['tls'] {
  const ssl = lastOf(parameters, 'ssl');
  const isDirect = lastOf(parameters, 'sslnegotiation') === 'direct' && ssl === undefined;
  const hasFile = ['sslrootcert', 'sslcert', 'sslkey'].some((name) => lastOf(parameters, name));
  const isOn = ssl === 'true' || ssl === '1' || isDirect || hasFile;
  const mode = lastOf(parameters, 'sslmode') ?? (ssl === undefined && !isOn ? pgOwn().PGSSLMODE : undefined);
  if (mode === undefined) return isOn ? 'verified' : ssl === 'no-verify' ? 'unverified' : 'none';
  if (mode === 'disable') return 'none';
  const isOfHost = mode === 'verify-full' || (mode === 'verify-ca' && !parameters.has('uselibpqcompat'));
  return isOfHost ? 'verified' : 'unverified';
}

/** The scope of an identity's token for the cloud of Azure in which the server is. */
export function scopeOf({ exposure }: NamedServer): string {
  const cloud = /\.postgres\.database\.(usgovcloudapi\.net|chinacloudapi\.cn)$/i.exec(exposure.hosts[0] ?? '')?.[1];
  return `https://ossrdbms-aad.database.${cloud?.toLowerCase() ?? 'windows.net'}/.default`;
}

function invalid(problem: string): StorageSettingsError {
  return new StorageSettingsError(
    'ConnectionStringInvalid',
    `CRONLEASE_STORAGE is not a PostgreSQL URL: ${problem}. It looks like ` +
      'postgres://USER:PASSWORD@HOST:5432/DATABASE?sslmode=verify-full.',
  );
}
