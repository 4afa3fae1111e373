import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import type { Millis } from '../../core/brand';
import { filesOf, type Member, type Members } from '../http/url';
import { CODE, ZooKeeperError } from './errors';
import {
  AUTH_ID,
  authRequest,
  connectRequest,
  type Field,
  frameOf,
  framesTo,
  type MultiAnswer,
  multiAnswerIn,
  multiRequest,
  type Node,
  type Op,
  type Reader,
  readerOf,
  readRequest,
  type Stat,
  statIn,
} from './protocol';

/** The length to ask for. Servers limit it to between 2 and 20 of their ticks, usually 4 to 40 s. */
const SESSION_MS = 40_000;

/** Requests, which the server carries out in the order in which they are made. Each method sends at once. */
export interface Session {
  /** Undefined: there is no such node. So with `stat` and `children`. */
  get(path: string): Promise<Node | undefined>;
  stat(path: string): Promise<Stat | undefined>;
  /** The names of the nodes in a folder, in no order. */
  children(path: string): Promise<readonly string[] | undefined>;
  /** All of the parts, or none. Rejects unless the error is one of those of a condition. */
  multi(ops: readonly Op[]): Promise<Done | Refused>;
}

export interface Done {
  readonly kind: 'done';
  /** The number of the transaction. */
  readonly by: bigint;
  /** Of the nodes that were set, in order. */
  readonly stats: readonly Stat[];
}

export interface Refused {
  readonly kind: 'refused';
  /** The first part whose condition did not hold. */
  readonly code: number;
}

export interface Line {
  readonly session: Session;
  /** Settles once the server has granted a session, or has not: its length. */
  readonly ready: Promise<Millis>;
  readonly ended: Promise<void>;
  /** A process must not stay for an unused connection. */
  keepProcess(keeps: boolean): void;
  end(reason: unknown): void;
}

/** The conditions of a transaction that did not hold. Other errors are faults. */
const CONDITIONS: readonly number[] = [CODE.noNode, CODE.badVersion, CODE.nodeExists, CODE.notEmpty];

interface Waiting {
  readonly id: number;
  readonly answer: (reader: Reader, by: bigint, code: number) => void;
  readonly fail: (error: unknown) => void;
}

/** Connects to one server. What was sent and not answered when the connection ends may have taken effect. */
export function openLine(ensemble: Members, address: Member): Line {
  const socket = connectTo(ensemble, address);
  const waiting: Waiting[] = [];
  const ready = Promise.withResolvers<Millis>();
  const ended = Promise.withResolvers<void>();
  let isGranted = false;
  let isEnded = false;
  let lastId = 0;

  const end = (reason: unknown): void => {
    if (isEnded) return;
    isEnded = true;
    socket.destroy();
    ready.reject(reason);
    for (const { fail } of waiting.splice(0)) fail(reason);
    ended.resolve();
  };
  const write = (fields: readonly Field[]): void => void socket.write(frameOf(fields));
  const grant = (reader: Reader): void => {
    reader.int();
    const sessionMs = reader.int();
    if (sessionMs <= 0) throw new Error('the server has granted no session');
    isGranted = true;
    const { user, password } = ensemble;
    if (user !== undefined && password !== undefined) write(authRequest(user, password));
    ready.resolve(sessionMs);
  };
  const receive = (frame: Buffer): void => {
    const reader = readerOf(frame);
    if (!isGranted) {
      grant(reader);
      return;
    }
    const [id, by, code] = [reader.int(), reader.long(), reader.int()];
    if (id === AUTH_ID) {
      if (code !== 0) end(new ZooKeeperError(code));
      return;
    }
    const next = waiting.shift();
    if (next?.id !== id) throw new Error('the server has answered another request than the oldest');
    try {
      next.answer(reader, by, code);
    } catch (error) {
      next.fail(error);
      throw error;
    }
  };
  const join = framesTo(receive);
  socket.on('data', (data: Buffer) => {
    try {
      join(data);
    } catch (error) {
      end(new Error('The server has sent what ZooKeeper does not send', { cause: error }));
    }
  });
  socket.on('error', end);
  socket.on('close', () => end(new Error(`${address.host}:${address.port} has closed the connection`)));
  socket.once(ensemble.tls === undefined ? 'connect' : 'secureConnect', () => write(connectRequest(SESSION_MS)));
  // Each call waits for it; the last one may have been given up.
  ready.promise.catch(() => undefined);

  const ask: AskOn = (request, read) =>
    new Promise((resolve, reject) => {
      lastId = (lastId % 0x7fff_ffff) + 1;
      waiting.push({ id: lastId, answer: (reader, by, code) => resolve(read(code, reader, by)), fail: reject });
      if (isEnded) for (const { fail } of waiting.splice(0)) fail(new Error('the connection has ended'));
      else write(request(lastId));
    });
  return {
    session: sessionOn(ask, ensemble),
    ready: ready.promise,
    ended: ended.promise,
    keepProcess: (keeps) => void (keeps ? socket.ref() : socket.unref()),
    end,
  };
}

type AskOn = <T>(
  request: (id: number) => readonly Field[],
  read: (code: number, reader: Reader, by: bigint) => T | PromiseLike<T>,
) => Promise<T>;

function sessionOn(ask: AskOn, { user }: Members): Session {
  const access = user === undefined ? 'everybody' : 'creator';
  const read = <T>(kind: 'exists' | 'get' | 'children', path: string, found: (reader: Reader) => T) =>
    ask<T | undefined>(
      (id) => readRequest(id, kind, path),
      (code, reader) => {
        if (code === 0) return found(reader);
        return code === CODE.noNode ? undefined : Promise.reject(new ZooKeeperError(code));
      },
    );
  return {
    get: (path) => read('get', path, (reader) => ({ data: Buffer.from(reader.bytes()), stat: statIn(reader) })),
    stat: (path) => read('exists', path, statIn),
    children: (path) => read('children', path, (reader) => reader.list(reader.text)),
    multi: (ops) =>
      ask<Done | Refused>(
        (id) => multiRequest(id, ops, access),
        (code, reader, by) => {
          const answer: MultiAnswer = code === 0 ? multiAnswerIn(reader) : { error: code };
          if ('stats' in answer) return { kind: 'done', by, ...answer };
          if (CONDITIONS.includes(answer.error)) return { kind: 'refused', code: answer.error };
          return Promise.reject(new ZooKeeperError(answer.error));
        },
      ),
  };
}

function connectTo(ensemble: Members, { host, port }: Member): Socket {
  const options = { host, port, noDelay: true };
  if (ensemble.tls === undefined) return net.connect(options);
  return tls.connect({ ...options, ...(net.isIP(host) === 0 && { servername: host }), ...filesOf(ensemble.tls) });
}
