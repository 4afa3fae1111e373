import * as z from 'zod';
import { deploymentsOf } from '../operator/views/deployments';
import { jobsIn } from '../operator/views/list-jobs';
import { jobNames } from '../telemetry/job-names';
import { deploymentSamples, rowSamples } from '../telemetry/row-gauges';
import { PROMETHEUS_TYPE, prometheusText } from './prometheus';
import { NONE, NOTHING, route } from './route';

export const metricsRoutes = [
  route({
    id: 'getMetrics',
    method: 'GET',
    path: 'metrics',
    role: 'viewer',
    contentType: PROMETHEUS_TYPE,
    summary: 'show the gauges of jobs and deployments to Prometheus',
    description:
      'The text format of Prometheus, version 0.0.4. Every gauge comes from the rows in storage, so that all instances ' +
      'behind a load balancer show the same. `keyed/metrics` takes the key as the password of basic authentication too.',
    params: NONE,
    query: NONE,
    body: NOTHING,
    answer: z.string(),
    async run({ sweeps, jobs, metricsJobs }) {
      const [listing, presences] = await Promise.all([sweeps.jobs(), sweeps.presences()]);
      const names = jobNames(
        jobs.map(({ name }) => name),
        metricsJobs,
      );
      const { deployments } = deploymentsOf(presences);
      return prometheusText([
        ...rowSamples(jobsIn(listing, jobs), names),
        ...deploymentSamples(deployments, listing.date),
      ]);
    },
  }),
] as const;
