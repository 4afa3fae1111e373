import type { Control, Pause } from '../core/control';
import { openPause } from '../core/control';
import type { CallOptions, LeaseStore } from '../lease/store';
import { changeControl } from './change-control';
import { currentRun, readState } from './job-state';
import { OperatorError } from './operator-error';
import type { Subject } from './subject';

/** Notes, and names of people, may have this many characters. */
export const NOTE_LENGTH = 200;

/**
 * Pauses a job from now on, by the storage service's clock. What is claimed already goes on.
 *
 * @throws OperatorError `AlreadyPaused`, `NoteTooLong`, `ControlFull`
 */
export async function pauseJob(
  store: LeaseStore,
  subject: Subject,
  { by, note }: Pick<Pause, 'by' | 'note'>,
  options?: CallOptions,
): Promise<Pause> {
  for (const [what, text] of [
    ['note', note],
    ['name of who pauses', by],
  ] as const) {
    if (text.length <= NOTE_LENGTH) continue;
    throw new OperatorError(
      'NoteTooLong',
      `the ${what} has ${text.length} characters, and may have ${NOTE_LENGTH}: shorten it`,
    );
  }
  return changeControl(
    store,
    subject,
    ({ control, now }) => {
      const open = openPause(control);
      if (open !== undefined) {
        const who = `since ${new Date(open.since).toISOString()} by ${open.by}: ${open.note}`;
        throw new OperatorError('AlreadyPaused', `job "${subject.name}" is paused already, ${who}`);
      }
      const pause: Pause = { by, note, since: now, until: undefined };
      return { control: { ...control, pauses: [...control.pauses, pause] }, result: pause };
    },
    options,
  );
}

/**
 * Ends the pause of a job, now, by the storage service's clock.
 *
 * @returns the pause, ended
 * @throws OperatorError `NotPaused`
 */
export function resumeJob(
  store: LeaseStore,
  subject: Subject,
  options?: CallOptions,
): Promise<Pause & { readonly until: number }> {
  return changeControl(
    store,
    subject,
    ({ control, now }) => {
      const open = openPause(control);
      if (open === undefined) throw new OperatorError('NotPaused', `job "${subject.name}" is not paused`);
      return { control: endPauses(control, now), result: { ...open, until: Math.max(now, open.since) } };
    },
    options,
  );
}

/** A run that a pause came too late for. */
export interface StillRuns {
  /** Undefined: a due time is being claimed at this very moment, and its run has no id yet. */
  readonly runId: string | undefined;
  readonly deployment: string | undefined;
  /** When its attempt starts; 0: nobody can tell. */
  readonly startsAt: number;
  /** `claimed`: it waits for its due time; `running`: an attempt runs; `waiting`: its next attempt follows. */
  readonly how: 'claimed' | 'running' | 'waiting';
}

/** What of a paused job is not held back: what was claimed before. */
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
  const { phase, started = 0, notBefore = 0, incumbent } = row ?? { phase: 'idle' };
  if (phase !== 'running') return { runId, deployment: incumbent, startsAt: notBefore, how: 'waiting' };
  return { runId, deployment: incumbent, startsAt: started, how: started > now ? 'claimed' : 'running' };
}

function endPauses(control: Control, now: number): Control {
  const pauses = control.pauses
    .map(({ until = now, ...pause }) => ({ ...pause, until }))
    // One that ends as it begins holds nothing back.
    .filter(({ since, until }) => since < until);
  return { ...control, pauses };
}
