import type * as z from 'zod';
import type { EpochMs } from '../core/brand';
import { parseRecordKey, parseRunId } from '../core/key';
import { cancelOrEnd } from '../operator/end-left-run';
import { cordonDeployment, endMaintenance, startMaintenance, uncordonDeployment } from '../operator/fleet';
import { type Named, once } from '../operator/once';
import { inParallel } from '../core/in-parallel';
import { pauseJob, resumeJob } from '../operator/pause';
import { orRefusal } from '../operator/refusal';
import { type RequestedRun, requestRun, shortId } from '../operator/request';
import { rerun } from '../operator/rerun';
import { choiceInWords, selects } from '../operator/select-jobs';
import type { Subject } from '../operator/subject';
import { change, originOf, subjectOf } from './change';
import { entriesOf, entryOf, oneJob, specOf } from './jobs-routes';
import { NONE, type Office, type RawCall, route } from './route';
import { oneRun, unknownRun } from './runs-routes';
import * as schema from './schema';
import { iso, showPause } from './show';

/** Makes a request under the caller's key, if there is one. */
function requested(
  { store }: Office,
  { caller, idempotencyKey, signal }: Pick<RawCall, 'caller' | 'idempotencyKey' | 'signal'>,
  [job, ...content]: readonly [job: string, ...content: readonly unknown[]],
  request: (named: Partial<Named> & Pick<Named, 'id'>) => Promise<RequestedRun>,
): Promise<RequestedRun> {
  if (idempotencyKey === undefined) return request({ id: shortId() });
  const name = JSON.stringify([caller?.channel, caller?.identity ?? caller?.actor, idempotencyKey]);
  const key = { name, content: JSON.stringify([job, ...content]) };
  return once(store, { name: job as Parameters<typeof once>[1]['name'] }, key, request, { signal });
}

interface One {
  readonly version?: string | undefined;
  readonly signal: AbortSignal;
  readonly caller: RawCall['caller'];
}

type PausedJob = z.input<typeof schema.Paused>;

async function pauseOne(
  office: Office,
  subject: Subject,
  { note, until, version, signal, caller }: One & { readonly note: string; readonly until: EpochMs | undefined },
): Promise<PausedJob> {
  const origin = originOf({ caller }, note);
  const what = { action: 'pause', target: subject.name, origin, signal } as const;
  const { result, recorded } = await change(office, what, async () => {
    const pause = await pauseJob(office.store, subject, { by: origin.actor, note, until }, { signal, version });
    return { result: showPause(pause), after: showPause(pause) };
  });
  return { job: subject.name, pause: result, recorded };
}

async function resumeOne(
  office: Office,
  subject: Subject,
  { note, version, signal, caller }: One & { readonly note: string | undefined },
): Promise<PausedJob> {
  const what = { action: 'resume', target: subject.name, origin: originOf({ caller }, note), signal } as const;
  const { result, recorded } = await change(office, what, async () => {
    const pause = await resumeJob(office.store, subject, { signal, version });
    return { result: showPause(pause), before: showPause({ ...pause, until: undefined }), after: showPause(pause) };
  });
  return { job: subject.name, pause: result, recorded };
}

/** Acts on the chosen jobs, several at a time. A refusal about one of them stops none of the others. */
async function forEachJob(
  office: Office,
  { jobs, tag, pattern }: z.output<typeof schema.JobChoice>,
  act: (subject: Subject) => Promise<PausedJob>,
): Promise<z.input<typeof schema.PausedMany>> {
  const { entries } = await entriesOf(office);
  const chosen =
    jobs?.map((name) => entryOf(entries, name)) ??
    entries.filter(({ name, spec }) =>
      tag === undefined ? selects(pattern ?? '', name) : (spec?.tags.includes(tag) ?? false),
    );
  const ends = await inParallel(new Set(chosen), async ({ name, spec }) => ({
    name,
    end: await orRefusal(() => act({ name, spec })),
  }));
  return {
    done: ends.flatMap(({ end }) => ('kind' in end ? [] : [end])),
    refused: ends.flatMap(({ name, end }) =>
      'kind' in end ? [{ job: name, code: end.code, problem: end.problem }] : [],
    ),
  };
}

