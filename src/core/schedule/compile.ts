import type { ScheduleKind, Timetable } from '../job';
import { type Exclusion, fixedExclusion, type Span } from './window';
import type { Schedule } from './parse';
import { ScheduleError } from './schedule-error';
import type { Zone, Segment } from './zone';
import type { EpochMs, Millis } from '../brand';
import { nextWall, previousWall, type CronFields } from './wall';

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

/** Due times without windows and without an end. Look-ups stop at `limit` (inclusive). In ms. */
export interface Source {
  atOrAfter(instant: EpochMs, limit: EpochMs): EpochMs | undefined;
  atOrBefore(instant: EpochMs, limit: EpochMs): EpochMs | undefined;
}

/** The treatment of wall times that a zone's clocks skip or show twice. */
export interface DstPolicy {
  readonly gap: 'forward' | 'skip';
  readonly overlap: 'first' | 'second' | 'both';
}

/** The policy of schedules that follow elapsed time: due whenever the clock shows a matching time. */
export const ELAPSED: DstPolicy = { gap: 'skip', overlap: 'both' };

/**
 * A cron expression in a zone. Inside a stretch of one UTC offset, matching is arithmetic on wall time. The policy
 * selects the walls of a stretch that count, and decides whether its beginning stands for the skipped walls.
 *
 * No stretch of a zone is shorter than a jump of its clocks, so only neighbouring stretches affect each other.
 */
export function cronSource(cron: CronFields, zone: Zone, policy: DstPolicy): Source {
  return {
    atOrAfter(instant, limit) {
      const last = Math.floor(limit / 1000);
      let second = Math.ceil(instant / 1000);
      while (second <= last) {
        const segment = zone.segmentAt(second);
        if (second === segment.start && standsForGap(cron, segment, policy)) return second * 1000;
        const from = Math.max(second + segment.offset, firstWallOf(segment, policy));
        const end = Math.min(last + 1 + segment.offset, endWallOf(segment, policy));
        const wall = nextWall(cron, from, end);
        if (wall !== undefined) return (wall - segment.offset) * 1000;
        second = segment.end;
      }
      return undefined;
    },
    atOrBefore(instant, limit) {
      const first = Math.ceil(limit / 1000);
      let second = Math.floor(instant / 1000);
      while (second >= first) {
        const segment = zone.segmentAt(second);
        const through = Math.min(second + segment.offset, endWallOf(segment, policy) - 1);
        const start = Math.max(first + segment.offset, firstWallOf(segment, policy));
        const wall = previousWall(cron, through, start);
        if (wall !== undefined) return (wall - segment.offset) * 1000;
        if (segment.start >= first && standsForGap(cron, segment, policy)) return segment.start * 1000;
        second = segment.start - 1;
      }
      return undefined;
    },
  };
}

/** With `first`, a stretch begins after the walls that the previous stretch has already shown. */
function firstWallOf(segment: Segment, policy: DstPolicy): number {
  const repeats = policy.overlap === 'first' && segment.before > segment.offset;
  return segment.start + (repeats ? segment.before : segment.offset);
}

/** With `second`, a stretch ends before the walls that the next stretch shows again. */
function endWallOf(segment: Segment, policy: DstPolicy): number {
  const repeated = policy.overlap === 'second' && segment.after < segment.offset;
  return segment.end + (repeated ? segment.after : segment.offset);
}

/** Whether a wall time matches among those that the clocks skipped at the beginning of the stretch. */
function standsForGap(cron: CronFields, segment: Segment, policy: DstPolicy): boolean {
  if (policy.gap === 'skip' || segment.before >= segment.offset) return false;
  return nextWall(cron, segment.start + segment.before, segment.start + segment.offset) !== undefined;
}

/** Whole periods since 1970. */
export function everySource(period: Millis): Source {
  return {
    atOrAfter(instant, limit) {
      const due = Math.ceil(instant / period) * period;
      return due <= limit ? due : undefined;
    },
    atOrBefore(instant, limit) {
      const due = Math.floor(instant / period) * period;
      return due >= limit ? due : undefined;
    },
  };
}

export function onceSource(at: EpochMs): Source {
  return {
    atOrAfter: (instant, limit) => (at >= instant && at <= limit ? at : undefined),
    atOrBefore: (instant, limit) => (at <= instant && at >= limit ? at : undefined),
  };
}
