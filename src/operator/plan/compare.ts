import { isDeepStrictEqual } from 'node:util';
import type { EpochMs, JobName } from '../../core/brand';
import { windowMs } from '../../core/decide/verdict';
import { formatDuration } from '../../core/duration';
import { type JobSpec, type JobsFile, actualTime } from '../../core/job';
import { type ClockChange, clockChanges } from '../../core/schedule/clock-changes';
import { dueTimesAfter } from './plan';

const YEAR_MS = 365 * 86_400_000;
const DUE_TIMES = 5;

export interface JobSide {
  readonly spec: JobSpec;
  /** The next due times, nominal. */
  readonly dueTimes: readonly EpochMs[];
}

export interface JobChange {
  readonly job: JobName;
  readonly change: 'added' | 'removed' | 'changed';
  /** The settings that differ, by their names in the file. */
  readonly settings: readonly string[];
  readonly before: JobSide | undefined;
  readonly after: JobSide | undefined;
  /** Changes of clocks in the year after, that touch the job as it will be. */
  readonly clocks: readonly ClockChange[];
  /** What the deployment catches up or drops, as sentences. */
  readonly deploy: string;
}

/** Which jobs a deployment at this instant adds, removes or changes, in the order of their names. */
export function compareJobs(before: JobsFile, after: JobsFile, at: EpochMs): readonly JobChange[] {
  const old = new Map(before.jobs.map((spec) => [spec.name, spec]));
  const now = new Map(after.jobs.map((spec) => [spec.name, spec]));
  const names = [...new Set([...old.keys(), ...now.keys()])].sort((a, b) => (a < b ? -1 : 1));
  return names.flatMap((job): readonly JobChange[] => {
    const [from, to] = [old.get(job), now.get(job)];
    const settings = from === undefined || to === undefined ? [] : differences(from, to);
    if (from !== undefined && to !== undefined && settings.length === 0) return [];
    const change = from === undefined ? 'added' : to === undefined ? 'removed' : 'changed';
    const clocks = to === undefined || !to.enabled ? [] : clockChanges(to, at, at + YEAR_MS);
    const revised = { before: before.revision, after: after.revision };
    const deploy = deployOf(from, to, revised, at);
    return [{ job, change, settings, before: sideOf(from, at), after: sideOf(to, at), clocks, deploy }];
  });
}

function sideOf(spec: JobSpec | undefined, at: EpochMs): JobSide | undefined {
  return spec && { spec, dueTimes: dueTimesAfter(spec, at, DUE_TIMES) };
}

/** Members of a spec that follow from others, or that name the job. */
const DERIVED: ReadonlySet<string> = new Set(['name', 'kind', 'at', 'timetable', 'excluded', 'scheduleHash']);

function differences(from: JobSpec, to: JobSpec): readonly string[] {
  const members = new Set([...Object.keys(from), ...Object.keys(to)]);
  const [a, b] = [new Map(Object.entries(from)), new Map(Object.entries(to))];
  const changed = [...members]
    .filter((member) => !DERIVED.has(member) && !isDeepStrictEqual(a.get(member), b.get(member)))
    .map((member) => (member === 'offsetMs' ? 'spread' : member.replace(/Ms$/, '')));
  const explains = ['schedule', 'timeZone', 'spread', 'enabled'].some((name) => changed.includes(name));
  // The spec has the due times that these make, and not the settings themselves.
  if (from.scheduleHash !== to.scheduleHash && !explains) return [...changed, 'dst, between, except or spread'];
  return changed;
}

interface Revisions {
  readonly before: number;
  readonly after: number;
}

function deployOf(from: JobSpec | undefined, to: JobSpec | undefined, revised: Revisions, at: EpochMs): string {
  if (to === undefined) {
    return `It no longer runs, and its due times are not recorded. "cronlease forget ${from?.name ?? ''}" removes what remains.`;
  }
  if (from === undefined) return firstSight(to, at);
  if (from.scheduleHash === to.scheduleHash) return caughtUp(to);
  const counts = 'The new schedule counts from the deployment.';
  const dropped = 'Old due times that have not run by then are dropped: one record, disabled (scheduleChanged).';
  return `${to.enabled ? counts : 'It is disabled: no due time runs.'} ${dropped}${revisionNote(to, revised)}`;
}

/** What a schedule does that comes without a higher revision. */
function revisionNote({ enabled, kind }: JobSpec, { before, after }: Revisions): string {
  if (after < before) {
    return ` The file's revision is lower than before (${after} < ${before}): unless the package sets a higher one, the job is not claimed.`;
  }
  if (after > before || !enabled || kind !== 'timed') return '';
  return ` The file's revision is the same as before (${after}): unless the package sets a higher one, what was due since the last run may run at once.`;
}

function firstSight(spec: JobSpec, at: EpochMs): string {
  if (!spec.enabled) return 'It is disabled: no due time runs.';
  if (spec.kind === 'manual') return 'It runs on request only.';
  if (spec.kind === 'always') return 'Its first term begins with the first tick.';
  if (spec.at === undefined || actualTime(spec, spec.at) > at) return 'Nothing from before the deployment is due.';
  if (at - actualTime(spec, spec.at) > windowMs(spec)) {
    return 'Its time has passed, and is not caught up: it is recorded as expired.';
  }
  return 'Its time has passed, and is caught up: it runs at once.';
}

/** Due times that pass while the deployment is under way. */
function caughtUp(spec: JobSpec): string {
  if (!spec.enabled || spec.kind !== 'timed') return 'Its due times do not change.';
  const window = formatDuration(windowMs(spec));
  switch (spec.catchUp) {
    case 'latest':
      return `Its due times do not change. Of those missed meanwhile, the newest runs, if it is no older than ${window}.`;
    case 'all':
      return `Its due times do not change. Those missed meanwhile run in turn, if they are no older than ${window}.`;
    case 'none':
      return `Its due times do not change. Those missed meanwhile by more than ${window} expire.`;
  }
}
