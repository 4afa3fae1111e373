import type { EpochMs } from '../brand';
import type { JobSpec } from '../job';
import { parseSchedule } from './parse';
import { type CronFields, nextWall } from './wall';
import { type Segment, zoneOf } from './zone';

/** What a change of clocks makes of a wall time of a schedule. */
export type ClockEffect =
  /** The clocks skip it: it is due right after the gap. */
  | 'moved'
  /** The clocks skip it, and another time of the schedule is due right after the gap. */
  | 'merged'
  /** The clocks skip it, and nothing is due. */
  | 'dropped'
  /** The clocks show it twice: it is due in the first pass. */
  | 'first'
  | 'second'
  | 'both';

/** A change of clocks that touches a job. */
export interface ClockChange {
  readonly at: EpochMs;
  readonly effect: ClockEffect;
  /** The first wall time of the schedule that the clocks skip or show twice: `2026-03-29 02:30`. */
  readonly wall: string;
  /** The due times, nominal, that stand for skipped or repeated wall times. */
  readonly due: readonly EpochMs[];
}

const EVERY_HOUR = 0xff_ffff;
/** Due times of one change that are named; a job that is due every second of a repeated hour has more. */
const MOST_DUE = 120;

/**
 * The changes of clocks in [from, to] that touch a job's due times. None touches a schedule of every hour: it follows
 * elapsed time.
 */
export function clockChanges(
  spec: Pick<JobSpec, 'schedule' | 'kind' | 'timeZone' | 'timetable'>,
  from: EpochMs,
  to: EpochMs,
): readonly ClockChange[] {
  if (spec.kind !== 'timed') return [];
  const segments = changesIn(spec.timeZone, from, to);
  if (segments.length === 0) return [];
  const schedule = parseSchedule(spec.schedule);
  if (schedule.kind !== 'cron' || (schedule.elapsed && schedule.fields.hours === EVERY_HOUR)) return [];
  return segments.flatMap((segment) => changeOf(spec, schedule.fields, segment) ?? []);
}

/** The stretches of a zone that begin with a change in [from, to]. */
export function changesIn(timeZone: string, from: EpochMs, to: EpochMs): readonly Segment[] {
  const zone = zoneOf(timeZone);
  const found: Segment[] = [];
  let segment = zone.segmentAt(Math.floor(from / 1000));
  for (;;) {
    const start = segment.start * 1000;
    if (start > to) return found;
    if (start >= from && segment.before !== segment.offset) found.push(segment);
    if (segment.end * 1000 > to) return found;
    segment = zone.segmentAt(segment.end);
  }
}

function changeOf(
  { timetable }: Pick<JobSpec, 'timetable'>,
  fields: CronFields,
  { start, before, offset }: Segment,
): ClockChange | undefined {
  const [first, end] = [Math.min(before, offset), Math.max(before, offset)];
  const wall = nextWall(fields, start + first, start + end);
  // A job whose time is over, or has not come, is not touched.
  if (wall === undefined || timetable.next(start * 1000) === undefined) return undefined;
  if (timetable.previous(start * 1000) === undefined) return undefined;
  const isDue = (second: number): boolean => timetable.next(second * 1000 - 1) === second * 1000;
  const change = { at: start * 1000, wall: wallText(wall) };
  if (before < offset) {
    const follows = isDue(start);
    const isOwn = nextWall(fields, start + offset, start + offset + 1) !== undefined;
    const effect = !follows ? 'dropped' : isOwn ? 'merged' : 'moved';
    return { ...change, effect, due: follows ? [start * 1000] : [] };
  }
  const [inFirst, inSecond] = [isDue(wall - before), isDue(wall - offset)];
  if (!inFirst && !inSecond) return undefined;
  const due: EpochMs[] = [];
  const until = (start + before - offset) * 1000;
  let next = timetable.next((start - (before - offset)) * 1000 - 1);
  while (next !== undefined && next < until && due.length < MOST_DUE) {
    due.push(next);
    next = timetable.next(next);
  }
  return { ...change, effect: inFirst ? (inSecond ? 'both' : 'first') : 'second', due };
}

function wallText(wall: number): string {
  const [day = '', time = ''] = new Date(wall * 1000).toISOString().split('T');
  return `${day} ${wall % 60 === 0 ? time.slice(0, 5) : time.slice(0, 8)}`;
}

/** A sentence without its subject, for a note: `02:30 does not exist that day: it is due right after the gap`. */
export function clockNote({ effect, wall }: ClockChange): string {
  const time = wall.slice(11);
  switch (effect) {
    case 'moved':
      return `the clocks skip ${time}: it is due right after the gap`;
    case 'merged':
      return `the clocks skip ${time}: its next time is due right after the gap`;
    case 'dropped':
      return `the clocks skip ${time}: it is not due`;
    case 'first':
      return `the clocks show ${time} twice: it is due in the first pass`;
    case 'second':
      return `the clocks show ${time} twice: it is due in the second pass`;
    case 'both':
      return `the clocks show ${time} twice: it is due in both passes`;
  }
}
