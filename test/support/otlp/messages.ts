import type { FieldType, Message } from './wire';

// The messages of OTLP 1.x, by https://github.com/open-telemetry/opentelemetry-proto: every field, also those that
// cronlease's SDK never sends.

const one = (name: string, type: FieldType) => ({ name, type });
const many = (name: string, type: FieldType) => ({ name, type, repeated: true as const });
const of = (message: () => Message): FieldType => ({ message });

const ANY_VALUE: Message = {
  1: one('string', 'string'),
  2: one('bool', 'bool'),
  3: one('int', 'sint64'),
  4: one('double', 'double'),
  5: one(
    'array',
    of(() => ({
      1: many(
        'values',
        of(() => ANY_VALUE),
      ),
    })),
  ),
  6: one(
    'map',
    of(() => ({
      1: many(
        'values',
        of(() => KEY_VALUE),
      ),
    })),
  ),
  7: one('bytes', 'bytes'),
};
const KEY_VALUE: Message = {
  1: one('key', 'string'),
  2: one(
    'value',
    of(() => ANY_VALUE),
  ),
};
const attributes = many(
  'attributes',
  of(() => KEY_VALUE),
);
const RESOURCE: Message = { 1: attributes, 2: one('droppedAttributesCount', 'varint') };
const SCOPE: Message = {
  1: one('name', 'string'),
  2: one('version', 'string'),
  3: attributes,
  4: one('droppedAttributesCount', 'varint'),
};

const EVENT: Message = {
  1: one('time', 'fixed64'),
  2: one('name', 'string'),
  3: attributes,
  4: one('droppedAttributesCount', 'varint'),
};
const LINK: Message = {
  1: one('traceId', 'bytes'),
  2: one('spanId', 'bytes'),
  3: one('traceState', 'string'),
  4: attributes,
  5: one('droppedAttributesCount', 'varint'),
  6: one('flags', 'fixed32'),
};
const STATUS: Message = { 2: one('message', 'string'), 3: one('code', 'varint') };
const SPAN: Message = {
  1: one('traceId', 'bytes'),
  2: one('spanId', 'bytes'),
  3: one('traceState', 'string'),
  4: one('parentSpanId', 'bytes'),
  5: one('name', 'string'),
  6: one('kind', 'varint'),
  7: one('start', 'fixed64'),
  8: one('end', 'fixed64'),
  9: attributes,
  10: one('droppedAttributesCount', 'varint'),
  11: many(
    'events',
    of(() => EVENT),
  ),
  12: one('droppedEventsCount', 'varint'),
  13: many(
    'links',
    of(() => LINK),
  ),
  14: one('droppedLinksCount', 'varint'),
  15: one(
    'status',
    of(() => STATUS),
  ),
  16: one('flags', 'fixed32'),
};

const inScopes = (items: string, item: () => Message): Message => ({
  1: one(
    'scope',
    of(() => SCOPE),
  ),
  2: many(items, of(item)),
  3: one('schemaUrl', 'string'),
});
const inResources = (scopes: string, message: Message): Message => ({
  1: many(
    'resources',
    of(() => ({
      1: one(
        'resource',
        of(() => RESOURCE),
      ),
      2: many(
        scopes,
        of(() => message),
      ),
      3: one('schemaUrl', 'string'),
    })),
  ),
});

const EXEMPLAR: Message = {
  2: one('time', 'fixed64'),
  3: one('double', 'double'),
  4: one('spanId', 'bytes'),
  5: one('traceId', 'bytes'),
  6: one('int', 'sfixed64'),
  7: attributes,
};
const exemplars = many(
  'exemplars',
  of(() => EXEMPLAR),
);
const NUMBER_POINT: Message = {
  2: one('start', 'fixed64'),
  3: one('time', 'fixed64'),
  4: one('double', 'double'),
  5: exemplars,
  6: one('int', 'sfixed64'),
  7: attributes,
  8: one('flags', 'varint'),
};
const HISTOGRAM_POINT: Message = {
  2: one('start', 'fixed64'),
  3: one('time', 'fixed64'),
  4: one('count', 'fixed64'),
  5: one('sum', 'double'),
  6: many('bucketCounts', 'fixed64'),
  7: many('bounds', 'double'),
  8: exemplars,
  9: attributes,
  10: one('flags', 'varint'),
  11: one('min', 'double'),
  12: one('max', 'double'),
};
const points = (point: Message) =>
  many(
    'points',
    of(() => point),
  );
const METRIC: Message = {
  1: one('name', 'string'),
  2: one('description', 'string'),
  3: one('unit', 'string'),
  5: one(
    'gauge',
    of(() => ({ 1: points(NUMBER_POINT) })),
  ),
  7: one(
    'sum',
    of(() => ({ 1: points(NUMBER_POINT), 2: one('temporality', 'varint'), 3: one('isMonotonic', 'bool') })),
  ),
  9: one(
    'histogram',
    of(() => ({ 1: points(HISTOGRAM_POINT), 2: one('temporality', 'varint') })),
  ),
};

export const TRACES = inResources(
  'scopes',
  inScopes('spans', () => SPAN),
);
export const METRICS = inResources(
  'scopes',
  inScopes('metrics', () => METRIC),
);
