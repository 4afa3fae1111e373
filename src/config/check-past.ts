import type { EpochMs } from '../core/brand';
import { formatDuration } from '../core/duration';
import type { CompiledSchedule } from '../core/schedule/compile';
import type { CheckedJob } from './job';

/** Warns of a job that has no due time any more, or whose only one is too old to run. */
export function warnOfPast(
  { path, settings, wrong, report }: CheckedJob,
  compiled: CompiledSchedule,
  now: EpochMs,
): void {
  const { kind, at, timetable } = compiled;
  if (kind !== 'timed' || timetable.next(now) !== undefined) return;
  if (at !== undefined && timetable.next(at - 1) === at) {
    // One that was missed is still run within its window.
    if (wrong.has('catchUpWindow') || now - at <= settings.catchUpWindow) return;
    report.warning(
      [...path, 'schedule'],
      `is in the past by more than catchUpWindow (${formatDuration(settings.catchUpWindow)}): it does not run any more`,
      'write a later time, or remove the job',
    );
    return;
  }
  const { between } = settings;
  if (between?.to !== undefined && timetable.previous(now) !== undefined) {
    report.warning(
      [...path, 'between', 'to'],
      'is in the past: nothing is due any more',
      'write a later time, or remove the job',
    );
  }
}
