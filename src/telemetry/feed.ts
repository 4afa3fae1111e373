import type { TokenCredential } from '@azure/identity';
import type { Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import type { JobSpec } from '../core/job';
import type { Telemetry } from '../coordinator/telemetry';
import { within } from '../lease/deadline';
import type { LeaseStore, Listing } from '../lease/store';
import type { LoadedTelemetry, ProcessFacts } from './opentelemetry';
import type { Sample } from './row-gauges';
import type { TelemetryPlan } from './settings';

/** The rest of a shutdown is the coordinator's. */
const SHUTDOWN_LIMIT_MS = 1_500;

/** What this process passes on to telemetry. Until the SDK is loaded, and if it cannot be, nothing happens. */
export interface Feed extends Pick<LoadedTelemetry, 'event' | 'called' | 'requested'> {
  /** A store whose listings are measured. */
  measured<Store extends Pick<LeaseStore, 'list'>>(store: Store): Store;
  traceId(runId: string): string | undefined;
  /** Loads the SDK. Resolves to undefined if it cannot be loaded; {@link problems} has the reason. */
  load(source: FeedSource): Promise<Telemetry | undefined>;
  /** What went wrong since the last call. */
  problems(): readonly string[];
  /** Sends what is left, in the time that a shutdown has. */
  shutdown(): Promise<void>;
}

export interface FeedSource extends Omit<ProcessFacts, 'samples' | 'credential' | 'onProblem' | 'jobs'> {
  readonly specs: readonly JobSpec[];
  /** How far the machine's clock is ahead. */
  readonly skewMs: () => Millis;
}

export function createFeed(plan: TelemetryPlan, clock: Clock): Feed {
  let problems: readonly string[] = plan.problems;
  let loaded: LoadedTelemetry | undefined;
  let sweep: Sweep | undefined;
  const onProblem = (problem: string): void => {
    problems = [...problems, problem];
  };
  return {
    event: (event) => loaded?.event(event),
    called: (call) => loaded?.called(call),
    requested: (outcome) => loaded?.requested(outcome),
    traceId: (runId) => loaded?.traceId(runId),
    measured: (store) => measured(store, clock, (listing) => loaded?.listed(listing)),
    async load(source) {
      try {
        const samples = await sampler(source, plan, () => aged(sweep, clock));
        const credential = await credentialOf(plan);
        const jobs = source.specs.map(({ name }) => name);
        const { loadTelemetry } = await import('./opentelemetry.js');
        loaded = await loadTelemetry(plan, { ...source, jobs, samples, credential, onProblem });
        return {
          ...loaded,
          swept: (listing) => {
            sweep = { listing, at: clock.monotonic() };
          },
        };
      } catch (error) {
        onProblem(whyNot(plan, error));
        return undefined;
      }
    },
    problems() {
      const found = problems;
      problems = [];
      return found;
    },
    async shutdown() {
      await within(clock, SHUTDOWN_LIMIT_MS, async () => loaded?.shutdown(), {
        whose: 'the receiver of metrics and traces',
      });
    },
  };
}

interface Sweep {
  readonly listing: Listing;
  /** Monotonic. */
  readonly at: Millis;
}

/** The last sweep, with the service's time of now. */
function aged(sweep: Sweep | undefined, clock: Clock): Listing | undefined {
  if (sweep === undefined) return undefined;
  return { ...sweep.listing, date: sweep.listing.date + Math.round(clock.monotonic() - sweep.at) };
}

async function sampler(
  { specs, deployment, skewMs }: FeedSource,
  { jobs }: TelemetryPlan,
  lastSweep: () => Listing | undefined,
): Promise<() => readonly Sample[]> {
  const { rowSamples, seconds } = await import('./row-gauges.js');
  const { jobNames } = await import('./instruments.js');
  const { jobsIn } = await import('../operator/views/list-jobs.js');
  const known = specs.map(({ name }) => name);
  const names = jobNames(known, jobs);
  return () => {
    const listing = lastSweep();
    const attributes = { 'cronlease.deployment': deployment };
    const skew: Sample = { instrument: 'clockSkew', value: seconds(skewMs()), attributes };
    return [skew, ...(listing === undefined ? [] : rowSamples(jobsIn(listing, specs), names))];
  };
}

/** As the Functions host reads it: `Authorization=AAD`, perhaps with `ClientId=…`. */
async function credentialOf({ azure }: TelemetryPlan): Promise<TokenCredential | undefined> {
  if (!azure.metrics && !azure.traces) return undefined;
  const members = new Map(
    (azure.authentication ?? '').split(';').map((part): [string, string] => {
      const [name = '', value = ''] = part.split('=', 2);
      return [name.trim().toLowerCase(), value.trim()];
    }),
  );
  if (members.get('authorization')?.toUpperCase() !== 'AAD') return undefined;
  const { ManagedIdentityCredential } = await import('@azure/identity');
  const clientId = members.get('clientid');
  return clientId ? new ManagedIdentityCredential({ clientId }) : new ManagedIdentityCredential();
}

function measured<Store extends Pick<LeaseStore, 'list'>>(
  store: Store,
  clock: Clock,
  listed: LoadedTelemetry['listed'],
): Store {
  return {
    ...store,
    async list(options) {
      const asked = clock.monotonic();
      const listing = await store.list(options);
      const rows = options?.job === undefined ? listing.jobs.size : undefined;
      listed({ rows, ms: clock.monotonic() - asked });
      return listing;
    },
  };
}

/** The packages of each kind of receiver, with the versions that work together. */
const SDK = ['sdk-metrics@2', 'sdk-trace-base@2', 'resources@2'].map((name) => `@opentelemetry/${name}`);
const OTLP = ['metrics', 'trace'].map((signal) => `@opentelemetry/exporter-${signal}-otlp-proto@0.223`);
const AZURE = ['@azure/monitor-opentelemetry-exporter@1.0.0-beta.47'];

function whyNot({ otlp, azure }: TelemetryPlan, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const off = 'metrics and traces are off';
  if (code !== 'MODULE_NOT_FOUND' && code !== 'ERR_MODULE_NOT_FOUND') return `${off}: ${String(error)}`;
  const packages = [
    ...SDK,
    ...(otlp.metrics || otlp.traces ? OTLP : []),
    ...(azure.metrics || azure.traces ? AZURE : []),
  ];
  return `${off}: a package is missing. Run: npm install ${packages.join(' ')}`;
}
