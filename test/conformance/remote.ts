import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { Millis } from '../../src/core/brand';
import type { CallOptions, LeaseStore } from '../../src/lease/store';
import { type Listener, listen } from '../support/listen';
import { CALLS, callsOf } from './cases/calls';

/** Stores whose service is out of order, each in its own way. A call's time limit is 10 s unless said otherwise. */
export interface RemoteHarness {
  /** The service has been stopped: no one listens. */
  stopped(): Promise<LeaseStore>;
  /** The service takes calls and never answers; a call's time limit is 300 ms. */
  silent(): Promise<LeaseStore>;
  /** The service answers every call with this failure and nothing else. */
  answering(failure: string): Promise<LeaseStore>;
  /** The service hangs up in the middle of every answer. */
  cutting(): Promise<LeaseStore>;
  /** The service is well, and has no container of that name. */
  missing(): Promise<LeaseStore>;
  /** The service is well, and does not accept the credentials. */
  denied(): Promise<LeaseStore>;
  close(): Promise<void>;
}

/** Servers of a test's own, and stores that take each for theirs. */
export interface FakeServers {
  at(onConnection: (socket: Socket) => void, callTimeoutMs?: Millis): Promise<LeaseStore>;
  close(): Promise<void>;
}

export function fakeServers(
  open: (port: number, timeout: { readonly callTimeoutMs?: Millis }) => LeaseStore,
): FakeServers {
  const listeners: Listener[] = [];
  return {
    async at(onConnection, callTimeoutMs) {
      const listener = await listen(onConnection);
      listeners.push(listener);
      return open(listener.port, callTimeoutMs === undefined ? {} : { callTimeoutMs });
    },
    async close() {
      for (const { close } of listeners) close();
    },
  };
}

type Calls = Readonly<Record<string, (store: LeaseStore, options?: CallOptions) => Promise<unknown>>>;

/** Statuses of HTTP. */
export const HTTP_FAILURES = ['408', '429', '500', '503'];

/**
 * How a store behaves when the service behind it does not: every method, in every such case.
 *
 * @param failures the service's own codes for failures that pass
 */
export function remoteStoreConformance(
  name: string,
  failures: readonly string[],
  open: () => Promise<RemoteHarness>,
): void {
  const test = (title: string, body: (harness: RemoteHarness) => Promise<void>): void => {
    it(title, async () => {
      const harness = await open();
      try {
        await body(harness);
      } finally {
        await harness.close();
      }
    });
  };
  describe(`${name}, when its service fails`, () => {
    test('stopped: unavailable, soon, with a cause, and where it tried', async ({ stopped }) => {
      const store = await stopped();
      const started = performance.now();
      await failsWith(store, 'StoreUnavailable', store.location);
      expect(performance.now() - started).toBeLessThan(20_000);
    });

    test('silent: unavailable after the time limit', async ({ silent }) => {
      await failsWith(await silent(), 'StoreUnavailable', '300 ms');
    });

    test('silent, and the caller gives up: the caller’s reason, at once', async ({ silent }) => {
      const store = await silent();
      const reason = new Error('the lease is nearly over');
      const controller = new AbortController();
      const calls = Object.values(callsOf(store)).map((call) => call(store, { signal: controller.signal }));
      const ends = Promise.allSettled(calls);
      await new Promise(setImmediate);
      controller.abort(reason);
      for (const end of await ends) expect(end).toStrictEqual({ status: 'rejected', reason });
    });

    for (const failure of failures) {
      test(`answering ${failure}: unavailable`, async ({ answering }) => {
        await failsWith(await answering(failure), 'StoreUnavailable', failure);
      });
    }

    test('cutting its answers short: unavailable', async ({ cutting }) => {
      await failsWith(await cutting(), 'StoreUnavailable', '');
    });

    test('without the container: unavailable, and never a lost race', async ({ missing }) => {
      const store = await missing();
      const others = Object.entries(callsOf(store)).filter(([method]) => method !== 'prepare');
      await failsWith(store, 'StoreUnavailable', 'container does not exist', Object.fromEntries(others));
      await expect(store.list()).rejects.toMatchObject({ noContainer: true });
      await expect(store.list()).rejects.toThrow(/The container does not exist: check its name\. If it was deleted/);
      await CALLS.prepare(store);
      expect((await store.list()).jobs.size).toBe(0);
    });

    test('not accepting the credentials: denied, with what to do', async ({ denied }) => {
      const store = await denied();
      await failsWith(store, 'StoreDenied', store.location);
    });
  });
}

async function failsWith(store: LeaseStore, code: string, text: string, calls: Calls = callsOf(store)): Promise<void> {
  const ends = await Promise.allSettled(Object.values(calls).map((call) => call(store)));
  const failures = Object.keys(calls).map((method, index) => {
    const end = ends[index];
    const error: unknown = end?.status === 'rejected' ? end.reason : end?.value;
    const found = error instanceof Error && 'code' in error ? `${String(error.code)} ${error.message}` : error;
    return { method, found };
  });
  for (const { method, found } of failures) {
    expect.soft(found, method).toEqual(expect.stringMatching(new RegExp(`^${code} `)));
    expect.soft(found, method).toEqual(expect.stringContaining(text));
  }
}
