import type { Millis } from '../../src/core/brand';
import type { CallOutcome } from '../../src/core/storage-call';
import type { LeaseBreaking, LeaseStore, Retention } from '../../src/lease/store';
import { startStorageServer } from '../../src/local/servers/servers';
import type { StorageServer, StorageServerOptions } from '../../src/local/servers/server';
import { agentsOf } from '../../src/stores/http/url';
import { consul } from '../../src/stores/consul/store';
import { systemClock } from '../../src/system-clock';
import { has } from './needs';

export interface StoreAt {
  readonly url: string;
  readonly container: string;
  readonly callTimeoutMs?: Millis;
  readonly onOutcome?: (outcome: CallOutcome) => void;
}

export function storeAt({ url, callTimeoutMs = 10_000, ...options }: StoreAt): LeaseStore & LeaseBreaking & Retention {
  return consul({ ...options, server: agentsOf(url), clock: systemClock, callTimeoutMs }).store;
}

/** Where an agent runs already that the tests may use. */
const RUNNING = process.env['CONSUL_HTTP_ADDR'];

/** Whether the tests can have an agent. */
export function canRun(what: string): boolean {
  return RUNNING !== undefined || has('consul', what);
}

/** Whether the tests can start their own agents. */
export function canStart(what: string): boolean {
  return has('consul', what);
}

/** The agent that runs, or one of the tests' own. */
export async function testConsul(options?: StorageServerOptions): Promise<StorageServer> {
  if (RUNNING === undefined || options !== undefined) return startStorageServer('consul', options);
  const { hostname, port } = new URL(RUNNING.includes('://') ? RUNNING : `http://${RUNNING}`);
  const at = Number(port === '' ? 8500 : port);
  return {
    ...{ url: `consul://${hostname}:${String(at)}`, port: at, pid: 0 },
    ...{ exited: new Promise(() => undefined), stop: () => Promise.resolve() },
  };
}

/** A client of the tests' own. */
export interface Client {
  call(method: 'GET' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<unknown>;
  get(key: string): Promise<{ readonly value: string; readonly session: string | undefined } | undefined>;
  put(key: string, value: string): Promise<void>;
  /** All keys that begin so. */
  keys(prefix: string): Promise<string[]>;
  removeAll(prefix: string): Promise<void>;
}

export function clientAt(url: string, token?: string): Client {
  const base = url.replace(/^consul:/, 'http:');
  const ask = async (method: string, path: string, body?: string): Promise<Response> => {
    const headers: Record<string, string> = token === undefined ? {} : { 'x-consul-token': token };
    const response = await fetch(`${base}/v1/${path}`, { method, headers, ...(body !== undefined && { body }) });
    if (!response.ok && response.status !== 404) {
      throw new Error(`Consul has answered ${method} ${path} with ${await response.text()}`);
    }
    return response;
  };
  return {
    async call(method, path, body) {
      const response = await ask(method, path, body === undefined ? undefined : JSON.stringify(body));
      return response.status === 404 ? undefined : response.json();
    },
    async get(key) {
      const response = await ask('GET', `kv/${key}`);
      if (response.status === 404) return undefined;
      const [found] = (await response.json()) as { readonly Value: string | null; readonly Session?: string }[];
      return found && { value: Buffer.from(found.Value ?? '', 'base64').toString('utf8'), session: found.Session };
    },
    put: async (key, value) => {
      await ask('PUT', `kv/${key}`, value);
    },
    async keys(prefix) {
      const response = await ask('GET', `kv/${prefix}?keys`);
      return response.status === 404 ? [] : ((await response.json()) as string[]);
    },
    removeAll: async (prefix) => {
      await ask('DELETE', `kv/${prefix}?recurse`);
    },
  };
}
