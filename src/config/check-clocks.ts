import type { EpochMs, Millis } from '../core/brand';
import { clockChanges, clockNote } from '../core/schedule/clock-changes';
import type { CompiledSchedule } from '../core/schedule/compile';
import type { CheckedJob } from './checked-job';

const YEAR_MS: Millis = 365 * 86_400_000;

/**
 * Warns of due times that the clocks skip or show twice within a year, unless the file has `dst`: its author knows. A
 * schedule that follows elapsed time has no `dst`, and no wall time that somebody would miss.
 */
export function warnOfClockChanges(
  { path, settings: { schedule, timeZone, enabled }, given, report }: CheckedJob,
  { kind, timetable }: CompiledSchedule,
  now: EpochMs,
): void {
  if (schedule?.kind !== 'cron' || schedule.elapsed || !enabled || given.has('dst')) return;
  const job = { schedule: schedule.text, kind, timeZone: timeZone.name, timetable };
  const changes = clockChanges(job, now, now + YEAR_MS);
  if (changes.length === 0) return;
  report.warning(
    [...path, 'schedule'],
    changes.map((change) => `on ${change.wall.slice(0, 10)} ${clockNote(change)}`).join('; '),
    'write "dst" to choose, such as {"gap": "forward", "overlap": "first"}, or another time',
  );
}
