import * as z from 'zod';
import { deploymentsOf } from '../operator/views/overview';
import { jobsIn } from '../operator/views/list-jobs';
import { type Instrument, type InstrumentName, INSTRUMENTS, jobNames } from '../telemetry/instruments';
import { type Sample, deploymentSamples, rowSamples } from '../telemetry/row-gauges';
import { route } from './route';

/** The format of {@link prometheusText}. */
const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export const metricsRoutes = [
  route({
    id: 'getMetrics',
    role: 'viewer',
    contentType: PROMETHEUS_TYPE,
    summary: 'list the gauges of jobs and deployments for Prometheus',
    description:
      'The text format of Prometheus, version 0.0.4. Every gauge comes from the rows in storage, so that all instances ' +
      'behind a load balancer show the same. `keyed/metrics` takes the key as the password of basic authentication too.',
    answer: z.string(),
    async run({ sweeps, jobs, metricsJobs }) {
      const [listing, presences] = await Promise.all([sweeps.jobs(), sweeps.presences()]);
      const known = jobs.map(({ name }) => name);
      const names = jobNames(known, metricsJobs);
      const { deployments } = deploymentsOf(presences);
      return prometheusText([
        ...rowSamples(jobsIn(listing, jobs), names),
        ...deploymentSamples(deployments, listing.date),
      ]);
    },
  }),
] as const;

/**
 * Gauges in Prometheus's text format, under the names that it gives to metrics of OpenTelemetry, so that a dashboard
 * finds those of the page and those that come by OTLP alike.
 */
export function prometheusText(samples: readonly Sample[]): string {
  const names = Object.keys(INSTRUMENTS) as InstrumentName[];
  return names
    .flatMap((instrument) => {
      const own = samples.filter((sample) => sample.instrument === instrument);
      if (own.length === 0) return [];
      const { description } = INSTRUMENTS[instrument];
      const name = prometheusName(INSTRUMENTS[instrument]);
      return [
        `# HELP ${name} ${escaped(description)}\n`,
        `# TYPE ${name} gauge\n`,
        ...own.map((one) => line(name, one)),
      ];
    })
    .join('');
}

/** `cronlease.job.last_success.age` in seconds is `cronlease_job_last_success_age_seconds`. */
export function prometheusName({ name, unit }: Pick<Instrument, 'name' | 'unit'>): string {
  return `${name.replaceAll('.', '_')}${unit === 's' ? '_seconds' : ''}`;
}

function line(name: string, { value, attributes }: Sample): string {
  const labels = Object.entries(attributes).map(
    ([key, text]) => `${key.replaceAll('.', '_')}="${escaped(text).replaceAll('"', '\\"')}"`,
  );
  return `${name}{${labels.join(',')}} ${String(value)}\n`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}
