import * as z from 'zod';
import { OPERATIONS } from '../client/operations';
import { formatPath } from '../config/config-error';
import { isObject } from '../core/metadata';
import type { Poked } from '../core/poked';
import type { Caller } from './access';
import type { Desk, Sweeps } from './desk';
import type { createMeter } from './limits';
import { RequestError, type RequestIssue } from './problem';
import type { Role } from './rights';
import type { KeptErrors } from '../operator/views/runs';

/** Errors that one answer lists. */
const MOST = 20;

/** A request to a route, before its parts are read. */
export interface RawCall {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** Undefined: the route is public. */
  readonly caller: Caller | undefined;
  /** `If-Match`, without quotes. */
  readonly ifMatch: string | undefined;
  readonly idempotencyKey: string | undefined;
  /** Starts a tick of this process now. Undefined: it is being shut down. */
  readonly poke: () => Promise<Poked | undefined>;
}

/** The parts of the process that handlers use. */
export interface Office extends Desk {
  readonly sweeps: Sweeps;
  readonly meter: ReturnType<typeof createMeter>;
  /** So that whoever lists runs again reads no record again. */
  readonly runErrors: KeptErrors;
}

type Method = 'GET' | 'POST' | 'DELETE';

interface RouteFacts {
  /** The name of the operation in the OpenAPI document, and in the client. */
  readonly id: keyof typeof ADDRESSES;
  /** `anybody`: without a login. */
  readonly role: Role | 'anybody';
  /** In a list: begins with a verb. */
  readonly summary: string;
  readonly description?: string;
  /** The status of an answer. Default: 200. */
  readonly status?: number;
  /** The type of its answers, which are text. Default: JSON. */
  readonly contentType?: string;
  /** Whether pages follow it: it has an ETag, and answers 304. */
  readonly follow?: boolean;
  /** The shortest time between two polls that have news of each other. Default: the sweep interval. */
  readonly pollMs?: number;
  /** Whether `If-Match` may name the version of a job's control. */
  readonly conditional?: boolean;
  /** Whether `Idempotency-Key` may name the request. */
  readonly idempotent?: boolean;
}

export const BODY_LIMIT = 65_536;
/** The shortest time between two polls that have news of each other, in milliseconds. */
export const POLL_HEADER = 'x-cronlease-poll-ms';

/** The methods and paths of all operations: also of those that the client does not have. */
const ADDRESSES = {
  ...OPERATIONS,
  getHealth: 'GET health',
  getMetrics: 'GET metrics',
  getOpenApi: 'GET openapi.json',
} as const;

export const NONE = z.strictObject({});
export const NOTHING = z.undefined();

interface Parts<Params, Query, Body> {
  /** Default: {@link NONE}. */
  readonly params: Params;
  /** Default: {@link NONE}. */
  readonly query: Query;
  /** Default: {@link NOTHING}. That of a GET or a DELETE has no meaning in HTTP, and is not read. */
  readonly body: Body;
}

/** One row of the route table. */
export interface Route extends RouteFacts, Parts<z.ZodObject, z.ZodObject, z.ZodType> {
  readonly method: Method;
  /** Below `manage/`: `jobs/{job}`. */
  readonly path: string;
  readonly answer: z.ZodType;
  /** Reads the request, carries it out, and checks the answer: members that its schema lacks never leave the app. */
  readonly handle: (office: Office, call: RawCall) => Promise<unknown>;
}

interface RouteSpec<
  Params extends z.ZodObject,
  Query extends z.ZodObject,
  Body extends z.ZodType,
  Answer extends z.ZodType,
>
  extends RouteFacts, Partial<Parts<Params, Query, Body>> {
  readonly answer: Answer;
  run(
    office: Office,
    call: Omit<RawCall, keyof Parts<Params, Query, Body>> & Parts<z.output<Params>, z.output<Query>, z.output<Body>>,
  ): Promise<z.input<Answer>>;
}

export function route<
  Answer extends z.ZodType,
  Params extends z.ZodObject = typeof NONE,
  Query extends z.ZodObject = typeof NONE,
  Body extends z.ZodType = typeof NOTHING,
>(spec: RouteSpec<Params, Query, Body, Answer>): Route {
  const { run, ...facts } = spec;
  const [method = '', path = ''] = ADDRESSES[spec.id].split(' ');
  // The types of parts that are left out are those of their defaults.
  const schemas = { params: NONE, query: NONE, body: NOTHING, ...facts } as typeof facts & Parts<Params, Query, Body>;
  return {
    ...schemas,
    method: method as Method,
    path,
    async handle(office, { params, query, body: sent, ...call }) {
      const parts = {
        params: parsePart(schemas.params, 'path', params),
        query: parsePart(schemas.query, 'query', query),
        body: parsePart(schemas.body, 'body', sent),
      };
      try {
        return spec.answer.parse(await run(office, { ...call, ...parts }));
      } finally {
        // The next reader sees a change, whatever became of it.
        if (method !== 'GET') office.sweeps.drop();
      }
    },
  };
}

type Part = 'path' | 'query' | 'body';

/** Reads a part of a request. Throws {@link RequestError} with every error of it. */
function parsePart<Schema extends z.ZodType>(schema: Schema, part: Part, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.slice(0, MOST).flatMap((issue) => issuesOf(issue, part, value));
  const [first, ...more] = issues;
  if (first === undefined) throw new Error('a schema refused a value without a reason');
  throw new RequestError(400, 'InvalidRequest', [first, ...more]);
}

function issuesOf(issue: z.core.$ZodIssue, part: Part, value: unknown): readonly RequestIssue[] {
  const place = (name: string): string => (name === '$' ? part : `${part}: ${name}`);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, MOST).map((key) => ({
      place: place(formatPath([...pathOf(issue), key])),
      value: textOf(member(value, [...pathOf(issue), key])),
      problem: 'is not known here',
      remedy: 'leave it out',
    }));
  }
  const path = pathOf(issue);
  const found = member(value, path);
  return [{ place: place(formatPath(path)), value: textOf(found), ...wordsOf(issue, found === undefined) }];
}

function wordsOf(issue: z.core.$ZodIssue, isMissing: boolean): Pick<RequestIssue, 'problem' | 'remedy'> {
  switch (issue.code) {
    case 'invalid_type':
      return {
        problem: isMissing ? 'is missing' : 'has the wrong type',
        remedy: `send a value of type ${issue.expected}`,
      };
    case 'invalid_value':
      return { problem: 'is not one of the known values', remedy: `use ${issue.values.map(String).join(', ')}` };
    case 'too_big':
      return { problem: 'is too large or too long', remedy: `use at most ${String(issue.maximum)}` };
    case 'too_small':
      return { problem: 'is too small or too short', remedy: `use at least ${String(issue.minimum)}` };
    case 'invalid_format':
      return {
        problem: 'does not have the right form',
        remedy: issue.format === 'datetime' ? 'use a time such as 2026-01-31T03:00:00Z' : `see the OpenAPI document`,
      };
    default:
      return { problem: issue.message, remedy: 'see the OpenAPI document' };
  }
}

function pathOf(issue: z.core.$ZodIssue): readonly (string | number)[] {
  return issue.path.map((key) => (typeof key === 'number' ? key : String(key)));
}

function member(value: unknown, path: readonly (string | number)[]): unknown {
  let found: unknown = value;
  for (const key of path) {
    if (Array.isArray(found) && typeof key === 'number') found = found[key];
    else if (isObject(found) && Object.hasOwn(found, key)) found = found[key];
    else return undefined;
  }
  return found;
}

function textOf(value: unknown): string | null {
  if (value === undefined) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
