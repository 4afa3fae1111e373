import type { EpochMs } from '../core/brand';
import { parseCron } from '../core/schedule/parse';
import { changesIn } from '../core/schedule/clock-changes';
import { type CronFields, nextWall } from '../core/schedule/wall';
import type { Segment } from '../core/schedule/zone';
import type { JobInFile } from '../config/job-in-file';
import { type CronValues, cronText, followsElapsedTime } from './cron-text';

/**
 * What a source does when the clocks of a zone change.
 *
 * - `eachTime`: due whenever the clock shows a matching time: never if it is skipped, twice if it is repeated.
 * - `afterGap`: right after a gap, and in the first pass of a repeated time.
 * - `secondPass`: never if it is skipped, and in the second pass of a repeated time, however often it is due.
 */
export type ClockRule = 'eachTime' | 'afterGap' | 'secondPass';

export interface Timing {
  readonly values: CronValues;
  readonly written: string;
  readonly timeZone: string;
  readonly rule: ClockRule;
}

/** A schedule of ours with the due times of a source. */
export interface Scheduled extends Pick<JobInFile, 'schedule' | 'timeZone' | 'dst'> {
  /** The first day on which the source's due times differ, and how. */
  readonly differs?: string;
}

/** For how long clock changes are considered. */
export const YEARS_MS = 5 * 365.25 * 86_400_000;
/** An every-second schedule has more times in a gap, but they all behave alike. */
const MOST_WALLS = 2_000;

/** @param now considers the clock changes of the next 5 years */
export function scheduled({ values, written, timeZone, rule }: Timing, now: EpochMs): Scheduled {
  const zone = timeZone === 'UTC' ? {} : { timeZone };
  const changes = changesIn(timeZone, now, now + YEARS_MS);
  const asWritten = cronText(values, written, 'asWritten');
  if (changes.length === 0) return { schedule: asWritten, ...zone };
  if (rule === 'eachTime') {
    const dst = followsElapsedTime(asWritten) ? {} : { dst: { gap: 'skip', overlap: 'both' } as const };
    return { schedule: asWritten, ...zone, ...dst };
  }
  const schedule = cronText(values, written, 'list');
  if (rule === 'secondPass') return { schedule, ...zone, dst: { gap: 'skip', overlap: 'second' } };
  const twice = gapsOf(parseCron(schedule).fields, changes).find(({ starts }) => starts > 1);
  return { schedule, ...zone, ...(twice && { differs: difference(timeZone, twice) }) };
}

interface Gap {
  /** The first wall time that the clocks skip, in seconds; `length` is that of the gap. */
  readonly start: number;
  readonly length: number;
  readonly walls: readonly number[];
  /** How often the source starts at the end of the gap: also for the minute after it, if that is due. */
  readonly starts: number;
}

function gapsOf(fields: CronFields, changes: readonly Segment[]): readonly Gap[] {
  return changes.flatMap(({ start: instant, before, offset }) => {
    const [start, length] = [instant + before, offset - before];
    const walls: number[] = [];
    const next = (from: number): number | undefined => nextWall(fields, from, start + length);
    for (let wall = next(start); wall !== undefined && walls.length < MOST_WALLS; wall = next(wall + 1))
      walls.push(wall);
    if (walls.length === 0) return [];
    const isDueAfter = nextWall(fields, start + length, start + length + 60) !== undefined;
    return [{ start, length, walls, starts: walls.length + (isDueAfter ? 1 : 0) }];
  });
}

function difference(timeZone: string, { start, length, walls, starts }: Gap): string {
  const times = walls.slice(0, 3).map(timeOf).join(', ') + (walls.length > 3 ? ', …' : '');
  const day = new Date(start * 1000).toISOString().slice(0, 10);
  return `on ${day} the clocks of ${timeZone} skip ${times}: the source runs it ${starts} times right after them, the job once, at ${timeOf(start + length)}`;
}

function timeOf(wall: number): string {
  return new Date(wall * 1000).toISOString().slice(11, wall % 60 === 0 ? 16 : 19);
}
