import type { DueTimes, OneRun, RunSummary } from './model';
import { type Scale, instantAt, positionOf } from './place';

/** A run of a moment can still be seen, and hit. */
export const LEAST = 3;
const NEAR = 6;
const MINUTE = 60_000;

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
export function timeAt(
  x: number,
  scale: Scale,
  {
    runs,
    due,
    now,
  }: { readonly runs: readonly RunSummary[]; readonly due: DueTimes['jobs'][number]['due']; readonly now: number },
): string {
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
