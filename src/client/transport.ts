import { queryText } from './operations';
import type { Problem } from './types';

/** An error answer, with its problem details. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** The status of the answer; 401 also if the platform redirected to its login page. */
  readonly status: number;
  /** What went wrong, for programs: `UnknownJob`, `AlreadyPaused`, `NotAuthenticated`. */
  readonly code: string;
  /** The member, parameter or header that is wrong. */
  readonly place: string;
  /** Its value; null if it was missing, or is secret. */
  readonly value: string | null;
  /** What to do. */
  readonly remedy: string;
  /** Every error of the request, if it has several. */
  readonly errors: NonNullable<Problem['errors']>;
  /** The shortest wait before another attempt, if the server named one. */
  readonly retryAfterMs: number | undefined;

  constructor(
    { status, code, detail, place, value, remedy, errors = [] }: Omit<Problem, 'type' | 'title'>,
    retryAfterMs?: number,
  ) {
    super(`${place}${value === null ? '' : ` ${JSON.stringify(value)}`}: ${detail}. ${remedy}`);
    this.status = status;
    this.code = code;
    this.place = place;
    this.value = value;
    this.remedy = remedy;
    this.errors = errors;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The options of {@link createClient}. */
export interface ClientOptions {
  /** The address of the API: `https://HOST/api/manage`, or `/api/manage` in a page of the app itself. */
  readonly baseUrl: string;
  /** A key of `CRONLEASE_API_KEYS`. */
  readonly key?: string | undefined;
  /** Gets a token of Microsoft Entra for each request. A page of the app itself needs none. */
  readonly getToken?: (() => string | Promise<string>) | undefined;
  /** Default: the global one. */
  readonly fetch?: typeof fetch;
}

/** The options of one call. */
export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** The options of a change to a job. */
export interface ChangeOptions extends CallOptions {
  /** The `controlVersion` of the job on which the change is decided: if it has another one, the change is refused. */
  readonly ifVersion?: string | undefined;
}

export interface ChangeCall extends ChangeOptions {
  readonly idempotencyKey?: string | undefined;
}

/** How many answers are kept for conditional requests. */
const KEPT = 50;

export function createTransport({ baseUrl, key, getToken, fetch: given }: ClientOptions) {
  // A path that Azure's login page does not stand in front of accepts only keys.
  const base = `${baseUrl.replace(/\/+$/, '')}/${key === undefined ? '' : 'keyed/'}`;
  const kept = new Map<string, { readonly etag: string; readonly value: unknown }>();
  let pollMs: number | undefined;

  const send = async (path: string, init: RequestInit, headers: Record<string, string>): Promise<Response> => {
    if (key !== undefined) headers['x-cronlease-key'] = key;
    if (getToken !== undefined) headers['authorization'] = `Bearer ${await getToken()}`;
    // A login page must not be taken for an answer.
    const answer = await (given ?? fetch)(base + path, { ...init, headers, redirect: 'manual' });
    pollMs = wholeNumber(answer.headers.get('x-cronlease-poll-ms')) ?? pollMs;
    return answer;
  };

  const read = async (url: string, init: RequestInit): Promise<unknown> => {
    const last = kept.get(url);
    const answer = await send(url, init, last === undefined ? {} : { 'if-none-match': last.etag });
    if (answer.status === 304 && last !== undefined) return last.value;
    const value = await valueOf(answer);
    const etag = answer.headers.get('etag');
    kept.delete(url);
    if (etag !== null) kept.set(url, { etag, value });
    for (const oldest of [...kept.keys()].slice(0, -KEPT)) kept.delete(oldest);
    return value;
  };

  return {
    /** @param content the query of a GET, the body of a POST */
    async call(
      method: string,
      path: string,
      content: Readonly<Record<string, unknown>>,
      { signal, ifVersion, idempotencyKey }: ChangeCall,
    ): Promise<unknown> {
      const init = signal === undefined ? { method } : { method, signal };
      if (method === 'GET') return read(path + queryText(content as Parameters<typeof queryText>[0]), init);
      const headers: Record<string, string> = { 'x-cronlease-request': '1' };
      if (ifVersion !== undefined) headers['if-match'] = `"${ifVersion}"`;
      if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey;
      if (method === 'DELETE') return valueOf(await send(path, init, headers));
      headers['content-type'] = 'application/json';
      return valueOf(await send(path, { ...init, body: JSON.stringify(content) }, headers));
    },
    pollMs: () => pollMs,
  };
}

async function valueOf(answer: Response): Promise<unknown> {
  if (answer.type === 'opaqueredirect' || (answer.status >= 300 && answer.status < 400)) {
    throw new ApiError({
      status: 401,
      code: 'NotAuthenticated',
      place: 'login',
      value: null,
      detail: 'the app asks for a login',
      remedy: 'Log in again: open the page of the app.',
    });
  }
  const text = await answer.text();
  const json = parse(text);
  if (answer.ok && json !== undefined) return json;
  const retryAfter = wholeNumber(answer.headers.get('retry-after'));
  const problem = isProblem(json) ? json : foreign(answer.status);
  throw new ApiError(problem, retryAfter === undefined ? undefined : retryAfter * 1000);
}

/** Something between the caller and the app has answered. */
function foreign(status: number): Omit<Problem, 'type' | 'title'> {
  return {
    status,
    code: status === 401 ? 'NotAuthenticated' : 'ForeignAnswer',
    place: 'answer',
    value: null,
    detail: `the answer with status ${status} is not from cronlease`,
    remedy: 'Check baseUrl, and what stands in front of the app.',
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isProblem(json: unknown): json is Problem {
  return typeof json === 'object' && json !== null && 'code' in json && 'remedy' in json && 'status' in json;
}

function wholeNumber(text: string | null): number | undefined {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
