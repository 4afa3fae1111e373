import { StorageSettingsError } from './settings-error';

/** Who could read, or answer in place of the store, what this process sends to it. */
export interface Exposure {
  readonly hosts: readonly string[];
  /** `unverified`: encrypted, but perhaps for another server, because the server's certificate need not be its own. */
  readonly tls: 'verified' | 'unverified' | 'none';
  /** How the URL asks for TLS that is verified. */
  readonly remedy: string;
}

/** The server or cluster that a URL names. */
export interface NamedServer {
  /** As it was given, with credentials. */
  readonly url: string;
  /** For messages: without credentials and parameters. */
  readonly location: string;
  readonly exposure: Exposure;
}

/** @param scheme that of URLs with TLS */
export function exposureOf(members: readonly { readonly host: string }[], isSecure: boolean, scheme: string): Exposure {
  return { hosts: members.map(({ host }) => host), tls: isSecure ? 'verified' : 'none', remedy: `use ${scheme}://` };
}

/** A URL without the parameter `insecure`, which is of no store's own, and whether it was there. */
export function withoutInsecure(text: string): { readonly url: string; readonly isAllowed: boolean } {
  const given = /[?&]insecure=([^&#]*)/.exec(text);
  if (given === null) return { url: text, isAllowed: false };
  if (given[1] !== 'allow') {
    const message =
      'CRONLEASE_STORAGE has the parameter insecure with a value beside allow: use insecure=allow, or none.';
    throw new StorageSettingsError('StorageInsecure', message);
  }
  const url = text.replace(/([?&])insecure=allow(&?)/, (_, before: string, after: string) =>
    after === '' ? '' : before,
  );
  return { url, isAllowed: true };
}

/**
 * Refuses to send an identity's token anywhere but to a server whose certificate is verified, and anything else to other
 * hosts without that, unless the URL allows it.
 *
 * @throws StorageSettingsError
 */
export function checkExposure(
  exposure: Exposure,
  { isAllowed, hasToken }: { readonly isAllowed: boolean; readonly hasToken: boolean },
): void {
  const { tls, remedy } = exposure;
  if (hasToken && tls !== 'verified') {
    const message = `CRONLEASE_STORAGE would send an identity's token ${WITHOUT[tls]}, which is never done: ${remedy}.`;
    throw new StorageSettingsError('StorageInsecure', message);
  }
  const exposed = exposedHost(exposure);
  if (exposed === undefined || isAllowed) return;
  throw new StorageSettingsError(
    'StorageInsecure',
    `CRONLEASE_STORAGE would send its password, or what jobs do, to ${exposed} ${WITHOUT[tls]}: ${remedy}, or add ` +
      'insecure=allow to its parameters if no one else can reach that network.',
  );
}

/** What doctor says of a URL that allows it. Undefined: nothing is exposed. */
export function exposedTo(exposure: Exposure): string | undefined {
  const host = exposedHost(exposure);
  return host === undefined ? undefined : `passwords and rows go to ${host} ${WITHOUT[exposure.tls]}`;
}

function exposedHost({ hosts, tls }: Exposure): string | undefined {
  return tls === 'verified' ? undefined : hosts.find((host) => !isLoopback(host));
}

const WITHOUT: Readonly<Record<Exposure['tls'], string>> = {
  verified: 'over TLS',
  unverified: 'over TLS that need not check the certificate of the server',
  none: 'without TLS',
};

/** A path is that of a Unix socket. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1|\/.*)$/i.test(host);
}
