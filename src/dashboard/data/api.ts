import { given } from '../../core/given';
import type { Client } from '../../client';
import { type Operation, routeOf } from '../../client/operations';
import type { Problem } from '../../client/types';

/** The least that a page must know of an answer that is not a success. */
export interface Failure extends Pick<Problem, 'code' | 'detail' | 'remedy'> {
  /** Undefined: nothing answered. */
  readonly status: number | undefined;
}

export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    readonly failure: Failure,
    options?: ErrorOptions,
  ) {
    super(failure.detail, options);
  }
}

/** Why a request failed. Another error is thrown. */
export function failureIn(error: unknown): Failure {
  if (error instanceof ApiError) return error.failure;
  throw error;
}

export interface Answered {
  /** Undefined: the same as before. */
  readonly body: unknown;
  readonly etag: string | undefined;
  readonly leastPollMs: number | undefined;
}

const ANSWER_WITHIN_MS = 40_000;

/** @param path below `manage/`, such as `jobs/nightly` */
export async function read(path: string, etag?: string): Promise<Answered> {
  const headers = etag === undefined ? {} : { 'if-none-match': etag };
  const response = await send(path, { headers });
  const leastPollMs = Number(response.headers.get('x-cronlease-poll-ms') ?? Number.NaN);
  return {
    body: response.status === 304 ? undefined : await jsonOf(response, NO_ANSWER),
    etag: response.headers.get('etag') ?? undefined,
    leastPollMs: Number.isFinite(leastPollMs) ? leastPollMs : undefined,
  };
}

/**
 * Makes a change. What a DELETE removes has no body.
 *
 * @param options.version the one that the reader saw: the change is refused if there is a newer one
 * @param options.key the name of the request: sent again with the same one, it starts nothing twice
 */
export async function change<Id extends Operation>(
  id: Id,
  names: readonly string[],
  body: object,
  { version, key }: { readonly version?: string | undefined; readonly key?: string } = {},
): Promise<Awaited<ReturnType<Client[Id]>>> {
  const [method, path] = routeOf(id, names);
  const init = {
    method,
    headers: {
      'content-type': 'application/json',
      // No form and no other site can send it.
      'x-cronlease-request': '1',
      ...given({ 'if-match': version && `"${version}"`, 'idempotency-key': key }),
    },
    ...(method === 'POST' && { body: JSON.stringify(body) }),
  };
  const response = await send(path, init, NO_ANSWER_TO_CHANGE);
  return (await jsonOf(response, NO_ANSWER_TO_CHANGE)) as Awaited<ReturnType<Client[Id]>>;
}

/** @param lost the failure if no answer comes */
async function send(path: string, init: RequestInit, lost = NO_ANSWER): Promise<Response> {
  const response = await fetch(new URL(path, new URL('.', location.href)), {
    ...init,
    cache: 'no-store',
    // A platform that wants a login redirects to a page that a program cannot read.
    redirect: 'manual',
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  }).catch((error: unknown) => {
    throw new ApiError(lost, { cause: error });
  });
  if (response.type === 'opaqueredirect') throw new ApiError(LOGIN_ENDED);
  if (response.ok || response.status === 304) return response;
  throw new ApiError(await failureOf(response));
}

/** The body of an answer. A connection may end in the middle of it, and a proxy may answer with its own page. */
async function jsonOf(response: Response, lost: Failure): Promise<unknown> {
  try {
    return await response.json();
  } catch (error) {
    throw new ApiError(error instanceof SyntaxError ? FOREIGN : lost, { cause: error });
  }
}

const NO_ANSWER = unreachable('the app does not answer', 'wait: this page tries again by itself');
const NO_ANSWER_TO_CHANGE = unreachable(
  'the app does not answer: the change may or may not have taken effect',
  'look at the page once the app answers again, and repeat the change if it is missing',
);
const FOREIGN = unreachable(
  'something other than the app has answered',
  'load the page again, and look at what stands in front of the app',
);

function unreachable(detail: string, remedy: string): Failure {
  return { status: undefined, code: 'Unreachable', detail, remedy };
}

const LOGIN_ENDED: Failure = {
  status: 401,
  code: 'NotAuthenticated',
  detail: 'your login has ended',
  remedy: 'log in again',
};

async function failureOf(response: Response): Promise<Failure> {
  const { status } = response;
  const type = response.headers.get('content-type') ?? '';
  if (type.startsWith('application/problem+json')) {
    const { code, detail, remedy } = (await jsonOf(response, NO_ANSWER)) as Problem;
    return { status, code, detail, remedy };
  }
  return { status, code: 'NoProblem', detail: `the app answered ${String(status)}`, remedy: 'read the log of the app' };
}
