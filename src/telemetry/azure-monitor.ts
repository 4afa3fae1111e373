import type { TokenCredential } from '@azure/identity';
import { AzureMonitorMetricExporter, AzureMonitorTraceExporter } from '@azure/monitor-opentelemetry-exporter';
import type { Exporters } from './sdk';
import type { TelemetryPlan } from './settings';

/** Without Microsoft's distribution, which also collects what the Functions host does already. Decision 116. */
export function azureExporters(
  { metrics, traces, connectionString }: TelemetryPlan['azure'],
  credential: TokenCredential | undefined,
): Exporters {
  // What could not be sent is not kept on disk: an instance on Flex Consumption does not come back to it.
  const options = { connectionString, disableOfflineStorage: true, ...(credential && { credential }) };
  return {
    name: 'Application Insights',
    metrics: metrics ? new AzureMonitorMetricExporter(options) : undefined,
    traces: traces ? new AzureMonitorTraceExporter(options) : undefined,
  };
}
