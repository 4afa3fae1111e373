import { wallReader } from './schedule-reference';

/**
 * What other schedulers do, minute by minute, over a table of what Intl says that a zone's clock shows. It shares
 * nothing with the import: a cron is a question about a wall time, which the test's generator answers.
 */
export interface MinuteClock {
  readonly zone: string;
  /** The first minute since 1970 of the table, and the wall time of every minute, in minutes. */
  readonly first: number;
  readonly walls: Float64Array;
  /** Whether no later minute shows the same wall time, by minute. */
  readonly isLast: Uint8Array;
}

/** A cron of any dialect, as lists of values. */
export interface PlainCron {
  readonly text: string;
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  dayMatches(date: Date): boolean;
}

const DAY = 1440;
const clocks = new Map<string, MinuteClock>();

/** A year of a zone, with a day before and after it. */
export function minuteClock(zone: string, year: number): MinuteClock {
  const key = `${zone} ${year}`;
  const clock = clocks.get(key) ?? build(zone, year);
  clocks.set(key, clock);
  return clock;
}

function build(zone: string, year: number): MinuteClock {
  const first = Date.UTC(year, 0, 0) / 60_000;
  const walls = new Float64Array(Date.UTC(year + 1, 0, 2) / 60_000 - first);
  const shows = wallReader(zone);
  let next = shows(first * 60) / 60;
  // Every minute is asked for, but where an hour took an hour.
  for (let at = 0; at < walls.length; at += 60) {
    const wall = next;
    next = shows((first + at + 60) * 60) / 60;
    for (let step = 0; step < 60; step += 1) {
      walls[at + step] = next - wall === 60 ? wall + step : shows((first + at + step) * 60) / 60;
    }
  }
  const isLast = new Uint8Array(walls.length);
  const base = (walls[0] ?? 0) - DAY;
  const latest = new Int32Array(walls.length + 2 * DAY).fill(-1);
  walls.forEach((wall, index) => {
    latest[wall - base] = index;
  });
  for (const index of latest) if (index >= 0) isLast[index] = 1;
  return { zone, first, walls, isLast };
}

/** Whether a wall time matches, with one question for every day. */
export function matcher(cron: PlainCron): (wall: number) => boolean {
  const days = new Map<number, boolean>();
  return (wall) => {
    const minute = wall % DAY;
    if (!cron.minutes.has(minute % 60) || !cron.hours.has(Math.floor(minute / 60))) return false;
    const day = Math.floor(wall / DAY);
    const known = days.get(day) ?? cron.dayMatches(new Date(day * 86_400_000));
    days.set(day, known);
    return known;
  };
}

/** The minutes at which an instant of the table fulfils a condition. */
function minutesWhere({ first, walls }: MinuteClock, isDue: (wall: number, index: number) => boolean): number[] {
  const due: number[] = [];
  walls.forEach((wall, index) => {
    if (isDue(wall, index)) due.push(first + index);
  });
  return due;
}

/** robfig/cron, which Kubernetes uses, and cronie with `CRON_TZ`: every minute whose wall time matches. */
export function eachMatch(clock: MinuteClock, cron: PlainCron): number[] {
  return minutesWhere(clock, matcher(cron));
}

/** Quartz: java.util.Calendar finds a repeated wall time in its second pass, and no skipped one. */
export function lastPass(clock: MinuteClock, cron: PlainCron): number[] {
  const matches = matcher(cron);
  return minutesWhere(clock, (wall, index) => matches(wall) && clock.isLast[index] === 1);
}

/**
 * The main loop of Vixie cron and of cronie. Its virtual time follows the clock; after a jump forward of up to three
 * hours, entries of fixed times run for every minute that was skipped, and after one backwards they wait.
 */
export function cronDaemon(clock: MinuteClock, cron: PlainCron, isWild: boolean): number[] {
  const matches = matcher(cron);
  let virtual = clock.walls[0] ?? 0;
  return minutesWhere(clock, (now, index) => {
    if (index === 0) return false;
    const jump = now - virtual;
    if (jump === 1 || jump > 180 || jump < -180) {
      virtual = now;
      return matches(now);
    }
    if (jump <= 0) return isWild && matches(now);
    let isDue = isWild && matches(now);
    while (virtual < now) {
      virtual += 1;
      if (!isWild && matches(virtual)) isDue = true;
    }
    return isDue;
  });
}

/**
 * The timer of Azure Functions as its extension has it since 5.1.0: from the wall time of the last fire NCrontab finds
 * the next one, and .NET takes that for standard time if the clocks skip or repeat it. Around a repeated hour, the
 * listener then moves the instant by the change of the offset since the last fire, so that an expression with
 * neighbouring minutes or hours runs in both passes. Any other expression runs in the first pass only.
 */
export function timerListener(clock: MinuteClock, cron: PlainCron): number[] {
  const matches = matcher(cron);
  const { first, walls } = clock;
  const shownTwice = repeatedWalls(clock);
  const repeats = [cron.minutes, cron.hours].some((values) => [...values].some((value) => values.has(value + 1)));
  const end = walls.at(-1) ?? 0;
  const nextWall = (after: number): number => {
    let wall = after + 1;
    while (wall <= end && !matches(wall)) wall += 1;
    return wall;
  };
  const offset = (index: number): number => (walls[index] ?? 0) - index;
  const due: number[] = [];
  let index = 0;
  for (;;) {
    let wall = nextWall(walls[index] ?? 0);
    if (wall > end) return due;
    let next = atStandardTime(clock, wall);
    if (next < 0 || next >= walls.length) return due;
    const [isNowTwice, isNextTwice] = [walls[index] ?? 0, walls[next] ?? 0].map((shown) => shownTwice.has(shown));
    const change = offset(next) - offset(index);
    if (repeats && (isNowTwice || isNextTwice)) next += change;
    else if (!repeats && isNextTwice && change !== 0) next += change;
    else if (!repeats && isNextTwice) {
      while (shownTwice.has(wall)) wall = nextWall(wall);
      next = atStandardTime(clock, wall);
    }
    if (next < 0 || next >= walls.length) return due;
    index = next;
    due.push(first + index);
  }
}

function repeatedWalls({ walls }: MinuteClock): ReadonlySet<number> {
  const repeated = new Set<number>();
  walls.forEach((wall, index) => {
    for (let shown = wall; shown <= (walls[index - 1] ?? -1); shown += 1) repeated.add(shown);
  });
  return repeated;
}

/** The index of a wall time, at the smaller of the two offsets around a change of clocks. */
function atStandardTime({ walls }: MinuteClock, wall: number): number {
  const base = walls[0] ?? 0;
  const near = Math.min(Math.max(wall - base, 0), walls.length - 1);
  const window = 4 * 60;
  const offset = (index: number): number => (walls[index] ?? 0) - index;
  const [before, after] = [Math.max(0, near - window), Math.min(walls.length - 1, near + window)];
  const standard = Math.min(offset(before), offset(after));
  const candidates = [offset(before), offset(after)].map((one) => wall - one).filter((index) => walls[index] === wall);
  return candidates.length === 1 ? (candidates[0] ?? -1) : wall - standard;
}
