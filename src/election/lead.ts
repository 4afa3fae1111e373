import type { Millis } from '../core/brand';
import type { Won } from './campaign';
import type { Candidate } from './candidate';
import { TaskNotEndedError } from './leadership';
import { type Term, type TermOver, startTerm } from './term';

/** A leader's term, from the claim to the release of the lease. Resolves to the wait before the next read. */
export type Lead = (won: Won) => Promise<Millis>;

export function leader(candidate: Candidate): Lead {
  const { settings, world, sightings, stopping, tell } = candidate;
  /** How many terms in a row failed early. */
  let failures = 0;

  return async (won) => {
    const began = world.clock.monotonic();
    const term = startTerm(settings, world, won, (error) => {
      tell({ kind: 'error', error });
    });
    candidate.term = term;
    sightings.note(won.leader);
    tell({ kind: 'elected', leader: won.leader });
    if (stopping.signal.aborted) term.end('draining', `election "${settings.name}" is being stopped`);
    const over = await term.over;
    if (over.reason !== 'leaseLost') sightings.note(undefined);
    tell({ kind: 'lost', leader: won.leader, reason: over.reason });
    if (isError(over)) tell({ kind: 'error', error: over.error });
    watchTask(candidate, term, over);
    return waitAfter(over, world.clock.monotonic() - began);
  };

  function waitAfter({ reason }: TermOver, lasted: Millis): Millis {
    failures = reason === 'failed' ? (lasted >= settings.maxBackoffMs ? 1 : failures + 1) : 0;
    switch (reason) {
      case 'failed':
        return jittered(Math.min(settings.maxBackoffMs, settings.backoffMs * 2 ** (failures - 1)));
      case 'completed':
        if (settings.afterTask === 'stop') stopping.abort();
        return holdOff();
      case 'leaseLost':
      case 'draining':
        return 0;
      case 'resigned':
      case 'stalled':
      case 'unhealthy':
        return holdOff();
    }
  }

  /** Longer than a poll interval, so that after a release every other candidate reads first. */
  function holdOff(): Millis {
    return settings.pollMs * (1.25 + 0.25 * world.random());
  }

  function jittered(ms: Millis): Millis {
    return ms * (0.5 + 0.5 * world.random());
  }
}

function isError({ reason }: TermOver): boolean {
  return reason === 'failed' || reason === 'leaseLost' || reason === 'stalled' || reason === 'unhealthy';
}

/**
 * Reports a task that outlives its grace. After the loss of a lease, the grace begins now; after any other end, it is
 * over.
 */
function watchTask({ settings, world, tell }: Candidate, term: Term, { reason }: TermOver): void {
  if (!term.taskRuns) return;
  const { name, graceMs } = settings;
  world.clock.after(reason === 'leaseLost' ? graceMs : 0, () => {
    if (!term.taskRuns) return;
    const error = new TaskNotEndedError(
      `the task of election "${name}" has ignored its signal for ${String(graceMs / 1000)} s: ` +
        'others may lead, and this instance may not until the task has ended',
    );
    tell({ kind: 'error', error });
  });
}
