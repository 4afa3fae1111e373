import * as z from 'zod';
import { jobsIn } from '../operator/views/list-jobs';
import { type Instrument, type InstrumentName, INSTRUMENTS, jobNames } from '../telemetry/instruments';
import { type Sample, deploymentSamples, rowSamples } from '../telemetry/row-gauges';
import { isoOf } from '../core/iso';
import { isObject } from '../core/metadata';
import { isProven } from '../core/origin';
import { redactJson } from '../core/redact';
import { listAudit, searchAudit } from '../operator/audit';
import { readCursor, writeCursor } from './cursor';
import { RequestError } from './problem';
import { PAYLOADS } from './rights';
import { type Route, NONE, route } from './route';
import { Audit, AuditQuery, Health, Me, Poked, Version } from './schema';
import { deploymentsOf } from '../operator/views/deployments';

/** The format of {@link prometheusText}. */
const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const HIDDEN = `(needs the role ${PAYLOADS})`;

export const aboutRoutes: readonly Route[] = [
  route({
    id: 'poke',
    role: 'operator',
    summary: 'start a tick now, as a second clock',
    description:
      'The deployment that answers looks at all jobs and claims what is due. Several pokes at once run one tick, and ' +
      'those within 5 s of it get its answer. It is not recorded, because it changes nothing that the timer would not.',
    body: NONE,
    answer: Poked,
    async run({ deployment }, { poke }) {
      const poked = await poke();
      if (poked === undefined) {
        throw new RequestError(503, 'Stopping', {
          place: 'instance',
          problem: 'the instance is being shut down',
          remedy: 'try again: another instance answers then',
        });
      }
      const { at, ...rest } = poked;
      return { at: isoOf(at), deployment, ...rest };
    },
  }),
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
  route({
    id: 'listAudit',
    role: 'viewer',
    follow: true,
    summary: 'list what people changed, newest first',
    query: AuditQuery,
    answer: Audit,
    async run({ store, redact }, { query: { limit = 50, cursor, ...wanted }, caller }) {
      // As where the run itself shows its input.
      const hide = (value: unknown): unknown => (redact === undefined ? value : redactJson(value, redact));
      const shown = caller?.payloads === true ? hide : withoutInput;
      const request = { limit, ...(cursor === undefined ? {} : { continuation: readCursor(cursor)[0] ?? '' }) };
      const { entries, problems, continuation } = await (Object.keys(wanted).length === 0
        ? listAudit(store, request)
        : searchAudit(store, wanted, request));
      return {
        entries: entries.map(({ at, origin, before, after, ...entry }) => ({
          ...entry,
          ...origin,
          at: isoOf(at),
          note: origin.note ?? null,
          identity: origin.identity ?? null,
          proven: isProven(origin),
          ...(before === undefined ? {} : { before: shown(before) }),
          ...(after === undefined ? {} : { after: shown(after) }),
        })),
        problems,
        cursor: continuation === undefined ? null : writeCursor([continuation]),
      };
    },
  }),
  route({
    id: 'getMe',
    role: 'viewer',
    summary: 'show the caller and the role',
    answer: Me,
    run({ access }, { caller }) {
      if (caller === undefined) throw new Error('a caller without a login asked for itself');
      return Promise.resolve({ ...caller, readOnly: access.readOnly });
    },
  }),
  route({
    id: 'getVersion',
    role: 'viewer',
    summary: 'show the version of the app that answers',
    answer: Version,
    run({ version, deployment, revision, sweepIntervalMs: pollMs, access: { readOnly }, environment = null }) {
      return Promise.resolve({ version, deployment, revision, pollMs, readOnly, environment });
    },
  }),
  route({
    id: 'getLive',
    role: 'anybody',
    summary: 'show whether the process answers',
    answer: Health,
    run: () => Promise.resolve({ status: 'healthy' as const }),
  }),
  ...(['getHealth', 'getReady'] as const).map((id) =>
    route({
      id,
      role: 'anybody',
      summary: 'show whether the instance can work',
      description: 'The answer is at most 30 s old. 503 means that it cannot.',
      answer: Health,
      async run({ isReady }) {
        if (await isReady()) return { status: 'healthy' as const };
        throw new RequestError(503, 'Unhealthy', {
          place: 'instance',
          problem: 'storage does not answer, or the instance is in trouble or stopping',
          remedy: 'read its log',
        });
      },
    }),
  ),
];

/** The input of a run may have secrets, or data of persons. A value that was too long is a piece of text. */
function withoutInput(value: unknown): unknown {
  if (!isObject(value)) return value;
  const { input, cut, ...rest } = value;
  return input === undefined && cut === undefined ? value : { ...rest, input: HIDDEN };
}

/** Gauges in Prometheus's text format, under the names that metrics have that come by OTLP. */
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
