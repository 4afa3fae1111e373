import { type AttemptLoss, lossText } from '../core/past-attempt';
import type { EpochMs, JobName, LeaseId, Millis } from '../core/brand';
import { type Control, controlOf } from '../core/control';
import { firstRenewal } from '../core/early-claim';
import { type Asking, backOff, within } from './deadline';
import { type LeaseStore, StoreDeniedError } from './store';
import { type Moment, type Trust, type TrustWatch, moment, whenOver } from './trust';

/** The first wait after a renewal without an answer; shorter if little trust is left. */
const ASK_AGAIN_MS = 500;
const ASK_AGAIN_AT_MOST_MS = 2_000;
const ASK_AGAIN_LEAST_MS = 100;

export interface KeepAliveOptions extends Asking {
  /** Elections have no control records, so their store omits `readControl`. */
  readonly store: Pick<LeaseStore, 'renew'> & Partial<Pick<LeaseStore, 'readControl'>>;
  readonly job: JobName;
  /** The lease's owner, for messages. Default: the job by its name. */
  readonly whose?: string;
  readonly leaseId: LeaseId;
  readonly leaseMs: Millis;
  /** The first renewal gives the lease another length. Left out: it keeps its own. */
  readonly growth?: Growth | undefined;
  readonly trust: Trust;
  /** The time until the work starts for which the lease is held. Default: 0. */
  readonly untilDueMs?: Millis;
  /** Whether other work of this process may have blocked the event loop too. Default: none. */
  readonly hasOthers?: () => boolean;
  /** Called once, when the lease is lost or the trust is over. `Trust.lost` has the reason. */
  readonly onLost: (why: string) => void;
  /** Called after each successful renewal. */
  readonly onRenewed?: () => void;
  /** Called with the job's control after each renewal. */
  readonly onControl?: (control: Control) => void;
  /** Whether the work is over, so that its control is not wanted any more. Default: it is not. */
  readonly isOver?: () => boolean;
  /** Called with the service's Date of the control's answer, and when its call was sent. */
  readonly onDate?: (date: EpochMs, sent: Moment) => void;
  /** Called with each error that does not end the lease. */
  readonly onTrouble: (problem: unknown) => void;
}

/** A longer lease, for which its holder acquires it once more under its own id. */
export interface Growth {
  readonly leaseMs: Millis;
  /** Storage is slow, so that it is asked for at once. */
  readonly isUrgent: boolean;
  /** With the ETag of the holder's last write. */
  readonly acquire: (signal: AbortSignal) => ReturnType<LeaseStore['acquire']>;
}

export interface KeptAlive {
  stop(): void;
  /** Whether a call for a longer lease has no answer. It may still take effect, and would take a released row again. */
  readonly mayGrowLate: boolean;
}

/**
 * Renews a lease at each third of its length until stopped. Each renewal is cut off before the trust ends. A success
 * extends the trust to the renewal's start + lease − margin. Until the service has answered that the lease is longer, it
 * counts as the shorter one.
 */
export function keepAlive(options: KeepAliveOptions): KeptAlive {
  const { store, clock, random, job, leaseId, trust, whose = `job "${job}"` } = options;
  /** The length that the service is known to renew for. */
  let { leaseMs, growth } = options;
  let unansweredGrowths = 0;
  const newBackOff = (): ReturnType<typeof backOff> => backOff(random, ASK_AGAIN_MS, ASK_AGAIN_AT_MOST_MS);
  let again = newBackOff();
  let stopped = false;
  let cancelRenewal = (): void => undefined;
  let watch: TrustWatch | undefined;
  /** Of the last renewal, if it failed. */
  let trouble: unknown;

  const stop = (): void => {
    stopped = true;
    cancelRenewal();
    watch?.stop();
  };
  const lose = (why: string, loss: AttemptLoss | undefined): void => {
    if (stopped) return;
    stop();
    trust.end({ why, loss });
    options.onLost(why);
  };
  const loseTrust = (): void => {
    const late = `the lease of ${whose} could not be renewed in time`;
    const loss = trouble === undefined ? standstillOf(watch?.sinceLook(), leaseMs, options) : undefined;
    if (loss !== undefined) lose(lossText(loss), loss);
    else if (trouble instanceof StoreDeniedError) lose(`${late}: ${trouble.message}`, { kind: 'refused' });
    else lose(late, undefined);
  };
  const renewIn = (delay: Millis): void => {
    cancelRenewal = clock.after(delay, () => void renew());
  };
  const grow = async (signal: AbortSignal, { acquire }: Growth): Promise<'grown' | 'refused'> => {
    unansweredGrowths += 1;
    const { kind } = await acquire(signal);
    unansweredGrowths -= 1;
    return kind === 'acquired' ? 'grown' : 'refused';
  };
  const renew = async (): Promise<void> => {
    if (!trust.holds) {
      loseTrust();
      return;
    }
    const asked = growth;
    const sent = moment(clock);
    try {
      const leftMs = trust.remaining();
      const answer = await within(
        clock,
        Math.min(leftMs, leaseMs / 3),
        (signal) => (asked === undefined ? store.renew(job, leaseId, { signal }) : grow(signal, asked)),
        { leftMs },
      );
      if (stopped) return;
      if (answer === 'lost') {
        lose(`the lease of ${whose} is held by another holder, or was broken`, undefined);
        return;
      }
      growth = undefined;
      // The row may have been written meanwhile: only a renewal shows whether the lease is lost.
      if (answer === 'refused') {
        await renew();
        return;
      }
      if (asked !== undefined) ({ leaseMs } = asked);
      if (!trust.renewed(sent, leaseMs)) {
        loseTrust();
        return;
      }
      again = newBackOff();
      trouble = undefined;
      options.onRenewed?.();
      renewIn(Math.max(0, leaseMs / 3 - (clock.monotonic() - sent.monotonic)));
    } catch (problem) {
      if (stopped) return;
      trouble = problem;
      options.onTrouble(problem);
      renewIn(Math.max(ASK_AGAIN_LEAST_MS, Math.min(again(problem), trust.remaining() / 4)));
      return;
    }
    await readControl();
  };
  const readControl = async (): Promise<void> => {
    const { readControl: read } = store;
    if (read === undefined || options.isOver?.() === true) return;
    const sent = moment(clock);
    try {
      const { control, date } = await within(clock, Math.min(trust.remaining(), leaseMs / 3), (signal) =>
        read(job, { signal }),
      );
      options.onDate?.(date, sent);
      if (!stopped) options.onControl?.(controlOf(control));
    } catch (problem) {
      if (!stopped) options.onTrouble(problem);
    }
  };

  watch = whenOver(clock, trust, loseTrust);
  renewIn(growth?.isUrgent === true ? 0 : firstRenewal(leaseMs, trust.remaining(), options.untilDueMs ?? 0));
  return {
    stop,
    get mayGrowLate() {
      return unansweredGrowths > 0;
    },
  };
}

/** A standstill of this process in which a renewal was due. */
function standstillOf(
  since: ReturnType<TrustWatch['sinceLook']> | undefined,
  leaseMs: Millis,
  { hasOthers }: KeepAliveOptions,
): AttemptLoss | undefined {
  if (since === undefined || since.ms < leaseMs / 3) return undefined;
  const ms = Math.round(since.ms);
  if (since.busyMs < ms / 2) return { kind: 'stopped', ms, leaseMs };
  return { kind: hasOthers?.() === true ? 'blockedBeside' : 'blocked', ms, leaseMs };
}
