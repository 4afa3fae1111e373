import { ScheduleError } from './schedule-error';

/** A stretch of time in which a zone keeps one UTC offset. All in seconds; instants since 1970. */
export interface Segment {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
  readonly offset: number;
  /** The offset just before `start`. It equals `offset` where a chunk begins inside a stretch. */
  readonly before: number;
  /** The offset from `end` on. */
  readonly after: number;
}

/** A time zone of the IANA database, by the rules of this Node's Intl. */
export interface Zone {
  readonly name: string;
  segmentAt(second: number): Segment;
}

/** How much time is searched for changes at once: about four years. */
const CHUNK = 1461 * 86_400;
/** Shorter than any stretch between two changes since 1970 in the database (the shortest is 7 days). */
const STEP = 3 * 86_400;
/** No zone has ever been further from UTC. */
const MAX_OFFSET = 86_400;

const zones = new Map<string, Zone>();

/**
 * The zone of an IANA name, in any case. Its changes are found on demand and cached for all callers.
 * @throws ScheduleError if Intl does not know the name, or the text is an offset or an abbreviation.
 */
export function zoneOf(name: string): Zone {
  const known = zones.get(name);
  if (known !== undefined) return known;
  const resolved = resolve(name);
  // Intl may return an older name of the same zone. Only the letter case of the given name is corrected.
  const written = resolved.toLowerCase() === name.toLowerCase() ? resolved : name;
  const zone = resolved === 'UTC' ? utc(written) : zoneWithChanges(written);
  zones.set(name, zone);
  return zone;
}

/** The first second at which the zone's clocks show `wall`, a second without a zone, or the first after its gap. */
export function instantOfWall(zone: Zone, wall: number): number {
  for (let segment = zone.segmentAt(wall - MAX_OFFSET); ; segment = zone.segmentAt(segment.end)) {
    if (wall < segment.start + segment.offset) return segment.start;
    if (wall < segment.end + segment.offset) return wall - segment.offset;
  }
}

/** As {@link instantOfWall}, but of a wall time that the clocks show twice the second instant. */
export function secondPassOf(zone: Zone, wall: number): number {
  const first = instantOfWall(zone, wall);
  const { end, offset, after } = zone.segmentAt(first);
  return after < offset && wall >= end + after ? wall - after : first;
}

/** Names that ICU accepts and the IANA database lacks. People misread them: ICU's BST is Dhaka's. */
const ABBREVIATION =
  /^(?:ACT|AET|AGT|ART|AST|BET|BST|CAT|CNT|CST|CTT|EAT|ECT|IET|IST|JST|MIT|NET|NST|PLT|PNT|PRT|PST|SST|VST|SystemV\/.*)$/i;

function resolve(name: string): string {
  if (/^[+-]/.test(name)) {
    throw new ScheduleError('is an offset, not a time zone', 'use an IANA name such as "Europe/Lisbon" or "Etc/GMT-2"');
  }
  if (ABBREVIATION.test(name)) {
    throw new ScheduleError('is an abbreviation, not an IANA time zone', 'use an IANA name such as "Europe/Lisbon"');
  }
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ScheduleError('is not a time zone that this Node has', 'use an IANA name such as "Europe/Lisbon"');
  }
}

function utc(name: string): Zone {
  const always: Segment = { start: -Infinity, end: Infinity, offset: 0, before: 0, after: 0 };
  return { name, segmentAt: () => always };
}

function zoneWithChanges(name: string): Zone {
  const chunks = new Map<number, readonly Segment[]>();
  return {
    name,
    segmentAt(second) {
      const index = Math.floor(second / CHUNK);
      let segments = chunks.get(index);
      if (segments === undefined) {
        segments = findSegments(name, index * CHUNK, (index + 1) * CHUNK);
        chunks.set(index, segments);
      }
      let at = segments.length - 1;
      while (at > 0 && second < (segments[at]?.start ?? -Infinity)) at -= 1;
      const segment = segments[at];
      if (segment === undefined) throw new Error(`time zone ${name} has no offset at ${second} s since 1970`);
      return segment;
    },
  };
}

/** The stretches of [start, end). The formatter is not kept: it takes 25 kB, for one use in four years. */
function findSegments(name: string, start: number, end: number): readonly Segment[] {
  const offsetAt = offsetReader(name);
  const segments: Segment[] = [];
  let before = offsetAt(start - 1);
  let from = start;
  let offset = offsetAt(start);
  for (let at = start; at < end; at += STEP) {
    const next = Math.min(at + STEP, end);
    const after = offsetAt(next);
    if (after === offset) continue;
    const change = findChange(offsetAt, at, next);
    if (change === end) break; // it begins the next chunk
    segments.push({ start: from, end: change, offset, before, after });
    before = offset;
    from = change;
    offset = after;
  }
  segments.push({ start: from, end, offset, before, after: offsetAt(end) });
  return segments;
}

/** The first second after `from` whose offset differs from that of `from`; the offset of `to` does. */
function findChange(offsetAt: (second: number) => number, from: number, to: number): number {
  const offset = offsetAt(from);
  let last = from;
  let first = to;
  while (first - last > 1) {
    const middle = Math.floor((last + first) / 2);
    if (offsetAt(middle) === offset) last = middle;
    else first = middle;
  }
  return first;
}

function offsetReader(name: string): (second: number) => number {
  // With the hour as the only other part this is Intl's fastest way to an offset, and it is exact to the second.
  const format = new Intl.DateTimeFormat('en-US', { timeZone: name, hour: 'numeric', timeZoneName: 'longOffset' });
  return (second) => {
    const match = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(format.format(second * 1000));
    if (match === null) throw new Error(`Intl gives no offset for ${name}`);
    const [, sign, hours = '0', minutes = '0', seconds = '0'] = match;
    const size = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
    return sign === '-' ? -size : size;
  };
}
