import type { Millis } from '../core/brand';
import { type Control, type Pause, currentPause } from '../core/control';
import { READ_CONTROL_MS, READS_CONTROL_AGAIN_MS } from '../core/early-claim';
import type { CallOptions, LeaseStore } from '../lease/store';
import { type ChangeOptions, changeControl } from './change-control';
import { currentRun, readState } from './job-state';
import { checkNote } from './operations/note';
import { OperatorError } from './operator-error';
import type { Subject } from './subject';

/**
 * Pauses a job from now on, by the storage service's clock. A run that is already claimed continues, unless it was claimed
 * early: {@link stillRuns}.
 *
 * @param pause.until when the pause is to end by itself
 * @throws OperatorError `AlreadyPaused`, `NoteTooLong`, `PastEnd`, `ControlFull`
 */
export async function pauseJob(
  store: LeaseStore,
  subject: Subject,
  { by, note, until }: Pick<Pause, 'by' | 'note'> & Partial<Pick<Pause, 'until'>>,
  options?: ChangeOptions,
): Promise<Pause> {
  checkNote({ by, note });
  return changeControl(
    store,
    subject,
    ({ control, now }) => {
      const open = currentPause(control, now);
      if (open !== undefined) {
        const who = `since ${new Date(open.since).toISOString()} by ${open.by}: ${open.note}`;
        throw new OperatorError('AlreadyPaused', `job "${subject.name}" is paused already, ${who}`);
      }
      if (until !== undefined && until <= now) {
        const at = new Date(until).toISOString();
        throw new OperatorError('PastEnd', `the pause is to end at ${at}, which is past: give a later end, or none`);
      }
      const pause: Pause = { by, note, since: now, until };
      return { control: { ...control, pauses: [...control.pauses, pause] }, result: pause };
    },
    options,
  );
}

/**
 * Ends a job's pause now, by the storage service's clock.
 *
 * @returns the pause with its end
 * @throws OperatorError `NotPaused`
 */
export function resumeJob(
  store: LeaseStore,
  subject: Subject,
  options?: ChangeOptions,
): Promise<Pause & { readonly until: number }> {
  return changeControl(
    store,
    subject,
    ({ control, now }) => {
      const open = currentPause(control, now);
      if (open === undefined) throw new OperatorError('NotPaused', `job "${subject.name}" is not paused`);
      return { control: endPauses(control, now), result: { ...open, until: Math.max(now, open.since) } };
    },
    options,
  );
}

/** A run that was claimed before the pause. */
export interface StillRuns {
  /** Undefined: a due time is being claimed at this moment, and its run has no id yet. */
  readonly runId: string | undefined;
  readonly deployment: string | undefined;
  /** When its attempt starts; 0 if unknown. */
  readonly startsAt: number;
  /**
   * `claimed`: it waits for its due time. `claimedEarly`: so it does, and it reads the pause before its handler starts.
   * `reading`: it reads its control at about this moment, and may miss the pause. `running`: an attempt is running.
   * `waiting`: it waits for its next attempt.
   */
  readonly how: 'claimed' | 'claimedEarly' | 'reading' | 'running' | 'waiting';
}

/** The run of a paused job that the pause does not stop, because it was claimed before. */
export async function stillRuns(
  store: LeaseStore,
  { name }: Subject,
  options?: CallOptions,
): Promise<StillRuns | undefined> {
  const state = await readState(store, name, options);
  const { row, lease, now } = state;
  const runId = await currentRun(store, name, state, options);
  if (runId === undefined) {
    return lease === 'held' ? { runId, deployment: undefined, startsAt: 0, how: 'claimed' } : undefined;
  }
  const { phase, started = 0, claimedAt = started, notBefore = 0, incumbent } = row ?? { phase: 'idle' };
  if (phase !== 'running') return { runId, deployment: incumbent, startsAt: notBefore, how: 'waiting' };
  const claim = { runId, deployment: incumbent, startsAt: started };
  if (started <= now) return { ...claim, how: 'running' };
  return { ...claim, how: beforeDue(started - claimedAt, started - now) };
}

/** How early the control is read depends on how many jobs the claiming process has, which is not known here. */
function beforeDue(claimedAheadMs: Millis, leftMs: Millis): StillRuns['how'] {
  if (leftMs > READS_CONTROL_AGAIN_MS) return 'claimedEarly';
  const readsAgain = claimedAheadMs > READS_CONTROL_AGAIN_MS;
  return readsAgain && leftMs > READ_CONTROL_MS ? 'reading' : 'claimed';
}

/** A pause that ends as it begins holds nothing back. Its end still excuses a job from `alertAfter`. */
function endPauses(control: Control, now: number): Control {
  const pauses = control.pauses.map(({ until = now, ...pause }) => ({
    ...pause,
    until: Math.max(pause.since, Math.min(until, now)),
  }));
  return { ...control, pauses };
}
