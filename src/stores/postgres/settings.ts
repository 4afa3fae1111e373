import { StorageSettingsError } from '../azure-blob/connection';

/** A database that `CRONLEASE_STORAGE` names. */
export interface Database {
  /** As pg reads it, with credentials. */
  readonly url: string;
  /** For messages: without credentials and parameters. */
  readonly location: string;
}

/** Whether a connection string is a PostgreSQL URL. */
export function isPostgres(text: string): boolean {
  return /^postgres(ql)?:\/\//i.test(text.trim());
}

/**
 * Reads a PostgreSQL URL. pg takes what the URL leaves out from `PGHOST`, `PGPASSWORD` and their like.
 *
 * @throws StorageSettingsError without a cause, since any part of the URL may be its password
 */
export function databaseOf(text: string): Database {
  const given = text.trim();
  // A URL without a host, such as postgres:///app, is legal for pg, and not for URL.
  const url = URL.parse(given.replace(/^postgres(?:ql)?:\/\/(?=\/|$)/i, 'postgres://localhost'));
  if (url === null) throw invalid('it is not a URL: escape special characters of the password with %');
  if (url.hash !== '') throw invalid('it has a "#": write it as %23');
  const host = url.searchParams.get('host') ?? url.host;
  if (host.includes(',') || given.split('@').at(-1)?.split('/')[0]?.includes(',') === true) {
    throw invalid('it names several hosts, which pg does not support: name the one that leads to the primary');
  }
  return { url: given, location: `postgres://${host}${url.pathname === '/' ? '' : url.pathname}` };
}

function invalid(problem: string): StorageSettingsError {
  return new StorageSettingsError(
    'ConnectionStringInvalid',
    `CRONLEASE_STORAGE is not a PostgreSQL URL: ${problem}. It looks like ` +
      'postgres://USER:PASSWORD@HOST:5432/DATABASE?sslmode=verify-full.',
  );
}
