import type { Job } from './model';

export type Claimed = Pick<Job, 'state' | 'detail' | 'currentRun'>;

/** Whether the due time has come for which a job was claimed ahead. */
export function hasBegun({ state, currentRun }: Claimed, at: number): boolean {
  return state === 'waiting' && currentRun?.startedAt != null && Date.parse(currentRun.startedAt) <= at;
}

/** A job as it is at an instant after the answer: one that was claimed ahead runs from its due time on. */
export function asOf<J extends Claimed>(job: J, at: number): J {
  return hasBegun(job, at) ? { ...job, state: 'running', detail: null } : job;
}
