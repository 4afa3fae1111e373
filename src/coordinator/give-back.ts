import type { ETag, JobName, Millis } from '../core/brand';
import type { Claim } from '../core/decide/situation';
import { release } from '../lease/acquire';
import type { Coordinator } from './coordinator';
import type { HandOver } from './hand-overs';

/** The time limit of a release. */
const GIVE_BACK_LIMIT_MS = 2_000;

/** Identifies the purpose of a hand-over: it stays the same until the due time, or the manual run, is claimed. */
export function turnOf({ run }: Claim, etag: ETag): string {
  return run.kind === 'known' ? run.key : `term after ${etag}`;
}

/**
 * Releases an available row that was handed over and not claimed, so that others need not wait until its lease expires.
 * The release carries the ETag from before the claim, so it fails once any claim has been made. An attempt that comes
 * later finds its lease gone, and acquires it again if the row is unchanged. Decision 051. Decision 054. Decision 058.
 *
 * @throws StoreError when storage does not answer: the lease expires
 */
export async function giveBack(coordinator: Coordinator, name: JobName, handOver: HandOver): Promise<void> {
  const { clock, handOvers } = coordinator;
  if (handOver.lease !== 'available') return;
  handOvers.givesBack(name, handOver);
  const started = clock.monotonic();
  const remaining = (): Millis => GIVE_BACK_LIMIT_MS - (clock.monotonic() - started);
  const answer = release(coordinator, name, handOver, remaining);
  const over = answer.then(ignore, ignore);
  handOvers.releases.add(over);
  try {
    await answer;
  } finally {
    handOvers.releases.delete(over);
  }
}

/** The caller of `giveBack` gets the error. */
function ignore(): void {
  return undefined;
}

/** Gives back all hand-overs of this process that it has not seen claimed. Never rejects, because leases expire. */
export async function giveBackAll(coordinator: Coordinator): Promise<void> {
  await Promise.allSettled(
    coordinator.handOvers.all().map(([name, handOver]) => giveBack(coordinator, name, handOver)),
  );
}
