import type { ClientConfig, Pool, PoolClient } from 'pg';
import type { Millis } from '../../core/brand';
import { installed } from '../client-error';
import type { NamedServer } from '../exposure';
import type { Fields, Session, WithSession } from './ask';
import { mayBeElsewhere, ReadOnlyServerError } from './errors';

/** How many connections one process opens at most: a tick claims side by side, and each run renews by itself. */
const CONNECTIONS = 10;
/** Longer than the default sweep interval, so that a sweep finds a connection open. */
const IDLE_MS = 75_000;
/** A name may lead to another server by now. */
const LIFE_SECONDS = 300;
/** Load balancers drop connections that are silent for minutes. */
const KEEP_ALIVE_MS = 30_000;

export interface Driving {
  readonly database: NamedServer;
  /** How long the opening of a connection may take. */
  readonly connectMs: Millis;
  /** The password of each new connection: a token of an identity. Undefined: the URL or pg's own settings have it. */
  readonly token?: (() => Promise<string>) | undefined;
}

/**
 * Connections of pg, which is loaded at the first call. No statement relies on an earlier one of its connection: a pooler
 * that gives each transaction another connection to the server changes nothing.
 */
export function sessionsOf(driving: Driving): WithSession {
  // A token's pool is its own: the URL does not name the identity.
  const pools = driving.token === undefined ? SHARED : new Map<string, Promise<Connections>>();
  const key = `${String(driving.connectMs)} ${driving.database.url}`;
  return async (signal, use) => {
    const opening = pools.get(key) ?? openPool(driving);
    pools.set(key, opening);
    const connections = await forgetting(opening, pools, key);
    for (;;) {
      const lent = await lend(connections, signal, use);
      if (lent !== ANOTHER) return lent;
    }
  };
}

/** The connection was made before a failover, and is closed unused: another one may lead to the new primary. */
const ANOTHER = Symbol('another connection');

async function lend<T>(
  connections: Connections,
  signal: AbortSignal,
  use: (session: Session) => Promise<T>,
): Promise<T | typeof ANOTHER> {
  const client = await connect(connections, signal);
  // A statement without a caller any more must not keep a connection, and its late answer must not reach the next one.
  // The server may still carry it out.
  const close = (): void => destroy(client);
  signal.addEventListener('abort', close, { once: true });
  let isUsable = false;
  try {
    if (!(await takesWrites(connections, client))) return ANOTHER;
    const result = await use({
      query: async (sql, values) => {
        const { rows } = await client.query<Fields>(sql, values === undefined ? undefined : [...values]);
        return rows;
      },
    });
    isUsable = true;
    return result;
  } catch (error) {
    isUsable = !mayBeElsewhere(error);
    if (!isUsable) connections.age += 1;
    throw error;
  } finally {
    signal.removeEventListener('abort', close);
    client.release(!isUsable || signal.aborted);
  }
}

/**
 * Whether this connection may be used: after an error that suggests a failover, each one is asked once. Until the first
 * such error nothing is asked, so that a person may read from a replica.
 *
 * @throws ReadOnlyServerError if it is new, so that the next one would be no better
 */
async function takesWrites({ age, asked }: Connections, client: PoolClient): Promise<boolean> {
  const last = asked.get(client);
  if ((last ?? 0) < age) {
    const { rows } = await client.query<Fields>('show transaction_read_only');
    const isReadOnly = rows[0]?.['transaction_read_only'] === 'on';
    if (isReadOnly && last === undefined) throw new ReadOnlyServerError();
    if (isReadOnly) return false;
  }
  if (last !== age) asked.set(client, age);
  return true;
}

interface Connections {
  readonly pool: Pool;
  /** How many errors have suggested a failover. */
  age: number;
  /** The age at which a connection was last taken. One that is not in here is new. */
  readonly asked: WeakMap<PoolClient, number>;
}

/** The pools of this process: several stores and elections in one database share their connections. */
const SHARED = new Map<string, Promise<Connections>>();

/** Forgets a pool that could not be opened: what is missing may be installed. */
async function forgetting(
  opening: Promise<Connections>,
  pools: Map<string, Promise<Connections>>,
  key: string,
): Promise<Connections> {
  try {
    return await opening;
  } catch (error) {
    pools.delete(key);
    throw error;
  }
}

async function openPool({ database, connectMs, token }: Driving): Promise<Connections> {
  const { Client, Pool: PoolOf } = await installed('pg', database.location, () => import('pg'));
  /** pg itself never asks for a password while the URL has none: then it would look for PGPASSWORD first. */
  class TokenClient extends Client {
    constructor(config?: string | ClientConfig) {
      super(config);
      if (token !== undefined) Object.assign(this, { password: token });
    }
  }
  const pool = new PoolOf({
    connectionString: database.url,
    ...(token !== undefined && { Client: TokenClient }),
    max: CONNECTIONS,
    idleTimeoutMillis: IDLE_MS,
    maxLifetimeSeconds: LIFE_SECONDS,
    connectionTimeoutMillis: connectMs,
    // A command of the command line ends without closing its store.
    allowExitOnIdle: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    fallback_application_name: 'cronlease',
  });
  const connections: Connections = { pool, age: 0, asked: new WeakMap() };
  // A connection that ends is replaced at the next call. Its end in the middle of a call also rejects that; without a
  // listener, it would end the process as well.
  pool.on('error', () => (connections.age += 1));
  pool.on('connect', (client) => client.on('error', () => undefined));
  return connections;
}

/** A caller that gave up does not get a connection: it goes to the next one. */
async function connect(connections: Connections, signal: AbortSignal): Promise<PoolClient> {
  let client: PoolClient;
  try {
    client = await connections.pool.connect();
  } catch (error) {
    connections.age += 1;
    throw error;
  }
  if (!signal.aborted) return client;
  client.release();
  throw signal.reason;
}

function destroy(client: PoolClient): void {
  const { connection } = client as PoolClient & { readonly connection?: { stream: { destroy(): void } } };
  connection?.stream.destroy();
}
