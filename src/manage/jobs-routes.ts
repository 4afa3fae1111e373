import * as z from 'zod';
import { leftJob } from '../config/load';
import type { EpochMs } from '../core/brand';
import { currentPause, pendingManualRuns } from '../core/control';
import { isoOf, isoOrNull } from '../core/iso';
import { type JobSpec, actualTime } from '../core/job';
import { recordKey, runIdOf } from '../core/key';
import { showDay, showTime } from '../core/show-time';
import { JOB_STATES } from '../core/shown-state';
import type { LeaseStore, MissingAccount } from '../lease/store';
import { controlVersion } from '../operator/change-control';
import type { JobState } from '../operator/job-state';
import { progressOf, stateOf } from '../operator/operations/backfill';
import { shownPause } from '../operator/operations/pause';
import { unknownAnywhere } from '../operator/subject';
import { backfilledRuns, explainLeft, explainTime } from '../operator/views/explain';
import { outcomesByDay } from '../operator/views/calendar';
import { describe } from '../operator/views/describe';
import { statusOf } from '../operator/views/job-status';
import { type JobEntry, listJobs } from '../operator/views/list-jobs';
import { readOverview } from '../operator/views/overview';
import { timelineOf } from '../operator/views/timeline';
import { RequestError } from './problem';
import { type Office, type Route, route } from './route';
import { Calendar, Deployments, DueTimes, Jobs, OneJob, Timeline, Why, instant, jobName } from './schema';
import { DueTimesQuery, TimelineQuery } from './schema/jobs';

const HOUR = 3_600_000;

export const oneJob = z.strictObject({ job: jobName });
/** The most of one answer. */
const DUE_TIMES = 5_000;

const CALENDAR_MS = 90 * 86_400_000;
/** Clocks may go back during a day. */
const LONGEST_DAY_MS = 26 * HOUR;

const tag = z.string().min(1).max(100).describe('Only jobs with this tag.');

/** The store with the shared sweep in place of separate listings of all jobs and deployments. */
export function sharedStore({ store, sweeps }: Office): LeaseStore {
  return {
    ...store,
    list: (options) => (options?.job === undefined ? sweeps.jobs() : store.list(options)),
    listPresences: () => sweeps.presences(),
  };
}

/** The jobs of the file and of storage, by the shared sweep. Forgotten ones are left out. */
export async function entriesOf(office: Office): Promise<{
  readonly now: number;
  readonly entries: readonly JobEntry[];
  readonly missing: readonly MissingAccount[];
}> {
  const { now, jobs, missing } = await listJobs(sharedStore(office), office.jobs);
  return { now, missing, entries: jobs.filter(({ spec, isForgotten }) => spec !== undefined || !isForgotten) };
}

/** Throws `OperatorError` `UnknownJob`. */
export function entryOf(entries: readonly JobEntry[], name: string): JobEntry {
  const entry = entries.find((one) => one.name === name);
  if (entry !== undefined) return entry;
  const names = entries.map((one) => one.name);
  throw unknownAnywhere(name, undefined, { location: 'this app and its storage', jobs: names });
}

/** The job's settings. Throws if this app's jobs file lacks the job. */
export function specOf({ spec, name }: JobEntry): JobSpec {
  if (spec !== undefined) return spec;
  throw new RequestError(409, 'NotInFile', {
    place: 'path: job',
    value: name,
    problem: `job "${name}" is not in the jobs file of this app`,
    remedy: 'ask a deployment that has it',
  });
}

