import type { EpochMs } from '../brand';
import type { ScheduleKind, Timetable } from '../job';
import { type Exclusion, fixedExclusion } from './exclusion';
import type { Schedule } from './parse';
import { ScheduleError } from './schedule-error';
import { type DstPolicy, ELAPSED, type Source, cronSource, everySource, onceSource } from './source';
import type { Span } from './window';
import type { Zone } from './zone';

/** 9999-12-31T23:59:59.999Z. Later instants have no RFC 3339 form. */
const LAST_INSTANT = 253_402_300_799_999;

/** The reach of a look-up, in calendar years. */
const HORIZON_YEARS = 5;

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

/** The due times of a source outside the exclusions. A look-up reaches 5 years from its start. */
function timetableOf(source: Source, excluded: readonly Exclusion[]): Timetable {
  return {
    next(instant) {
      const limit = Math.min(yearsFrom(instant, HORIZON_YEARS), LAST_INSTANT);
      return firstDue(source, excluded, Math.max(0, Math.floor(instant) + 1), limit);
    },
    previous(instant) {
      const limit = Math.max(yearsFrom(instant, -HORIZON_YEARS), 0);
      return lastDue(source, excluded, Math.min(Math.ceil(instant) - 1, LAST_INSTANT), limit);
    },
  };
}

/** Whether the exclusions leave no due time from 1970 to `by`. */
function isNeverDue(source: Source, excluded: readonly Exclusion[], by: EpochMs = LAST_INSTANT): boolean {
  return firstDue(source, excluded, 0, by) === undefined;
}

function firstDue(source: Source, excluded: readonly Exclusion[], start: EpochMs, limit: EpochMs): EpochMs | undefined {
  let from = start;
  while (from <= limit) {
    const due = source.atOrAfter(from, limit);
    if (due === undefined) return undefined;
    const span = around(excluded, due);
    if (span === undefined) return due;
    from = span.to;
  }
  return undefined;
}

function lastDue(source: Source, excluded: readonly Exclusion[], start: EpochMs, limit: EpochMs): EpochMs | undefined {
  let through = start;
  while (through >= limit) {
    const due = source.atOrBefore(through, limit);
    if (due === undefined) return undefined;
    const span = around(excluded, due);
    if (span === undefined) return due;
    through = span.from - 1;
  }
  return undefined;
}

function around(excluded: readonly Exclusion[], due: EpochMs): Span | undefined {
  for (const exclusion of excluded) {
    const span = exclusion.at(due);
    if (span !== undefined) return span;
  }
  return undefined;
}

function yearsFrom(instant: EpochMs, years: number): EpochMs {
  const date = new Date(instant);
  return date.setUTCFullYear(date.getUTCFullYear() + years);
}
