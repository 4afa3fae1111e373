import type { EpochMs } from '../core/brand';
import { isoOf } from '../core/iso';
import { formatDuration } from '../core/duration';
import { type JobSpec, actualTime } from '../core/job';
import { requiredSince } from '../core/requires';
import type { Path, IssueReport } from './config-error';
import { isObject } from '../core/metadata';
import { nearest } from './suggest';

/** A job as far as the checks of `requires` read it. It may have errors elsewhere. */
interface Requiring {
  readonly schedule: string;
  readonly enabled: boolean;
  readonly overlap: unknown;
  readonly requires: readonly string[];
}

export function checkRequires(jobs: Readonly<Record<string, unknown>>, report: IssueReport): void {
  const known = new Map(Object.entries(jobs).flatMap(([name, raw]) => (isObject(raw) ? [[name, readRaw(raw)]] : [])));
  let requires = false;
  for (const [name, job] of known) {
    if (job.requires.length === 0) continue;
    requires = true;
    checkOwn(['jobs', name], job, report);
    job.requires.forEach((required, index) => {
      checkRequired(['jobs', name, 'requires', index], { name, job, required }, known, report);
    });
  }
  if (requires) refuseCircles(known, report);
}

function readRaw({ schedule, enabled, overlap, requires }: Readonly<Record<string, unknown>>): Requiring {
  const names = Array.isArray(requires) ? requires : [];
  return {
    schedule: typeof schedule === 'string' ? schedule.trim() : '',
    enabled: enabled !== false,
    overlap,
    // A member that is not text has its own error, and keeps its place.
    requires: names.map((name: unknown) => (typeof name === 'string' ? name : '')),
  };
}

function checkOwn(path: Path, { schedule, overlap }: Requiring, report: IssueReport): void {
  const place = [...path, 'requires'];
  if (schedule === '@always' || schedule === '@manual') {
    report.error(place, `cannot be used: ${schedule} has no due times, which would wait`, 'leave it out');
  }
  if (isOnce(schedule)) {
    report.error(
      place,
      'cannot be used: the job is due once, so it has no previous due time, from which successes would count',
      'use a schedule that repeats, or leave it out',
    );
  }
  if (overlap === 'cancel') {
    report.error(
      [...path, 'overlap'],
      'cannot be combined with requires: a due time would cancel the run, and might then never run',
      'must be "skip" or "queue"',
    );
  }
}

function checkRequired(
  place: Path,
  { name, job, required }: { readonly name: string; readonly job: Requiring; readonly required: string },
  known: ReadonlyMap<string, Requiring>,
  report: IssueReport,
): void {
  if (required === '') return;
  if (job.requires.indexOf(required) !== place.at(-1)) {
    report.error(place, 'is in the list twice', 'name each job once');
    return;
  }
  if (required === name) {
    report.error(place, 'is the job itself, which would wait for itself', 'leave it out');
    return;
  }
  const other = known.get(required);
  if (other === undefined) {
    const meant = nearest(required, known.keys());
    const remedy = meant === undefined ? 'name a job of this file, or leave it out' : `did you mean "${meant}"?`;
    report.error(place, 'is not a job of this file', remedy);
    return;
  }
  if (other.schedule === '@always') {
    report.error(place, 'is a leader job (@always), which runs all the time', 'leave it out');
  } else if (isOnce(other.schedule)) {
    report.error(
      place,
      'is due only once, so that all later due times would wait until they expire',
      'give it a schedule that repeats, or "@manual"',
    );
  } else if (!other.enabled && job.enabled) {
    report.warning(
      place,
      `is disabled, so job "${name}" runs only after a run of "${required}" by hand`,
      'enable it, or leave it out',
    );
  }
}

function isOnce(schedule: string): boolean {
  return schedule.startsWith('@at');
}

/** Refuses each circle once, at the job that closes it. A chain may be as long as the file. */
function refuseCircles(known: ReadonlyMap<string, Requiring>, report: IssueReport): void {
  /** For each job that was reached: how many of the jobs that it requires were followed. */
  const followed = new Map<string, number>();
  for (const first of known.keys()) {
    const way = followed.has(first) ? [] : [first];
    for (let name = way.at(-1); name !== undefined; name = way.at(-1)) {
      const index = followed.get(name) ?? 0;
      const required = known.get(name)?.requires[index];
      followed.set(name, index + 1);
      if (required === undefined) {
        way.pop();
      } else if (!followed.has(required)) {
        way.push(required);
      } else if (required !== name && way.includes(required)) {
        refuseCircle(['jobs', name, 'requires', index], way, required, report);
      }
    }
  }
}

function refuseCircle(place: Path, way: readonly string[], required: string, report: IssueReport): void {
  const circle = [...way.slice(way.indexOf(required)), required].map((name) => `"${name}"`);
  const message = `forms a circle, in which no job would ever run: ${circle.join(' requires ')}`;
  report.error(place, message, 'leave one of them out');
}

/** How many due times the search for one that waits without effect covers: a day of hours, or a month of days. */
const DUE_TIMES_CHECKED = 31;

/** Warns of a due time that no due time of a required job can let run. */
export function warnOfRareRequired(specs: readonly JobSpec[], report: IssueReport, now: EpochMs | undefined): void {
  if (now === undefined) return;
  const byName = new Map(specs.map((spec) => [spec.name, spec]));
  for (const job of specs) {
    if (job.kind !== 'timed') continue;
    job.requires.forEach((name, index) => {
      const other = byName.get(name);
      if (other?.kind !== 'timed' || !other.enabled) return;
      const vain = waitsInVain(job, other, now);
      if (vain === undefined) return;
      report.warning(
        ['jobs', job.name, 'requires', index],
        `is not due between ${isoOf(vain.since)}, a due time of job "${job.name}", and the end of requireWithin ` +
          `(${formatDuration(job.requireWithinMs)}) after the next one, ${isoOf(vain.due)}: that one will expire`,
        `make "${name}" due as often as "${job.name}", or requireWithin longer`,
      );
    });
  }
}

function waitsInVain(
  job: JobSpec,
  required: JobSpec,
  now: EpochMs,
): { readonly since: EpochMs; readonly due: EpochMs } | undefined {
  let due = job.timetable.next(now);
  for (let seen = 0; due !== undefined && seen < DUE_TIMES_CHECKED; seen += 1) {
    const since = requiredSince(job, due);
    const inTime = required.timetable.next(since);
    const until = actualTime(job, due) + job.requireWithinMs;
    if (Number.isFinite(since) && (inTime === undefined || actualTime(required, inTime) >= until))
      return { since, due };
    due = job.timetable.next(due);
  }
  return undefined;
}
