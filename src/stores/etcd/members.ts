import { StoreUnavailableError } from '../../lease/store';
import { objectIn, textIn } from '../http/json';
import { type HttpAnswer, type Post, rotating } from '../http/members';
import type { Members } from '../http/url';
import { EtcdError, isMemberAtFault, isTokenOver } from './errors';

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
