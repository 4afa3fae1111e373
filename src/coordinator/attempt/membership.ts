import type { Millis } from '../../core/brand';
import { type WaitingMember, cameAt } from '../../core/group';
import { doorkeeperOf } from '../groups';
import type { HeldRow } from '../held';
import type { Patience } from '../concurrency-limit';

/** An attempt's place in the group of its job, if that has one. */
export interface Membership {
  /** Whether the attempt needs a place before its handler. */
  readonly isNeeded: boolean;
  /**
   * Waits for a place, or keeps the one that the run has.
   *
   * @returns for how long it was waited; undefined once the signal is aborted or the patience is over
   */
  enter(patience: Patience): Promise<Millis | undefined>;
  /** Gives back what the attempt has, once nothing of its run is at work. Never rejects. */
  leave(): Promise<void>;
}

/** Of an attempt whose job has no group. */
export const NO_MEMBERSHIP: Membership = { isNeeded: false, enter: async () => 0, leave: async () => undefined };

/** @param mayHavePlace an earlier attempt of the run may have left its place to this one */
export function membershipOf(held: HeldRow, mayHavePlace: boolean): Membership {
  const { coordinator, job, row, key, report } = held;
  const { name, group, kind, priority } = job.spec;
  // A leader job's term would keep its place from all others: the jobs file may not say so.
  if (group === undefined || row.run === undefined || kind === 'always') return NO_MEMBERSHIP;
  const doorkeeper = doorkeeperOf(coordinator, group.name);
  // Back-filled runs wait for all others.
  const rank = row.run?.trigger === 'backfill' ? -1 : priority;
  const member: WaitingMember = { job: name, token: row.token, key, priority: rank, came: cameAt(job.spec, row.run) };
  let hasAsked = mayHavePlace;
  let hasLeft: Promise<void> | undefined;
  return {
    isNeeded: true,
    enter: (patience) => {
      hasAsked = true;
      return doorkeeper.enter({ group, member, report }, patience);
    },
    leave: () => {
      if (!hasAsked) return Promise.resolve();
      hasLeft ??= doorkeeper.leave(member);
      return hasLeft;
    },
  };
}
