import { ack, unack } from '../operator/operations/acknowledge';
import { actingFor, subjectOf } from './acting';
import { oneJob } from './jobs-routes';
import { NONE, NOTHING, route } from './route';
import { Acknowledged, AcknowledgeBody } from './schema';

const path = 'jobs/{job}/acknowledgement';

export const acknowledgeRoutes = [
  route({
    id: 'acknowledge',
    method: 'POST',
    path,
    role: 'operator',
    conditional: true,
    summary: 'acknowledge the failures of a job until its next success',
    description: 'Lists then show the job below the unacknowledged ones. Sent again, it replaces the first one.',
    params: oneJob,
    query: NONE,
    body: AcknowledgeBody,
    answer: Acknowledged,
    async run(office, { params, body: { note, until }, ...call }) {
      const end = until === undefined ? undefined : Date.parse(until);
      return ack(actingFor(office, call, note), await subjectOf(office, params.job), { until: end });
    },
  }),
  route({
    id: 'unacknowledge',
    method: 'DELETE',
    path,
    role: 'operator',
    conditional: true,
    summary: 'remove the acknowledgement of a job',
    params: oneJob,
    query: NONE,
    body: NOTHING,
    answer: Acknowledged,
    async run(office, { params, ...call }) {
      return unack(actingFor(office, call), await subjectOf(office, params.job));
    },
  }),
] as const;
