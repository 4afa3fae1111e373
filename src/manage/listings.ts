import type { Clock } from '../core/clock';
import type { LeaseStore } from '../lease/store';
import type { Caller } from './access';
import { RequestError } from './problem';

/** Listings that a caller may cause at once, and after that every second. A filter over many jobs takes thousands. */
const BURST = 5_000;
const EACH_SECOND = 20;
/** Requests of one caller that may list at the same time. */
const AT_ONCE = 8;

/** The store for one request. */
export interface MeteredStore {
  readonly store: LeaseStore;
  /** Called once the request is over. */
  readonly end: () => void;
}

/** A caller's listings in this process. */
interface Account {
  /** Below zero after a request that took more than there was. */
  left: number;
  at: number;
  listing: number;
}

/**
 * Limits what one caller can make storage list, because one request with a filter may take ten listings of each job. A
 * request that has begun is carried out, and those after it wait until its listings are paid off.
 */
export function createMeter(clock: Clock): (store: LeaseStore, caller: Caller) => MeteredStore {
  const accounts = new Map<string, Account>();

  function accountOf({ channel, actor, identity }: Caller): Account {
    const name = `${channel} ${identity ?? actor}`;
    const now = clock.monotonic();
    for (const [other, account] of accounts) {
      if (account.listing === 0 && leftAt(account, now) >= BURST) accounts.delete(other);
    }
    const account = accounts.get(name) ?? { left: BURST, at: now, listing: 0 };
    accounts.set(name, account);
    return account;
  }

  return (store, caller) => {
    let account: Account | undefined;
    const pay = (): void => {
      const now = clock.monotonic();
      if (account === undefined) {
        const found = accountOf(caller);
        const left = leftAt(found, now);
        if (left <= 0) throw tooMany(Math.ceil((1 - left) / EACH_SECOND));
        if (found.listing >= AT_ONCE) throw tooMany(1);
        found.listing += 1;
        account = found;
      }
      account.left = leftAt(account, now) - 1;
      account.at = now;
    };
    return {
      store: {
        ...store,
        listRecords: (...request) => {
          pay();
          return store.listRecords(...request);
        },
        listAudits: (...request) => {
          pay();
          return store.listAudits(...request);
        },
        // Each listing of a run's logs is followed by up to 200 reads, and one of its pieces by others.
        listLogs: (...request) => {
          pay();
          return store.listLogs(...request);
        },
        listPieces: (...request) => {
          pay();
          return store.listPieces(...request);
        },
      },
      end: () => {
        if (account !== undefined) account.listing -= 1;
      },
    };
  };
}

function leftAt({ left, at }: Account, now: number): number {
  return Math.min(BURST, left + ((now - at) / 1_000) * EACH_SECOND);
}

function tooMany(seconds: number): RequestError {
  const issue = {
    place: 'caller',
    value: null,
    problem: 'your requests have made storage list more of the ledger than one caller may',
    remedy: `wait ${seconds} s, and name a job, or "since" and "until"`,
  };
  return new RequestError(429, 'TooManyListings', issue, { 'retry-after': String(seconds) });
}
