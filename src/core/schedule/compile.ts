import type { EpochMs } from '../brand';
import type { ScheduleKind, Timetable } from '../job';
import { fixedExclusion, type Exclusion } from './exclusion';
import type { Schedule } from './parse';
import { ScheduleError } from './schedule-error';
import { cronSource, ELAPSED, everySource, onceSource, type DstPolicy, type Source } from './source';
import { isNeverDue, timetableOf } from './timetable';
import type { Span } from './window';
import type { Zone } from './zone';

export interface CompiledSchedule {
  readonly kind: ScheduleKind;
  /** The instant of an `@at` schedule. */
  readonly at?: EpochMs;
  /** Nominal due times; none for `always` and `manual`. */
  readonly timetable: Timetable;
  /** The same with those that are excluded, if any may be. */
  readonly scheduled?: Timetable;
}

const EMPTY: Timetable = { next: () => undefined, previous: () => undefined };

/** With yearly exclusions no later due time is looked for before a schedule is called never due. */
const NEVER_BY: EpochMs = Date.UTC(2100, 0, 1);

/**
 * Makes the due times of a schedule in its zone, without those in an excluded span.
 *
 * @param calendars further exclusions, on nominal times
 * @throws ScheduleError if no due time is left.
 */
export function compileSchedule(
  schedule: Schedule,
  zone: Zone,
  dst: DstPolicy,
  excluded: readonly Span[],
  calendars: readonly Exclusion[] = [],
): CompiledSchedule {
  if (schedule.kind === 'always' || schedule.kind === 'manual') return { kind: schedule.kind, timetable: EMPTY };
  const source = sourceOf(schedule, zone, dst);
  const exclusions = [...(excluded.length === 0 ? [] : [fixedExclusion(excluded)]), ...calendars];
  if (exclusions.length > 0 && isNeverDue(source, exclusions, calendars.length === 0 ? undefined : NEVER_BY)) {
    throw new ScheduleError('is never due: "between" and "except" exclude all of its times', 'widen them');
  }
  const at = schedule.kind === 'at' ? { at: schedule.at } : {};
  const scheduled = exclusions.length > 0 ? { scheduled: timetableOf(source, []) } : {};
  return { kind: 'timed', ...at, ...scheduled, timetable: timetableOf(source, exclusions) };
}

function sourceOf(schedule: Schedule & { kind: 'cron' | 'every' | 'at' }, zone: Zone, dst: DstPolicy): Source {
  switch (schedule.kind) {
    case 'cron':
      return cronSource(schedule.fields, zone, schedule.elapsed ? ELAPSED : dst);
    case 'every':
      return everySource(schedule.period);
    case 'at':
      return onceSource(schedule.at);
  }
}
