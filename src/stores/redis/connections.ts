import type { Redis, RedisOptions } from 'ioredis';
import type { Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import { StoreUnavailableError } from '../../lease/store';
import { installed } from '../client-error';
import { filesOf, type Member } from '../http/url';
import { unlessGivenUp } from '../metered';
import { codeOf } from './errors';
import type { RedisServer } from './settings';

/** Load balancers drop connections that are silent for minutes. */
const KEEP_ALIVE_MS = 30_000;
/** A name may lead to another server by then. It is also less than a token lasts, with which a connection ends. */
const LIFE_MS = 5 * 60_000;
/** A cluster answers with the node that has the keys. Two of them that disagree must not send a call to and fro. */
const MOVES = 3;

/** How many connections one process opens at most if writes wait for replicas. */
const WAITING_LANES = 10;

export type Send = (command: string, ...args: readonly (string | number)[]) => Promise<unknown>;

/** Lends the connection to `use`, which may send several commands at once. */
export type WithConnection = <T>(signal: AbortSignal, use: (send: Send) => Promise<T>) => Promise<T>;

export interface Driving {
  readonly server: RedisServer;
  readonly clock: Clock;
  /** How long the opening of a connection may take. */
  readonly connectMs: Millis;
  /** The password of each new connection: a token of an identity. */
  readonly token?: (() => Promise<string>) | undefined;
}

interface Line {
  readonly redis: Redis;
  readonly ready: Promise<void>;
  readonly since: Millis;
  /** As that of the failovers at its opening. */
  readonly age: number;
  calls: number;
}

/** Shared by the connections to one server: after an error of one, the others are replaced too. */
interface Failovers {
  /** How many errors have suggested that another server is the primary. */
  age: number;
}

/** The connections of this process: several stores and elections on one server share theirs. */
const SHARED = new Map<string, WithConnection>();

/**
 * One connection, on which calls follow each other without waiting. ioredis neither repeats a call nor connects by
 * itself: a call that was sent may have taken effect, and only the caller knows what a second one would do. A connection
 * that ended, or on which a call was given up, is replaced at the next call.
 */
export function connectionsOf(driving: Driving): WithConnection {
  if (driving.token !== undefined) return lanes(driving);
  const key = `${String(driving.connectMs)} ${driving.server.url}`;
  const shared = SHARED.get(key) ?? lanes(driving);
  SHARED.set(key, shared);
  return shared;
}

/** WAIT stops its connection: calls that wait for replicas are dealt over several, each to the least busy one. */
function lanes(driving: Driving): WithConnection {
  const failovers: Failovers = { age: 0 };
  if (driving.server.wait === undefined) return connections(driving, failovers);
  const all = Array.from({ length: WAITING_LANES }, () => ({ calls: 0, run: connections(driving, failovers) }));
  return async (signal, use) => {
    const lane = all.reduce((least, each) => (each.calls < least.calls ? each : least));
    lane.calls += 1;
    try {
      return await lane.run(signal, use);
    } finally {
      lane.calls -= 1;
    }
  };
}

function connections(driving: Driving, failovers: Failovers): WithConnection {
  const { server, clock } = driving;
  const home: Member = { host: server.host, port: server.port };
  let address = home;
  let current: Line | undefined;
  const retire = (line: Line): void => {
    if (line === current) current = undefined;
    if (line.calls === 0) line.redis.disconnect();
  };
  const once = async <T>(signal: AbortSignal, use: (send: Send) => Promise<T>): Promise<T> => {
    const { Redis: ioredis } = await installed('ioredis', server.location, () => import('ioredis'));
    signal.throwIfAborted();
    if (current !== undefined && (current.age < failovers.age || clock.monotonic() - current.since > LIFE_MS)) {
      if (current.age < failovers.age) address = home;
      retire(current);
    }
    const line = current ?? { ...open(ioredis, driving, address), age: failovers.age };
    if (current === undefined) {
      current = line;
      // Servers and load balancers close connections that are silent.
      line.redis.once('close', () => retire(line));
    }
    line.calls += 1;
    try {
      // Later calls must not wait behind one without a caller: the network may have lost this connection.
      return await unlessGivenUp(
        signal,
        () => sendOn(line, use),
        () => retire(line),
      );
    } catch (error) {
      const moved = movedTo(error, address);
      if (moved !== undefined) {
        address = moved;
        retire(line);
      } else if (signal.aborted || mayBeElsewhere(error)) {
        // Another server may be the primary now, and the name may lead there.
        address = home;
        failovers.age = Math.max(failovers.age, line.age + 1);
        retire(line);
      }
      throw error;
    } finally {
      line.calls -= 1;
      if (line !== current) retire(line);
      else if (line.calls === 0 && !line.redis.stream.destroyed) line.redis.stream.unref();
    }
  };
  return async (signal, use) => {
    for (let moves = 0; ; moves += 1) {
      try {
        return await once(signal, use);
      } catch (error) {
        // The node that answers so has carried out nothing.
        if (codeOf(error) !== 'MOVED' || moves === MOVES) throw error;
      }
    }
  };
}

async function sendOn<T>({ redis, ready }: Line, use: (send: Send) => Promise<T>): Promise<T> {
  await ready;
  // A process must not stay for an unused connection: a command of the command line never closes its store.
  if (!redis.stream.destroyed) redis.stream.ref();
  return use((command, ...args) => redis.call(command, ...args));
}

/**
 * Answers of a server that is not a primary, or may be none any more: a replica, one without its primary, a primary
 * without its replicas, one that starts, a node that its cluster has left behind.
 */
const ELSEWHERE = ['READONLY', 'MASTERDOWN', 'NOREPLICAS', 'LOADING', 'CLUSTERDOWN'];

/** Whether there was no answer, or one that suggests another server. */
function mayBeElsewhere(error: unknown): boolean {
  // The primary has answered, and too few of its replicas.
  if (error instanceof StoreUnavailableError) return false;
  const code = codeOf(error);
  return code === undefined || ELSEWHERE.includes(code);
}

/** The node to which an answer of a cluster leads. Without a host it is on the same machine. */
function movedTo(error: unknown, { host: same }: Member): Member | undefined {
  if (codeOf(error) !== 'MOVED') return undefined;
  const [, host, port] = /^MOVED \d+ (.*):(\d+)$/.exec((error as Error).message) ?? [];
  return port === undefined ? undefined : { host: host || same, port: Number(port) };
}

function open(Client: typeof Redis, driving: Driving, address: Member): Omit<Line, 'age'> {
  const { server, clock, connectMs } = driving;
  const redis = new Client({
    ...address,
    ...(server.tls !== undefined && { tls: tlsOf(server, address) }),
    lazyConnect: true,
    connectTimeout: connectMs,
    retryStrategy: () => null,
    autoResendUnfulfilledCommands: false,
    // A server that reads its files answers so. The check would need its own right.
    enableReadyCheck: false,
    disableClientInfo: true,
    connectionName: 'cronlease',
    protocol: 2,
    keepAlive: KEEP_ALIVE_MS,
    noDelay: true,
  });
  let problem: unknown;
  redis.on('error', (error) => (problem = error));
  const ready = (async () => {
    try {
      await redis.connect();
      await introduce(redis, driving);
    } catch (error) {
      redis.disconnect();
      throw codeOf(error) === undefined ? (problem ?? error) : error;
    }
  })();
  // Each call waits for it; the last one may have been given up.
  ready.catch(() => undefined);
  return { redis, ready, since: clock.monotonic(), calls: 0 };
}

/** Not left to ioredis, which would use the first database if this one cannot be selected. */
async function introduce(redis: Redis, { server: { user, password, db }, token }: Driving): Promise<void> {
  const secret = token === undefined ? password : await token();
  if (secret !== undefined) await redis.call('AUTH', ...(user === undefined ? [secret] : [user, secret]));
  if (db !== 0) await redis.call('SELECT', db);
}

function tlsOf({ tls, host: name }: RedisServer, { host }: Member): NonNullable<RedisOptions['tls']> {
  // A node of a cluster may be known only by its number, and has the certificate of the whole.
  const servername = /^[\d.]+$|:/.test(host) ? name : host;
  return {
    ...(/^[\d.]+$|:/.test(servername) ? {} : { servername }),
    ...(tls && filesOf(tls)),
  };
}
