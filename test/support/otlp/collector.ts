import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { METRICS, TRACES } from './messages';
import { type Message, decodeMessage } from './wire';

type Attributes = Readonly<Record<string, string | number | boolean>>;

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  /** In ms since 1970. */
  readonly start: number;
  readonly end: number;
  readonly attributes: Attributes;
  readonly resource: Attributes;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly isError: boolean;
}

export interface ReceivedPoint {
  readonly metric: string;
  readonly unit: string;
  readonly kind: 'gauge' | 'sum' | 'histogram';
  readonly isMonotonic: boolean;
  /** Of a histogram: the sum of its values. */
  readonly value: number;
  /** Of a histogram. */
  readonly count: number;
  readonly bounds: readonly number[];
  readonly attributes: Attributes;
  readonly resource: Attributes;
}

export interface Collector {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  readonly spans: ReceivedSpan[];
  /** Every point of every export. */
  readonly points: ReceivedPoint[];
  /** What breaks the protocol. */
  readonly violations: string[];
  /** The last point of each series. */
  latest(metric: string): ReceivedPoint[];
  /** Answers everything with this status from now on. Undefined: takes it. */
  refuseWith: number | undefined;
  close(): Promise<void>;
}

interface AnyAttribute {
  readonly key: string;
  readonly value?: {
    readonly string?: string;
    readonly bool?: boolean;
    readonly double?: number;
    readonly int?: bigint;
  };
}

