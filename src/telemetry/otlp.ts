import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import type { Exporters } from './sdk';
import type { TelemetryPlan } from './settings';

/** They read their own settings: `OTEL_EXPORTER_OTLP_…`. */
export function otlpExporters({ metrics, traces }: TelemetryPlan['otlp']): Exporters {
  return {
    name: 'OTLP',
    metrics: metrics ? new OTLPMetricExporter() : undefined,
    traces: traces ? new OTLPTraceExporter() : undefined,
  };
}