export const jobsRoutes: readonly Route[] = [
  route({
    id: 'listJobs',
    role: 'viewer',
    follow: true,
    summary: 'list all jobs with their state, and all deployments',
    query: z.strictObject({
      tag: tag.optional(),
      state: z.enum(JOB_STATES).optional().describe('Only jobs in this state.'),
    }),
    answer: Jobs,
    async run(office, { query: { tag: wanted, state } }) {
      const overview = await readOverview(sharedStore(office), office.jobs);
      const jobs = overview.jobs
        .filter(({ tags }) => wanted === undefined || tags.includes(wanted))
        .filter((job) => state === undefined || job.state === state);
      return { ...overview, jobs };
    },
  }),
  route({
    id: 'getJob',
    role: 'viewer',
    follow: true,
    summary: 'show one job with its settings and manual runs',
    params: oneJob,
    answer: OneJob,
    async run(office, { params }) {
      const { now, entries } = await entriesOf(office);
      return showOneJob(entryOf(entries, params.job), now);
    },
  }),
  route({
    id: 'listDueTimes',
    role: 'viewer',
    summary: 'list the next due times of jobs',
    query: DueTimesQuery,
    answer: DueTimes,
    async run(office, { query: { job, tag: wanted, from, until = Infinity, count = 10 } }) {
      const { now, entries } = await entriesOf(office);
      const named = job === undefined ? entries.filter(({ spec }) => spec !== undefined) : [entryOf(entries, job)];
      const chosen = named
        .map((entry) => ({ spec: specOf(entry), state: entry.state }))
        .filter(({ spec }) => wanted === undefined || spec.tags.includes(wanted));
      const each = Math.min(count, Math.max(1, Math.floor(DUE_TIMES / Math.max(1, chosen.length))));
      return {
        now: isoOf(now),
        jobs: chosen.map(({ spec, state }) => ({
          job: spec.name,
          timeZone: spec.timeZone,
          enabled: spec.enabled,
          ...dueTimes(spec, from ?? now, until, each),
          paused: state !== undefined && currentPause(state.control, now) !== undefined,
        })),
      };
    },
  }),
  route({
    id: 'explain',
    role: 'viewer',
    summary: 'explain the outcome, or the expected one, of an instant',
    params: oneJob,
    query: z.strictObject({ time: instant.describe('A due time of the schedule, or any instant.') }),
    answer: Why,
    async run(office, { params, query: { time } }) {
      const { entries } = await entriesOf(office);
      const { spec, name } = entryOf(entries, params.job);
      const found =
        spec === undefined
          ? await explainLeft(office.store, leftJob(name), time, "this app's jobs file")
          : await explainTime(office.store, spec, office.revision, time);
      const backfills = await backfilledRuns(office.store, found);
      return {
        now: isoOf(found.state.now),
        job: name,
        time: isoOf(time),
        due: found.due,
        outcome: found.outcome,
        reason: found.reason,
        warnings: found.warnings,
        text: describe(found, (at) => showTime(at, 'UTC')),
        runId: found.record?.runId ?? null,
        backfills,
      };
    },
  }),
  route({
    id: 'getCalendar',
    role: 'viewer',
    summary: 'count the outcomes of a job by day',
    description: 'It costs one storage call for 5,000 records, and 20 at most.',
    params: oneJob,
    query: z.strictObject({ from: instant.optional().describe('The first day. Default: 90 days ago.') }),
    answer: Calendar,
    async run(office, { params, query: { from } }) {
      const { now, entries } = await entriesOf(office);
      const { name, spec } = entryOf(entries, params.job);
      const timeZone = spec?.timeZone ?? 'UTC';
      const first = from ?? now - CALENDAR_MS;
      // The first day began before the instant that names it, and counts as a whole.
      const wanted = { from: first - LONGEST_DAY_MS, timeZone };
      const { days, complete } = await outcomesByDay(office.store, { name, spec }, wanted);
      const named = days.filter(({ day }) => day >= showDay(first, timeZone));
      return { now: isoOf(now), job: name, timeZone, days: named, complete };
    },
  }),
  route({
    id: 'listDeployments',
    role: 'viewer',
    follow: true,
    summary: 'list the deployments',
    answer: Deployments,
    async run(office) {
      const { now, deployments, problems } = await readOverview(sharedStore(office), []);
      return { now, deployments, problems };
    },
  }),
  route({
    id: 'getTimeline',
    role: 'viewer',
    follow: true,
    summary: 'list what jobs did and will do around now',
    description: 'Jobs that have nothing in the window are left out. An answer has up to 200 due times of each job.',
    query: TimelineQuery,
    answer: Timeline,
    async run(office, { query: { hours = 12, tag, q: text, skip = 0, limit = 50 } }) {
      const { now, entries } = await entriesOf(office);
      return { now: isoOf(now), ...timelineOf(entries, { now, reachMs: hours * HOUR, tag, text, skip, limit }) };
    },
  }),
];

function dueTimes(spec: JobSpec, from: number, until: number, count: number) {
  const due: { scheduledFor: string; startsAt: string }[] = [];
  for (let at = spec.timetable.next(from - spec.offsetMs); at !== undefined; at = spec.timetable.next(at)) {
    if (actualTime(spec, at) > until) return { due, complete: true };
    if (due.length === count) return { due, complete: false };
    due.push({ scheduledFor: isoOf(at), startsAt: isoOf(actualTime(spec, at)) });
  }
  return { due, complete: true };
}

export function showOneJob(entry: JobEntry, now: EpochMs): z.input<typeof OneJob> {
  const { name, spec, state } = entry;
  const waiting = state === undefined ? [] : pendingManualRuns(state.control, state.row?.manualTaken ?? 0);
  return {
    ...statusOf(entry, now),
    now: isoOf(now),
    enabled: spec?.enabled ?? null,
    settings: spec === undefined ? null : settingsOf(spec),
    waiting: waiting.map(({ id, time }) => ({ runId: runIdOf(name, recordKey(time, id)), requestedAt: isoOf(time) })),
    pauses: state?.control.pauses.map(shownPause) ?? [],
    backfill: spec === undefined || state === undefined ? null : backfillOf(spec, state),
    cancelling: state?.control.cancel ?? null,
    controlVersion: controlVersion({ controlEtag: state?.controlEtag }),
  };
}

/** What a page needs to know that the back-fill has gone on. */
function backfillOf(spec: JobSpec, state: JobState): z.input<typeof OneJob>['backfill'] {
  const { backfill } = state.control;
  if (backfill === undefined) return null;
  const progress = progressOf(backfill, state);
  return { id: backfill.id, state: stateOf(spec, backfill, state), last: isoOrNull(progress?.at) };
}

/** The schema of the answer leaves out what it does not name. */
function settingsOf(spec: JobSpec): NonNullable<z.input<typeof OneJob>['settings']> {
  return {
    ...spec,
    // A query may have a key.
    call: spec.call === undefined ? null : `${spec.call.method} ${spec.call.url.replace(/[?#].*$/s, '')}`,
    requireWithinMs: spec.requires.length === 0 ? null : spec.requireWithinMs,
    timeoutMs: spec.timeoutMs ?? null,
    stallAfterMs: spec.stallAfterMs ?? null,
    alertAfterMs: spec.alertAfterMs ?? null,
    pauseAfterFailures: spec.pauseAfterFailures ?? null,
  };
}
