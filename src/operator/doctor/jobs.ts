import { lastSuccess } from '../../coordinator/ledger';
import type { EpochMs, JobName } from '../../core/brand';
import { type Control, currentPause } from '../../core/control';
import { formatDuration } from '../../core/duration';
import { inParallel } from '../../core/in-parallel';
import { type JobSpec, type JobsFile, actualTime, marginOf } from '../../core/job';
import { runIdOf } from '../../core/key';
import { countsFrom, overdueBy } from '../../core/overdue';
import { ForeignRecordError } from '../../core/record';
import type { Row } from '../../core/row';
import { RESUME_AFTER_MS } from '../../core/standstill';
import type { LeaseStore, LedgerStore, ListedRow } from '../../lease/store';
import { currentRun } from '../job-state';
import type { JobEntry, JobList, UnreadablePart } from '../views/list-jobs';
import { type Finding, ok, okAbout, orOk, problem, strayBlobs, warning } from './finding';
import { counted } from '../../core/text';
import { recordsIn } from '../views/find-record';

/** How many pages the search for a success covers: 2,000 records. */
const PAGES = 4;

/** More than two default sweeps and two ticks. */
const LONG_MS = 3 * 60_000;

interface SeenJob {
  readonly name: JobName;
  /** Undefined: the job is not in the file, or there is no file. */
  readonly spec: JobSpec | undefined;
  readonly listed: ListedRow;
  readonly row: Row;
  readonly control: Control;
}

interface View {
  readonly store: LeaseStore;
  readonly file: JobsFile | undefined;
  readonly list: JobList;
}

export async function checkJobs(view: View): Promise<readonly Finding[]> {
  const { file, list } = view;
  const seen = list.jobs.flatMap(readable);
  const foreign = list.jobs.flatMap(({ name, unreadable }) => unreadable.map((part) => foreignBlob(name, part)));
  const live = seen.filter(({ row }) => row.forgotten === undefined);
  const waiting = live.flatMap((job) => checkWaiting(job, list.now));
  const due = live.flatMap((job) => checkDue(job, file, list.now));
  return [
    ...orOk(foreign, 'metadata', `${counted(seen.length, 'row')} can be read`),
    ...strayBlobs(list.strays, 'jobs/'),
    ...(file === undefined ? [] : await aboutFile(view, file, live)),
    ...orOk(await checkLeases(view, live), 'leases', 'no lease is held for longer than its job may take'),
    ...orOk(waiting, 'waiting', 'no run waits for longer than it should'),
    ...orOk(due, 'due', 'no due time waits for a claim'),
    ...(file === undefined ? [] : await checkAlerts(view.store, live, list.now)),
  ];
}

function readable({ name, spec, listed, state }: JobEntry): readonly SeenJob[] {
  if (listed === undefined || state?.row === undefined) return [];
  return [{ name, spec, listed, row: state.row, control: state.control }];
}

function foreignBlob(name: JobName, { part, error }: UnreadablePart): Finding {
  const remedy =
    part === 'lease'
      ? 'restore the metadata (from a version, a snapshot or a backup), or upgrade older deployments; never delete ' +
        'the row: its token must not go back'
      : 'restore the metadata, or delete the control, which loses its pauses and manual runs';
  return problem('metadata', `jobs/${name}/${part}`, `the job is left alone: ${error.message}`, remedy);
}

async function aboutFile({ store, list }: View, file: JobsFile, live: readonly SeenJob[]): Promise<readonly Finding[]> {
  const orphans = live
    .filter(({ spec }) => spec === undefined)
    .map(({ name }) => {
      const remedy = `deploy the file that has it, or run "cronlease forget ${name}"`;
      return warning('orphans', name, 'has a row, but is not in the jobs file', remedy);
    });
  const unseen = await inParallel(
    list.jobs.filter(({ spec, listed, isForgotten }) => spec !== undefined && (listed === undefined || isForgotten)),
    ({ name, isForgotten }) => withoutRow(store, name, isForgotten),
  );
  const otherwise = live.flatMap((job) => checkRevision(job, file.revision));
  return [
    ...orOk(orphans, 'orphans', 'every row has its job in the jobs file'),
    ...orOk(unseen, 'unseen', 'every job of the jobs file has its row'),
    ...orOk(otherwise, 'revision', 'the rows follow this jobs file'),
  ];
}

