import { type MeterProvider as AnyMeterProvider, type TracerProvider, createNoopMeter } from '@opentelemetry/api';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader, type PushMetricExporter } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base';
import { IdSource } from './spans';
import type { OwnSdk, TelemetryPlan } from './settings';

export interface Providers {
  readonly meters: AnyMeterProvider;
  /** Undefined: spans are not wanted. */
  readonly tracers: TracerProvider | undefined;
  /** Undefined: the app's own SDK makes the ids. */
  readonly ids: IdSource | undefined;
  shutdown(): Promise<void>;
}

/**
 * Sets up the SDK only for cronlease. It is not registered as the one of the whole process: that is up to the app,
 * which may do so now or later, with `CRONLEASE_TELEMETRY=app` also for cronlease. Decision 115.
 */
export function ownProviders(plan: TelemetryPlan, facts: OwnSdk, receivers: readonly Exporters[]): Providers {
  // `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` come last.
  const resource = resourceFromAttributes(facts.resource).merge(detectResources({ detectors: [envDetector] }));
  const ids = new IdSource();
  const readers = receivers.flatMap(({ name, metrics: exporter }) =>
    exporter === undefined
      ? []
      : [
          new PeriodicExportingMetricReader({
            exporter: watched(exporter, `metrics for ${name}`, facts.onProblem),
            exportIntervalMillis: plan.everyMs,
            exportTimeoutMillis: Math.min(plan.everyMs, EXPORT_LIMIT_MS),
            cardinalityLimits: { default: SERIES_PER_JOB * (plan.jobs + 1) },
          }),
        ],
  );
  const spanProcessors = receivers.flatMap(({ name, traces }) =>
    traces === undefined ? [] : [new BatchSpanProcessor(watched(traces, `traces for ${name}`, facts.onProblem))],
  );
  const meters = new MeterProvider({ resource, readers });
  const tracers = new BasicTracerProvider({ resource, spanProcessors, idGenerator: ids });
  return {
    meters: readers.length === 0 ? NO_METERS : meters,
    tracers: spanProcessors.length === 0 ? undefined : tracers,
    ids: spanProcessors.length === 0 ? undefined : ids,
    async shutdown() {
      await Promise.all([meters.shutdown(), tracers.shutdown()]);
    },
  };
}

const EXPORT_LIMIT_MS = 30_000;
/** The most series of one metric that a job can have: outcomes with their reasons and triggers. */
const SERIES_PER_JOB = 100;
const NO_METERS: AnyMeterProvider = { getMeter: () => createNoopMeter() };

export interface Exporters {
  /** The name of the receiver, for messages. */
  readonly name: string;
  readonly metrics: PushMetricExporter | undefined;
  readonly traces: SpanExporter | undefined;
}

type Exporter<Batch> = {
  export(batch: Batch, done: (result: { readonly code: number; readonly error?: Error }) => void): void;
};

/** Tells of a failed export, once until one succeeds. The SDK drops failed exports without a word. */
export function watched<Batch, Kind extends Exporter<Batch>>(
  exporter: Kind,
  what: string,
  onProblem: (problem: string) => void,
): Kind {
  let failed = false;
  const send = exporter.export.bind(exporter);
  exporter.export = (batch, done) => {
    send(batch, (result) => {
      const { code, error } = result;
      if (code !== 0 && !failed) onProblem(`${what} could not be sent: ${error?.message ?? 'no reason was given'}`);
      failed = code !== 0;
      done(result);
    });
  };
  return exporter;
}
