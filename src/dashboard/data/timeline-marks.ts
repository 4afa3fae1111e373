import type { Timeline } from './model';

export type TimelineJob = Timeline['jobs'][number];
export type Past = TimelineJob['recent'][number];

/** A stretch of time, in milliseconds. */
interface Stretch {
  readonly from: number;
  readonly until: number;
}

/** An outcome, from the call of its handler to its end. */
interface PastMark extends Stretch {
  readonly item: Past;
  /** When it should have begun. */
  readonly dueAt: number;
}

/** Planned runs that are too close to each other to be drawn apart. */
export interface PlannedMark extends Stretch {
  readonly first: number;
  readonly last: number;
  readonly count: number;
}

/** What is drawn for a job. */
interface Marks {
  readonly past: readonly PastMark[];
  readonly current: (Stretch & { readonly expected: number }) | undefined;
  readonly planned: readonly PlannedMark[];
  /** Where a run, if it takes as long as usual, is still in progress at the next due time. */
  readonly overlaps: readonly Stretch[];
  /** The row has no outcomes from before this time, though there were some. */
  readonly knownFrom: number | undefined;
  /** There are more due times after this one than the answer has. */
  readonly plannedUntil: number | undefined;
}

/** As many outcomes as a row has. */
export const RECENT = 20;

/** @param apartMs planned runs with less than this between them are drawn as one */
export function marksOf(job: TimelineJob, now: number, apartMs: number): Marks {
  const { recent, currentRun, offsetMs, medianMs, isComplete, planned } = job;
  const usual = medianMs ?? 0;
  const past = recent.map((item, index) => pastMark(item, offsetMs, recent[index - 1]));
  const due = planned.map((at) => Date.parse(at));
  const from = currentRun === null ? 0 : Date.parse(currentRun.startedAt ?? currentRun.scheduledFor);
  const current = currentRun === null ? undefined : { from, until: now, expected: Math.max(now, from + usual) };
  const begun = current === undefined ? [] : [{ from, until: current.expected }];
  const stretches = [...begun, ...due.map((at) => ({ from: at, until: at + usual }))];
  return {
    past,
    current,
    planned: grouped(due, usual, apartMs),
    overlaps: overlapsOf(stretches),
    knownFrom: recent.length < RECENT ? undefined : past[0]?.dueAt,
    plannedUntil: isComplete ? undefined : due.at(-1),
  };
}

function pastMark(item: Past, offsetMs: number, before: Past | undefined): PastMark {
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
      groups[groups.length - 1] = {
        ...group,
        last: at,
        until: Math.max(group.until, at + usual),
        count: group.count + 1,
      };
    } else {
      groups.push({ from: at, until: at + usual, first: at, last: at, count: 1 });
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
      overlaps[overlaps.length - 1] = { from: last.from, until: Math.max(last.until, until) };
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