interface AnySpan {
  readonly traceId?: string;
  readonly spanId?: string;
  readonly parentSpanId?: string;
  readonly name?: string;
  readonly start?: bigint;
  readonly end?: bigint;
  readonly attributes?: readonly AnyAttribute[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status?: { readonly code?: number };
}

interface AnyPoint {
  readonly time?: bigint;
  readonly double?: number;
  readonly int?: bigint;
  readonly count?: bigint;
  readonly sum?: number;
  readonly bounds?: readonly number[];
  readonly bucketCounts?: readonly bigint[];
  readonly attributes?: readonly AnyAttribute[];
}

interface AnyData {
  readonly points?: readonly AnyPoint[];
  readonly temporality?: number;
  readonly isMonotonic?: boolean;
}

interface AnyMetric {
  readonly name?: string;
  readonly unit?: string;
  readonly description?: string;
  readonly gauge?: AnyData;
  readonly sum?: AnyData;
  readonly histogram?: AnyData;
}

interface AnyRequest {
  readonly resources?: readonly {
    readonly resource?: { readonly attributes?: readonly AnyAttribute[] };
    readonly scopes?: readonly {
      readonly scope?: { readonly name?: string; readonly version?: string };
      readonly spans?: readonly AnySpan[];
      readonly metrics?: readonly AnyMetric[];
    }[];
  }[];
}

/** Stands in for a collector: takes metrics and traces by OTLP over HTTP, and checks that they follow the protocol. */
export async function startCollector(): Promise<Collector> {
  const spans: ReceivedSpan[] = [];
  const points: ReceivedPoint[] = [];
  const violations: string[] = [];
  const state: { refuseWith: number | undefined } = { refuseWith: undefined };
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (state.refuseWith !== undefined) {
        response.writeHead(state.refuseWith).end();
        return;
      }
      try {
        take(request, Buffer.concat(chunks), { spans, points });
        // An empty message: everything was taken.
        response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
      } catch (error) {
        violations.push(error instanceof Error ? error.message : String(error));
        response.writeHead(400).end();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    ...{ spans, points, violations },
    latest: (metric) => latestOf(points.filter((point) => point.metric === metric)),
    get refuseWith() {
      return state.refuseWith;
    },
    set refuseWith(status) {
      state.refuseWith = status;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function latestOf(points: readonly ReceivedPoint[]): ReceivedPoint[] {
  const series = new Map<string, ReceivedPoint>();
  for (const point of points) series.set(JSON.stringify([point.attributes, point.resource]), point);
  return [...series.values()];
}

interface Received {
  readonly spans: ReceivedSpan[];
  readonly points: ReceivedPoint[];
}

function take(request: http.IncomingMessage, body: Buffer, { spans, points }: Received): void {
  const { method, url, headers } = request;
  if (method !== 'POST') throw new Error(`${String(method)} is not POST`);
  if (headers['content-type'] !== 'application/x-protobuf') {
    throw new Error(`content-type ${String(headers['content-type'])} is not application/x-protobuf`);
  }
  const bytes = headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
  const routes: Readonly<Record<string, Message>> = { '/v1/traces': TRACES, '/v1/metrics': METRICS };
  const message = routes[url ?? ''];
  if (message === undefined) throw new Error(`there is no ${String(url)}`);
  const { resources = [] } = decodeMessage(bytes, message, url ?? '') as AnyRequest;
  for (const { resource, scopes = [] } of resources) {
    const attributes = attributesOf(resource?.attributes);
    for (const { scope, spans: some = [], metrics = [] } of scopes) {
      if (scope?.name !== 'cronlease' || scope.version === undefined) throw new Error(`scope ${JSON.stringify(scope)}`);
      for (const span of some) spans.push(readSpan(span, attributes));
      for (const metric of metrics) points.push(...readMetric(metric, attributes));
    }
  }
}

function readSpan(span: AnySpan, resource: Attributes): ReceivedSpan {
  const { traceId = '', spanId = '', parentSpanId = '', name = '', start = 0n, end = 0n } = span;
  if (!/^(?!0+$)[0-9a-f]{32}$/.test(traceId)) throw new Error(`span ${name}: trace id "${traceId}"`);
  if (!/^(?!0+$)[0-9a-f]{16}$/.test(spanId)) throw new Error(`span ${name}: span id "${spanId}"`);
  if (!/^([0-9a-f]{16})?$/.test(parentSpanId)) throw new Error(`span ${name}: parent "${parentSpanId}"`);
  if (name === '' || start === 0n || end < start)
    throw new Error(`span ${name}: from ${String(start)} to ${String(end)}`);
  return {
    ...{ traceId, spanId, parentSpanId, name, resource },
    ...{ start: Number(start / 1_000_000n), end: Number(end / 1_000_000n) },
    attributes: attributesOf(span.attributes),
    links: (span.links ?? []).map(({ traceId: trace, spanId: id }) => ({ traceId: trace, spanId: id })),
    isError: span.status?.code === 2,
  };
}

function readMetric(metric: AnyMetric, resource: Attributes): ReceivedPoint[] {
  const { name = '', unit = '', description = '', gauge, sum, histogram } = metric;
  if (name === '' || unit === '' || description === '')
    throw new Error(`metric ${name}: lacks a unit or a description`);
  const kind = gauge ? 'gauge' : sum ? 'sum' : 'histogram';
  const data = gauge ?? sum ?? histogram;
  if (data === undefined) throw new Error(`metric ${name}: has no data`);
  // A sum or a histogram says whether it counts from the last export or from its start.
  if (kind !== 'gauge' && ![1, 2].includes(data.temporality ?? 0))
    throw new Error(`metric ${name}: lacks a temporality`);
  return (data.points ?? []).map((point): ReceivedPoint => {
    const { count = 0n, bounds = [], bucketCounts = [] } = point;
    if ((point.time ?? 0n) === 0n) throw new Error(`metric ${name}: a point lacks its time`);
    if (kind === 'histogram') {
      const counted = bucketCounts.reduce((all, one) => all + one, 0n);
      if (bucketCounts.length !== bounds.length + 1 || counted !== count) throw new Error(`metric ${name}: buckets`);
    }
    return {
      ...{ metric: name, unit, kind, bounds, resource },
      isMonotonic: data.isMonotonic === true,
      value: kind === 'histogram' ? (point.sum ?? 0) : (point.double ?? Number(point.int ?? 0n)),
      count: Number(count),
      attributes: attributesOf(point.attributes),
    };
  });
}

function attributesOf(list: readonly AnyAttribute[] = []): Attributes {
  const attributes: Record<string, string | number | boolean> = {};
  for (const { key, value = {} } of list) {
    if (key in attributes) throw new Error(`attribute ${key} is given twice`);
    attributes[key] = value.string ?? value.bool ?? value.double ?? (value.int === undefined ? '' : Number(value.int));
  }
  return attributes;
}
