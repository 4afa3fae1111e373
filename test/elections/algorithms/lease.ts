import type { JobName, LeaseId, Millis } from '../../../src/core/brand';
import { type Clock, sleep } from '../../../src/core/clock';
import { within } from '../../../src/lease/deadline';
import { type RowStore, StoreError } from '../../../src/lease/store';
import type { Random } from '../../simulation/faults/random';
import type { Member } from './algorithm';

/*
 * A lease with fencing: the store elects.
 *
 * The idea of a lease is that of C. Gray and D. Cheriton, Leases: An Efficient Fault-Tolerant Mechanism for Distributed
 * File Cache Consistency, SOSP 1989. The fencing token is the sequencer of M. Burrows, The Chubby Lock Service, OSDI
 * 2006.
 *
 * The instances do not know each other. The store grants a lease on one row to one caller, for a fixed time. The holder
 * raises the token in the row by one, and leads. It renews the lease at each third of its length. It counts the time
 * from before it sent its request, and stops believing a margin before the end. So the lease of the store outlasts the
 * belief of the holder, while the holder's clock runs slower than the store's by less than the margin. All others look
 * at the row now and then. Once the lease has expired, the first of them acquires it.
 *
 * The token makes the rest safe. A write that a leader sent before it was stopped, or whose clock is wrong, can arrive
 * in its successor's term. A store that has seen the successor's token rejects it.
 *
 * It needs no majority and no list of members. It needs one store that compares and writes in one step, and only
 * whose clock ends leases. While that store does not answer, no instance leads.
 *
 * This is only the algorithm. The product's own election (src/election) also watches the wall clock, because the
 * monotonic clock stands still while a machine sleeps; it repeats calls whose answer was lost, waits out broken leases,
 * and releases its lease when it stops.
 */

/** The least that Azure grants. */
export const LEASE_MS: Millis = 15_000;
export const MARGIN_MS: Millis = 2_000;
const TRUST_MS = LEASE_MS - MARGIN_MS;
export const RENEW_MS = LEASE_MS / 3;
const POLL_MS = LEASE_MS / 3;
const CALL_LIMIT_MS: Millis = 5_000;
const ASK_AGAIN_MS: Millis = 500;
const ROW = 'leader' as JobName;

/** One instance's own place in a world with a store. */
export interface StorePlace {
  readonly id: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly store: RowStore;
}

interface Won {
  readonly leaseId: LeaseId;
  readonly token: number;
  /** When the last request was sent that the store has answered with the lease. */
  readonly provenAt: Millis;
}

export function lease({ clock, random, store }: StorePlace): Member {
  let won: Won | undefined;
  const leads = (): boolean => won !== undefined && clock.monotonic() < won.provenAt + TRUST_MS;

  const claim = async (): Promise<Won | undefined> => {
    let row = await call(() => store.readRow(ROW));
    if (row === undefined) {
      await call(() => store.createRow(ROW, { token: '0' }));
      row = await call(() => store.readRow(ROW));
    }
    if (row === undefined || row.lease === 'leased' || row.lease === 'broken') return undefined;
    const leaseId = newLeaseId(random);
    const sentAt = clock.monotonic();
    const request = { leaseId, leaseMs: LEASE_MS, ifMatch: row.etag };
    if ((await call(() => store.acquire(ROW, request))).kind === 'lost') return undefined;
    // Under the lease, and only if the row is still the one that was read: no two leaders get one token.
    const token = Number(row.metadata['token']) + 1;
    const guard = { leaseId, ifMatch: row.etag };
    const claimed = await call(() => store.writeRow(ROW, { token: String(token) }, guard));
    return claimed.kind === 'written' ? { leaseId, token, provenAt: sentAt } : undefined;
  };
  /** Renews the lease. Returns false once it is lost. */
  const renew = async (held: Won): Promise<boolean> => {
    const sentAt = clock.monotonic();
    try {
      if ((await call(() => store.renew(ROW, held.leaseId))) === 'lost') return false;
      // Trust that has ended does not return: others may have led meanwhile.
      if (leads()) won = { ...held, provenAt: sentAt };
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      await sleep(clock, ASK_AGAIN_MS);
    }
    return leads();
  };
  const lead = async (): Promise<void> => {
    let held = true;
    while (won !== undefined && held) {
      await sleep(clock, won.provenAt + RENEW_MS - clock.monotonic());
      held = leads() && (await renew(won));
    }
    won = undefined;
  };
  const campaign = async (): Promise<never> => {
    for (;;) {
      try {
        won = await claim();
        await lead();
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
      }
      await sleep(clock, POLL_MS * (0.8 + 0.4 * random.next()));
    }
  };
  const call = <T>(make: () => Promise<T>): Promise<T> => within(clock, CALL_LIMIT_MS, make);

  void campaign();
  return {
    get leads() {
      return leads();
    },
    get token() {
      return leads() ? won?.token : undefined;
    },
  };
}

/** The store takes GUIDs. */
function newLeaseId(random: Random): LeaseId {
  const part = (): string => String(random.whole(0, 99_999_999)).padStart(8, '0');
  return `${part()}-0000-4000-8000-0000${part()}` as LeaseId;
}
