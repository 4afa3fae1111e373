import type { Outlet, PingKind } from '../coordinator/outlet';
import { type Clock, sleep } from '../core/clock';
import { ForbiddenAddressError } from './guard';
import { PostError } from './request';
import type { Call } from './try';

const AGAIN_MS = 3_000;
/** So many calls for one name may wait: an address that does not answer must not fill the memory. */
const WAITING = 10;

/**
 * Calls the addresses by which other services watch the jobs, as healthchecks.io takes them. The calls for one name
 * follow one another, so that a late start does not come after its success.
 */
export function createPings(clock: Clock, addresses: ReadonlyMap<string, URL>, call: Call): Outlet['ping'] {
  /** By name, the last call, and how many have not ended. */
  const last = new Map<string, { call: Promise<void>; count: number }>();

  async function once(address: URL): Promise<string | undefined> {
    try {
      const { status } = await call({ address, headers: { 'user-agent': 'cronlease' }, body: '' });
      return status >= 200 && status < 300 ? undefined : `it answered ${String(status)}`;
    } catch (error) {
      if (error instanceof ForbiddenAddressError || error instanceof PostError) return error.message;
      throw error;
    }
  }

  async function ping(address: URL, warn: (why: string) => void): Promise<void> {
    if ((await once(address)) === undefined) return;
    await sleep(clock, AGAIN_MS);
    const why = await once(address);
    if (why !== undefined) warn(why);
  }

  return async (name, kind, report) => {
    const warn = (why: string): void => report.log('warn', `ping "${name}", ${kind}: ${why}`);
    const base = addresses.get(name);
    const line = last.get(name) ?? { call: Promise.resolve(), count: 0 };
    if (base === undefined) {
      warn('its address is not in CRONLEASE_PINGS');
      return;
    }
    if (line.count >= WAITING) {
      warn('it is left out, because earlier calls have not been answered');
      return;
    }
    const mine = line.call.then(() => ping(addressOf(base, kind), warn));
    line.call = mine;
    line.count += 1;
    last.set(name, line);
    await mine;
    line.count -= 1;
    if (line.count === 0) last.delete(name);
  };
}

/** A success is the address itself; the others have a word after its path. */
function addressOf(base: URL, kind: PingKind): URL {
  const address = new URL(base);
  if (kind !== 'success') address.pathname = `${address.pathname.replace(/\/$/, '')}/${kind}`;
  return address;
}
