import type { JobName } from '../core/brand';
import { cancelRun } from '../operator/cancel';
import { pauseJob, resumeJob } from '../operator/pause';
import { requestRun, shortId } from '../operator/request';
import type { Subject } from '../operator/subject';
import { entriesOf, entryOf, oneJob, specOf } from './jobs-routes';
import type { Office, RawCall } from './route';
import { NONE, route } from './route';
import { oneRun, unknownRun } from './runs-routes';
import { Cancelled, EmptyBody, PauseBody, Paused, Requested, Resumed } from './schema';
import { iso, parseRunId, showPause } from './show';

async function subjectOf(office: Office, job: string): Promise<Subject> {
  const { entries } = await entriesOf(office);
  const { name, spec } = entryOf(entries, job);
  return { name, spec };
}

/** Makes a change; the next reader sees it, whatever became of it. */
async function change<Result>({ sweeps }: Office, make: () => Promise<Result>): Promise<Result> {
  try {
    return await make();
  } finally {
    sweeps.drop();
  }
}

/** Routes with a role have a caller. */
function actorOf({ caller }: Pick<RawCall, 'caller'>): string {
  if (caller === undefined) throw new Error('a change has no caller');
  return caller.actor;
}

export const actionsRoutes = [
  route({
    ...{ id: 'runJob', method: 'POST', path: 'jobs/{job}/runs', role: 'operator', status: 202, conditional: true },
    summary: 'request a run now',
    description: 'The schedule does not move. A paused or disabled job runs too.',
    params: oneJob,
    query: NONE,
    body: EmptyBody,
    answer: Requested,
    async run(office, { params, caller, ifMatch: version, signal }) {
      const { entries } = await entriesOf(office);
      const spec = specOf(entryOf(entries, params.job));
      const { requestedAt, ...rest } = await change(office, () =>
        requestRun(office.store, spec, { id: shortId(), origin: caller }, { signal, version }),
      );
      return { job: spec.name, requestedAt: iso(requestedAt), ...rest };
    },
  }),
  route({
    ...{ id: 'cancelRun', method: 'POST', path: 'runs/{run}/cancel', role: 'operator', status: 202, conditional: true },
    summary: 'cancel a run in progress',
    params: oneRun,
    query: NONE,
    body: EmptyBody,
    answer: Cancelled,
    async run(office, { params, ifMatch: version, signal }) {
      const parts = parseRunId(params.run);
      if (parts === undefined) throw unknownRun(params.run);
      const subject = await subjectOf(office, parts.job as JobName);
      const { requestedAt, ...rest } = await change(office, () =>
        cancelRun(office.store, subject, { signal, version, runId: params.run }),
      );
      return { job: subject.name, requestedAt: iso(requestedAt), ...rest };
    },
  }),
  route({
    ...{ id: 'pauseJob', method: 'POST', path: 'jobs/{job}/pause', role: 'operator', conditional: true },
    summary: 'pause a job',
    description: 'A run that is already claimed continues.',
    params: oneJob,
    query: NONE,
    body: PauseBody,
    answer: Paused,
    async run(office, { params, body, ifMatch: version, signal, caller }) {
      const subject = await subjectOf(office, params.job);
      const by = actorOf({ caller });
      const pause = await change(office, () =>
        pauseJob(office.store, subject, { by, note: body.note }, { signal, version }),
      );
      return { job: subject.name, pause: showPause(pause) };
    },
  }),
  route({
    ...{ id: 'resumeJob', method: 'POST', path: 'jobs/{job}/resume', role: 'operator', conditional: true },
    summary: 'resume a paused job',
    description: 'Due times of the pause are recorded as paused.',
    params: oneJob,
    query: NONE,
    body: EmptyBody,
    answer: Resumed,
    async run(office, { params, ifMatch: version, signal }) {
      const subject = await subjectOf(office, params.job);
      const pause = await change(office, () => resumeJob(office.store, subject, { signal, version }));
      return { job: subject.name, pause: showPause(pause) };
    },
  }),
] as const;
