import type { Millis } from '../../core/brand';
import { decodeControl } from '../../core/control';
import { BEAT_TRUSTS_MS, ITEMS_MARGIN_MS, STOP_PIECE } from '../../core/fan-out';
import { runIdOf } from '../../core/key';
import { decodeRow } from '../../core/row';
import type { FanOutHandler } from '../../handler/define-fan-out';
import { CALL_LIMIT_MS, within } from '../../lease/deadline';
import type { LeaseStore } from '../../lease/store';
import { type Moment, Trust, elapsedSince, moment, whenOver } from '../../lease/trust';
import { beat, endBeats, entryOf, isLeftToItems } from '../run-pieces';
import type { Aborter } from '../bounded';
import type { Coordinator, Report, RunnableJob } from '../coordinator';
import type { ItemInput } from '../message';

const CHECK_EVERY_MS = 5_000;
/** How long an item may trust after a check that showed it wanted: three checks may be lost. */
const CHECK_TRUSTS_MS = 20_000;

/** A call for an item, with the handler that it is for. */
export interface WantedItem {
  readonly coordinator: Coordinator;
  readonly report: Report;
  readonly job: RunnableJob;
  readonly handler: FanOutHandler;
  readonly input: ItemInput;
}

/** The run of an item as a check showed it. */
type ItemCheck =
  /** An instance holds the row, and may be about to claim the run: the item is neither wanted nor unwanted. */
  | { readonly kind: 'held' }
  /** The item may trust for `trustMs` from the sending of the check. */
  | { readonly kind: 'wanted'; readonly sent: Moment; readonly trustMs: Millis }
  | { readonly kind: 'unwanted'; readonly why: string };

/**
 * Checks whether the run still waits for this item: it may be cancelled, taken over, failed, or out of time. The
 * heartbeat comes first, so that a tick which acquires the row after this check finds that beat.
 */
export async function checkItem(item: WantedItem): Promise<ItemCheck> {
  const { coordinator, handler, input } = item;
  const { spec } = item.job;
  const { clock, serviceTime } = coordinator;
  const { at, isFirst } = await beat(coordinator, input);
  const sent = moment(clock);
  const beatTrusts = BEAT_TRUSTS_MS - elapsedSince(clock, at);
  const listing = await calling(item, (store, signal) => store.list({ job: spec.name, signal }));
  serviceTime.observe(listing.date, sent);
  const seen = listing.jobs.get(spec.name);
  if (seen?.row === undefined) return { kind: 'unwanted', why: 'its row is gone' };
  const row = decodeRow(seen.row.metadata);
  if (!isLeftToItems(row, input)) {
    // Delivered after the end of its run, it would leave a heartbeat that is not removed before the job's next run.
    if (isFirst && row.token > input.token) await endBeats(coordinator, entryOf(coordinator, input));
    return { kind: 'unwanted', why: 'its run has continued without it' };
  }
  if (seen.row.lease === 'leased' || seen.row.isEnding) return { kind: 'held' };
  const control = seen.control === undefined ? undefined : decodeControl(seen.control.metadata);
  if (control?.cancel === runIdOf(spec.name, input.key)) return { kind: 'unwanted', why: 'its run was cancelled' };
  if (handler.policy.onItemFailure === 'failFast') {
    const stop = await calling(item, (store, signal) => store.readPiece(spec.name, input.key, STOP_PIECE, { signal }));
    if (stop !== undefined) return { kind: 'unwanted', why: 'another item of its run has failed' };
  }
  const left = input.until - listing.date - ITEMS_MARGIN_MS;
  if (left <= 0) return { kind: 'unwanted', why: "the time of its run's items is over" };
  return { kind: 'wanted', sent, trustMs: Math.min(left, CHECK_TRUSTS_MS, beatTrusts) };
}

export function trustFrom(
  { coordinator }: WantedItem,
  { sent, trustMs }: Extract<ItemCheck, { readonly kind: 'wanted' }>,
): Trust {
  return Trust.withoutLease(coordinator.clock, sent, trustMs);
}

/**
 * Keeps checking while the item runs: extends the trust while the item is wanted, and aborts the item when it is not,
 * or when the trust is over. Decision 085.
 *
 * @returns stops the checks
 */
export function keepChecking(item: WantedItem, trust: Trust, aborter: Aborter): () => void {
  const { coordinator, report, job, input } = item;
  const { clock } = coordinator;
  let stopped = false;
  let cancel = (): void => undefined;
  const check = async (): Promise<void> => {
    try {
      const found = await checkItem(item);
      if (stopped) return;
      if (found.kind === 'wanted') trust.extend(found.sent, found.trustMs);
      if (found.kind === 'unwanted') {
        // Before the abort: a handler that ignores its signal must not keep writing.
        trust.end();
        aborter.abort('cancelled', 'cancelRequested', found.why);
      }
    } catch (error) {
      report.log('debug', `job "${job.spec.name}", item ${String(input.index)}: whether it is wanted:`, error);
    }
    if (!stopped) arm();
  };
  const arm = (): void => {
    cancel = clock.after(CHECK_EVERY_MS, () => void check());
  };
  arm();
  const watch = whenOver(clock, trust, () => {
    aborter.abort('leaseLost', 'leaseLost', 'whether its run still wants it could not be determined in time');
  });
  return () => {
    stopped = true;
    cancel();
    watch.stop();
  };
}

/** One call to storage, cut off after 5 s. */
export function calling<T>(
  { coordinator: { clock, store } }: WantedItem,
  call: (store: LeaseStore, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return within(clock, CALL_LIMIT_MS, (signal) => call(store, signal));
}
