import type { DstPolicy } from '../../src/core/schedule/compile';

/**
 * What schedules mean, the slow way: a table of what a zone's clock shows at each step of a stretch of time, asked
 * from Intl, and loops over every wall time that a schedule names. It shares nothing with the implementation.
 */
export interface WallClock {
  readonly zone: string;
  /** Instants in seconds; the stretch lies inside the table, a few days from either end. */
  readonly from: number;
  readonly to: number;
  /** The instants at which the clock shows a wall time (seconds), earliest first. */
  shownAt(wall: number): readonly number[];
  /** For a wall time that is never shown: the first instant that shows a later one. */
  afterGap(wall: number): number;
}

const DAY = 86_400;
const clocks = new Map<string, WallClock>();

export function wallClock(zone: string, year: number, step = 60): WallClock {
  const key = `${zone} ${year} ${step}`;
  const known = clocks.get(key) ?? build(zone, year, step);
  clocks.set(key, known);
  return known;
}

function build(zone: string, year: number, step: number): WallClock {
  const from = Date.UTC(year, 0, 1) / 1000;
  const to = Date.UTC(year + 1, 0, 1) / 1000;
  const start = from - 3 * DAY;
  const end = to + 3 * DAY;
  const shows = wallReader(zone);
  const base = start - 2 * DAY;
  // For each wall time, counted in steps from `base`: the first and the second instant that show it.
  const first = new Float64Array((end - start + 4 * DAY) / step).fill(-1);
  const second = new Float64Array(first.length).fill(-1);
  const note = (instant: number, wall: number): void => {
    const index = (wall - base) / step;
    const table = (first[index] ?? 0) < 0 ? first : second;
    if ((table[index] ?? 0) >= 0) throw new Error(`${zone} shows ${wall} three times`);
    table[index] = instant;
  };
  // Every step is asked for, but where a quarter of an hour took a quarter of an hour.
  for (let quarter = start; quarter < end; quarter += 900) {
    const wall = shows(quarter);
    const even = shows(quarter + 900) - wall === 900;
    for (let at = 0; at < 900; at += step) note(quarter + at, even ? wall + at : shows(quarter + at));
  }
  return {
    zone,
    from,
    to,
    shownAt(wall) {
      const index = (wall - base) / step;
      return [first[index] ?? -1, second[index] ?? -1].filter((instant) => instant >= 0);
    },
    afterGap(wall) {
      let index = Math.floor((wall - base) / step);
      while ((first[index] ?? 0) < 0) index += 1;
      return first[index] ?? 0;
    },
  };
}

/** Reads what a clock of the zone shows, as seconds of a clock without a zone. */
export function wallReader(zone: string): (instant: number) => number {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  let last = [NaN, NaN];
  return (instant) => {
    if (last[0] === instant) return last[1] ?? NaN;
    const [day = 0, month = 0, year = 0, hour = 0, minute = 0, second = 0] = (
      format.format(instant * 1000).match(/\d+/g) ?? []
    ).map(Number);
    const wall = Date.UTC(year, month - 1, day, hour, minute, second) / 1000;
    last = [instant, wall];
    return wall;
  };
}

/** A cron as plain lists of values, and the text that stands for it. */
export interface PlainCron {
  readonly text: string;
  readonly elapsed: boolean;
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  dayMatches(date: Date): boolean;
}

/** All that is due in the clock's stretch, in seconds, by the words of the rules. */
export function dueTimes(clock: WallClock, cron: PlainCron, policy: DstPolicy): number[] {
  const due = new Set<number>();
  for (let day = clock.from - 2 * DAY; day < clock.to + 2 * DAY; day += DAY) {
    if (!cron.dayMatches(new Date(day * 1000))) continue;
    for (const hour of cron.hours) {
      for (const minute of cron.minutes) {
        for (const instant of instantsOf(clock, day + hour * 3600 + minute * 60, cron.elapsed, policy)) {
          if (instant >= clock.from && instant < clock.to) due.add(instant);
        }
      }
    }
  }
  return [...due].sort((a, b) => a - b);
}

function instantsOf(clock: WallClock, wall: number, elapsed: boolean, policy: DstPolicy): readonly number[] {
  const shown = clock.shownAt(wall);
  if (elapsed) return shown;
  if (shown.length === 0) return policy.gap === 'forward' ? [clock.afterGap(wall)] : [];
  if (shown.length === 1 || policy.overlap === 'both') return shown;
  return policy.overlap === 'first' ? shown.slice(0, 1) : shown.slice(1);
}
