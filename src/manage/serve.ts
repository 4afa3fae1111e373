import { createHash } from 'node:crypto';
import type { Clock } from '../core/clock';
import { plainPath } from '../core/http-request';
import type { Poked } from '../core/poked';
import { oneLine } from '../core/text';
import { within } from '../lease/deadline';
import { withSignal } from '../lease/store';
import { type Caller, type Knock, callerOf, checkCall, keySent } from './access';
import { ANSWER_LIMIT_MS, type Desk, createSweeps } from './desk';
import { addressOf, createMeter, createWrongKeys, networkOf, type WrongKeys } from './limits';
import { RequestError, invalidRequest, problemBody, requestErrorOf } from './problem';
import { BODY_LIMIT, type Office, POLL_HEADER, type RawCall, type Route } from './route';
import { ROUTES } from './routes';

/** The most lines a minute. All refusals are counted. */
const LINES_A_MINUTE = 20;

/** A request, in the terms of this room. */
export interface ManageRequest {
  readonly method: string;
  /** Below `manage/`, still encoded: `jobs/nightly`. Undefined: it can be read in more than one way. */
  readonly path: string | undefined;
  readonly query: URLSearchParams;
  /** A header by its name in lowercase; undefined if it was not sent. */
  readonly header: (name: string) => string | undefined;
  readonly body: () => Promise<Uint8Array>;
  /** Starts a tick of this process now, or joins the one that runs. Undefined: it is being shut down. */
  readonly poke: () => Promise<Poked | undefined>;
  /** Receives an error that is a bug, with the request that met it. */
  readonly reportBug: (what: string, error: unknown) => void;
  readonly reportRefusal: (line: string) => void;
}

export interface ManageAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export type Manage = (request: ManageRequest) => Promise<ManageAnswer>;

/** The wait after an answer that the app could not give. */
const RETRY_AFTER_S = '5';
const DEPTH_LIMIT = 64;
/** A request below this path may come without a login: only keys count there. */
const KEYED = 'keyed/';

const COMMON_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  // Browsers ignore it if they were answered without TLS, as by "cronlease dev".
  'strict-transport-security': 'max-age=31536000',
  'x-content-type-options': 'nosniff',
};

/** The office, and the memory of this process of requests that were not let in. */
interface House extends Office {
  readonly refused: ReturnType<typeof createRefusals>;
  readonly wrongKeys: WrongKeys;
}

/** Answers every request below `manage/`. It never rejects. */
export function createManage(desk: Desk): Manage {
  const { clock } = desk;
  const office = { ...desk, sweeps: createSweeps(desk), meter: createMeter(clock), runErrors: new Map() };
  const house: House = { ...office, refused: createRefusals(clock), wrongKeys: createWrongKeys(clock) };
  return async (request) => {
    const isHead = request.method === 'HEAD';
    const answer = await answerOf(house, isHead ? { ...request, method: 'GET' } : request);
    return isHead ? { ...answer, body: undefined } : answer;
  };
}

async function answerOf(house: House, request: ManageRequest): Promise<ManageAnswer> {
  try {
    return await within(house.clock, ANSWER_LIMIT_MS, (signal) => carryOut(house, request, signal));
  } catch (error) {
    const known = requestErrorOf(error);
    if (known !== undefined && isRefusal(known)) house.refused(request, known);
    if (known === undefined) request.reportBug(`${request.method} ${request.path?.slice(0, 200) ?? ''}`, error);
    return problemAnswer(known ?? bug());
  }
}

function isRefusal({ status, code }: RequestError): boolean {
  return status === 401 || status === 403 || code === 'TooManyWrongKeys';
}

function bug(): RequestError {
  return new RequestError(500, 'Bug', {
    place: 'app',
    problem: 'the app failed to answer',
    remedy: 'read its log, and report what it says',
  });
}

function problemAnswer(error: RequestError): ManageAnswer {
  const headers = {
    ...COMMON_HEADERS,
    'content-type': 'application/problem+json; charset=utf-8',
    ...(error.status === 503 && { 'retry-after': RETRY_AFTER_S }),
    ...error.headers,
  };
  return { status: error.status, headers, body: safeJson(problemBody(error)) };
}

