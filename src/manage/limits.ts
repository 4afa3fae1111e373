import { isIPv6 } from 'node:net';
import type { Millis } from '../core/brand';
import { type Clock, sleep } from '../core/clock';
import type { Header } from '../core/http-request';
import type { LeaseStore } from '../lease/store';
import type { Caller } from './access';
import { RequestError } from './problem';

/** Each listing of a run's logs is followed by up to 200 reads, and one of its pieces by others. */
const LISTINGS = ['listRecords', 'listAudits', 'listLogs', 'listPieces'] as const;

/** Listings that a caller may cause at once, and after that every second. A filter over many jobs takes thousands. */
const LISTINGS_AT_FIRST = 5_000;
const LISTINGS_A_SECOND = 20;
/** Requests of one caller that may list at the same time. */
const LISTING_AT_ONCE = 8;

/** A caller's listings in this process. */
interface Account {
  /** Below zero after a request that took more than there was. */
  left: number;
  at: number;
  listing: number;
}

/** Limits what one caller can make storage list. A request that has begun is carried out; later ones wait. */
export function createMeter(clock: Clock) {
  const accounts = new Map<string, Account>();

  function accountOf({ channel, actor, identity }: Caller): Account {
    const name = `${channel} ${identity ?? actor}`;
    const now = clock.monotonic();
    for (const [other, account] of accounts) {
      if (account.listing === 0 && leftAt(account, now) >= LISTINGS_AT_FIRST) accounts.delete(other);
    }
    const account = accounts.get(name) ?? { left: LISTINGS_AT_FIRST, at: now, listing: 0 };
    accounts.set(name, account);
    return account;
  }

  return (store: LeaseStore, caller: Caller) => {
    let account: Account | undefined;
    const pay = (): void => {
      const now = clock.monotonic();
      if (account === undefined) {
        const found = accountOf(caller);
        const left = leftAt(found, now);
        if (left <= 0) throw tooManyListings(Math.ceil((1 - left) / LISTINGS_A_SECOND));
        if (found.listing >= LISTING_AT_ONCE) throw tooManyListings(1);
        found.listing += 1;
        account = found;
      }
      account.left = leftAt(account, now) - 1;
      account.at = now;
    };
    const listings = Object.fromEntries(
      LISTINGS.map((name) => [
        name,
        (...request: unknown[]): unknown => {
          pay();
          return Reflect.apply(store[name], store, request);
        },
      ]),
    );
    return {
      store: { ...store, ...listings },
      end: () => {
        if (account !== undefined) account.listing -= 1;
      },
    };
  };
}

function leftAt({ left, at }: Account, now: number): number {
  return Math.min(LISTINGS_AT_FIRST, left + ((now - at) / 1_000) * LISTINGS_A_SECOND);
}

function tooManyListings(seconds: number): RequestError {
  const issue = {
    place: 'caller',
    problem: 'your requests have made storage list more of the ledger than one caller may',
    remedy: `wait ${seconds} s, and name a job, or "since" and "until"`,
  };
  return new RequestError(429, 'TooManyListings', issue, { 'retry-after': String(seconds) });
}

/** The wait after an address's first wrong key. It doubles with each further one, up to the longest. */
const FIRST_MS = 250;
const LONGEST_MS = 8_000;
/** Wrong keys whose answers may wait at the same time: of one address, and of all. */
const AT_ONCE = 3;
const AT_ONCE_IN_ALL = 50;
/** An address that has sent no wrong key for this long is as one that never did. */
const FORGET_MS = 15 * 60_000;
/** Addresses that are remembered. Beyond them the one is forgotten that has been quiet for longest. */
const MOST = 2_000;

interface Sender {
  wrong: number;
  waiting: number;
  at: Millis;
}

export type WrongKeys = ReturnType<typeof createWrongKeys>;

/** Slows guesses of keys down, in this process. */
export function createWrongKeys(clock: Clock) {
  /** The address that has been quiet for longest comes first. */
  const senders = new Map<string, Sender>();
  let waiting = 0;

  function forgetOld(): void {
    for (const [address, sender] of senders) {
      const isOld = clock.monotonic() - sender.at >= FORGET_MS;
      if (!isOld && senders.size < MOST) return;
      senders.delete(address);
    }
  }

  const full = (sender: Sender): boolean => sender.waiting >= AT_ONCE || waiting >= AT_ONCE_IN_ALL;

  return {
    /**
     * Called before a key is looked at: a guess that is refused here tells nothing. An address that has sent no wrong
     * key is always let through. Throws a 429 while too many answers to wrong keys wait.
     */
    admit(address: string): void {
      const sender = senders.get(address);
      if (sender === undefined || clock.monotonic() - sender.at >= FORGET_MS || !full(sender)) return;
      throw tooManyWrongKeys();
    },
    /** Waits before the answer to a wrong key. A right key never waits. */
    async delay(address: string, signal: AbortSignal): Promise<void> {
      const known = senders.get(address);
      senders.delete(address);
      forgetOld();
      const sender = known ?? { wrong: 0, waiting: 0, at: 0 };
      senders.set(address, sender);
      if (clock.monotonic() - sender.at >= FORGET_MS) sender.wrong = 0;
      const ms = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(sender.wrong, 10));
      sender.wrong += 1;
      sender.at = clock.monotonic();
      // Only an address without a wrong key comes here while all places are taken.
      if (full(sender)) return;
      sender.waiting += 1;
      waiting += 1;
      await sleep(clock, ms, signal);
      sender.waiting -= 1;
      waiting -= 1;
    },
    size: (): number => senders.size,
  };
}

function tooManyWrongKeys(): RequestError {
  const issue = {
    place: 'x-cronlease-key',
    problem: 'answers to wrong keys from this address are still pending, so this key was not checked',
    remedy: 'wait as long as retry-after says, and send a key of this app',
  };
  return new RequestError(429, 'TooManyWrongKeys', issue, { 'retry-after': String(LONGEST_MS / 1_000) });
}

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
