import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { prometheusName } from '../../src/manage/about-routes';
import { ATTRIBUTES, INSTRUMENTS, type Instrument } from '../../src/telemetry/instruments';
import { SPANS } from '../../src/telemetry/spans';

const root = path.join(__dirname, '../..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');
const instruments: readonly Instrument[] = Object.values(INSTRUMENTS);

/** The names that Prometheus gives to the series of a metric. */
function seriesOf(instrument: Instrument): readonly string[] {
  const name = prometheusName(instrument);
  switch (instrument.kind) {
    case 'counter':
      return [`${name}_total`];
    case 'histogram':
      return ['bucket', 'sum', 'count'].map((part) => `${name}_${part}`);
    case 'gauge':
    case 'upDownCounter':
      return [name];
  }
}

const SERIES = new Map(instruments.flatMap((one) => seriesOf(one).map((name) => [name, one] as const)));
const LABELS = Object.keys(ATTRIBUTES).map((name) => name.replaceAll('.', '_'));

/** What is wrong with a query: series and labels that do not exist, and labels that the series of the query lack. */
function problemsOf(promql: string): string[] {
  const names = [...new Set(promql.match(/\b(?:cronlease|http_client)_\w+/g) ?? [])];
  const used = names.flatMap((name) => SERIES.get(name) ?? []);
  const known = used.flatMap(({ attributes }) => attributes.map((name) => name.replaceAll('.', '_')));
  if (used.length === 0) return [`${promql} has no series`];
  return names.filter((name) => !SERIES.has(name) && !known.includes(name));
}

function queriesIn(value: unknown, member: string): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    name === member && typeof inner === 'string' ? [inner] : queriesIn(inner, member),
  );
}

describe('the Grafana dashboard', () => {
  const dashboard = JSON.parse(read('observability/grafana-dashboard.json')) as unknown;
  const queries = queriesIn(dashboard, 'expr');

  it('asks for series and labels that exist', () => {
    expect(queries.length).toBeGreaterThan(20);
    expect(queries.flatMap(problemsOf)).toEqual([]);
    for (const query of queriesIn(dashboard, 'query')) {
      if (query.includes('cronlease')) expect(problemsOf(query)).toEqual([]);
    }
  });

  it('shows every metric', () => {
    const shown = instruments.filter((one) => seriesOf(one).some((name) => queries.join('\n').includes(name)));
    expect(instruments.filter((one) => !shown.includes(one))).toEqual([]);
  });

  it.each([
    ['a metric that does not exist', 'sum(cronlease_runs)'],
    ['a label that the metric lacks', 'sum by (cronlease_reason) (cronlease_attempts_total)'],
    ['a label that does not exist', 'sum by (cronlease_color) (cronlease_runs_total)'],
  ])('would be found with %s', (_, query) => {
    expect(problemsOf(query)).toHaveLength(1);
  });
});

describe('the Azure workbook', () => {
  const queries = queriesIn(JSON.parse(read('observability/azure-workbook.json')), 'query');

  it('asks for metrics, spans and attributes that exist', () => {
    expect(queries.length).toBeGreaterThan(10);
    const metrics = new Set(instruments.map(({ name }) => name));
    const inSpans = [...read('src/telemetry/spans.ts').matchAll(/'(cronlease\.[\w.]+)'/g)].map(([, name = '']) => name);
    for (const query of queries) {
      for (const [, name = ''] of query.matchAll(/name == '([^']+)'/g)) {
        expect(metrics.has(name) || Object.values(SPANS).includes(name), name).toBe(true);
      }
      const own = instruments.filter(({ name }) => query.includes(`name == '${name}'`));
      const attributes: readonly string[] = own.length === 0 ? inSpans : own.flatMap((one) => one.attributes);
      for (const [, name = ''] of query.matchAll(/customDimensions\['([^']+)'\]/g)) expect(attributes).toContain(name);
    }
  });
});

it('docs/how-to/metrics.md names metrics that exist', () => {
  const names = [...read('docs/how-to/metrics.md').matchAll(/\bcronlease_\w+/g)].map(([name]) => name);
  expect(names.length).toBeGreaterThan(2);
  expect(names.filter((name) => !SERIES.has(name) && !LABELS.includes(name))).toEqual([]);
});
