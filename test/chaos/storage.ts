import { BlobServiceClient } from '@azure/storage-blob';
import { execFileSync } from 'node:child_process';
import { Redis } from 'ioredis';
import pg from 'pg';
import { parseRecordKey } from '../../src/core/key';
import { type Azurite, startAzurite } from '../../src/local/cluster/azurite';
import type { Guard } from '../../src/local/cluster/child';
import { startStorageServer } from '../../src/local/servers/servers';
import type { StorageServer } from '../../src/local/servers/server';
import { clientAt as consulAt } from '../support/consul';
import { clientAt } from '../support/etcd';
import { consulProtocol } from './consul-protocol';
import { etcdProtocol } from './etcd-protocol';
import { contentIn } from '../../src/stores/zookeeper/bodies';
import type { Session } from '../../src/stores/zookeeper/session';
import { sessionAt } from '../support/zookeeper';
import { FENCED } from './zookeeper-calls';
import { zooKeeperProtocol } from './zookeeper-protocol';
import type { LedgerLine } from './evidence';
import { postgresProtocol } from './postgres-protocol';
import { httpProtocol, type Protocol } from './protocol';
import { redisProtocol } from './redis-protocol';

export const CONTAINER = 'cronlease';

/** The server that all instances of a world share. */
export interface Storage {
  readonly protocol: Protocol;
  /** Whether a server that is killed may forget writes that it has confirmed. */
  readonly forgets: boolean;
  /** Its port at this moment. */
  port(): number;
  /** The settings of an instance that reaches it by another port. */
  settings(port: number): Record<string, string>;
  /** Stops all of its processes by SIGSTOP. */
  pause(): void;
  resume(): void;
  /** Kills all of its processes by SIGKILL. Resolves when they have ended. */
  kill(): Promise<void>;
  /** Starts it again on its files. */
  restart(): Promise<void>;
  /** The ledger, read with nothing of the product but the form of its keys. */
  ledger(): Promise<LedgerLine[]>;
}

/** The names of the stores, each with what starts its server and makes the place of fenced writes. */
export const STORES = {
  blobs: startBlobs,
  postgres: startDatabase,
  redis: startRedisServer,
  etcd: startEtcdServer,
  zookeeper: startZooKeeperServer,
  consul: startConsulServer,
} as const;

export type StoreName = keyof typeof STORES;

