import type * as z from 'zod';
import type { EpochMs } from '../core/brand';
import { parseRecordKey } from '../core/key';
import { ack, unack } from '../operator/operations/acknowledge';
import { cancel } from '../operator/operations/cancel';
import { cordon, uncordon } from '../operator/operations/fleet';
import { type Chosen, pause, pauseMany, resume, resumeMany } from '../operator/operations/pause';
import { backfill, endBackfill, readBackfillStatus, planBackfill } from '../operator/operations/backfill';
import { rerun, run } from '../operator/operations/run';
import type { Acting } from '../operator/audit';
import type { Subject } from '../operator/subject';
import { given } from '../core/given';
import { isoOf } from '../core/iso';
import type { JobSpec } from '../core/job';
import { selects } from '../core/job-pattern';
import { entriesOf, entryOf, oneJob, specOf } from './jobs-routes';
import { type Office, type RawCall, type Route, route } from './route';
import { oneRun, runIn, unknownRun } from './runs-routes';
import { repairLayout } from '../operator/shards/repair';
import * as schema from './schema';

/** The job to change, from the shared sweep; the change itself re-reads the job's state. */
async function subjectOf(office: Office, job: string): Promise<Subject> {
  const { entries } = await entriesOf(office);
  const { name, spec } = entryOf(entries, job);
  return { name, spec };
}

/** Throws if this app's jobs file lacks the job. */
async function specIn(office: Office, job: string): Promise<JobSpec> {
  const { entries } = await entriesOf(office);
  return specOf(entryOf(entries, job));
}

/** Who makes a change, and why. */
function actingFor(
  { store, clock, newId }: Office,
  { caller, ifMatch: version }: Pick<RawCall, 'caller' | 'ifMatch'>,
  note?: string,
): Acting {
  // Public routes never change anything.
  if (caller === undefined) throw new Error('a change has no caller');
  const { actor, channel, identity } = caller;
  const origin = { actor, channel, ...given({ identity, note }) };
  return { store, clock, newId, waiting: () => undefined, origin, version };
}

/** @param work the planned work that is to end: a job of it may be gone by now */
async function chosenIn(
  office: Office,
  { jobs, tag, pattern }: z.output<typeof schema.JobChoice>,
  work?: string,
): Promise<Chosen> {
  const { entries, missing } = await entriesOf(office);
  const isThere = (name: string): boolean => work === undefined || entries.some((entry) => entry.name === name);
  const chosen =
    jobs?.filter(isThere).map((name) => entryOf(entries, name)) ??
    entries.filter(({ name, spec }) =>
      tag === undefined ? selects(pattern ?? '', name) : (spec?.tags.includes(tag) ?? false),
    );
  return { jobs: chosen, choice: { names: jobs ?? [pattern ?? ''], tag }, missing };
}

function endOf(text: string | undefined): () => EpochMs | undefined {
  return () => (text === undefined ? undefined : Date.parse(text));
}

