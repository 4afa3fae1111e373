import { backfill, endBackfill, readBackfillStatus, planBackfill } from '../operator/operations/backfill';
import { actingFor, specIn, subjectOf } from './acting';
import { oneJob } from './jobs-routes';
import { route } from './route';
import * as schema from './schema';
import { isoOf } from '../core/iso';

export const backfillRoutes = [
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
] as const;
