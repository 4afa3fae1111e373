import fc from 'fast-check';
import { ROLES, type Role } from '../../src/manage/rights';
import { openApiDocument } from '../../src/manage/openapi';
import { ROUTES } from '../../src/manage/routes';
import type { Sent } from './manage';

/** A text that shows whether an answer repeats it as markup or as a header. */
export const MARK = '<script>"\'alert(1)</script>\r\nx-mark: 1\u202e\u2028';

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly schema: Schema;
}

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body: Schema | undefined;
}

/** Every operation of the OpenAPI document. */
function operations(): readonly Operation[] {
  const document = openApiDocument(ROUTES, '1') as {
    paths: Record<
      string,
      Record<
        string,
        { parameters?: Parameter[]; requestBody?: { content: { 'application/json': { schema: Schema } } } }
      >
    >;
    components: { schemas: Record<string, Schema> };
  };
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody }]) => {
      const schema = requestBody?.content['application/json'].schema;
      const name = /\/(\w+)$/.exec(schema?.$ref ?? '')?.[1];
      const body = name === undefined ? schema : document.components.schemas[name];
      return { method: method.toUpperCase(), path: path.slice(1), parameters, body };
    }),
  );
}

const KNOWN = [
  'a',
  'b',
  'f',
  'a-20260101T000100Z',
  'f-20260101T000100Z',
  'a-20260101T000000Z-m-abc',
  'bench',
  'none',
  '2026-01-01T00:01:00Z',
];

const NASTY = [
  MARK,
  '',
  ' ',
  '..',
  '../../admin/host/keys',
  '%2e%2e%2f',
  '%00',
  '\u0000',
  '%E0%A4%A',
  '__proto__',
  'constructor',
  'toString',
  "' OR 1=1 --",
  '${7*7}{{7*7}}',
  'a'.repeat(5_000),
  '-'.repeat(63),
  '9'.repeat(400),
  '-1',
  '1e308',
  'NaN',
  'null',
  'true',
  '[]',
  '*',
  'W/"x"',
  '9999-12-31T23:59:59.999Z',
  '0000-01-01T00:00:00Z',
  '1970-01-01T00:00:00Z',
  '2026-02-30T00:00:00Z',
  '2285-12-31T00:00:00+14:00',
  'a-99999999T999999Z',
  'WyIwIiwiYSJd',
  'WyI4MjMyNjk0NDQwMDAwLXMiLCJhIl0',
  'eyJfX3Byb3RvX18iOjF9',
  '\ud800',
  '💣'.repeat(100),
];

const text = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...KNOWN) },
  { weight: 3, arbitrary: fc.constantFrom(...NASTY) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 50 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }).map((part) => part + MARK) },
);

function valueOf(schema: Schema): fc.Arbitrary<string> {
  const good: fc.Arbitrary<string>[] = [];
  if (schema.enum !== undefined) good.push(fc.constantFrom(...schema.enum.map(String)));
  if (schema.format === 'date-time') {
    const noInvalidDate = true;
    good.push(fc.date({ noInvalidDate }).map((date) => date.toISOString()));
    good.push(fc.constantFrom('2026-01-01T00:01:00Z', '2026-01-01T00:00:30+02:00'));
  }
  if (schema.type === 'integer') good.push(fc.integer({ min: -2, max: 600 }).map(String));
  if (schema.pattern !== undefined)
    good.push(fc.constantFrom(...KNOWN), fc.stringMatching(new RegExp(schema.pattern), { maxLength: 80 }));
  return fc.oneof(text, ...good, ...good);
}

const junk = fc.oneof(
  fc.constantFrom('', '{', '[]', 'null', '"x"', '1e999', '{"__proto__":{"role":"admin"}}', '['.repeat(20_000), MARK),
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.json({ maxDepth: 4 }),
  fc.constant(JSON.stringify({ note: 'x'.repeat(70_000) })),
);

function bodyOf(schema: Schema | undefined): fc.Arbitrary<string | undefined> {
  const members = Object.entries(schema?.properties ?? {});
  const object = fc.record(
    Object.fromEntries(members.map(([name]) => [name, fc.oneof(text, fc.jsonValue({ maxDepth: 3 }))])),
    { requiredKeys: [] },
  );
  const more = fc.tuple(object, fc.dictionary(text, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 2 }));
  return fc.oneof(
    { weight: 4, arbitrary: object.map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: more.map(([value, others]) => JSON.stringify({ ...value, ...others })) },
    { weight: 2, arbitrary: junk },
    { weight: 1, arbitrary: fc.constant(undefined) },
  );
}

const headerName = fc.constantFrom(
  ...['if-none-match', 'if-match', 'idempotency-key', 'content-type', 'content-length', 'origin', 'host', 'accept'],
  ...['sec-fetch-site', 'x-cronlease-request', 'x-cronlease-key', 'x-cronlease-dev', 'x-ms-client-principal'],
  ...['x-forwarded-host', 'x-http-method-override', 'cookie', 'authorization', 'transfer-encoding'],
);

/** Any request to any operation, some of them well-formed and most of them not. */
export function hostileRequests(): fc.Arbitrary<Sent> {
  return fc.oneof(...operations().map(requestTo));
}

function requestTo({ method, path, parameters, body }: Operation): fc.Arbitrary<Sent> {
  const inPath = parameters.filter((parameter) => parameter.in === 'path');
  const inQuery = parameters.filter((parameter) => parameter.in === 'query');
  return fc
    .record({
      method: fc.oneof(
        { weight: 9, arbitrary: fc.constant(method) },
        { weight: 1, arbitrary: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', MARK) },
      ),
      segments: fc.tuple(...inPath.map(({ schema }) => valueOf(schema))),
      query: fc.record(Object.fromEntries(inQuery.map(({ name, schema }) => [name, valueOf(schema)])), {
        requiredKeys: [],
      }),
      extra: fc.dictionary(text, text, { maxKeys: 1 }),
      headers: fc.dictionary(headerName, text, { maxKeys: 2 }),
      body: bodyOf(body),
      keyed: fc.boolean(),
      as: fc.oneof(
        { weight: 6, arbitrary: fc.constant<Role>('admin') },
        { weight: 1, arbitrary: fc.constantFrom<Role | undefined>(undefined, ...ROLES) },
      ),
      suffix: fc.oneof(
        { weight: 9, arbitrary: fc.constant('') },
        { weight: 1, arbitrary: fc.constantFrom('/', '//', '/x') },
      ),
    })
    .map(({ segments, query, extra, suffix, keyed, ...rest }) => {
      let index = -1;
      const filled = path.replaceAll(/\{\w+\}/g, () => encoded(segments[(index += 1)] ?? ''));
      const search = new URLSearchParams({ ...query, ...extra } as Record<string, string>).toString();
      const sent = { ...rest, path: `${keyed ? 'keyed/' : ''}${filled}${suffix}${search === '' ? '' : `?${search}`}` };
      return rest.method === 'GET' || rest.method === 'HEAD' ? { ...sent, body: undefined } : sent;
    });
}

/** Some values are meant as they are, broken escapes among them. */
function encoded(value: string): string {
  if (value.startsWith('%')) return value;
  return encodeURIComponent(value.replaceAll(/\p{Surrogate}/gu, ''));
}
