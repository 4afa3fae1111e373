import type { Millis } from '../core/brand';
import type { Won } from './campaign';
import { claim } from './campaign';
import type { Candidate } from './candidate';
import { orStopped, pauseAfter, pollWait } from './candidate';
import { healthProblem } from './health';
import { LeadershipEndedError } from './leadership';

/** After a lost race the winner is read this soon. */
const READ_AFTER_RACE_MS = 500;

/** A follower's turn: one look, and one try to lead if nobody does. */
export type Follow = () => Promise<{ readonly won: Won } | { readonly waitMs: Millis }>;

export function follower(candidate: Candidate): Follow {
  const { settings, world, scout, sightings, trouble, stopping } = candidate;
  let isUnfit = false;

  return async () => {
    try {
      const seen = await orStopped(candidate, scout.read());
      if (seen === undefined) return { waitMs: 0 };
      trouble.over();
      sightings.note(seen.leader);
      // A task that ignores its signal keeps this instance out, and no other one.
      const mayLead = candidate.term?.taskRuns !== true;
      if (!seen.free || !mayLead || !(await orStopped(candidate, isFit()))) return { waitMs: pollWait(candidate) };
      const won = await claim(settings, world, seen, stopping.signal);
      return won === undefined ? { waitMs: READ_AFTER_RACE_MS } : { won };
    } catch (error) {
      return { waitMs: pauseAfter(candidate, error) };
    }
  };

  /** Reports that it is not fit once, until it is fit again. */
  async function isFit(): Promise<boolean> {
    const problem = await healthProblem(settings, world.clock);
    if (problem !== undefined && !isUnfit) {
      const message = `this instance does not campaign in election "${settings.name}": ${problem.message}`;
      const error = new LeadershipEndedError('unhealthy', message, { cause: problem.cause });
      candidate.tell({ kind: 'error', error });
    }
    isUnfit = problem !== undefined;
    return !isUnfit;
  }
}
