import { INSTRUMENTS, type Instrument, type InstrumentName } from '../telemetry/instruments';
import type { Sample } from '../telemetry/row-gauges';

/** The format of {@link prometheusText}. */
export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

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
  const labels = Object.entries(attributes).map(([key, text]) => `${key.replaceAll('.', '_')}="${quoted(text)}"`);
  return `${name}{${labels.join(',')}} ${String(value)}\n`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function quoted(text: string): string {
  return escaped(text).replaceAll('"', '\\"');
}