async function carryOut(house: House, request: ManageRequest, signal: AbortSignal): Promise<ManageAnswer> {
  const whole = request.path === undefined ? undefined : plainPath({ normalised: request.path });
  if (whole === undefined) throw notPlain();
  const [first = ''] = whole.split('/', 1);
  // However it is spelled: a login counts only on a path that the platform cannot have let through.
  const keyed = `${decoded(first)?.toLowerCase() ?? ''}/` === KEYED;
  const path = keyed ? whole.slice(first.length + 1) : whole;
  const knock: Knock = { header: request.header, keyed };
  const matches = matching(path);
  const found = matches.find(({ route }) => route.method === request.method);
  const isPublic = found?.route.role === 'anybody';
  // The existing routes are hidden without a login.
  const caller = isPublic ? undefined : await letIn(house, knock, signal);
  if (found === undefined) throw matches.length === 0 ? noRoute(path, keyed) : wrongMethod(request.method, matches);
  const { route, params } = found;
  if (caller !== undefined && route.role !== 'anybody') {
    checkCall(house.access, caller, route.role, route.method !== 'GET', knock);
  }
  const call: RawCall = {
    params,
    caller,
    poke: request.poke,
    query: queryOf(request.query),
    body: route.method === 'POST' ? await bodyOf(request) : undefined,
    ifMatch: ifMatchOf(route, request),
    idempotencyKey: idempotencyKeyOf(route, request),
  };
  const answer = await handled(house, route, call, signal);
  return success(house, route, answer, request.header('if-none-match'));
}

async function letIn({ access, wrongKeys }: House, knock: Knock, signal: AbortSignal): Promise<Caller> {
  const address = networkOf(addressOf(knock.header));
  if (keySent(knock) !== undefined) wrongKeys.admit(address);
  try {
    return callerOf(access, knock);
  } catch (error) {
    if (error instanceof RequestError && error.code === 'WrongKey') await wrongKeys.delay(address, signal);
    throw error;
  }
}

/** All calls to storage end with the request. A caller's listings are counted. */
async function handled(office: Office, route: Route, call: RawCall, signal: AbortSignal): Promise<unknown> {
  const bound = withSignal(office.store, signal);
  if (call.caller === undefined) return route.handle({ ...office, store: bound }, call);
  const { store, end } = office.meter(bound, call.caller);
  try {
    return await route.handle({ ...office, store }, call);
  } finally {
    end();
  }
}

function notPlain(): RequestError {
  return invalidRequest({
    place: 'path',
    problem: 'the path can be read in more than one way',
    remedy: 'send it without dots, empty parts, backslashes, encoded slashes and double encoding',
  });
}

interface Match {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

function matching(path: string): readonly Match[] {
  const segments = path.replace(/\/$/, '').split('/').map(decoded);
  return ROUTES.flatMap((route) => {
    const wanted = route.path.split('/');
    if (wanted.length !== segments.length) return [];
    const params: Record<string, string> = {};
    for (const [index, part] of wanted.entries()) {
      const segment = segments[index] ?? '';
      const name = /^\{(\w+)\}$/.exec(part)?.[1];
      if (name !== undefined) params[name] = segment;
      else if (part !== segment) return [];
    }
    return [{ route, params }];
  });
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    // It stands for itself, and no name matches it.
    return segment;
  }
}

function noRoute(path: string, keyed: boolean): RequestError {
  return new RequestError(404, 'NoRoute', {
    place: 'path',
    value: path,
    problem: 'there is no such route',
    remedy: keyed
      ? 'under keyed/ are the routes of manage/, for callers with a key: keyed/jobs, and all in keyed/openapi.json'
      : 'see openapi.json, the OpenAPI document',
  });
}

function wrongMethod(method: string, matches: readonly Match[]): RequestError {
  const allowed = matches.flatMap(({ route }) => (route.method === 'GET' ? ['GET', 'HEAD'] : [route.method]));
  const allow = [...new Set(allowed)].join(', ');
  return new RequestError(
    405,
    'WrongMethod',
    { place: 'method', value: method, problem: 'the route does not have this method', remedy: `use ${allow}` },
    { allow },
  );
}

function queryOf(query: URLSearchParams): Readonly<Record<string, string>> {
  const values = new Map<string, string>();
  for (const [name, value] of query) {
    if (values.has(name)) {
      throw invalidRequest({
        place: `query: ${name.slice(0, 50)}`,
        value,
        problem: 'is given twice',
        remedy: 'give it once',
      });
    }
    values.set(name, value);
  }
  return Object.fromEntries(values);
}

async function bodyOf(request: ManageRequest): Promise<unknown> {
  const length = Number(request.header('content-length') ?? 0);
  if (length > BODY_LIMIT) throw tooLarge(length);
  const bytes = await request.body();
  if (bytes.byteLength > BODY_LIMIT) throw tooLarge(bytes.byteLength);
  if (bytes.byteLength === 0) return {};
  const type = request.header('content-type');
  if (type === undefined || !/^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(type)) {
    throw new RequestError(415, 'WrongContentType', {
      place: 'content-type',
      value: type ?? null,
      problem: 'the body is not JSON',
      remedy: 'send "content-type: application/json"',
    });
  }
  return jsonOf(bytes);
}

