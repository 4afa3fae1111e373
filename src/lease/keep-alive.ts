import type { EpochMs, JobName, LeaseId, Millis } from '../core/brand';
import type { Control } from '../core/control';
import { controlOf } from '../core/control';
import { firstRenewal } from '../core/early-claim';
import { marginOf } from '../core/job';
import type { Asking } from './back-off';
import { backOff } from './back-off';
import { within } from './deadline';
import type { LeaseStore } from './store';
import type { Moment, Trust } from './trust';
import { moment, whenOver } from './trust';

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
  readonly trust: Trust;
  /** The time until the work starts for which the lease is held. Default: 0. */
  readonly untilDueMs?: Millis;
  /** Called once, when the lease is lost or the trust is over. */
  readonly onLost: (why: string) => void;
  /** Called after each successful renewal. */
  readonly onRenewed?: () => void;
  /** Called with the job's control after each renewal. */
  readonly onControl?: (control: Control) => void;
  /** Called with the service's Date of the control's answer, and when its call was sent. */
  readonly onDate?: (date: EpochMs, sent: Moment) => void;
  /** Called with each error that does not end the lease. */
  readonly onTrouble: (problem: unknown) => void;
}

/**
 * Renews a lease at each third of its length until stopped. Each renewal is cut off before the trust ends. A success
 * extends the trust to the renewal's start + lease − margin.
 */
export function keepAlive(options: KeepAliveOptions): { stop(): void } {
  const { store, clock, random, job, leaseId, leaseMs, trust, whose = `job "${job}"` } = options;
  const length = leaseMs - marginOf(leaseMs);
  const newBackOff = (): ReturnType<typeof backOff> => backOff(random, ASK_AGAIN_MS, ASK_AGAIN_AT_MOST_MS);
  let again = newBackOff();
  let stopped = false;
  let cancelRenewal = (): void => undefined;
  let cancelWatch = (): void => undefined;

  const stop = (): void => {
    stopped = true;
    cancelRenewal();
    cancelWatch();
  };
  const lose = (why: string): void => {
    if (stopped) return;
    stop();
    trust.end();
    options.onLost(why);
  };
  const loseTrust = (): void => {
    lose(`the lease of ${whose} could not be renewed in time`);
  };
  const renewIn = (delay: Millis): void => {
    cancelRenewal = clock.after(delay, () => void renew());
  };
  const renew = async (): Promise<void> => {
    if (!trust.holds) {
      loseTrust();
      return;
    }
    const start = moment(clock);
    try {
      const answer = await within(clock, Math.min(trust.remaining(), leaseMs / 3), (signal) =>
        store.renew(job, leaseId, { signal }),
      );
      if (stopped) return;
      if (answer === 'lost') {
        lose(`the lease of ${whose} is held by somebody else, or was broken`);
        return;
      }
      if (!trust.extend(start, length)) {
        loseTrust();
        return;
      }
      again = newBackOff();
      options.onRenewed?.();
      renewIn(Math.max(0, leaseMs / 3 - (clock.monotonic() - start.monotonic)));
    } catch (problem) {
      if (stopped) return;
      options.onTrouble(problem);
      renewIn(Math.max(ASK_AGAIN_LEAST_MS, Math.min(again(problem), trust.remaining() / 4)));
      return;
    }
    await readControl();
  };
  const readControl = async (): Promise<void> => {
    const { readControl: read } = store;
    if (read === undefined) return;
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

  cancelWatch = whenOver(clock, trust, loseTrust);
  renewIn(firstRenewal(leaseMs, trust.remaining(), options.untilDueMs ?? 0));
  return { stop };
}
