import type { DueTimes, OneRun, RunSummary, Timeline } from '../../client/types';

/** A stretch of time, drawn from left to right. */
export interface Scale {
  readonly from: number;
  readonly until: number;
  readonly width: number;
}

export function positionOf({ from, until, width }: Scale, at: number): number {
  return ((at - from) / (until - from)) * width;
}

export function instantAt({ from, until, width }: Scale, x: number): number {
  return from + (x / width) * (until - from);
}

export type TimelineJob = Timeline['jobs'][number];
export type Past = TimelineJob['recent'][number];

interface Stretch {
  from: number;
  until: number;
}

/** Planned runs that are too close to each other to be drawn apart. */
export interface PlannedMark extends Stretch {
  last: number;
  count: number;
}

/** As many outcomes as a row has. */
export const RECENT = 20;

/**
 * What is drawn for a job.
 *
 * @param apartMs planned runs with less than this between them are drawn as one
 */
export function marksOf(job: TimelineJob, now: number, apartMs: number) {
  const { recent, currentRun, offsetMs, medianMs, isComplete, planned } = job;
  const usual = medianMs ?? 0;
  const past = recent.map((item, index) => pastMark(item, offsetMs, recent[index - 1]));
  const due = planned.map((at) => Date.parse(at));
  const from = currentRun === null ? 0 : Date.parse(currentRun.startedAt ?? currentRun.scheduledFor);
  const current = currentRun === null ? undefined : { from, expected: Math.max(now, from + usual) };
  const begun = current === undefined ? [] : [{ from, until: current.expected }];
  const stretches = [...begun, ...due.map((at) => ({ from: at, until: at + usual }))];
  return {
    past,
    current,
    planned: grouped(due, usual, apartMs),
    /** Where a run, if it takes as long as usual, is still in progress at the next due time. */
    overlaps: overlapsOf(stretches),
    /** The row has no outcomes from before this time, though there were some. */
    knownFrom: recent.length < RECENT ? undefined : past[0]?.dueAt,
    /** There are more due times after this one than the answer has. */
    plannedUntil: isComplete ? undefined : due.at(-1),
  };
}

/** When an outcome should have begun, and its stretch from the call of its handler to its end. */
function pastMark(item: Past, offsetMs: number, before: Past | undefined) {
  const scheduledFor = Date.parse(item.scheduledFor);
  if (item.kind === 'gap') {
    const until = scheduledFor + offsetMs;
    // Of its due times a row has the newest and the number: they lie as far apart as the outcome before them does.
    const since = before === undefined ? until : Math.min(until, Date.parse(before.scheduledFor) + offsetMs);
    const from = since + (until - since) / Math.max(1, item.count);
    return { item, dueAt: from, from, until };
  }
  // A request is due at once.
  const dueAt = scheduledFor + (item.runId.includes('Z-m-') ? 0 : offsetMs);
  const from = dueAt + (item.latenessMs ?? 0);
  return { item, dueAt, from, until: from + (item.durationMs ?? 0) + item.waitedMs };
}

function grouped(due: readonly number[], usual: number, apartMs: number): readonly PlannedMark[] {
  const groups: PlannedMark[] = [];
  for (const at of due) {
    const group = groups.at(-1);
    if (group !== undefined && at - group.until < apartMs) {
      group.last = at;
      group.until = Math.max(group.until, at + usual);
      group.count += 1;
    } else {
      groups.push({ from: at, until: at + usual, last: at, count: 1 });
    }
  }
  return groups;
}

function overlapsOf(stretches: readonly Stretch[]): readonly Stretch[] {
  const overlaps: Stretch[] = [];
  for (const [index, { until }] of stretches.entries()) {
    const next = stretches[index + 1];
    if (next === undefined || next.from >= until) continue;
    const last = overlaps.at(-1);
    if (last !== undefined && next.from <= last.until) {
      last.until = Math.max(last.until, until);
    } else {
      overlaps.push({ from: next.from, until });
    }
  }
  return overlaps;
}

/** Until when each of the jobs has all of its due times. */
export function listedUntil(jobs: readonly TimelineJob[], end: number): number {
  const ends = jobs.flatMap(({ isComplete, planned }) => (isComplete ? [] : [Date.parse(planned.at(-1) ?? '')]));
  return Math.min(end, ...ends);
}

/** How many planned runs are in progress at once, from one instant of change to the next. */
export function atOnce(
  jobs: readonly TimelineJob[],
  now: number,
): readonly { readonly at: number; readonly count: number }[] {
  const steps = new Map<number, number>();
  const add = (at: number, change: number): void => void steps.set(at, (steps.get(at) ?? 0) + change);
  for (const { planned, medianMs } of jobs) {
    for (const text of planned) {
      const at = Date.parse(text);
      // A run of a moment can still be seen.
      add(at, 1);
      add(at + Math.max(1_000, medianMs ?? 0), -1);
    }
  }
  let count = 0;
  const ordered = [...steps].toSorted(([a], [b]) => a - b).map(([at, change]) => ({ at, count: (count += change) }));
  return [{ at: now, count: 0 }, ...ordered];
}

/** A run of a moment can still be seen, and hit. */
export const LEAST = 3;
/** Of a due time, in pixels. */
const NEAR = 6;
const MINUTE = 60_000;

export type Due = DueTimes['jobs'][number]['due'];

/** When a run should have begun: later than its due time by `spread`, and in a back-fill when its turn came. */
export function dueAtOf({ scheduledFor, startedAt, latenessMs, trigger }: RunSummary): number {
  if (startedAt !== null && trigger === 'backfill') return Date.parse(startedAt);
  return startedAt === null || latenessMs === null ? Date.parse(scheduledFor) : Date.parse(startedAt) - latenessMs;
}

/** From when on other due times came during a run: it may have waited, or lost its first holder, before it started. */
export function inProgressFrom({ claimedAt, startedAt, scheduledFor }: OneRun): string {
  return claimedAt ?? startedAt ?? scheduledFor;
}

/** The time that a place in the picture means: that of the record there, of a due time near it, or the minute. */
export function timeAt(scale: Scale, x: number, runs: readonly RunSummary[], due: Due, now: number): string {
  const hit = runs.find((run) => {
    const { startedAt, endedAt } = run;
    if (startedAt === null) return false;
    const end = positionOf(scale, endedAt === null ? now : Date.parse(endedAt));
    const least = positionOf(scale, Date.parse(startedAt)) + LEAST;
    return x >= positionOf(scale, dueAtOf(run)) && x <= Math.max(end, least);
  });
  if (hit !== undefined) return hit.scheduledFor;
  const marks = [
    ...runs.map((run) => ({ time: run.scheduledFor, at: dueAtOf(run) })),
    ...due.map(({ scheduledFor, startsAt }) => ({ time: scheduledFor, at: Date.parse(startsAt) })),
  ];
  const nearest = marks
    .map(({ time, at }) => ({ time, distance: Math.abs(positionOf(scale, at) - x) }))
    .toSorted((a, b) => a.distance - b.distance)[0];
  if (nearest !== undefined && nearest.distance <= NEAR) return nearest.time;
  return new Date(Math.round(instantAt(scale, x) / MINUTE) * MINUTE).toISOString();
}
