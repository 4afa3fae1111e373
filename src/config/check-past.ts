import type { EpochMs } from '../core/brand';
import { formatDuration } from '../core/duration';
import type { CompiledSchedule } from '../core/schedule/compile';
import type { CheckedJob } from './checked-job';

/** Warns of a job that has no further due time, or whose only one is too old to run. */
export function warnOfPast(
  { path, settings, wrong, report }: CheckedJob,
  compiled: CompiledSchedule,
  now: EpochMs,
): void {
  const { kind, at, timetable } = compiled;
  if (kind !== 'timed' || timetable.next(now) !== undefined) return;
  if (at !== undefined && timetable.next(at - 1) === at) {
    // A missed due time still runs within its window.
    if (wrong.has('catchUpWindow') || now - at <= settings.catchUpWindow) return;
    report.warning(
      [...path, 'schedule'],
      `is in the past by more than catchUpWindow (${formatDuration(settings.catchUpWindow)}): it never runs`,
      'write a later time, or remove the job',
    );
    return;
  }
  const { between } = settings;
  if (between?.to !== undefined && timetable.previous(now) !== undefined) {
    report.warning(
      [...path, 'between', 'to'],
      'is in the past: the job is never due again',
      'write a later time, or remove the job',
    );
  }
}
