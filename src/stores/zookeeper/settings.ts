import { StorageSettingsError } from '../azure-blob/connection';

/** An ensemble that `CRONLEASE_STORAGE` names. */
export interface Ensemble {
  /** As it was given, with credentials. */
  readonly url: string;
  /** For messages: without credentials and parameters. */
  readonly location: string;
  readonly servers: readonly Address[];
  /** The folder of all containers, `/a/b`; '' is the root. */
  readonly chroot: string;
  readonly login: { readonly user: string; readonly password: string } | undefined;
  /** Undefined: the connections are not encrypted. */
  readonly tls: TlsFiles | undefined;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Names of files in PEM; undefined: the roots of this machine, and no certificate of the client. */
interface TlsFiles {
  readonly cacert: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

const PORT = 2181;
const TLS_PORT = 2281;
const PARAMETERS = ['cacert', 'cert', 'key'];

/** Whether a connection string is a URL of ZooKeeper. */
export function isZooKeeper(text: string): boolean {
  return /^zks?:\/\//i.test(text.trim());
}

/**
 * Reads a URL of ZooKeeper: `zk://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]…][/CHROOT]`.
 *
 * @throws StorageSettingsError without a cause, because any part of the URL may be its password
 */
export function ensembleOf(text: string): Ensemble {
  const url = text.trim();
  const [, scheme = '', authority = '', path = '', query = '', hash] =
    /^(zks?):\/\/([^/?#]*)([^?#]*)(?:\?([^#]*))?(#.*)?$/i.exec(url) ?? [];
  if (hash !== undefined) throw invalid('it has a "#", which must be %23');
  const isSecure = scheme.toLowerCase() === 'zks';
  const at = authority.lastIndexOf('@');
  const port = isSecure ? TLS_PORT : PORT;
  const servers = authority
    .slice(at + 1)
    .split(',')
    .map((server) => addressOf(server, port));
  const parameters = new URLSearchParams(query);
  // The parameter itself may be the rest of a password.
  if ([...parameters.keys()].some((name) => !PARAMETERS.includes(name)))
    throw invalid(`it has a parameter that is none of ${PARAMETERS.join(', ')}`);
  if (!isSecure && parameters.size > 0) throw invalid('it names a certificate, and zk:// uses none: use zks://');
  const file = (name: string): string | undefined => parameters.get(name) || undefined;
  const chroot = chrootOf(path);
  const places = servers.map(
    (server) => `${server.host.includes(':') ? `[${server.host}]` : server.host}:${server.port}`,
  );
  return {
    url,
    location: `${scheme.toLowerCase()}://${places.join(',')}${chroot}`,
    servers,
    chroot,
    login: loginOf(at === -1 ? undefined : authority.slice(0, at)),
    tls: isSecure ? { cacert: file('cacert'), cert: file('cert'), key: file('key') } : undefined,
  };
}

function addressOf(text: string, usual: number): Address {
  const [, six, name, port = String(usual)] = /^(?:\[([\da-fA-F:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = six ?? name;
  if (host === undefined || Number(port) > 65_535 || Number(port) < 1)
    throw invalid('its hosts are not a list of HOST:PORT: escape special characters of the password with %');
  return { host, port: Number(port) };
}

function chrootOf(path: string): string {
  const names = path.replace(/\/$/, '').split('/').slice(1);
  if (names.some((name) => !/^[\w.-]+$/.test(name) || /^\.\.?$/.test(name)))
    throw invalid('its path is not a chroot: use letters, digits, ".", "-" and "_", such as /apps/jobs');
  return names.map((name) => `/${name}`).join('');
}

function loginOf(text: string | undefined): Ensemble['login'] {
  if (text === undefined) return undefined;
  const [, user = '', password = ''] = /^([^:]*):(.*)$/s.exec(text) ?? [];
  if (user === '' || password === '') throw invalid('its user has no password: use USER:PASSWORD@HOST');
  const login = { user: decoded(user), password: decoded(password) };
  if (login.user.includes(':')) throw invalid('its user has a ":", which ZooKeeper cannot tell from the password');
  return login;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw invalid('its user or password has a "%" that escapes nothing and must be %25');
  }
}

function invalid(problem: string): StorageSettingsError {
  return new StorageSettingsError(
    'ConnectionStringInvalid',
    `CRONLEASE_STORAGE is not a URL of ZooKeeper: ${problem}. It looks like zk://USER:PASSWORD@HOST1:2181,HOST2:2181/CHROOT.`,
  );
}
