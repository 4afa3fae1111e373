import type { PushMetricExporter } from '@opentelemetry/sdk-metrics';
import type { SpanExporter } from '@opentelemetry/sdk-trace-base';

/** The exporters of one receiver. */
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
