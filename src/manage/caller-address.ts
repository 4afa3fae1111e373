import { isIPv6 } from 'node:net';
import type { Header } from '../core/same-origin';

/** The last hop is what the platform has seen; a caller may write those before it. `unknown`: it is not an address. */
export function addressOf(header: Header): string {
  const last = (header('x-forwarded-for') ?? '').split(',').at(-1)?.trim() ?? '';
  return /^\[?[0-9a-f.:]{2,45}\]?(:\d{1,5})?$/i.test(last) ? last : 'unknown';
}

/** The address without its port. Of an IPv6 address the /64 network, because its owner can use every address in it. */
export function networkOf(address: string): string {
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(address)?.[1] ?? /^([\d.]+):\d+$/.exec(address)?.[1] ?? address;
  if (!isIPv6(bare)) return bare;
  const mapped = /^::ffff:([\d.]+)$/i.exec(bare)?.[1];
  if (mapped !== undefined) return mapped;
  // A URL's host is the shortest form, in lowercase and without dots.
  const [head = '', tail] = new URL(`http://[${bare}]`).hostname.slice(1, -1).split('::');
  const groups = (text = ''): readonly string[] => (text === '' ? [] : text.split(':'));
  const zeros = Array.from({ length: 8 - groups(head).length - groups(tail).length }, () => '0');
  return `${[...groups(head), ...zeros, ...groups(tail)].slice(0, 4).join(':')}::/64`;
}
