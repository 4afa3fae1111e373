import { jobNames } from './instruments';
import { metrics as registered, trace } from '@opentelemetry/api';
import { createMetrics } from './metrics';
import { idsOf, remembering, createSpans, unexportedSpans } from './spans';
import type { LoadedTelemetry, ProcessFacts, Providers } from './port';
import type { TelemetryPlan } from './settings';

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
  const nameOf = jobNames(jobs, plan.jobs);
  const metrics = createMetrics({ meter: meters.getMeter('cronlease', version), nameOf, samples });
  const idsOfRun = remembering((runId) => idsOf(location, runId));
  const tracer = tracers?.getTracer('cronlease', version);
  const spans =
    tracer === undefined ? unexportedSpans(idsOfRun) : createSpans({ tracer, ids, idsOf: idsOfRun, deployment, now });
  return {
    event: metrics.event,
    called: metrics.called,
    requested: metrics.requested,
    listed: metrics.listed,
    claimed: metrics.claimed,
    begin: spans.begin,
    ended: spans.ended,
    shutdown,
    arrived(run, { parent, at }) {
      const arrivedAt = now();
      metrics.handedOver(arrivedAt - at);
      spans.begin('handOver', run, { at: Math.min(at, arrivedAt), parent }).end();
    },
    traceId: (runId) => idsOfRun(runId).traceId,
  };
}
