import { readFileSync } from 'node:fs';
import { exposureOf, type NamedServer } from '../exposure';
import { StorageSettingsError } from '../settings-error';

export interface Member {
  readonly host: string;
  readonly port: number;
}

/** With brackets around an address that has colons. */
export function addressOf({ host, port }: Member): string {
  return `${host.includes(':') ? `[${host}]` : host}:${String(port)}`;
}

/** The members of a cluster that a URL names. */
export interface Members extends NamedServer {
  readonly members: readonly Member[];
  /** Before the container's name in each key: empty, or it begins with a slash and does not end with one. */
  readonly prefix: string;
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** Undefined: the connection is not encrypted. */
  readonly tls: TlsFiles | undefined;
}

/** Names of files in PEM; undefined: the roots of this machine, and no certificate of the client. */
export interface TlsFiles {
  readonly cacert: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

/** Reads them, as Node's TLS wants them. */
export function filesOf({ cacert, cert, key }: TlsFiles): { ca?: string; cert?: string; key?: string } {
  const read = (file: string): string => readFileSync(file, 'utf8');
  return {
    ...(cacert !== undefined && { ca: read(cacert) }),
    ...(cert !== undefined && { cert: read(cert) }),
    ...(key !== undefined && { key: read(key) }),
  };
}

/** How the URLs of a store look. */
interface UrlForm {
  /** Of the store, for messages. */
  readonly store: string;
  /** Without TLS. With it, an "s" follows. */
  readonly scheme: string;
  /** Where the URL names none. */
  readonly port: number;
  /** The same with TLS, if it is another. */
  readonly tlsPort?: number;
  readonly example: string;
}

/** The parameters that name {@link TlsFiles}. */
export const TLS_PARAMETERS = ['cacert', 'cert', 'key'];

/** Whether a connection string is a URL of this form. */
function hasScheme({ scheme }: UrlForm, text: string): boolean {
  return new RegExp(`^${scheme}s?://`, 'i').test(text.trim());
}

/**
 * Reads a URL, which may name several members.
 *
 * @throws StorageSettingsError without a cause, because any part of the URL may be its password
 */
function membersOf(form: UrlForm, text: string): Members {
  const invalid = (problem: string): StorageSettingsError => invalidUrl(form, problem);
  const url = text.trim();
  if (url.includes('#')) throw invalid('it has a "#", which must be %23');
  const parts = /^([a-z]+):\/\/(?:([^@/?]*)@)?([^@/?]+)(\/[^@?]*)?(?:\?(.*))?$/i.exec(url);
  if (parts === null) throw invalid('it is not a URL: escape special characters of the password with %');
  const [, scheme = '', credentials = '', hosts = '', path = '', query = ''] = parts;
  const parameters = new URLSearchParams(query);
  const unknown = [...parameters.keys()].find((name) => !TLS_PARAMETERS.includes(name));
  // The parameter itself may be the rest of a password.
  if (unknown !== undefined) throw invalid(`it has a parameter other than ${TLS_PARAMETERS.join(', ')}`);
  const secure = scheme.toLowerCase() !== form.scheme;
  if (!secure && query !== '') throw invalid(`${TLS_PARAMETERS.join(', ')} are for ${form.scheme}s://, which uses TLS`);
  const file = (name: string): string | undefined => parameters.get(name) || undefined;
  const prefix = path.replace(/\/+$/, '');
  if (!/^[!-~]*$/.test(prefix)) throw invalid('its path has characters beside printable ASCII');
  const port = secure ? (form.tlsPort ?? form.port) : form.port;
  const members = hosts.split(',').map((host) => memberOf(form, host, port));
  const [user, ...password] = credentials.split(':');
  return {
    url,
    location: `${scheme.toLowerCase()}://${members.map(addressOf).join(',')}${prefix}`,
    exposure: exposureOf(members, secure, `${form.scheme}s`),
    members,
    prefix,
    user: decoded(form, user ?? ''),
    password: decoded(form, password.join(':')),
    tls: secure ? { cacert: file('cacert'), cert: file('cert'), key: file('key') } : undefined,
  };
}

function memberOf(form: UrlForm, text: string, usual: number): Member {
  const [, bare, host = bare, port = usual] = /^(?:\[([\da-f:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
  if (host === undefined) throw invalidUrl(form, 'it names a member that is not HOST or HOST:PORT');
  if (Number(port) < 1 || Number(port) > 65_535) throw invalidUrl(form, 'it names a port that is none from 1 to 65535');
  return { host, port: Number(port) };
}

/** A user or a password of the URL. */
export function decoded(form: Pick<UrlForm, 'store' | 'example'>, part: string): string | undefined {
  if (part === '') return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    throw invalidUrl(form, 'its user or password has a "%" that escapes nothing and must be %25');
  }
}

export function invalidUrl(
  { store, example }: Pick<UrlForm, 'store' | 'example'>,
  problem: string,
): StorageSettingsError {
  const message = `CRONLEASE_STORAGE is not a URL of ${store}: ${problem}. It looks like ${example}.`;
  return new StorageSettingsError('ConnectionStringInvalid', message);
}

const ETCD: UrlForm = {
  store: 'etcd',
  scheme: 'etcd',
  port: 2379,
  example: 'etcds://USER:PASSWORD@HOST:2379,HOST2:2379/PREFIX',
};

export function isEtcd(text: string): boolean {
  return hasScheme(ETCD, text);
}

/** @throws StorageSettingsError */
export function clusterOf(text: string): Members {
  return membersOf(ETCD, text);
}

const CONSUL: UrlForm = {
  store: 'Consul',
  scheme: 'consul',
  port: 8500,
  example: 'consuls://:TOKEN@HOST:8501,HOST2:8501/PREFIX',
};

export interface ConsulCluster extends Omit<Members, 'user' | 'password'> {
  /** Of the ACL; undefined: the agents' default one. */
  readonly token: string | undefined;
}

export function isConsul(text: string): boolean {
  return hasScheme(CONSUL, text);
}

/** @throws StorageSettingsError */
export function agentsOf(text: string): ConsulCluster {
  const { user, password: token, ...members } = membersOf(CONSUL, text);
  if (user !== undefined) throw invalidUrl(CONSUL, 'it names a user: give the token of the ACL as :TOKEN@');
  return { ...members, token };
}

const ZOOKEEPER: UrlForm = {
  store: 'ZooKeeper',
  scheme: 'zk',
  port: 2181,
  tlsPort: 2281,
  example: 'zk://USER:PASSWORD@HOST1:2181,HOST2:2181/CHROOT',
};

export function isZooKeeper(text: string): boolean {
  return hasScheme(ZOOKEEPER, text);
}

/**
 * The prefix is the chroot, and a user has a password.
 *
 * @throws StorageSettingsError
 */
export function ensembleOf(text: string): Members {
  const ensemble = membersOf(ZOOKEEPER, text);
  const { prefix, user, password } = ensemble;
  if (!/^(\/(?!\.\.?(\/|$))[\w.-]+)*$/.test(prefix)) {
    const problem = 'its path is not a chroot: use letters, digits, ".", "-" and "_", such as /apps/jobs';
    throw invalidUrl(ZOOKEEPER, problem);
  }
  // An empty login would make nodes that every client may write.
  if ((user === undefined) !== (password === undefined) || /^\w+:\/\/:?@/.test(ensemble.url)) {
    throw invalidUrl(ZOOKEEPER, 'its user has no password: use USER:PASSWORD@HOST');
  }
  if (user?.includes(':') === true) {
    throw invalidUrl(ZOOKEEPER, 'its user has a ":", which ZooKeeper cannot tell from the password');
  }
  return ensemble;
}
