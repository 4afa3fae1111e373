import type { EpochMs } from '../core/brand';
import { changesIn } from '../core/schedule/clock-changes';
import { parseCron } from '../core/schedule/parse';
import { type DstPolicy, ELAPSED, cronSource } from '../core/schedule/compile';
import { type CronFields, nextWall, previousWall } from '../core/schedule/wall';
import { type Segment, type Zone, instantOfWall, secondPassOf, zoneOf } from '../core/schedule/zone';
import { type Scheduled, type Timing, YEARS_MS } from './clock-policy';
import { type CronValues, cronText, followsElapsedTime } from './cron-text';

/** The package whose rules these are: Microsoft.Azure.WebJobs.Extensions, from pull request 908 on. */
export const TIMER_VERSION = '5.1.0';

const FAR = 6 * 366 * 86_400;
const POLICIES: readonly DstPolicy[] = [
  { gap: 'forward', overlap: 'first' },
  { gap: 'skip', overlap: 'first' },
  { gap: 'forward', overlap: 'both' },
];

/**
 * The due time that follows another, in seconds, as the timer's listener computes it: from wall time to wall time, and
 * moved by the change of the offset where one of the two is in a repeated hour.
 */
export function nextOfTimer(fields: CronFields, isInterval: boolean, zone: Zone, now: number): number | undefined {
  const offset = offsetAt(zone, now);
  let wall = nextWall(fields, now + offset + 1, now + offset + FAR);
  if (wall === undefined) return undefined;
  const next = atStandardTime(zone, wall);
  const change = offsetAt(zone, next) - offset;
  const isRepeated = repeats(zone, next + offsetAt(zone, next));
  if (isInterval) return isRepeated || repeats(zone, now + offset) ? next + change : next;
  if (!isRepeated) return next;
  if (change !== 0) return next + change;
  // The listener takes it that the first pass had these times.
  while (wall !== undefined && repeats(zone, wall)) wall = nextWall(fields, wall + 1, wall + FAR);
  return wall === undefined ? undefined : atStandardTime(zone, wall);
}

/**
 * Whether the listener runs an expression through both passes of a repeated hour: if NCrontab prints `*` or a range for
 * its seconds, minutes or hours. It prints values, not what was written, and two that follow each other as a range.
 */
export function isInterval({ seconds, minutes, hours }: CronValues): boolean {
  return [seconds, minutes, hours].some((values) => values.some((value) => values.includes(value + 1)));
}

function offsetAt(zone: Zone, second: number): number {
  return zone.segmentAt(second).offset;
}

function repeats(zone: Zone, wall: number): boolean {
  return secondPassOf(zone, wall) !== instantOfWall(zone, wall);
}

/** .NET takes a wall time that the clocks skip or repeat for one of standard time. */
function atStandardTime(zone: Zone, wall: number): number {
  const first = instantOfWall(zone, wall);
  const { start, before, offset } = zone.segmentAt(first);
  const isSkipped = first === start && first + offset !== wall;
  return isSkipped ? wall - before : secondPassOf(zone, wall);
}

/**
 * A schedule of ours with the due times of a timer. Where no policy of a job gives them, it has the policy that comes
 * nearest, and the difference.
 *
 * @param now considers the clock changes of the next 5 years
 */
export function scheduledTimer({ values, written, timeZone }: Omit<Timing, 'rule'>, now: EpochMs): Scheduled {
  const place = timeZone === 'UTC' ? {} : { timeZone };
  const zone = zoneOf(timeZone);
  const asWritten = cronText(values, written, 'asWritten');
  const { fields } = parseCron(asWritten);
  const changes = changesIn(timeZone, now, now + YEARS_MS).flatMap(
    (change) => aroundChange(fields, isInterval(values), zone, change) ?? [],
  );
  const tried = (policy: DstPolicy) => ({ policy, ...differencesOf(changes, fields, zone, policy) });
  const elapsed = tried(ELAPSED);
  if (followsElapsedTime(asWritten) && elapsed.first === undefined) return { schedule: asWritten, ...place };
  const [best = elapsed] = [...POLICIES.map(tried), elapsed].sort((a, b) => a.size - b.size);
  return {
    schedule: cronText(values, written, 'list'),
    ...place,
    ...dstOf(best.policy),
    ...(best.first !== undefined && { differs: sentence(best.first, timeZone) }),
  };
}

function dstOf({ gap, overlap }: DstPolicy): Pick<Scheduled, 'dst'> {
  const dst = { ...(gap !== 'forward' && { gap }), ...(overlap !== 'first' && { overlap }) };
  return Object.keys(dst).length === 0 ? {} : { dst };
}

/** A change of clocks, and the due times of the timer around it, in seconds. */
interface Around {
  readonly change: Segment;
  readonly due: readonly number[];
}

/** From the last due time before the change to the second one that no longer depends on it. */
function aroundChange(fields: CronFields, interval: boolean, zone: Zone, change: Segment): Around | undefined {
  const length = Math.abs(change.offset - change.before);
  const wall = previousWall(fields, change.start + Math.min(change.offset, change.before) - 1, change.start - FAR);
  if (wall === undefined) return undefined;
  const due: number[] = [];
  const end = change.start + length;
  for (let at: number | undefined = atStandardTime(zone, wall), last = -Infinity; at !== undefined && last < end;) {
    due.push(at);
    last = at;
    at = nextOfTimer(fields, interval, zone, at);
  }
  return { change, due };
}

interface Difference {
  readonly change: Segment;
  readonly theirs: readonly number[];
  readonly ours: readonly number[];
}

/** The first change at which a policy has other due times; the size counts missing ones above moved ones. */
function differencesOf(
  changes: readonly Around[],
  fields: CronFields,
  zone: Zone,
  policy: DstPolicy,
): { readonly first?: Difference; readonly size: number } {
  const source = cronSource(fields, zone, policy);
  const differences = changes.flatMap(({ change, due }): Difference[] => {
    const [from = 0, to = 0] = [due[0], due.at(-1)];
    const own = new Set<number>();
    let next = source.atOrAfter(from * 1000, to * 1000);
    while (next !== undefined) {
      own.add(next / 1000);
      next = source.atOrAfter(next + 1, to * 1000);
    }
    const listed = new Set(due);
    const theirs = due.filter((second) => !own.has(second));
    const ours = [...own].filter((second) => !listed.has(second));
    return theirs.length + ours.length === 0 ? [] : [{ change, theirs, ours }];
  });
  const [first] = differences;
  const size = differences.reduce((sum, { theirs, ours }) => sum + 1 + 1000 * Math.abs(theirs.length - ours.length), 0);
  return { ...(first && { first }), size };
}

function sentence({ change, theirs, ours }: Difference, timeZone: string): string {
  const day = new Date((change.start + change.before) * 1000).toISOString().slice(0, 10);
  const zone = zoneOf(timeZone);
  const list = (seconds: readonly number[]): string =>
    seconds.length === 0
      ? 'not due'
      : `due at ${seconds
          .slice(0, 3)
          .map((second) => timeText(zone, second))
          .join(', ')}${seconds.length > 3 ? ', …' : ''}`;
  return `on ${day} the clocks of ${timeZone} change: the timer is ${list(theirs)} (extension ${TIMER_VERSION}), the job is ${list(ours)}`;
}

/** Local time with its offset, because the clocks may show it twice. */
function timeText(zone: Zone, second: number): string {
  const offset = offsetAt(zone, second);
  const minutes = Math.abs(offset) / 60;
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  const wall = new Date((second + offset) * 1000).toISOString();
  return `${wall.slice(0, second % 60 === 0 ? 16 : 19)}${offset < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`;
}
