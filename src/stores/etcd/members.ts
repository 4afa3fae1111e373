import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { text } from 'node:stream/consumers';
import { StoreUnavailableError } from '../../lease/store';
import { causeOf } from '../client-error';
import { addressOf, type Member } from './address';
import { EtcdError, isMemberAtFault, isTokenOver } from './errors';
import type { EtcdCluster } from './settings';
import { objectIn, textIn } from './wire';

/** Calls of one process to one member at a time. Further ones wait for a connection. */
const CONNECTIONS = 32;

/** An answer, and the header from which the member's time is read. */
export interface Answer {
  readonly json: unknown;
  readonly dateHeader: string | undefined;
}

/** Makes one exchange with a member. Rejects with an {@link EtcdError} if it refuses. */
export type Exchange = (path: string, request: unknown, signal: AbortSignal) => Promise<Answer>;

/** The connections of this process: several stores and elections on one cluster share theirs. */
const SHARED = new Map<string, Exchange>();

/**
 * All exchanges go to one member until that fails; the next one then goes to the next member. An exchange that was sent
 * is never repeated here: it may have taken effect, and only the caller knows the effect of a second one.
 */
export function exchangesWith(cluster: EtcdCluster): Exchange {
  const shared = SHARED.get(cluster.url) ?? authenticated(cluster, rotating(cluster));
  SHARED.set(cluster.url, shared);
  return shared;
}

type Post = (path: string, request: unknown, token: string | undefined, signal: AbortSignal) => Promise<Answer>;

function rotating({ members, tls }: EtcdCluster): Post {
  const client = tls === undefined ? http : https;
  const options = { keepAlive: true, maxSockets: CONNECTIONS };
  let agent: http.Agent | undefined;
  let current = 0;
  return async (path, request, token, signal) => {
    agent ??= tls === undefined ? new http.Agent(options) : new https.Agent({ ...options, ...filesOf(tls) });
    for (let tries = 1; ; tries += 1) {
      const index = current;
      const member = members[index % members.length] as Member;
      try {
        return await post(client, agent, member, { path, request, token, signal });
      } catch (error) {
        // Calls that fail side by side move on once.
        if (isMemberAtFault(error) && current === index) current += 1;
        if (!wasNotSent(error) || tries >= members.length || signal.aborted) throw error;
      }
    }
  };
}

function filesOf({ cacert, cert, key }: NonNullable<EtcdCluster['tls']>): https.AgentOptions {
  return {
    ...(cacert !== undefined && { ca: readFileSync(cacert) }),
    ...(cert !== undefined && { cert: readFileSync(cert) }),
    ...(key !== undefined && { key: readFileSync(key) }),
  };
}

/** Whether no connection was made. */
function wasNotSent(error: unknown): boolean {
  return error instanceof NotSentError;
}

/** Nobody has received anything. */
class NotSentError extends Error {
  override readonly name = 'NotSentError';
}

interface Sent {
  readonly path: string;
  readonly request: unknown;
  readonly token: string | undefined;
  readonly signal: AbortSignal;
}

async function post(
  client: Pick<typeof http, 'request'>,
  agent: http.Agent,
  member: Member,
  { path, request, token, signal }: Sent,
): Promise<Answer> {
  const body = Buffer.from(JSON.stringify(request));
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
  const sent = client.request({
    ...{ agent, signal, method: 'POST', host: member.host, port: member.port, path: `/v3/${path}` },
    headers: {
      'content-type': 'application/json',
      'content-length': body.length,
      ...(token !== undefined && { authorization: token }),
    },
  });
  let isConnected = false;
  sent.once('socket', (socket) => {
    if (socket.connecting) socket.once('connect', () => (isConnected = true));
    else isConnected = true;
  });
  sent.once('response', resolve);
  sent.on('error', (error) => {
    const { message } = causeOf(error);
    const at = `${addressOf(member)}: ${message}`;
    reject(isConnected ? new Error(at, { cause: error }) : new NotSentError(at, { cause: error }));
  });
  sent.end(body);
  const response = await promise;
  const said = await text(response);
  const { date: dateHeader } = response.headers;
  const status = response.statusCode ?? 0;
  const json = parsed(said);
  if (status === 200 && json !== undefined) return { json, dateHeader };
  const { error, message, code } = objectIn(json);
  const isOurs = typeof code === 'number';
  throw new EtcdError(status, isOurs ? code : undefined, textIn(error) || textIn(message) || 'no answer of etcd');
}

/** An error of the gateway has a trailer after its JSON. */
function parsed(said: string): unknown {
  try {
    return JSON.parse(said);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Adds the token of the user, which the cluster gives out for a password, and forgets after minutes without calls. */
function authenticated({ user, password, location }: EtcdCluster, send: Post): Exchange {
  if (user === undefined) return (path, request, signal) => send(path, request, undefined, signal);
  let token: Promise<string> | undefined;
  const signIn = async (signal: AbortSignal): Promise<string> => {
    const { json } = await send('auth/authenticate', { name: user, password: password ?? '' }, undefined, signal);
    const given = objectIn(json)['token'];
    if (typeof given === 'string') return given;
    throw new StoreUnavailableError(`${location}: the answer to the user and password has no token.`);
  };
  const tokenOf = async (signal: AbortSignal): Promise<string> => {
    const asked = (token ??= signIn(signal));
    try {
      return await asked;
    } catch (error) {
      if (token === asked) token = undefined;
      throw error;
    }
  };
  return async (path, request, signal) => {
    const used = await tokenOf(signal);
    try {
      return await send(path, request, used, signal);
    } catch (error) {
      if (!isTokenOver(error)) throw error;
      if ((await token) === used) token = undefined;
      return send(path, request, await tokenOf(signal), signal);
    }
  };
}
