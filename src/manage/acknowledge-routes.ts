import { acknowledge, unacknowledge } from '../operator/acknowledge';
import { listedAcknowledgement } from '../operator/job-status';
import { change, originOf, subjectOf } from './change';
import { oneJob } from './jobs-routes';
import { NONE, NOTHING, route } from './route';
import { Acknowledged, AcknowledgeBody } from './schema';

const path = 'jobs/{job}/acknowledgement';

export const acknowledgeRoutes = [
  route({
    ...{ id: 'acknowledge', method: 'POST', path, role: 'operator', conditional: true },
    summary: 'acknowledge the failures of a job until its next success',
    description:
      'Lists then show the job below those that nobody has acknowledged. Sent again, it replaces the first one.',
    params: oneJob,
    query: NONE,
    body: AcknowledgeBody,
    answer: Acknowledged,
    async run(office, { params, body: { note = '', until }, ifMatch: version, signal, caller }) {
      const subject = await subjectOf(office, params.job);
      const origin = originOf({ caller }, note === '' ? undefined : note);
      const what = { action: 'ack', target: subject.name, origin, signal } as const;
      const wanted = { by: origin.actor, note, until: until === undefined ? undefined : Date.parse(until) };
      const { result, recorded } = await change(office, what, async () => {
        const made = await acknowledge(office.store, subject, wanted, { signal, version });
        const acknowledgement = listedAcknowledgement(made.acknowledgement);
        const before = made.before && listedAcknowledgement(made.before);
        return { result: acknowledgement, before, after: acknowledgement };
      });
      return { job: subject.name, acknowledgement: result, recorded };
    },
  }),
  route({
    ...{ id: 'unacknowledge', method: 'DELETE', path, role: 'operator', conditional: true },
    summary: 'remove the acknowledgement of a job',
    params: oneJob,
    query: NONE,
    body: NOTHING,
    answer: Acknowledged,
    async run(office, { params, ifMatch: version, signal, caller }) {
      const subject = await subjectOf(office, params.job);
      const what = { action: 'unack', target: subject.name, origin: originOf({ caller }), signal } as const;
      const { result, recorded } = await change(office, what, async () => {
        const removed = listedAcknowledgement(await unacknowledge(office.store, subject, { signal, version }));
        return { result: removed, before: removed, after: null };
      });
      return { job: subject.name, acknowledgement: result, recorded };
    },
  }),
] as const;
