import { metrics as registered, trace } from '@opentelemetry/api';
import type { EpochMs, JobName } from '../core/brand';
import type { Telemetry } from '../coordinator/telemetry';
import { jobNames } from './instruments';
import { type Metrics, createMetrics } from './metrics';
import type { Sample } from './row-gauges';
import type { Providers } from './sdk';
import type { OwnSdk, TelemetryPlan } from './settings';
import { createSpans, idsOf, remembering, unexportedSpans } from './spans';

/** A `TokenCredential`, as far as it is used: apps see this file, and TypeScript 4 cannot read `@azure/identity`. */
interface Credential {
  getToken(scopes: string | string[]): Promise<{ token: string; expiresOnTimestamp: number } | null>;
}

export interface ProcessFacts extends OwnSdk {
  readonly version: string;
  readonly deployment: string;
  /** The id of this start of the process. */
  readonly instance: string;
  /** The coordination container. */
  readonly location: string;
  /** In the order of the jobs file. */
  readonly jobs: readonly JobName[];
  /** The service's time. */
  readonly now: () => EpochMs;
  readonly samples: () => readonly Sample[];
  /** The identity that may write to Application Insights. Undefined: none is set. */
  readonly credential: Credential | undefined;
}

export interface LoadedTelemetry extends Omit<Telemetry, 'swept'>, Omit<Metrics, 'handedOver'> {
  traceId(runId: string): string;
  /** Sends what is left. */
  shutdown(): Promise<void>;
}

/** Loads the packages that the plan needs, and connects everything. Rejects if one of them is not installed. */
export async function loadTelemetry(plan: TelemetryPlan, facts: ProcessFacts): Promise<LoadedTelemetry> {
  const { otlp, azure } = plan;
  if (plan.isApps) return connect(appProviders(), plan, facts);
  const { ownProviders } = await import('./sdk.js');
  const receivers = [
    ...(otlp.metrics || otlp.traces ? [(await import('./otlp.js')).otlpExporters(otlp)] : []),
    ...(azure.metrics || azure.traces
      ? [(await import('./azure-monitor.js')).azureExporters(azure, facts.credential)]
      : []),
  ];
  return connect(ownProviders(plan, facts, receivers), plan, facts);
}

/** Those that the app has registered. It flushes them by itself. */
function appProviders(): Providers {
  return {
    meters: registered.getMeterProvider(),
    tracers: trace.getTracerProvider(),
    ids: undefined,
    shutdown: () => Promise.resolve(),
  };
}

function connect(
  { meters, tracers, ids, shutdown }: Providers,
  plan: TelemetryPlan,
  { version, jobs, deployment, location, now, samples }: ProcessFacts,
): LoadedTelemetry {
  const meter = meters.getMeter('cronlease', version);
  const { handedOver, ...metrics } = createMetrics({ meter, nameOf: jobNames(jobs, plan.jobs), samples });
  const idsOfRun = remembering((runId) => idsOf(location, runId));
  const tracer = tracers?.getTracer('cronlease', version);
  const spans =
    tracer === undefined ? unexportedSpans(idsOfRun) : createSpans({ tracer, ids, idsOf: idsOfRun, deployment, now });
  return {
    ...metrics,
    ...spans,
    shutdown,
    arrived(run, { parent, at }) {
      const arrivedAt = now();
      handedOver(arrivedAt - at);
      spans.begin('handOver', run, { at: Math.min(at, arrivedAt), parent }).end();
    },
    traceId: (runId) => idsOfRun(runId).traceId,
  };
}
