import type { EpochMs } from '../brand';
import { currentPause } from '../control';
import { backoff } from '../run';
import { firstCursor, newRow } from '../row';
import { decideDue } from './due';
import { adopt, carry, freshRun, isLeftBehind, recentOf, settled, settlesAt, startsAnew } from './next-row';
import { type Decision, HELD_WATCH_MS, type Situation, boundedWait, earliest, seenBy } from './situation';
import { decideUnfinished, watchHeld } from './unfinished';

/** Decides what a tick does about one job. Pure: the same situation gives the same decision. Decision 032. */
export function decide(situation: Situation): Decision {
  const { job, row, revision } = situation;
  if (row.forgotten !== undefined) return decideForgotten(situation);
  if (job.scheduleHash !== row.scheduleHash && revision < row.revision) return { kind: 'lowerRevision' };
  if (situation.lease === 'held') return watchHeld(situation);

  const unfinished = decideUnfinished(situation);
  if (unfinished !== undefined) return unfinished;

  const settleAt = settlesAt(situation);
  if (settleAt !== undefined && seenBy(situation) >= settleAt) return { kind: 'record', row: settled(situation) };
  if (startsAnew(situation)) return { kind: 'record', row: adopt(situation) };
  const decision = job.kind === 'always' ? decideTerm(situation) : decideDue(situation);
  return decision.kind === 'nothing' ? { ...decision, checkAt: earliest(decision.checkAt, settleAt) } : decision;
}

/** A forgotten job that is back in the file is new, but its cursor, token and manual run number never go back. */
function decideForgotten({ job, revision, row, lease, listedAt }: Situation): Decision {
  if (revision < row.revision) return { kind: 'lowerRevision' };
  if (lease === 'held') return { kind: 'nothing', checkAt: undefined };
  const cursor = Math.max(row.cursor, firstCursor(job, listedAt));
  const { token, manualTaken } = row;
  return { kind: 'record', row: { ...newRow(cursor, revision, job.scheduleHash), token, manualTaken } };
}

/** A leader job's term is due whenever the row is free. After a failure it waits for the back-off. */
function decideTerm(s: Situation): Decision {
  const { job, row, control, now } = s;
  const pause = currentPause(control, seenBy(s));
  if (!job.enabled || pause !== undefined) return finishLeftBehind(s, job.enabled ? pause?.until : undefined);
  if (row.failures > 0 && row.busyUntil !== undefined) {
    const wait = backoff(job.retry, row.failures, 1);
    const from = boundedWait(s, row.busyUntil + wait, wait);
    if (now < from) return { kind: 'nothing', checkAt: from };
    if (seenBy(s) < from) return { kind: 'wait', until: from + HELD_WATCH_MS };
  }
  const base = carry(s);
  return {
    kind: 'claim',
    claim: {
      what: 'first',
      run: { kind: 'term' },
      trigger: 'schedule',
      end: undefined,
      row: freshRun({ ...base, recent: recentOf(s, []) }),
    },
  };
}

/** Finishes the work of a dead holder; nothing else is due before `checkAt`. */
function finishLeftBehind(s: Situation, checkAt: EpochMs | undefined): Decision {
  return isLeftBehind(s) ? { kind: 'record', row: carry(s) } : { kind: 'nothing', checkAt };
}
