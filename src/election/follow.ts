import type { Millis } from '../core/brand';
import { type Won, claim } from './campaign';
import { type Candidate, orStopped, pauseAfter, pollWait } from './candidate';
import { healthProblem } from './health';
import { LeadershipEndedError } from './leadership';

/** How soon the winner is read after a lost race. */
const READ_AFTER_RACE_MS = 500;

/** A follower's turn: one read, and one attempt to lead if nobody does. */
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
      // A task that ignores its signal keeps only its own instance from leading.
      const mayLead = candidate.term?.taskRuns !== true;
      if (!seen.free || !mayLead || !(await orStopped(candidate, isFit()))) return { waitMs: pollWait(candidate) };
      const won = await claim(settings, world, seen, stopping.signal);
      return won === undefined ? { waitMs: READ_AFTER_RACE_MS } : { won };
    } catch (error) {
      return { waitMs: pauseAfter(candidate, error) };
    }
  };

  /** Checks the instance's health. Reports a failure once, until the check succeeds again. */
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