function jsonOf(bytes: Uint8Array): unknown {
  const invalid = (problem: string, remedy: string): RequestError => invalidRequest({ place: 'body', problem, remedy });
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
    throw invalid('is not JSON in UTF-8', 'send a JSON object');
  }
  if (depthOf(value) > DEPTH_LIMIT) {
    throw invalid('has too many lists and objects in one another', `use at most ${DEPTH_LIMIT}`);
  }
  return value;
}

/** Counted without recursion, which a hostile value would exhaust. */
function depthOf(value: unknown): number {
  let level: readonly unknown[] = [value];
  for (let depth = 0; ; depth += 1) {
    const inner = level.flatMap((one): unknown[] =>
      typeof one === 'object' && one !== null ? Object.values(one) : [],
    );
    if (inner.length === 0 || depth > DEPTH_LIMIT) return depth;
    level = inner;
  }
}

function tooLarge(bytes: number): RequestError {
  return new RequestError(413, 'BodyTooLarge', {
    place: 'body',
    value: `${bytes} bytes`,
    problem: 'the body is too large',
    remedy: `send at most ${BODY_LIMIT} bytes`,
  });
}

function ifMatchOf(route: Route, { header }: ManageRequest): string | undefined {
  const value = header('if-match');
  if (value === undefined || value === '*') return undefined;
  const version = /^"([\x21\x23-\x7e]{1,100})"$/.exec(value)?.[1];
  if (route.conditional === true && version !== undefined) return version;
  throw new RequestError(route.conditional === true ? 400 : 412, 'InvalidRequest', {
    place: 'if-match',
    value,
    problem: route.conditional === true ? 'is not one version in quotes' : 'this route has no versions',
    remedy: route.conditional === true ? 'send the controlVersion of the job in quotes' : 'leave it out',
  });
}

function idempotencyKeyOf(route: Route, { header }: ManageRequest): string | undefined {
  const value = header('idempotency-key');
  if (value === undefined || route.idempotent !== true) return undefined;
  if (/^[\x21-\x7e]{1,200}$/.test(value)) return value;
  throw invalidRequest({
    place: 'idempotency-key',
    value,
    problem: 'is not a key',
    remedy: 'send 1 to 200 printable ASCII characters without spaces, such as a GUID',
  });
}

function success(
  { sweepIntervalMs }: Office,
  route: Route,
  answer: unknown,
  ifNoneMatch: string | undefined,
): ManageAnswer {
  const headers: Record<string, string> = { ...COMMON_HEADERS };
  if (route.contentType !== undefined) {
    headers['content-type'] = route.contentType;
    return { status: route.status ?? 200, headers, body: String(answer) };
  }
  // The time of an answer by itself is not news, so that the ETag leaves it out.
  const { now, ...rest } = answer as Readonly<Record<string, unknown>>;
  const text = safeJson(rest);
  if (route.follow === true) {
    headers['etag'] = `W/"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;
    headers[POLL_HEADER] = String(route.pollMs ?? sweepIntervalMs);
    if (ifNoneMatch !== undefined && isListed(headers['etag'], ifNoneMatch)) {
      return { status: 304, headers, body: undefined };
    }
  }
  headers['content-type'] = 'application/json; charset=utf-8';
  if (now === undefined) return { status: route.status ?? 200, headers, body: text };
  // A large answer is written only once.
  const body = `{"now":${safeJson(now)}${text === '{}' ? '' : ','}${text.slice(1)}`;
  return { status: route.status ?? 200, headers, body };
}

/** A weak comparison: RFC 9110, 8.8.3.2. */
function isListed(etag: string, list: string): boolean {
  const opaque = etag.replace(/^W\//, '');
  return list.split(',').some((one) => one.trim().replace(/^W\//, '') === opaque);
}

/** Characters that HTML reads as markup, or that change the direction of the text after them. */
const UNSAFE = /[<>&\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** JSON that does no harm where it is mistaken for something else. */
function safeJson(value: unknown): string {
  return JSON.stringify(value).replace(
    UNSAFE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Counts the requests that are refused, and logs them. */
function createRefusals(clock: Clock): (sent: ManageRequest, error: RequestError) => void {
  let count = 0;
  let minute = { since: -Infinity, lines: 0 };
  return (sent, { status, code }) => {
    count += 1;
    if (clock.monotonic() - minute.since >= 60_000) minute = { since: clock.monotonic(), lines: 0 };
    minute.lines += 1;
    if (minute.lines > LINES_A_MINUTE) return;
    const last = minute.lines === LINES_A_MINUTE ? '; no more lines this minute' : '';
    const what = oneLine(`${sent.method.slice(0, 10)} ${sent.path?.slice(0, 100) ?? '(a path that cannot be read)'}`);
    const from = addressOf(sent.header);
    sent.reportRefusal(
      `refused ${String(status)} ${code}: ${what} from ${from}, ${String(count)} since the start${last}`,
    );
  };
}
