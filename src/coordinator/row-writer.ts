import type { Millis, EpochMs, ETag } from '../core/brand';
import type { Claim } from '../core/decide/situation';
import type { CoordinatorEvent } from '../core/event';
import { recordKey } from '../core/key';
import type { Row } from '../core/row';
import { untilAnswered } from '../lease/deadline';
import type { LeaseStore } from '../lease/store';
import type { Coordinator, Report, RunnableJob } from './coordinator';

/**
 * Asks storage until there is an answer, for as long as the lease is trusted.
 *
 * @throws StoreError when there is no answer in that time, or storage refuses the caller
 */
export type Ask<Store = LeaseStore> = <T>(call: (store: Store, signal: AbortSignal) => Promise<T>) => Promise<T>;

/** Asks the store of a coordinator while there is time left. */
export function asking(coordinator: Coordinator, remaining: () => Millis): Ask {
  return (call) => untilAnswered(coordinator, remaining, (signal) => call(coordinator.store, signal));
}

/**
 * A row under its lease, with the calls that are safe in only one order. Only `holdRow` makes one, and only the settle
 * order (`settle.ts`, `tell.ts`) receives it.
 */
export interface RowWriter {
  readonly coordinator: Coordinator;
  readonly report: Report;
  readonly job: RunnableJob;
  /** As it was written last. */
  readonly row: Row;
  /** The ETag of the open record that this claim wrote before its handler was called, if it had to. */
  mark: ETag | undefined;
  readonly ask: Ask;
  /** Reports an event of the row's run, as of now. */
  event(event: CoordinatorEvent['event'], details?: Partial<CoordinatorEvent>): void;
  /** Returns false when another holder has the lease, or the row has changed. */
  write(row: Row): Promise<boolean>;
  /** @throws StoreError when storage does not answer: the lease expires */
  release(): Promise<void>;
}

/** The row of a claim, with the values that exist only after the acquisition. */
export function completeRow(claim: Claim, acquiredAt: EpochMs, incumbent: string): Row {
  const { row } = claim;
  if (claim.what !== 'first') return { ...row, incumbent };
  const run =
    claim.run.kind === 'known'
      ? { key: claim.run.key, scheduledFor: claim.run.scheduledFor, ...claim.run.asked }
      : termRun(acquiredAt, Math.max(row.cursor, row.run?.scheduledFor ?? 0));
  return { ...row, incumbent, run: { ...run, trigger: claim.trigger, since: acquiredAt } };
}

/**
 * The service's time has a resolution of 1 s. Two terms in one second, or a stretch and a term, must not share a
 * record.
 */
function termRun(acquiredAt: EpochMs, last: EpochMs): { key: string; scheduledFor: EpochMs } {
  const scheduledFor = Math.max(acquiredAt, last + 1);
  return { key: recordKey(scheduledFor), scheduledFor };
}
