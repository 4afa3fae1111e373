import { given } from '../core/given';
import * as z from 'zod';
import { CHANGE_HEADER, KEY_HEADER } from './access';
import { BODY_LIMIT, NOTHING, POLL_HEADER, type Route, route } from './route';
import { COMPONENTS } from './schema';

type Json = Readonly<Record<string, unknown>>;

export function openApiRoute(routes: () => readonly Route[]): Route {
  let document: Json | undefined;
  return route({
    id: 'getOpenApi',
    role: 'viewer',
    summary: 'show this API as an OpenAPI document',
    answer: z.looseObject({ openapi: z.string() }),
    run: ({ version }) => Promise.resolve({ openapi: OPENAPI, ...(document ??= openApiDocument(routes(), version)) }),
  });
}

const OPENAPI = '3.1.1';
const VARIABLES: Json = {
  origin: { default: 'http://localhost:7071' },
  routePrefix: { default: 'api', description: 'extensions.http.routePrefix of host.json' },
};

/** The OpenAPI document, made from the schemas that check requests and answers. */
export function openApiDocument(routes: readonly Route[], version: string): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const one of routes) {
    const path = `/${one.path}`;
    paths[path] = { ...paths[path], [one.method.toLowerCase()]: operationOf(one) };
  }
  return {
    openapi: OPENAPI,
    info: {
      title: 'cronlease',
      version,
      description:
        'See and operate the jobs of a cronlease app. docs/how-to/http-api.md describes logins, keys, errors and polling.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [
      { url: '{origin}/{routePrefix}/manage', description: 'With a login of Microsoft Entra', variables: VARIABLES },
      { url: '{origin}/{routePrefix}/manage/keyed', description: 'With a key', variables: VARIABLES },
    ],
    security: [{ entra: [] }, { key: [] }],
    paths,
    components: {
      schemas: componentSchemas(),
      responses: {
        Problem: {
          description: 'The request was not carried out.',
          content: { 'application/problem+json': { schema: ref('Problem') } },
        },
      },
      securitySchemes: {
        entra: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'A token of Microsoft Entra with an app role. Browsers use the session of the login page.',
        },
        key: { type: 'apiKey', in: 'header', name: KEY_HEADER, description: 'A key of CRONLEASE_API_KEYS.' },
      },
    },
  };
}

function operationOf(one: Route): Json {
  const { id, summary, description, role, status = 200, method, follow, conditional, idempotent } = one;
  const isChange = method !== 'GET';
  const parameters = [
    ...parametersOf(one.params, 'path'),
    ...parametersOf(one.query, 'query'),
    ...(isChange ? [CHANGE_PARAMETER] : []),
    ...(follow === true ? [header('If-None-Match', 'The ETag of the last answer.')] : []),
    ...(conditional === true ? [header('If-Match', 'The `controlVersion` of the job in quotes. Others get 412.')] : []),
    ...(idempotent === true
      ? [header('Idempotency-Key', 'The same key makes the same request, however often it is sent.')]
      : []),
  ];
  return {
    operationId: id,
    summary: summary.charAt(0).toUpperCase() + summary.slice(1),
    ...given({ description }),
    'x-cronlease-role': role,
    ...(role === 'anybody' ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(one.body === NOTHING ? {} : { requestBody: bodyOf(one) }),
    responses: {
      [String(status)]: {
        description: 'Done.',
        ...(follow === true ? { headers: followHeaders() } : {}),
        content: { [one.contentType ?? 'application/json']: { schema: schemaOf(one.answer) } },
      },
      ...(follow === true ? { '304': { description: 'Nothing has changed.', headers: followHeaders() } } : {}),
      default: { $ref: '#/components/responses/Problem' },
    },
  };
}

function followHeaders(): Json {
  return {
    ETag: { schema: { type: 'string' }, description: 'Changes with anything but the time.' },
    [POLL_HEADER]: {
      schema: { type: 'integer' },
      description: 'Milliseconds: an earlier poll has no news, except of a change made through the same instance.',
    },
  };
}

function bodyOf({ body }: Route): Json {
  return {
    required: !body.safeParse({}).success,
    description: `JSON of at most ${BODY_LIMIT / 1024} KB.`,
    content: { 'application/json': { schema: schemaOf(body) } },
  };
}

function header(name: string, description: string): Json {
  return { name, in: 'header', required: false, description, schema: { type: 'string' } };
}

const CHANGE_PARAMETER: Json = {
  ...header(CHANGE_HEADER, 'Any change needs it.'),
  required: true,
  schema: { type: 'string', const: '1' },
};

function parametersOf(object: z.ZodObject, place: 'path' | 'query'): readonly Json[] {
  const { properties = {}, required = [] } = plain(object, 'input') as {
    readonly properties?: Readonly<Record<string, Json>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: place,
    required: required.includes(name),
    ...given({ description }),
    schema,
  }));
}

function componentSchemas(): Json {
  const made = z.toJSONSchema(COMPONENTS, {
    uri: (id) => `#/components/schemas/${id}`,
    override: simplify,
  });
  // What is recursive, which is only JSON, zod refers to by a name that nothing resolves. Generators type anything
  // well.
  const { __shared: _shared, ...schemas }: Record<string, Json> = made.schemas;
  schemas['Json'] = { description: schemas['Json']?.['description'] };
  const named = Object.entries(schemas).map(([id, schema]) => [id, withoutIds(schema)] as const);
  return Object.fromEntries(named.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Removes what does not help a reader, and what zod means in another sense than OpenAPI. */
function simplify({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  delete jsonSchema.readOnly;
  const isInstant = jsonSchema.format === 'date-time' || jsonSchema.format === 'date';
  if (isInstant || jsonSchema.$ref !== undefined) delete jsonSchema.pattern;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
}

function withoutIds({ $schema: _schema, $id: _id, ...schema }: Json): Json {
  return schema;
}

function schemaOf(schema: z.ZodType): Json {
  const id = COMPONENTS.get(schema)?.id;
  return id === undefined ? plain(schema, 'output') : ref(id);
}

function plain(schema: z.ZodType, io: 'input' | 'output'): Json {
  return withoutIds(z.toJSONSchema(schema, { io, override: simplify }));
}

function ref(id: string): Json {
  return { $ref: `#/components/schemas/${id}` };
}
