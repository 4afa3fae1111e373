import type { TokenCredential } from '@azure/identity';
import type { EpochMs, Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import { loadedOnce } from '../core/loaded-once';

/** A token is replaced this long before its end. */
const EARLY_MS: Millis = 5 * 60_000;

/**
 * Tokens of the app's identity, each cached until it nears its end.
 *
 * @param load makes the credential, at the first token
 */
export function createTokens(
  clock: Clock,
  load: () => Promise<Pick<TokenCredential, 'getToken'>>,
): (audience: string) => Promise<string> {
  const tokens = new Map<string, { readonly token: string; readonly until: EpochMs }>();
  const credential = loadedOnce(load);
  return async (audience) => {
    const known = tokens.get(audience);
    if (known !== undefined && clock.now() < known.until) return known.token;
    const got = await (await credential()).getToken(scopeOf(audience));
    if (got === null) throw new Error('the identity has no token');
    tokens.set(audience, { token: got.token, until: got.expiresOnTimestamp - EARLY_MS });
    return got.token;
  };
}

function scopeOf(audience: string): string {
  return audience.endsWith('/.default') ? audience : `${audience.replace(/\/$/, '')}/.default`;
}

/**
 * The managed identity, or the first identity that is found, such as that of `az login`.
 *
 * @param clientId chooses among several managed identities
 */
export async function appCredential(isManaged: boolean, clientId: string | undefined): Promise<TokenCredential> {
  const { DefaultAzureCredential, ManagedIdentityCredential } = await import('@azure/identity');
  if (!isManaged) {
    return clientId ? new DefaultAzureCredential({ managedIdentityClientId: clientId }) : new DefaultAzureCredential();
  }
  return clientId ? new ManagedIdentityCredential({ clientId }) : new ManagedIdentityCredential();
}
