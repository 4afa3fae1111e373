import type { EpochMs, Millis } from '../../core/brand';
import { type JobSpec, actualTime } from '../../core/job';
import type { JobEntry } from './list-jobs';
import type { JobStatus, JobsTimeline } from '../../manage/schema/jobs';
import { statusOf } from './job-status';
import { worstSteadily } from './overview';

/** The most due times of one job. */
const PLANNED = 200;

type TimelineJob = JobsTimeline['jobs'][number];

interface TimelineQuery {
  readonly now: EpochMs;
  /** The window reaches this far back and this far ahead. */
  readonly reachMs: Millis;
  /** Only jobs with this tag. */
  readonly tag?: string | undefined;
  /** Words, each of which the name, the description or a tag must contain. */
  readonly text?: string | undefined;
  /** How many of the jobs to leave out before the first one. */
  readonly skip: number;
  readonly limit: number;
}

/** The jobs that have run, or will run, within a window around now. It makes no storage call. */
export function timelineOf(
  entries: readonly JobEntry[],
  { now, reachMs, tag, text = '', skip, limit }: TimelineQuery,
): JobsTimeline {
  const [from, until] = [now - reachMs, now + reachMs];
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const chosen = entries
    .map((entry) => ({ spec: entry.spec, status: statusOf(entry, now) }))
    .filter(
      ({ status }) => (tag === undefined || status.tags.includes(tag)) && words.every((word) => has(status, word)),
    );
  const busy = chosen.filter(({ status }) => isInWindow(status, from, until));
  return {
    busy: busy.length,
    empty: chosen.length - busy.length,
    jobs: busy
      .toSorted((a, b) => worstSteadily(a.status, b.status))
      .slice(skip, skip + limit)
      .map(({ spec, status }) => ({
        ...status,
        ...plannedOf(spec, status, until),
        offsetMs: spec?.offsetMs ?? 0,
        medianMs: medianOf(status),
      })),
  };
}

function has({ name, description, tags }: JobStatus, word: string): boolean {
  return [name, description ?? '', ...tags].some((text) => text.toLowerCase().includes(word));
}

function isInWindow({ currentRun, recent, nextDueAt, dueSince }: JobStatus, from: EpochMs, until: EpochMs): boolean {
  if (currentRun !== null || dueSince !== null) return true;
  if (nextDueAt !== null && Date.parse(nextDueAt) <= until) return true;
  return recent.some((item) => endOf(item) >= from);
}

function endOf(item: JobStatus['recent'][number]): EpochMs {
  const lasted = item.kind === 'run' ? (item.latenessMs ?? 0) + (item.durationMs ?? 0) + item.waitedMs : 0;
  return Date.parse(item.scheduledFor) + lasted;
}

function plannedOf(
  spec: JobSpec | undefined,
  { nextDueAt }: JobStatus,
  until: EpochMs,
): Pick<TimelineJob, 'planned' | 'isComplete'> {
  const planned: string[] = [];
  if (spec === undefined || nextDueAt === null) return { planned, isComplete: true };
  let at: EpochMs | undefined = Date.parse(nextDueAt) - spec.offsetMs;
  while (at !== undefined && actualTime(spec, at) <= until) {
    if (planned.length === PLANNED) return { planned, isComplete: false };
    planned.push(new Date(actualTime(spec, at)).toISOString());
    at = spec.timetable.next(at);
  }
  return { planned, isComplete: true };
}

function medianOf({ recent }: JobStatus): Millis | null {
  const known = recent
    .flatMap((item) => (item.kind === 'run' && item.durationMs !== null ? [item.durationMs] : []))
    .toSorted((a, b) => a - b);
  return known[Math.floor(known.length / 2)] ?? null;
}
