import type { StorageSettingsError } from '../azure-blob/connection';
import { exposureOf, type NamedServer } from '../exposure';
import { addressOf, type Member } from '../http/address';
import { decoded, invalidUrl, TLS_PARAMETERS, type TlsFiles } from '../http/url';

export interface Ensemble extends NamedServer {
  readonly servers: readonly Member[];
  /** The folder of all containers, `/a/b`; '' is the root. */
  readonly chroot: string;
  readonly login: { readonly user: string; readonly password: string } | undefined;
  /** Undefined: the connections are not encrypted. */
  readonly tls: TlsFiles | undefined;
}

const PORT = 2181;
const TLS_PORT = 2281;
const FORM = { store: 'ZooKeeper', example: 'zk://USER:PASSWORD@HOST1:2181,HOST2:2181/CHROOT' };

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
    .map((server) => memberOf(server, port));
  const parameters = new URLSearchParams(query);
  // The parameter itself may be the rest of a password.
  if ([...parameters.keys()].some((name) => !TLS_PARAMETERS.includes(name)))
    throw invalid(`it has a parameter other than ${TLS_PARAMETERS.join(', ')}`);
  if (!isSecure && parameters.size > 0) throw invalid('it names a certificate, and zk:// uses none: use zks://');
  const file = (name: string): string | undefined => parameters.get(name) || undefined;
  const chroot = chrootOf(path);
  return {
    url,
    location: `${scheme.toLowerCase()}://${servers.map(addressOf).join(',')}${chroot}`,
    exposure: exposureOf(servers, isSecure, 'zks'),
    servers,
    chroot,
    login: loginOf(at === -1 ? undefined : authority.slice(0, at)),
    tls: isSecure ? { cacert: file('cacert'), cert: file('cert'), key: file('key') } : undefined,
  };
}

function memberOf(text: string, usual: number): Member {
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
  const login = { user: decoded(FORM, user) ?? '', password: decoded(FORM, password) ?? '' };
  if (login.user.includes(':')) throw invalid('its user has a ":", which ZooKeeper cannot tell from the password');
  return login;
}

function invalid(problem: string): StorageSettingsError {
  return invalidUrl(FORM, problem);
}