/** @param data folder of its files; undefined: the emulator keeps them in memory */
async function startBlobs(data: string | undefined, guard: Guard): Promise<Storage> {
  const start = async (): Promise<Azurite> => {
    const emulator = await startAzurite(__dirname, data);
    guard.watch(emulator);
    return emulator;
  };
  let emulator = await start();
  const service = (): BlobServiceClient => BlobServiceClient.fromConnectionString(emulator.connectionString);
  await service().getContainerClient('fenced').create();
  return {
    protocol: httpProtocol,
    forgets: true,
    port: () => Number(/127\.0\.0\.1:(\d+)/.exec(emulator.connectionString)?.[1]),
    settings(port) {
      const storage = emulator.connectionString.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${String(port)}`);
      return { CRONLEASE_STORAGE: storage, AzureWebJobsStorage: storage };
    },
    pause: () => void process.kill(emulator.pid, 'SIGSTOP'),
    resume: () => void process.kill(emulator.pid, 'SIGCONT'),
    kill: async () => void (await emulator.kill()),
    async restart() {
      emulator = await start();
    },
    async ledger() {
      const lines: LedgerLine[] = [];
      const blobs = service().getContainerClient(CONTAINER).listBlobsFlat({ prefix: 'runs/', includeMetadata: true });
      for await (const { name, metadata = {} } of blobs) {
        const [, job = '', key = ''] = name.split('/');
        lines.push(ledgerLine(job, key, metadata));
      }
      return lines;
    },
  };
}

async function startDatabase(data: string | undefined, guard: Guard): Promise<Storage> {
  let server = await startStorageServer('postgres', { data, guard });
  const query = (sql: string): Promise<readonly Fields[]> => ask(server, sql);
  await query('create schema chaos');
  await query('create table chaos.fenced (blob text primary key, token bigint not null, text text not null)');
  return {
    protocol: postgresProtocol,
    forgets: false,
    port: () => server.port,
    settings: (port) => ({
      CRONLEASE_STORAGE: server.url.replace(`:${String(server.port)}/`, `:${String(port)}/`),
      AzureWebJobsStorage: 'UseDevelopmentStorage=true',
    }),
    // The first process, which starts the others, stops first and continues last.
    pause() {
      process.kill(server.pid, 'SIGSTOP');
      signalAll(childrenOf(server), 'SIGSTOP');
    },
    resume() {
      signalAll(childrenOf(server), 'SIGCONT');
      process.kill(server.pid, 'SIGCONT');
    },
    async kill() {
      signalAll([server.pid, ...childrenOf(server)], 'SIGKILL');
      await server.exited;
    },
    async restart() {
      server = await startStorageServer('postgres', { data, guard });
    },
    async ledger() {
      const rows = await query(`select job, id, metadata from "${CONTAINER}".records`);
      return rows.map(({ job, id, metadata }) => ledgerLine(job, id, metadata));
    },
  };
}

/** A server of one process. It writes each change to its files before it answers, so it forgets nothing. */
async function oneProcess(
  protocol: Protocol,
  start: () => Promise<StorageServer>,
  ledger: (server: StorageServer) => Promise<LedgerLine[]>,
): Promise<Storage> {
  let server = await start();
  return {
    protocol,
    forgets: false,
    port: () => server.port,
    settings: (port) => ({
      CRONLEASE_STORAGE: server.url.replace(`:${String(server.port)}`, `:${String(port)}`),
      AzureWebJobsStorage: 'UseDevelopmentStorage=true',
    }),
    pause: () => void process.kill(server.pid, 'SIGSTOP'),
    resume: () => void process.kill(server.pid, 'SIGCONT'),
    async kill() {
      process.kill(server.pid, 'SIGKILL');
      await server.exited;
    },
    async restart() {
      server = await start();
    },
    ledger: () => ledger(server),
  };
}

function startRedisServer(data: string | undefined, guard: Guard): Promise<Storage> {
  return oneProcess(
    redisProtocol,
    () => startStorageServer('redis', { data, guard }),
    async ({ url }) => {
      const client = new Redis(url, { protocol: 2 });
      try {
        const keys = await client.keys(`{${CONTAINER}}:records:*`);
        const lines = keys
          .filter((key) => key.split(':').length === 3)
          .map(async (key) => {
            const [, , job = ''] = key.split(':');
            // A head is the version, the time of writing and the metadata.
            return Object.entries(await client.hgetall(key)).map(([id, head]) =>
              ledgerLine(job, id, JSON.parse(head.slice(head.indexOf('{'))) as Fields['metadata']),
            );
          });
        return (await Promise.all(lines)).flat();
      } finally {
        client.disconnect();
      }
    },
  );
}

function startEtcdServer(data: string | undefined, guard: Guard): Promise<Storage> {
  return oneProcess(
    etcdProtocol,
    () => startStorageServer('etcd', { data, guard }),
    async (server) => {
      const found = await clientAt(server).all(`/${CONTAINER}/records/`);
      return found.map(({ key, value }) => {
        const [job = '', id = ''] = key.split('/').slice(3);
        return ledgerLine(job, id, (JSON.parse(value) as Pick<Fields, 'metadata'>).metadata);
      });
    },
  );
}

function startConsulServer(data: string | undefined, guard: Guard): Promise<Storage> {
  return oneProcess(
    consulProtocol,
    () => startStorageServer('consul', { data, guard }),
    async ({ url }) => {
      const client = consulAt(url);
      const lines: LedgerLine[] = [];
      // One after the other: an agent takes 200 connections from one address.
      for (const head of await client.keys(`${CONTAINER}/records/`)) {
        const [, , job = '', , id = ''] = head.split('/');
        const { value } = (await client.get(head)) ?? { value: '{}' };
        lines.push(ledgerLine(job, id, (JSON.parse(value) as Pick<Fields, 'metadata'>).metadata));
      }
      return lines;
    },
  );
}

/** The folder of fenced writes is made here, and those of the ledger hold further ones. */
async function startZooKeeperServer(data: string | undefined, guard: Guard): Promise<Storage> {
  const start = (): Promise<StorageServer> => startStorageServer('zookeeper', { data, guard });
  const within = async <T>({ url }: StorageServer, use: (session: Session) => Promise<T>): Promise<T> => {
    const session = await sessionAt(url);
    try {
      return await use(session);
    } finally {
      session.end();
    }
  };
  let isMade = false;
  const prepared = async (): Promise<StorageServer> => {
    const server = await start();
    if (!isMade) {
      await within(server, (session) => session.multi([{ kind: 'create', path: FENCED, data: Buffer.alloc(0) }]));
      isMade = true;
    }
    return server;
  };
  return oneProcess(zooKeeperProtocol, prepared, (server) =>
    within(server, async (session) => {
      const lines: LedgerLine[] = [];
      const root = `/${CONTAINER}/records`;
      for (const job of (await session.children(root)) ?? []) {
        for (const part of (await session.children(`${root}/${job}`)) ?? []) {
          const folder = `${root}/${job}/${part}`;
          for (const key of (await session.children(folder)) ?? []) {
            const node = await session.get(`${folder}/${key}`);
            if (node !== undefined) lines.push(ledgerLine(job, key, contentIn(node.data).metadata));
          }
        }
      }
      return lines;
    }),
  );
}

function ledgerLine(job: string, key: string, metadata: Readonly<Record<string, string>>): LedgerLine {
  const { scheduledFor: at, request } = parseRecordKey(key) ?? {};
  if (at === undefined) throw new Error(`${job}/${key} is no ledger record`);
  const { state = '', outcome = '', through } = metadata;
  const ends = { scheduledFor: at, through: through === undefined ? at : Date.parse(through) };
  return { job, request, ...ends, state, outcome };
}

interface Fields {
  readonly job: string;
  readonly id: string;
  readonly metadata: Readonly<Record<string, string>>;
}

async function ask(server: StorageServer, sql: string): Promise<readonly Fields[]> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    return (await client.query<Fields>(sql)).rows;
  } finally {
    await client.end();
  }
}

function childrenOf({ pid }: StorageServer): number[] {
  const all = execFileSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  return all
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([child, parent]) => (parent === pid && child !== undefined ? [child] : []));
}

/** One that has ended meanwhile needs no signal. */
function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}
