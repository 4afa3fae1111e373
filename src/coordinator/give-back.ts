import type { ETag, JobName, LeaseId, Millis } from '../core/brand';
import type { Claim } from '../core/decide';
import { untilAnswered } from '../lease/deadline';
import type { Coordinator } from './coordinator';

/** After two polls of the hub's queues a hand-over has mostly been seen to be claimed. */
export const LATE_MS: Millis = 4_000;
/** How long the release of a hand-over is asked for. */
const GIVE_BACK_LIMIT_MS = 2_000;

/** A lease that was handed to an orchestration, and whose claim has not been seen. */
export interface HandOver {
  readonly leaseId: LeaseId;
  /** Of the row before its claim. */
  readonly etag: ETag;
  /** The row's lease before it was acquired. Only an available row may be released as it is. */
  readonly lease: 'available' | 'expired';
  /** {@link turnOf} the claim. */
  readonly turn: string;
  /** When the hub had taken it, on the monotonic clock. */
  readonly at: Millis;
  readonly isLate: boolean;
}

/** What a hand-over is for: it stays the same until the due time, or the request, is claimed. */
export function turnOf({ run }: Claim, etag: ETag): string {
  return run.kind === 'known' ? run.key : `term after ${etag}`;
}

/**
 * Releases an available row that was handed over and not claimed, so that others need not wait for the end of its
 * lease. The release carries the ETag from before the claim: once any claim has been made, it fails. An attempt that
 * comes later finds its lease gone, and acquires it anew if the row is still as it was.
 *
 * @throws StoreError when storage does not answer: the lease runs out
 */
export async function giveBack(coordinator: Coordinator, name: JobName, handOver: HandOver): Promise<void> {
  const { clock, store, handOvers } = coordinator;
  if (handOver.lease !== 'available') return;
  if (handOvers.get(name)?.leaseId === handOver.leaseId) handOvers.delete(name);
  const started = clock.monotonic();
  await untilAnswered(
    coordinator,
    () => GIVE_BACK_LIMIT_MS - (clock.monotonic() - started),
    (signal) => store.release(name, handOver.leaseId, { ifMatch: handOver.etag, signal }),
  );
}

/** Gives back whatever this process has handed over and has not seen claimed. Never rejects: leases run out. */
export async function giveBackAll(coordinator: Coordinator): Promise<void> {
  const all = [...coordinator.handOvers];
  await Promise.allSettled(all.map(([name, handOver]) => giveBack(coordinator, name, handOver)));
}