function instantOf(text: string | undefined): EpochMs | undefined {
  return text === undefined ? undefined : Date.parse(text);
}

function inWords({ jobs, tag, pattern }: z.output<typeof schema.JobChoice>): string {
  return choiceInWords({ names: jobs ?? [pattern ?? ''], tag });
}

export const actionsRoutes = [
  route({
    ...{ id: 'runJob', method: 'POST', path: 'jobs/{job}/runs', role: 'operator', status: 202 },
    ...{ conditional: true, idempotent: true },
    summary: 'request a run now',
    description: 'The schedule does not move. A paused or disabled job runs too.',
    params: oneJob,
    query: NONE,
    body: schema.RunBody,
    answer: schema.Requested,
    async run(office, { params, body, ifMatch: version, ...call }) {
      const { entries } = await entriesOf(office);
      const spec = specOf(entryOf(entries, params.job));
      const { input, note } = body;
      const origin = originOf(call, note);
      const what = { action: 'run', target: spec.name, origin, signal: call.signal } as const;
      const { result, recorded } = await change(office, what, async () => {
        const run = await requested(office, call, [spec.name, 'run', body], (named) =>
          requestRun(office.store, spec, { ...named, origin, input }, { signal: call.signal, version }),
        );
        return { result: run, after: { runId: run.runId, ...(input === undefined ? {} : { input }) } };
      });
      return { ...result, job: spec.name, requestedAt: iso(result.requestedAt), recorded };
    },
  }),
  route({
    ...{ id: 'rerun', method: 'POST', path: 'runs/{run}/rerun', role: 'operator', status: 202 },
    ...{ conditional: true, idempotent: true },
    summary: 'run an earlier due time again, whatever became of it',
    description: 'The new run has an id of its own; its handler sees the due time of the earlier one.',
    params: oneRun,
    query: NONE,
    body: schema.RerunBody,
    answer: schema.Requested,
    async run(office, { params, body, ifMatch: version, ...call }) {
      const parts = parseRunId(params.run);
      const time = parts && parseRecordKey(parts.key)?.scheduledFor;
      if (parts === undefined || time === undefined) throw unknownRun(params.run);
      const { entries } = await entriesOf(office);
      const spec = specOf(entryOf(entries, parts.job));
      const { input, note } = body;
      const origin = originOf(call, note);
      const what = { action: 'rerun', target: spec.name, origin, signal: call.signal } as const;
      const { result, recorded } = await change(office, what, async () => {
        const run = await requested(office, call, [spec.name, 'rerun', params.run, body], ({ id, time: requestedAt }) =>
          rerun(
            office.store,
            spec,
            office.revision,
            { time, id, requestedAt, origin, input },
            { signal: call.signal, version },
          ),
        );
        const after = { runId: run.runId, ...(input === undefined ? {} : { input }) };
        return { result: run, before: { runId: params.run }, after };
      });
      return { ...result, job: spec.name, requestedAt: iso(result.requestedAt), recorded };
    },
  }),
  route({
    ...{ id: 'cancelRun', method: 'POST', path: 'runs/{run}/cancel', role: 'operator', status: 202, conditional: true },
    summary: 'cancel a run in progress',
    params: oneRun,
    query: NONE,
    body: schema.NoteBody,
    answer: schema.Cancelled,
    async run(office, { params, body, ifMatch: version, signal, caller }) {
      const parts = parseRunId(params.run);
      if (parts === undefined) throw unknownRun(params.run);
      const subject = await subjectOf(office, parts.job);
      const what = {
        action: 'cancel',
        target: subject.name,
        origin: originOf({ caller }, body.note),
        signal,
      } as const;
      const { result, recorded } = await change(office, what, async () => {
        const cancelled = await cancelOrEnd({ ...office, waiting: () => undefined }, subject, {
          signal,
          version,
          runId: params.run,
        });
        return { result: cancelled, before: { runId: params.run }, after: { cancelling: params.run } };
      });
      const { requestedAt, ...rest } = result;
      return { ...rest, job: subject.name, requestedAt: iso(requestedAt), recorded };
    },
  }),
  route({
    ...{ id: 'pauseJob', method: 'POST', path: 'jobs/{job}/pause', role: 'operator', conditional: true },
    summary: 'pause a job',
    description: 'A run that is already claimed continues.',
    params: oneJob,
    query: NONE,
    body: schema.PauseBody,
    answer: schema.Paused,
    async run(office, { params, body: { note, until }, ifMatch: version, signal, caller }) {
      return pauseOne(office, await subjectOf(office, params.job), {
        note,
        until: instantOf(until),
        version,
        signal,
        caller,
      });
    },
  }),
  route({
    ...{ id: 'resumeJob', method: 'POST', path: 'jobs/{job}/resume', role: 'operator', conditional: true },
    summary: 'resume a paused job',
    description: 'Due times of the pause are recorded as paused.',
    params: oneJob,
    query: NONE,
    body: schema.NoteBody,
    answer: schema.Resumed,
    async run(office, { params, body: { note }, ifMatch: version, signal, caller }) {
      return resumeOne(office, await subjectOf(office, params.job), { note, version, signal, caller });
    },
  }),
  route({
    ...{ id: 'pauseJobs', method: 'POST', path: 'pause', role: 'operator' },
    summary: 'pause several jobs, by name, tag or pattern',
    description: 'A job that cannot be paused does not keep the others from it.',
    params: NONE,
    query: NONE,
    body: schema.PauseManyBody,
    answer: schema.PausedMany,
    async run(office, { body: { note, until: end, ...choice }, signal, caller }) {
      const until = instantOf(end);
      const answer = await forEachJob(office, choice, (subject) =>
        pauseOne(office, subject, { note, until, signal, caller }),
      );
      if (answer.done.length > 0) {
        const by = originOf({ caller }, note).actor;
        await startMaintenance(office.store, { by, note, until, jobs: inWords(choice) }, { signal });
      }
      return answer;
    },
  }),
  route({
    ...{ id: 'resumeJobs', method: 'POST', path: 'resume', role: 'operator' },
    summary: 'resume several jobs, by name, tag or pattern',
    params: NONE,
    query: NONE,
    body: schema.ResumeManyBody,
    answer: schema.PausedMany,
    async run(office, { body: { note, maintenance, ...choice }, signal, caller }) {
      const answer = await forEachJob(office, choice, (subject) =>
        resumeOne(office, subject, { note, signal, caller }),
      );
      await endMaintenance(office.store, maintenance ?? inWords(choice), { signal });
      return answer;
    },
  }),
  route({
    ...{ id: 'cordonDeployment', method: 'POST', path: 'deployments/{deployment}/cordon', role: 'operator' },
    summary: 'cordon a deployment: it claims nothing new, and what it runs continues',
    params: schema.oneDeployment,
    query: NONE,
    body: schema.CordonBody,
    answer: schema.Cordoned,
    async run(office, { params: { deployment }, body: { note }, signal, caller }) {
      const origin = originOf({ caller }, note);
      const what = { action: 'cordon', target: deployment, origin, signal } as const;
      const { result, recorded } = await change(office, what, async () => {
        const { by, since } = await cordonDeployment(office.store, deployment, { by: origin.actor, note }, { signal });
        const cordon = { by, note, since: iso(since) };
        return { result: cordon, after: cordon };
      });
      return { deployment, cordon: result, recorded };
    },
  }),
  route({
    ...{ id: 'uncordonDeployment', method: 'POST', path: 'deployments/{deployment}/uncordon', role: 'operator' },
    summary: 'lift the cordon of a deployment',
    params: schema.oneDeployment,
    query: NONE,
    body: schema.NoteBody,
    answer: schema.Cordoned,
    async run(office, { params: { deployment }, body, signal, caller }) {
      const what = {
        action: 'uncordon',
        target: deployment,
        origin: originOf({ caller }, body.note),
        signal,
      } as const;
      const { result, recorded } = await change(office, what, async () => {
        const { by, note, since } = await uncordonDeployment(office.store, deployment, { signal });
        const cordon = { by, note, since: iso(since) };
        return { result: cordon, before: cordon, after: null };
      });
      return { deployment, cordon: result, recorded };
    },
  }),
] as const;
