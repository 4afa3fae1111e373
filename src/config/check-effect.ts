import type { EpochMs, Millis } from '../core/brand';
import { formatDuration } from '../core/duration';
import type { Timetable } from '../core/job';
import type { CheckedJob } from './checked-job';
import type { JobSettings } from './schema';

/** Where the search for gaps starts. 2024 is a leap year, so it has every day. */
const FROM: EpochMs = Date.UTC(2024, 0, 1);
/** How many due times the search for the shortest gap covers: enough for a list of hours, days or months. */
const SHORTEST_STEPS = 32;
/** How many steps the search for the longest gap takes. Two of them cover more than `alertAfter`. */
const LONGEST_STEPS = 800;

/** Warns of settings that the gaps between due times make useless. */
export function warnOfGaps(job: CheckedJob, timetable: Timetable): void {
  const first = timetable.next(FROM) ?? timetable.next(0);
  if (first === undefined) return;
  warnOfWideSpread(job, timetable, first);
  warnOfEarlyAlert(job, timetable, first);
}

function warnOfWideSpread({ path, settings, wrong, report }: CheckedJob, timetable: Timetable, first: EpochMs): void {
  const { spread } = settings;
  if (spread === 0 || wrong.has('spread')) return;
  let due: EpochMs | undefined = first;
  for (let count = 0; count < SHORTEST_STEPS && due !== undefined; count += 1) {
    const next = timetable.next(due);
    const gap: Millis = (next ?? Infinity) - due;
    if (gap < spread) {
      const remedy = `must be ${formatDuration(gap)} or less`;
      const problem = `is wider than ${formatDuration(gap)}, the shortest gap of the schedule`;
      report.warning([...path, 'spread'], problem, remedy);
      return;
    }
    due = next;
  }
}

function warnOfEarlyAlert({ path, settings, wrong, report }: CheckedJob, timetable: Timetable, first: EpochMs): void {
  const { alertAfter } = settings;
  if (alertAfter === undefined || wrong.has('alertAfter')) return;
  const gap = longestGap(timetable, first, alertAfter);
  if (gap === undefined) return;
  report.warning(
    [...path, 'alertAfter'],
    `is not longer than ${formatDuration(gap)}, a gap of the schedule: the job becomes overdue in it even if every run succeeds`,
    `must be more than ${formatDuration(gap)}, with room for the run and its retries`,
  );
}

/** The longest gap found that is not shorter than `least`. */
function longestGap(timetable: Timetable, first: EpochMs, least: Millis): Millis | undefined {
  let longest: Millis | undefined;
  let due = first;
  for (let step = 0; step < LONGEST_STEPS; step += 1) {
    // No gap between `due` and the last due time within `least` after it is that long.
    const reached = timetable.previous(due + least) ?? due;
    const next = timetable.next(reached);
    if (next === undefined) break;
    if (reached === due) longest = Math.max(longest ?? 0, next - due);
    due = reached === due ? next : reached;
  }
  return longest;
}

type Schedule = NonNullable<JobSettings['schedule']>;

/** Warns of settings that have no effect with this kind of schedule. */
export function warnOfNoEffect({ path, settings, given, wrong, report }: CheckedJob): void {
  const { schedule, requires } = settings;
  if (given.has('requireWithin') && requires.length === 0 && !wrong.has('requires')) {
    report.warning([...path, 'requireWithin'], 'has no effect: the job requires no other', 'leave it out');
  }
  if (schedule === undefined) return;
  for (const setting of withoutEffect(schedule)) {
    if (!given.has(setting)) continue;
    const why =
      schedule.kind === 'cron'
        ? 'the hour field of this schedule follows elapsed time'
        : `the schedule is ${schedule.text}`;
    report.warning([...path, setting], `has no effect: ${why}`, 'leave it out');
  }
}

function withoutEffect(schedule: Schedule): readonly (keyof JobSettings)[] {
  switch (schedule.kind) {
    case 'always':
      return ['dst', 'between', 'except', 'catchUp', 'catchUpWindow', 'overlap', 'spread'];
    case 'manual':
      // catchUpWindow and overlap apply to manual runs.
      return ['dst', 'between', 'except', 'catchUp', 'spread'];
    case 'every':
    case 'at':
      return ['dst'];
    case 'cron':
      return schedule.elapsed ? ['dst'] : [];
  }
}