/** A job of the file that no tick has seen, or whose row was deleted: then its ledger still has records. */
async function withoutRow(store: LeaseStore, name: JobName, isForgotten: boolean): Promise<Finding> {
  const remedy = 'deploy the file, and check that its deployment ticks';
  if (isForgotten || (await recordsIn(store, name, { limit: 1 }).next()).value === undefined)
    return warning('unseen', name, 'is in the jobs file, but no tick has seen it', remedy);
  return problem(
    'unseen',
    name,
    'has records, but no row: the row was deleted, and with it the token, the cursor and the run in progress',
    'find out who deletes data from the store; the next tick creates the row again, with a token above every ' +
      `earlier one: check then with "cronlease runs ${name}" how its last runs ended`,
  );
}

function checkRevision({ name, spec, row }: SeenJob, revision: number): readonly Finding[] {
  if (spec === undefined) return [];
  // Revisions order two schedules. If the schedules are the same, they do not matter.
  if (spec.scheduleHash === row.scheduleHash) return [];
  if (row.revision > revision) {
    const message = `follows revision ${row.revision} of the jobs file, and this file has revision ${revision} with another schedule`;
    return [problem('revision', name, message, 'deploy the newer file: this one never claims it')];
  }
  if (row.revision === revision) {
    const message = `has another schedule than this file, with the same revision ${revision}`;
    return [problem('revision', name, message, 'raise "revision" in the jobs file with each change')];
  }
  const remedy = 'deploy the file, and check that its deployment ticks';
  return [warning('revision', name, 'has not yet adopted the schedule of this file', remedy)];
}

async function checkLeases({ store, list }: View, live: readonly SeenJob[]): Promise<readonly Finding[]> {
  const found = await inParallel(live, (job) => checkLease(store, job, list.now));
  return found.flat();
}

async function checkLease(store: LeaseStore, job: SeenJob, now: EpochMs): Promise<readonly Finding[]> {
  const { name, listed } = job;
  if (listed.endless) {
    const message = 'its lease never expires: something other than cronlease holds it';
    return [problem('leases', name, message, `run "cronlease unlock ${name}", and find out who took the lease`)];
  }
  if (listed.lease === 'broken') return [brokenLease(job)];
  const limit = longest(job);
  if (listed.lease !== 'leased' || limit === undefined || now <= limit) return [];
  try {
    // During a hand-over the row still shows the last run.
    const run = await currentRun(store, name, { row: job.row, lease: 'held' });
    if (run === undefined) return [];
    const by = job.row.incumbent ?? 'its holder';
    const message = `${by} has held the lease for run ${run} since ${iso(job.row.started ?? 0)}, longer than its timeout and grace allow`;
    const giveAway = store.breakLease === undefined ? 'stop that instance' : `run "cronlease unlock ${name}"`;
    return [problem('leases', name, message, `check what ${by} does; to let another instance take over, ${giveAway}`)];
  } catch (error) {
    if (!(error instanceof ForeignRecordError)) throw error;
    return [problem('metadata', name, error.message, 'restore the record, or delete it')];
  }
}

/** When the row's attempt must be over; undefined if that is unknown. */
function longest({ spec, row }: SeenJob): EpochMs | undefined {
  if (spec?.timeoutMs === undefined || row.started === undefined || row.phase !== 'running') return undefined;
  // A run waits for its place in a group under its lease, and the row does not show when it got one.
  const waitsMs = spec.group === undefined ? 0 : spec.catchUpWindowMs;
  return row.started + waitsMs + spec.timeoutMs + spec.graceMs + spec.leaseMs;
}

function brokenLease({ name, spec, listed }: SeenJob): Finding {
  const patience = spec === undefined ? '' : ` (${formatDuration(spec.leaseMs + marginOf(spec.leaseMs))})`;
  const what = listed.isEnding ? 'its lease is being broken' : 'its lease was broken';
  const remedy = `wait: a tick takes it after it has seen it broken for a lease and its margin${patience}, because the old holder may trust it`;
  return warning('leases', name, what, remedy);
}

