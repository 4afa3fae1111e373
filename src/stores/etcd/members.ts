import { StoreUnavailableError } from '../../lease/store';
import { faultsOf } from '../client-error';
import { type HttpAnswer, objectIn, type Post, rotating, textIn } from '../http/members';
import type { Members } from '../http/url';

/** An answer, and the header from which the member's time is read. */
export type Answer = Pick<HttpAnswer, 'json' | 'dateHeader'>;

/** Makes one exchange with a member. Rejects with an {@link EtcdError} if it refuses. */
export type Exchange = (path: string, request: unknown, signal: AbortSignal) => Promise<Answer>;

/** The connections of this process: several stores and elections on one cluster share theirs. */
const SHARED = new Map<string, Exchange>();

export function exchangesWith(cluster: Members): Exchange {
  const shared = SHARED.get(cluster.url) ?? authenticated(cluster, sendBy(rotating(cluster, isMemberAtFault)));
  SHARED.set(cluster.url, shared);
  return shared;
}

type Send = (path: string, request: unknown, token: string | undefined, signal: AbortSignal) => Promise<Answer>;

function sendBy(post: Post): Send {
  return (path, body, token, signal) => {
    const headers = token === undefined ? undefined : { authorization: token };
    return post({ method: 'POST', path: `/v3/${path}`, body, headers, signal }, answerIn);
  };
}

/** An error of the gateway has a trailer after its JSON. */
function answerIn({ status, json, dateHeader }: HttpAnswer): Answer {
  if (status === 200 && json !== undefined) return { json, dateHeader };
  const { error, message, code } = objectIn(json);
  const isOurs = typeof code === 'number';
  throw new EtcdError(status, isOurs ? code : undefined, textIn(error) || textIn(message) || 'no answer of etcd');
}

/** Adds the token of the user, which the cluster gives out for a password, and forgets after minutes without calls. */
function authenticated({ user, password, location }: Members, send: Send): Exchange {
  if (user === undefined) return (path, request, signal) => send(path, request, undefined, signal);
  let current: SignIn | undefined;
  const signIn = async (signal: AbortSignal): Promise<string> => {
    const { json } = await send('auth/authenticate', { name: user, password: password ?? '' }, undefined, signal);
    const given = objectIn(json)['token'];
    if (typeof given === 'string') return given;
    throw new StoreUnavailableError(`${location}: the answer to the user and password has no token.`);
  };
  const forget = (one: SignIn): void => {
    if (current === one) current = undefined;
  };
  const signedIn = async (signal: AbortSignal): Promise<{ readonly by: SignIn; readonly token: string }> => {
    const by = (current ??= { token: signIn(signal), signal });
    try {
      return { by, token: await by.token };
    } catch (error) {
      forget(by);
      // It ended because another caller has given up.
      if (by.signal.aborted && !signal.aborted) return signedIn(signal);
      throw error;
    }
  };
  return async (path, request, signal) => {
    const { by, token } = await signedIn(signal);
    try {
      return await send(path, request, token, signal);
    } catch (error) {
      if (!isTokenOver(error)) throw error;
      forget(by);
      return send(path, request, (await signedIn(signal)).token, signal);
    }
  };
}

/** A sign-in, which ends with the call that has made it. */
interface SignIn {
  readonly token: Promise<string>;
  readonly signal: AbortSignal;
}

/** An answer of etcd that it has not done what it was asked. */
export class EtcdError extends Error {
  override readonly name = 'EtcdError';

  constructor(
    readonly status: number,
    /** Of gRPC; undefined: the answer is none of etcd's. */
    readonly code: number | undefined,
    said: string,
  ) {
    super(`HTTP ${String(status)}: ${said}`);
  }
}

/** https://grpc.io/docs/guides/status-codes/ */
const EXHAUSTED = 8;
const UNAUTHENTICATED = 16;
const PERMISSION_DENIED = 7;

/** Whether the token has ended. Nothing was carried out. */
export function isTokenOver(error: unknown): boolean {
  return error instanceof EtcdError && /invalid auth token|revision of auth store is old/.test(error.message);
}

/** Whether the member cannot answer for its cluster, or is none. */
export function isMemberAtFault(error: unknown): boolean {
  return error instanceof EtcdError ? error.status >= 500 || error.code === undefined : true;
}

export const FAULTS = faultsOf<'credentials' | 'role'>({
  isAnswer: (error) => error instanceof EtcdError,
  denialOf(error, message) {
    const { code, status } = error as EtcdError;
    if (code === PERMISSION_DENIED) return 'role';
    const isRefused = /user name is empty|authentication failed|authentication is not enabled/.test(message);
    return isRefused || code === UNAUTHENTICATED || status === 401 ? 'credentials' : undefined;
  },
  isThrottled: (error) => error instanceof EtcdError && (error.code === EXHAUSTED || error.status === 429),
  remedies: {
    unreachable: 'Check whether this machine can reach the members, and whether both use TLS or neither does.',
    credentials: 'The cluster does not accept this user or password. Check both.',
    role: 'Grant this user a role that may read and write the prefix of the container.',
  },
  remedyOf(error, message) {
    const { code, status } = error as EtcdError;
    if (code === undefined && status === 404) {
      return 'Use etcd 3.4 or later, with its gateway (enable-grpc-gateway, on by default).';
    }
    if (!/database space exceeded/.test(message)) return undefined;
    return (
      'The database of the cluster is full: compact it, defragment each member, then run "etcdctl alarm disarm". Set ' +
      'auto-compaction-retention.'
    );
  },
});
