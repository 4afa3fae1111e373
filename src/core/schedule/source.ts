import type { EpochMs, Millis } from '../brand';
import { nextWall, previousWall, type CronFields } from './wall';
import type { Segment, Zone } from './zone';

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
