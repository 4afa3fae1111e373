import { BlockList, isIP } from 'node:net';
import type { getDomain as GetDomain } from 'tldts';

/** A host that may be called. */
export interface AllowedHost {
  /** A host name, or `*.` and a domain, whose hosts are allowed. In lower case. */
  readonly pattern: string;
  /** The networks in which it may lie besides the public internet, as `10.1.0.0/16`. */
  readonly networks: readonly string[];
}

export interface Guard {
  readonly setting: 'CRONLEASE_NOTIFY_HOSTS' | 'CRONLEASE_CALL_HOSTS';
  readonly hosts: readonly AllowedHost[];
  /** Whether this machine itself may be called, and without TLS: under `cronlease dev`. */
  readonly isLocal: boolean;
}

/** An address that must not be called. The message has the host, never the rest of the address. */
export class ForbiddenAddressError extends Error {
  readonly code = 'ForbiddenAddress';
  override readonly name = 'ForbiddenAddressError';
}

/** Networks that are not part of the public internet. Outsiders must not make an app call them. */
const PRIVATE: readonly (readonly [network: string, prefix: number, family: 'ipv4' | 'ipv6'])[] = [
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.0.2.0', 24, 'ipv4'],
  ['192.88.99.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['198.51.100.0', 24, 'ipv4'],
  ['203.0.113.0', 24, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
  // They hold an IPv4 address, which a gateway may call.
  ['64:ff9b::', 96, 'ipv6'],
  ['64:ff9b:1::', 48, 'ipv6'],
  ['2001::', 23, 'ipv6'],
  ['2002::', 16, 'ipv6'],
  ['2001:db8::', 32, 'ipv6'],
  ['100::', 64, 'ipv6'],
  ['fc00::', 7, 'ipv6'],
  ['fec0::', 10, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
];
/** Never to be called, whatever the settings allow: metadata services give tokens of the app's identity. */
const NEVER: typeof PRIVATE = [
  ['169.254.0.0', 16, 'ipv4'],
  // Azure's own services for a machine.
  ['168.63.129.16', 32, 'ipv4'],
  ['fe80::', 10, 'ipv6'],
  ['fd00:ec2::254', 128, 'ipv6'],
  // Those of Google, Alibaba and Oracle that lie in networks which a setting may allow.
  ['fd20:ce::254', 128, 'ipv6'],
  ['100.100.100.200', 32, 'ipv4'],
  ['192.0.0.192', 32, 'ipv4'],
  // Linux connects them to this machine.
  ['0.0.0.0', 8, 'ipv4'],
  // Old forms of IPv4 addresses, `::127.0.0.1` and `::ffff:0:127.0.0.1`: nothing on the internet has one.
  ['::', 96, 'ipv6'],
  ['::ffff:0:0:0', 96, 'ipv6'],
  // The above through gateways that translate, which a network may otherwise allow.
  ['64:ff9b::169.254.0.0', 112, 'ipv6'],
  ['64:ff9b::168.63.129.16', 128, 'ipv6'],
  ['64:ff9b::100.100.100.200', 128, 'ipv6'],
  ['64:ff9b::192.0.0.192', 128, 'ipv6'],
  ['2002:a9fe::', 32, 'ipv6'],
  ['2002:a83f:8110::', 48, 'ipv6'],
  ['2002:6464:64c8::', 48, 'ipv6'],
  ['2002:c000:c0::', 48, 'ipv6'],
];
const LOOPBACK: typeof PRIVATE = [
  ['127.0.0.0', 8, 'ipv4'],
  ['::1', 128, 'ipv6'],
];

const isPrivate = listOf(PRIVATE);
const isNever = listOf(NEVER);
const isLoopback = listOf(LOOPBACK);

function listOf(networks: typeof PRIVATE): BlockList {
  const list = new BlockList();
  for (const network of networks) list.addSubnet(...network);
  return list;
}

/** Domains of Azure and AWS below which customers choose names, and that the public suffix list lacks. */
const OF_CLOUDS =
  /^(?:windows\.net|(?:[a-z]+\.)?core\.windows\.net|azure\.(?:com|net)|vault\.azure\.net|(?:[a-z0-9-]+\.)?(?:cloudapp\.azure\.com|azurecontainerapps\.io)|[a-z]+\d*-\d\d\.azurewebsites\.net|amazonaws\.com)$/;

/**
 * Whether names under the domain of a pattern are free for all, as under `*.co.uk` or `*.azurewebsites.net`: then the
 * pattern would allow foreign hosts. By the public suffix list, with the domains that hosters have added.
 */
export function isOpenToAll(pattern: string): boolean {
  if (!pattern.startsWith('*.')) return false;
  const domain = pattern.slice(2);
  if (OF_CLOUDS.test(domain)) return true;
  // The list takes 8 ms to load, and most apps have no such pattern.
  const { getDomain } = require('tldts') as { readonly getDomain: typeof GetDomain };
  return getDomain(domain, { allowPrivateDomains: true }) === null;
}

/** The networks as a list to check; undefined: one of them is none. */
export function networksOf(networks: readonly string[]): BlockList | undefined {
  const list = new BlockList();
  for (const text of networks) {
    const [address = '', prefix = ''] = text.split('/');
    const family = isIP(address);
    const bits = Number(prefix);
    if (family === 0 || !/^\d{1,3}$/.test(prefix) || bits > (family === 4 ? 32 : 128)) return undefined;
    list.addSubnet(address, bits, family === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

/** Returns the entry of the allow list. Decision 095. Throws {@link ForbiddenAddressError}. */
export function checkAddress(address: URL, { setting, hosts, isLocal }: Guard): AllowedHost {
  const host = hostOf(address);
  const allowed = hosts.find(({ pattern }) =>
    pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern,
  );
  if (allowed === undefined) {
    const what = setting === 'CRONLEASE_CALL_HOSTS' ? 'calls' : 'notices';
    throw new ForbiddenAddressError(`host "${host}" is not in ${setting}: add it, if ${what} may go there`);
  }
  const isPlain = address.protocol === 'http:' && isLocal && isThisMachine(host);
  if (address.protocol !== 'https:' && !isPlain) {
    const local = isThisMachine(host) ? '; only "cronlease dev" calls this machine without it' : '';
    throw new ForbiddenAddressError(`host "${host}" is to be called without TLS: use https${local}`);
  }
  if (address.username !== '' || address.password !== '') {
    throw new ForbiddenAddressError(`the address at host "${host}" has a user name: leave it out`);
  }
  return allowed;
}

function isThisMachine(host: string): boolean {
  return host === 'localhost' || (isIP(host) !== 0 && isLoopback.check(host, familyOf(host)));
}

/** The host without the brackets of an IPv6 address. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '').toLowerCase();
}

/**
 * Checks the address that a host's name has. The connection must then go to this very address, because a second look-up
 * may give another one.
 *
 * @throws ForbiddenAddressError
 */
export function checkResolved(host: string, ip: string, allowed: AllowedHost, { setting, isLocal }: Guard): void {
  const family = familyOf(ip);
  const refuse = (what: string): never => {
    throw new ForbiddenAddressError(`host "${host}" has the address ${ip}, ${what}`);
  };
  if (isLoopback.check(ip, family)) {
    if (!isLocal) refuse('which is this machine');
    return;
  }
  if (isNever.check(ip, family)) refuse('which must never be called');
  if (!isPrivate.check(ip, family)) return;
  if (networksOf(allowed.networks)?.check(ip, family) !== true) {
    refuse(`which is private: allow it as "${allowed.pattern}=NETWORK" in ${setting}, such as "=10.0.0.0/8"`);
  }
}

function familyOf(ip: string): 'ipv4' | 'ipv6' {
  return isIP(ip) === 6 ? 'ipv6' : 'ipv4';
}
