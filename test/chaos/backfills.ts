import type { JobName } from '../../src/core/brand';
import { type BackfillSpan, type Evidence, dueTimes, say } from './evidence';

/** The job that is back-filled. */
export const FILLED = 'filled' as JobName;

type Ledger = Pick<Evidence, 'jobs' | 'ledger'>;

function outcomes({ jobs, ledger }: Ledger, { job, id, from, until }: BackfillSpan): { due: number; count: number }[] {
  const own = jobs.filter(({ name }) => name === job);
  return dueTimes(own, { from, until }).map(({ due }) => ({
    due,
    count: ledger.filter(
      (line) => line.job === job && line.request === id && line.state === 'final' && line.scheduledFor === due,
    ).length,
  }));
}

/** Whether every due time of the back-fill has ended. */
export function isFilled(evidence: Ledger, backfill: BackfillSpan): boolean {
  return outcomes(evidence, backfill).every(({ count }) => count > 0);
}

/** How the back-fill of a scenario fell short, in words. */
export function backfillMisses(evidence: Evidence): string[] {
  const { backfill, ledger, notes, faults } = evidence;
  if (backfill === undefined) return [];
  const { job, id, from, until } = backfill;
  const all = outcomes(evidence, backfill);
  const wrong = all.filter(({ count }) => count !== 1);
  const outside = ledger.filter(
    (line) => line.job === job && line.request === id && (line.scheduledFor <= from || line.scheduledFor > until),
  );
  const hit = Math.min(...faults.map((fault) => fault.from));
  const ran = notes.filter(({ what, isBackfill }) => what === 'started' && isBackfill === true);
  return [
    ...wrong.map(({ due, count }) => `the back-fill has ${String(count)} ends of ${say(job, due)}`),
    ...outside.map(({ scheduledFor }) => `the back-fill ran ${say(job, scheduledFor)}, which it does not have`),
    ...(all.length === 0 ? ['the back-fill has no due times'] : []),
    ...(ran.some(({ at }) => at < hit) ? [] : ['no back-filled run began before the fault']),
    ...(ran.some(({ at }) => at > hit) ? [] : ['no back-filled run began after the fault']),
  ];
}