export const actionsRoutes: readonly Route[] = [
  route({
    id: 'runJob',
    role: 'operator',
    status: 202,
    conditional: true,
    idempotent: true,
    summary: 'request a run now',
    description: 'The schedule does not change. A paused or disabled job runs too.',
    params: oneJob,
    body: schema.RunBody,
    answer: schema.Requested,
    async run(office, { params, body: { input, note }, idempotencyKey, ...call }) {
      return run(actingFor(office, call, note), await specIn(office, params.job), { input, idempotencyKey });
    },
  }),
  route({
    id: 'rerun',
    role: 'operator',
    status: 202,
    conditional: true,
    idempotent: true,
    summary: 'run an earlier due time again, regardless of its outcome',
    description: 'The new run has its own id; its handler sees the due time of the earlier one.',
    params: oneRun,
    body: schema.RerunBody,
    answer: schema.Requested,
    async run(office, { params: { run: runId }, body: { input, note }, idempotencyKey, ...call }) {
      const { job, key } = runIn(runId);
      const time = parseRecordKey(key)?.scheduledFor;
      if (time === undefined) throw unknownRun(runId);
      const terms = { time, runId, revision: office.revision, input, idempotencyKey };
      return rerun(actingFor(office, call, note), await specIn(office, job), terms);
    },
  }),
  route({
    id: 'cancelRun',
    role: 'operator',
    status: 202,
    conditional: true,
    summary: 'cancel a run in progress',
    params: oneRun,
    body: schema.NoteBody,
    answer: schema.Cancelled,
    async run(office, { params: { run: runId }, body: { note }, ...call }) {
      const { job } = runIn(runId);
      return cancel(actingFor(office, call, note), await subjectOf(office, job), { runId, hasFile: true });
    },
  }),
  route({
    id: 'pauseJob',
    role: 'operator',
    conditional: true,
    summary: 'pause a job',
    description: 'A run that is already claimed continues.',
    params: oneJob,
    body: schema.PauseBody,
    answer: schema.Paused,
    async run(office, { params, body: { note, until }, ...call }) {
      return pause(actingFor(office, call, note), await subjectOf(office, params.job), { untilIn: endOf(until) });
    },
  }),
  route({
    id: 'resumeJob',
    role: 'operator',
    conditional: true,
    summary: 'resume a paused job',
    description: 'Due times of the pause are recorded as paused.',
    params: oneJob,
    body: schema.NoteBody,
    answer: schema.Resumed,
    async run(office, { params, body: { note }, ...call }) {
      return resume(actingFor(office, call, note), await subjectOf(office, params.job));
    },
  }),
  route({
    id: 'pauseJobs',
    role: 'operator',
    summary: 'pause several jobs, by name, tag or pattern',
    description: 'A job that cannot be paused does not prevent the others from being paused.',
    body: schema.PauseManyBody,
    answer: schema.PausedMany,
    async run(office, { body: { note, until, ...choice }, ...call }) {
      return pauseMany(actingFor(office, call, note), await chosenIn(office, choice), { untilIn: endOf(until) });
    },
  }),
  route({
    id: 'resumeJobs',
    role: 'operator',
    summary: 'resume several jobs, by name, tag or pattern',
    body: schema.ResumeManyBody,
    answer: schema.PausedMany,
    async run(office, { body: { note, maintenance, ...choice }, ...call }) {
      return resumeMany(actingFor(office, call, note), await chosenIn(office, choice, maintenance), maintenance);
    },
  }),
  route({
    id: 'cordonDeployment',
    role: 'operator',
    summary: 'cordon a deployment, which then only finishes its runs',
    params: schema.oneDeployment,
    body: schema.CordonBody,
    answer: schema.Cordoned,
    run: (office, { params: { deployment }, body: { note }, ...call }) =>
      cordon(actingFor(office, call, note), deployment),
  }),
  route({
    id: 'uncordonDeployment',
    role: 'operator',
    summary: 'lift the cordon of a deployment',
    params: schema.oneDeployment,
    body: schema.NoteBody,
    answer: schema.Cordoned,
    run: (office, { params: { deployment }, body: { note }, ...call }) =>
      uncordon(actingFor(office, call, note), deployment),
  }),
  route({
    id: 'acknowledge',
    role: 'operator',
    conditional: true,
    summary: 'acknowledge the failures of a job until its next success',
    description: 'Lists then show the job below the unacknowledged ones. A second request replaces the first.',
    params: oneJob,
    body: schema.AcknowledgeBody,
    answer: schema.Acknowledged,
    async run(office, { params, body: { note, until }, ...call }) {
      const end = until === undefined ? undefined : Date.parse(until);
      return ack(actingFor(office, call, note), await subjectOf(office, params.job), { until: end });
    },
  }),
  route({
    id: 'unacknowledge',
    role: 'operator',
    conditional: true,
    summary: 'remove the acknowledgement of a job',
    params: oneJob,
    answer: schema.Acknowledged,
    async run(office, { params, ...call }) {
      return unack(actingFor(office, call), await subjectOf(office, params.job));
    },
  }),
  route({
    id: 'getBackfill',
    role: 'viewer',
    summary: 'show the progress of the last back-fill of a job',
    params: oneJob,
    answer: schema.OneBackfill,
    async run(office, { params }) {
      const spec = await specIn(office, params.job);
      const found = await readBackfillStatus(office.store, spec);
      return { job: spec.name, backfill: found ?? null };
    },
  }),
  route({
    id: 'planBackfill',
    role: 'viewer',
    summary: 'list the due times of a back-fill, without starting it',
    params: oneJob,
    query: schema.BackfillQuery,
    answer: schema.BackfillPlan,
    async run(office, { params, query }) {
      const { from, to, order = 'oldest', limit, includeSucceeded } = query;
      const spec = await specIn(office, params.job);
      const wanted = { from, to, order, limit, includeSucceeded: includeSucceeded !== undefined };
      const { dueTimes, running, skipped } = await planBackfill(office.store, spec, wanted);
      const shown = dueTimes.slice(0, schema.PLANNED_DUE_TIMES);
      return {
        job: spec.name,
        running,
        skipped,
        dueTimes: shown.map((due) => ({ ...due, scheduledFor: isoOf(due.scheduledFor) })),
        complete: shown.length === dueTimes.length,
      };
    },
  }),
  route({
    id: 'startBackfill',
    role: 'operator',
    status: 202,
    conditional: true,
    summary: 'run past due times again, one after another',
    description: 'Due times that pass meanwhile go first. Each run has its own record, beside the first one.',
    params: oneJob,
    body: schema.BackfillBody,
    answer: schema.StartedBackfill,
    async run(office, { params, body, ...call }) {
      const { from, to, order = 'oldest', limit, includeSucceeded = false, note } = body;
      const wanted = { from: Date.parse(from), to: to === undefined ? undefined : Date.parse(to), order, limit };
      const spec = await specIn(office, params.job);
      return backfill(actingFor(office, call, note), spec, { ...wanted, includeSucceeded });
    },
  }),
  route({
    id: 'stopBackfill',
    role: 'operator',
    conditional: true,
    summary: 'stop the back-fill of a job',
    description: 'Its run in progress continues.',
    params: oneJob,
    answer: schema.StoppedBackfill,
    async run(office, { params, ...call }) {
      return endBackfill(actingFor(office, call), await subjectOf(office, params.job));
    },
  }),
  route({
    id: 'repairLayout',
    role: 'admin',
    summary: 'replace a layout that something else wrote',
    description:
      'While the blob `jobs/-layout/control` of an account cannot be read, nothing is claimed there. With one account, the ' +
      'repair removes it; with several, it writes the layout of the other accounts. It changes no layout that can be read.',
    body: schema.NoteBody,
    answer: schema.RepairedLayout,
    run: (office, { body: { note }, ...call }) => repairLayout(actingFor(office, call, note)),
  }),
];
