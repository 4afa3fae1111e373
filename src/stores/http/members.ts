import http from 'node:http';
import https from 'node:https';
import { text } from 'node:stream/consumers';
import { parsedJson } from '../../core/metadata';
import { causeOf } from '../client-error';
import { addressOf, filesOf, type Member, type Members, type TlsFiles } from './url';

/** Calls of one process to one member at a time. Further ones wait for a connection. */
const CONNECTIONS = 32;

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  /** Sent as JSON. Left out: no body. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  /** Undefined: the body is not JSON. */
  readonly json: unknown;
  readonly said: string;
  /** From which the member's time is read. */
  readonly dateHeader: string | undefined;
}

/** Makes one exchange with a member, and reads its answer. */
export type Post = <T>(request: HttpRequest, read: (answer: HttpAnswer) => T) => Promise<T>;

/**
 * All exchanges go to one member until that fails; the next one then goes to the next member. An exchange that was sent
 * is never repeated here: it may have taken effect, and only the caller knows the effect of a second one.
 *
 * @param isMemberAtFault whether an error, of the connection or of `read`, means that the member cannot answer
 */
export function rotating(
  { members, tls }: Pick<Members, 'members' | 'tls'>,
  isMemberAtFault: (error: unknown) => boolean,
): Post {
  const client = tls === undefined ? http : https;
  const connections = connectionsWith(tls);
  let current = 0;
  return async (request, read) => {
    for (let tries = 1; ; tries += 1) {
      const agent = connections.agent();
      const index = current;
      const member = members[index % members.length] as Member;
      try {
        return read(await exchange(client, agent, member, request));
      } catch (error) {
        if (isMemberAtFault(error)) {
          connections.mayBeOld();
          // Calls that fail side by side move on once.
          if (current === index) current += 1;
        }
        if (!(error instanceof NotSentError) || tries >= members.length || request.signal.aborted) throw error;
      }
    }
  };
}

/** A process outlives its certificates, whose files are replaced while it runs. */
function connectionsWith(tls: TlsFiles | undefined) {
  const options = { keepAlive: true, maxSockets: CONNECTIONS };
  let agent: http.Agent | undefined;
  let isOld = true;
  let known = '';
  return {
    agent(): http.Agent {
      if (tls === undefined) return (agent ??= new http.Agent(options));
      if (agent !== undefined && !isOld) return agent;
      let files: https.AgentOptions;
      try {
        files = filesOf(tls);
      } catch (error) {
        if (agent === undefined) throw error;
        // They are being replaced.
        return agent;
      }
      const text = JSON.stringify(files);
      if (agent === undefined || text !== known) {
        if (agent !== undefined) endOnceIdle(agent);
        agent = new https.Agent({ ...options, ...files });
      }
      known = text;
      isOld = false;
      return agent;
    },
    /** The files of certificates may have been replaced: they are read again for the next exchange. */
    mayBeOld() {
      isOld = true;
    },
  };
}

/** Closes the connections that no exchange uses, and the others once theirs has ended. */
function endOnceIdle(agent: http.Agent): void {
  agent.maxFreeSockets = 0;
  for (const socket of Object.values(agent.freeSockets).flatMap((sockets) => sockets ?? [])) socket.destroy();
}

/** No connection was made, so nothing was received. */
class NotSentError extends Error {
  override readonly name = 'NotSentError';
}

async function exchange(
  client: Pick<typeof http, 'request'>,
  agent: http.Agent,
  member: Member,
  { method, path, body, headers, signal }: HttpRequest,
): Promise<HttpAnswer> {
  const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
  const sent = client.request({
    agent,
    signal,
    method,
    host: member.host,
    port: member.port,
    path,
    headers: {
      ...(bytes !== undefined && { 'content-type': 'application/json', 'content-length': bytes.length }),
      ...headers,
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
  sent.end(bytes);
  const response = await promise;
  const said = await text(response);
  return { status: response.statusCode ?? 0, json: parsedJson(said), said, dateHeader: response.headers.date };
}
