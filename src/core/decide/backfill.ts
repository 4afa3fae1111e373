import { ASIDE_ATTEMPTS, type AsideRun, type Backfill, backfillKey, isActive, nextOf, stepOf } from '../backfill';
import { currentPause } from '../control';
import { parseRecordKey, runIdOf } from '../key';
import type { Row } from '../row';
import { longestRetryWait } from '../run';
import { freshRun } from './next-row';
import { type Claim, type Decision, HELD_WATCH_MS, type Situation, boundedWait, earliest, seenBy } from './situation';

/**
 * The next run of a back-fill, where no due time and no manual run can be claimed.
 *
 * @param row what was decided on the due times
 * @param idle the decision without a back-fill
 */
export function decideBackfill(s: Situation, decided: () => Row, idle: Decision): Decision {
  const { aside } = s.row.backfill ?? {};
  if (aside !== undefined) return resumeAside(s, decided(), aside, idle);
  const backfill = runnable(s);
  if (backfill === undefined) return idle;
  const step = stepOf(s.job, backfill, s.row.backfill, s.backfillLedger);
  switch (step.kind) {
    case 'over':
      return idle;
    case 'unread':
      return { kind: 'readBackfill', due: step.due };
    case 'skipped':
      return { kind: 'record', row: { ...decided(), backfill: step.progress } };
    case 'run': {
      const base = freshRun({ ...decided(), backfill: step.progress });
      const claim = backfillClaim(backfill, step.due, base);
      return { kind: 'claim', claim: step.isOpen ? begunClaim(claim, s.listedAt) : claim };
    }
  }
}

/** A claim with the note that a back-fill continues after it, if one does. */
export function withBacklog(s: Situation, decision: Decision): Decision {
  return decision.kind === 'claim' && hasBacklog(s)
    ? { kind: 'claim', claim: { ...decision.claim, hasBacklog: true } }
    : decision;
}

/** Whether a back-fill waits for the row. */
export function hasBacklog(s: Situation): boolean {
  const { job, row } = s;
  if (row.backfill?.aside !== undefined) return true;
  const backfill = runnable(s);
  if (backfill === undefined) return false;
  const at = row.backfill?.id === backfill.id ? row.backfill.at : undefined;
  return nextOf(job, backfill, at) !== undefined;
}

/** The back-fill that may run now. A pause of the job is one of its back-fill too. */
function runnable(s: Situation): Backfill | undefined {
  const { job, control } = s;
  const { backfill } = control;
  if (!isActive(backfill, job) || !job.enabled || job.kind === 'always') return undefined;
  return currentPause(control, seenBy(s)) === undefined ? backfill : undefined;
}

function backfillClaim(backfill: Backfill, due: number, row: Row): Claim {
  const { origin } = backfill;
  return {
    what: 'first',
    run: { kind: 'known', key: backfillKey(backfill, due), scheduledFor: due, asked: { origin } },
    trigger: 'backfill',
    end: undefined,
    row,
    hasBacklog: true,
  };
}

/** A row that was restored lost the progress while this run was not over. Its open record must be taken over. */
function begunClaim(claim: Claim, since: number): Claim {
  if (claim.run.kind !== 'known') return claim;
  const { key, scheduledFor, asked } = claim.run;
  const run = { key, scheduledFor, trigger: 'backfill', since, ...asked } as const;
  return { ...claim, what: 'resume', row: { ...claim.row, run } };
}

/** Continues the run that gave way to due times. */
function resumeAside(s: Situation, row: Row, aside: AsideRun, idle: Decision): Decision {
  const { job, control } = s;
  const id = row.backfill?.id ?? '';
  const key = backfillKey({ id }, aside.scheduledFor);
  const isCancelled = control.cancel === runIdOf(job.name, key);
  const { notBefore = 0 } = aside;
  const resumeAt = notBefore === 0 || isCancelled ? 0 : boundedWait(s, notBefore, longestRetryWait(job));
  if (seenBy(s) < resumeAt) {
    if (resumeAt <= s.now) return { kind: 'wait', until: resumeAt + HELD_WATCH_MS };
    return idle.kind === 'nothing' ? { ...idle, checkAt: earliest(idle.checkAt, resumeAt) } : idle;
  }
  const { scheduledFor, since, attempt, uncountedAttempts, past } = aside;
  const origin = control.backfill?.id === id ? { origin: control.backfill.origin } : {};
  return {
    kind: 'claim',
    claim: {
      what: 'resume',
      run: { kind: 'known', key, scheduledFor },
      trigger: 'backfill',
      end: isCancelled ? { outcome: 'cancelled', reason: 'cancelRequested' } : undefined,
      hasBacklog: true,
      row: {
        ...freshRun(row),
        attempt: attempt + 1,
        uncountedAttempts,
        past,
        run: { key, scheduledFor, trigger: 'backfill', since, ...origin },
        backfill: row.backfill && { ...row.backfill, aside: undefined },
      },
    },
  };
}

/** Whether the row's run may give way to a due time: it is a back-filled one that waits for its next attempt. */
export function givesWay({ row }: Situation): boolean {
  const { run, phase, backfill } = row;
  if (phase !== 'retrying' || run?.trigger !== 'backfill') return false;
  // Without its progress, the run could not be continued after the due time: it keeps the row.
  return backfill?.id === parseRecordKey(run.key)?.request;
}

/** The claim of a due time while a back-filled run waits for its next attempt: the run continues after it. */
export function withAside(claim: Claim, { row }: Situation): Claim {
  const { run, backfill, attempt, uncountedAttempts, notBefore, past } = row;
  if (run === undefined || backfill === undefined) return claim;
  const { scheduledFor, since } = run;
  const waits = { attempt, uncountedAttempts, notBefore, past: past.slice(-ASIDE_ATTEMPTS) };
  const aside: AsideRun = { scheduledFor, since, ...waits };
  return { ...claim, hasBacklog: true, row: { ...claim.row, backfill: { ...backfill, aside } } };
}
