import { currentPause, pendingManualRuns } from '../control';
import { actualTime, nextDue } from '../job';
import { hasBacklog } from './backfill';
import { claimTime } from './verdict';
import { adopts } from './next-row';
import { standstillAt } from '../standstill';
import { type Decision, HELD_WATCH_MS, type Situation } from './situation';

/** The row is held: decides when to check again, by the due times that a free row would give. */
export function watchHeld(s: Situation): Decision {
  const { job, row, now } = s;
  const manualRuns = job.kind === 'always' ? [] : pendingManualRuns(s.control, row.manualTaken);
  if (manualRuns.length > 0) return { kind: 'wait', until: 'tickEnds' };
  // Another deployment may keep claiming with its older file, so the newer schedule takes the first moment between two
  // runs.
  if (adopts(s)) return { kind: 'wait', until: 'tickEnds' };
  if (!job.enabled) return { kind: 'nothing', checkAt: undefined };
  const pause = currentPause(s.control, now);
  if (pause !== undefined) return { kind: 'nothing', checkAt: pause.until };
  if (hasBacklog(s)) return { kind: 'wait', until: 'tickEnds' };
  const oldest = nextDue(job, row.cursor, now);
  if (oldest === undefined) return { kind: 'nothing', checkAt: undefined };
  const watchFrom = now - HELD_WATCH_MS;
  if (actualTime(job, oldest) < watchFrom) {
    const at = actualTime(job, oldest);
    const behind = row.run === undefined || at < row.run.since || standstillAt(row, at) !== undefined;
    if (behind || job.overlap !== 'skip' || row.run?.trigger === 'backfill') return { kind: 'wait', until: 'tickEnds' };
  }
  const upcoming = job.timetable.next(Math.max(row.cursor, watchFrom - job.offsetMs - 1));
  if (upcoming === undefined) return { kind: 'nothing', checkAt: undefined };
  const claimAt = claimTime(job, upcoming, s.lookAheadMs);
  if (claimAt > now) return { kind: 'nothing', checkAt: claimAt, upcoming };
  return { kind: 'wait', until: actualTime(job, upcoming) + HELD_WATCH_MS };
}
