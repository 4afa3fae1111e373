import type * as z from 'zod';
import type { JobSpec } from '../core/job';
import { type BackfillStatus, readBackfillStatus, startBackfill, stopBackfill } from '../operator/backfill';
import { type WantedBackfill, planBackfill } from '../operator/backfill-plan';
import { shortId } from '../operator/request';
import { change, originOf, subjectOf } from './change';
import { entriesOf, entryOf, oneJob, specOf } from './jobs-routes';
import { NONE, NOTHING, type Office, route } from './route';
import * as schema from './schema';
import { iso, isoOrNull } from './show';

const path = 'jobs/{job}/backfill';

async function specIn(office: Office, job: string): Promise<JobSpec> {
  const { entries } = await entriesOf(office);
  return specOf(entryOf(entries, job));
}

function wantedOf({
  from,
  to,
  order = 'oldest',
  limit,
  includeSucceeded = false,
}: z.output<typeof schema.BackfillBody>): WantedBackfill {
  return { from: Date.parse(from), to: to === undefined ? undefined : Date.parse(to), order, limit, includeSucceeded };
}

export const backfillRoutes = [
  route({
    ...{ id: 'getBackfill', method: 'GET', path, role: 'viewer' },
    summary: 'show how far the last back-fill of a job is',
    params: oneJob,
    query: NONE,
    body: NOTHING,
    answer: schema.OneBackfill,
    async run(office, { params, signal }) {
      const spec = await specIn(office, params.job);
      const found = await readBackfillStatus(office.store, spec, { signal });
      return { job: spec.name, backfill: found === undefined ? null : shownStatus(found) };
    },
  }),
  route({
    ...{ id: 'planBackfill', method: 'GET', path: `${path}/plan`, role: 'viewer' },
    summary: 'list the due times of a back-fill, without starting it',
    params: oneJob,
    query: schema.BackfillQuery,
    body: NOTHING,
    answer: schema.BackfillPlan,
    async run(office, { params, query, signal }) {
      const { from, to, order = 'oldest', limit, includeSucceeded } = query;
      const spec = await specIn(office, params.job);
      const wanted = { from, to, order, limit, includeSucceeded: includeSucceeded !== undefined };
      const { dueTimes, running, passedOver } = await planBackfill(office.store, spec, wanted, { signal });
      const shown = dueTimes.slice(0, schema.PLANNED_DUE_TIMES);
      return {
        ...{ job: spec.name, running, passedOver },
        dueTimes: shown.map((due) => ({ ...due, scheduledFor: iso(due.scheduledFor) })),
        complete: shown.length === dueTimes.length,
      };
    },
  }),
  route({
    ...{ id: 'startBackfill', method: 'POST', path, role: 'operator', status: 202, conditional: true },
    summary: 'run past due times again, one after another',
    description: 'Due times that come meanwhile go first. Each run has a record of its own, beside the first one.',
    params: oneJob,
    query: NONE,
    body: schema.BackfillBody,
    answer: schema.StartedBackfill,
    async run(office, { params, body, ifMatch: version, signal, caller }) {
      const spec = await specIn(office, params.job);
      const origin = originOf({ caller }, body.note);
      const what = { action: 'backfill', target: spec.name, origin, signal } as const;
      const wanted = { ...wantedOf(body), id: shortId(), origin };
      const { result, recorded } = await change(office, what, async () => {
        const { from, through, ...started } = await startBackfill(office.store, spec, wanted, { signal, version });
        const shown = { ...started, from: iso(from), through: iso(through) };
        return { result: shown, after: shown };
      });
      return { job: spec.name, ...result, recorded };
    },
  }),
  route({
    ...{ id: 'stopBackfill', method: 'DELETE', path, role: 'operator', conditional: true },
    summary: 'stop the back-fill of a job',
    description: 'Its run in progress continues.',
    params: oneJob,
    query: NONE,
    body: NOTHING,
    answer: schema.StoppedBackfill,
    async run(office, { params, ifMatch: version, signal, caller }) {
      const subject = await subjectOf(office, params.job);
      const what = { action: 'backfill', target: subject.name, origin: originOf({ caller }), signal } as const;
      const { result, recorded } = await change(office, what, async () => {
        const { id, stopped } = await stopBackfill(office.store, subject, { signal, version });
        return { result: { id, stopped: iso(stopped) }, before: { id }, after: { id, stopped: iso(stopped) } };
      });
      return { job: subject.name, ...result, recorded };
    },
  }),
] as const;

function shownStatus({
  from,
  through,
  at,
  stopped,
  runId,
  ...rest
}: BackfillStatus): NonNullable<z.input<typeof schema.OneBackfill>['backfill']> {
  const times = { from: iso(from), through: iso(through), at: iso(at), stopped: isoOrNull(stopped) };
  return { ...rest, ...times, runId: runId ?? null };
}
