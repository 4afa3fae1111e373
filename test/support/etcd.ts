import type { Millis } from '../../src/core/brand';
import type { CallOutcome } from '../../src/core/storage-call';
import type { LeaseBreaking, LeaseStore, Retention } from '../../src/lease/store';
import type { StorageServer } from '../../src/local/servers/server';
import { clusterOf } from '../../src/stores/http/url';
import { etcd } from '../../src/stores/etcd/store';
import { systemClock } from '../../src/system-clock';

export interface StoreAt {
  readonly url: string;
  readonly container: string;
  readonly callTimeoutMs?: Millis;
  readonly onOutcome?: (outcome: CallOutcome) => void;
}

export function storeAt({ url, callTimeoutMs = 10_000, ...options }: StoreAt): LeaseStore & LeaseBreaking & Retention {
  return etcd({ ...options, server: clusterOf(url), clock: systemClock, callTimeoutMs }).store;
}

/** The URL of a server that listens there. */
export function urlAt(port: number): string {
  return `etcd://127.0.0.1:${String(port)}`;
}

export interface Answer {
  readonly kvs?: readonly { readonly key: string; readonly value?: string; readonly lease?: string }[];
  readonly ID?: string;
  readonly TTL?: string;
}

/** A client of the tests' own. */
export interface Client {
  call(path: string, request: object): Promise<Answer>;
  /** The value of a key, and the lease that it has. */
  get(key: string): Promise<{ readonly value: string; readonly lease: string | undefined } | undefined>;
  put(key: string, value: string, lease?: string): Promise<void>;
  remove(key: string): Promise<void>;
  /** What lies in all keys that begin so. */
  all(prefix: string): Promise<readonly { readonly key: string; readonly value: string }[]>;
  /** All keys that begin so. */
  keys(prefix: string): Promise<string[]>;
  removeAll(prefix: string): Promise<void>;
}

export function encoded(text: string): string {
  return Buffer.from(text).toString('base64');
}

function decoded(text: string | undefined): string {
  return Buffer.from(text ?? '', 'base64').toString('utf8');
}

export function clientAt({ port }: Pick<StorageServer, 'port'>): Client {
  const call = async (path: string, request: object): Promise<Answer> => {
    const body = JSON.stringify(request);
    const response = await fetch(`http://127.0.0.1:${String(port)}/v3/${path}`, { method: 'POST', body });
    if (!response.ok) throw new Error(`etcd has answered ${path} with ${await response.text()}`);
    return (await response.json()) as Answer;
  };
  const under = (prefix: string) => ({ key: encoded(prefix), range_end: encoded(`${prefix}\u007f`) });
  return {
    call,
    async get(key) {
      const [found] = (await call('kv/range', { key: encoded(key) })).kvs ?? [];
      return found && { value: decoded(found.value), lease: found.lease };
    },
    put: async (key, value, lease) => {
      await call('kv/put', { key: encoded(key), value: encoded(value), ...(lease !== undefined && { lease }) });
    },
    remove: async (key) => {
      await call('kv/deleterange', { key: encoded(key) });
    },
    all: async (prefix) =>
      ((await call('kv/range', under(prefix))).kvs ?? []).map(({ key, value }) => ({
        key: decoded(key),
        value: decoded(value),
      })),
    keys: async (prefix) =>
      ((await call('kv/range', { ...under(prefix), keys_only: true })).kvs ?? []).map(({ key }) => decoded(key)),
    removeAll: async (prefix) => {
      await call('kv/deleterange', under(prefix));
    },
  };
}
