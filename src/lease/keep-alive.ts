import type { EpochMs, JobName, LeaseId, Millis } from '../core/brand';
import type { Control } from '../core/control';
import { decodeControl, NO_CONTROL } from '../core/control';
import { marginOf } from '../core/job';
import type { Asking } from './back-off';
import { backOff } from './back-off';
import { within } from './deadline';
import type { LeaseStore } from './store';
import type { Moment, Trust } from './trust';
import { moment, whenOver } from './trust';

/** After a renewal that got no answer, the next one follows this soon at first, and sooner when little trust is left. */
const ASK_AGAIN_MS = 500;
const ASK_AGAIN_AT_MOST_MS = 2_000;
const ASK_AGAIN_LEAST_MS = 100;

export interface KeepAliveOptions extends Asking {
  /** One that has no control records is not asked for them. */
  readonly store: Pick<LeaseStore, 'renew'> & Partial<Pick<LeaseStore, 'readControl'>>;
  readonly job: JobName;
  /** For messages. Default: the job by its name. */
  readonly whose?: string;
  readonly leaseId: LeaseId;
  readonly leaseMs: Millis;
  readonly trust: Trust;
  /** Called once: the lease is lost, or the trust is over. */
  readonly onLost: (why: string) => void;
  /** Called after each renewal that succeeded. */
  readonly onRenewed?: () => void;
  /** Called with what operators want of the job, after each renewal. */
  readonly onControl?: (control: Control) => void;
  /** Called with the service's Date of that answer, and when its call was sent. */
  readonly onDate?: (date: EpochMs, sent: Moment) => void;
  /** What went wrong without ending the lease. */
  readonly onTrouble: (problem: unknown) => void;
}

/**
 * Keeps a lease renewed at a third of its length until stopped. Each renewal is cut off before the trust ends; from a
 * success on, trust lasts until its start + lease − margin.
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
      if (!stopped) options.onControl?.(control === undefined ? NO_CONTROL : decodeControl(control.metadata));
    } catch (problem) {
      if (!stopped) options.onTrouble(problem);
    }
  };

  cancelWatch = whenOver(clock, trust, loseTrust);
  // What a slow hand-over has left of the first trust may be less than a third of the lease.
  renewIn(Math.min(leaseMs / 3, trust.remaining() / 2));
  return { stop };
}