/** Checks for runs that wait too long. A waiting run is resumed by its own orchestration, or 10 s later by a tick. */
function checkWaiting({ name, row, listed }: SeenJob, now: EpochMs): readonly Finding[] {
  const waits = (row.phase === 'retrying' || row.phase === 'fanning') && listed.lease !== 'leased';
  if (!waits || row.run === undefined) return [];
  const since = row.notBefore === 0 ? (row.past.at(-1)?.end ?? row.started ?? row.run.since) : (row.notBefore ?? 0);
  if (now - since <= RESUME_AFTER_MS + LONG_MS) return [];
  const message = `run ${runIdOf(name, row.run.key)} has waited for its next attempt since ${iso(since)}`;
  return [problem('waiting', name, message, 'check that a deployment with this job ticks and is healthy')];
}

function checkDue(
  { name, spec, row, listed, control }: SeenJob,
  file: JobsFile | undefined,
  now: EpochMs,
): readonly Finding[] {
  if (spec === undefined || !spec.enabled || listed.lease !== 'available' || currentPause(control, now) !== undefined)
    return [];
  const follows = spec.scheduleHash === row.scheduleHash || (file?.revision ?? 0) > row.revision;
  if (!follows || row.phase === 'retrying' || row.phase === 'fanning') return [];
  const due = spec.timetable.next(row.cursor);
  // Before that it may wait for the jobs that it requires.
  const waitsMs = spec.requires.length === 0 ? 0 : spec.requireWithinMs;
  if (due === undefined || now - actualTime(spec, due) <= waitsMs + LONG_MS) return [];
  const message = `was due at ${iso(due)}, and has not been claimed`;
  return [warning('due', name, message, 'check that a deployment with this job ticks and is healthy')];
}

/** A time in a form that commands accept. */
function iso(instant: EpochMs): string {
  return new Date(instant).toISOString().replace('.000Z', 'Z');
}

/** The finding for a missing file, without which rows are not compared with it. */
export function noFile(reason: string, isWrong: boolean): Finding {
  const remedy = 'name it with --file, or run this command in the folder of the app';
  return isWrong
    ? problem('file', null, reason, 'run "cronlease validate" to see the errors')
    : warning('file', null, reason, remedy);
}

export function fileRead(source: string, { jobs, revision }: JobsFile): Finding {
  return ok('file', `${source} has ${counted(jobs.length, 'job')}, revision ${revision}`);
}

async function checkAlerts(store: LedgerStore, jobs: readonly SeenJob[], now: EpochMs): Promise<readonly Finding[]> {
  const alerted = jobs.flatMap((job) => (job.spec?.alertAfterMs === undefined ? [] : [{ ...job, spec: job.spec }]));
  return inParallel(alerted, (job) => checkAlert(store, job, now));
}

async function checkAlert(
  store: LedgerStore,
  { spec, row, control }: SeenJob & { readonly spec: JobSpec },
  now: EpochMs,
): Promise<Finding> {
  const { name, alertAfterMs = 0 } = spec;
  const found = await lastSuccess(store, name, { pages: PAGES });
  const last =
    found.succeeded === undefined
      ? 'no success is in its newest records'
      : `last succeeded ${span(now - found.succeeded)} ago, at ${new Date(found.succeeded).toISOString()}`;
  const limit = `"alertAfter" is ${formatDuration(alertAfterMs)}`;
  const age = overdueBy(spec, control, countsFrom(row, found), now);
  if (age !== undefined) {
    const remedy = `see the outcomes of its due times with "cronlease runs ${name}", and their reasons with "cronlease why ${name} TIME"`;
    return warning('overdue', name, `${last}: overdue for ${span(age - alertAfterMs)}, ${limit}`, remedy);
  }
  const state = !spec.enabled
    ? ', and it is disabled'
    : currentPause(control, now) === undefined
      ? ''
      : ', and it is paused';
  return okAbout('overdue', name, `${last}; ${limit}${state}`);
}

function span(ms: number): string {
  return formatDuration(Math.max(0, Math.floor(ms / 1000) * 1000));
}
