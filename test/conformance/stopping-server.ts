import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import type { LeaseStore } from '../../src/lease/store';
import type { StorageServer } from '../../src/local/servers/server';
import { createRow, JOB, newLeaseId, readRow } from './cases/support';

const SLOWLY = { timeout: 60_000, interval: 100 };
/** With two starts of a server on a machine that is very busy. */
const LIMIT_MS = 240_000;

/** A server that the tests start. */
export interface StoppingServer {
  start(options: { readonly data?: string; readonly port?: number }): Promise<StorageServer>;
  open(url: string, container: string, callTimeoutMs: number): LeaseStore & { prepare(): Promise<void> };
}

/**
 * How a store that writes each change to its files before it answers behaves while its server stops, and afterwards.
 */
export function stoppingServerConformance({ start, open }: StoppingServer): void {
  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'ended by a signal and started on its files keeps rows and leases (%s)',
    async (end) => {
      const data = mkdtempSync(path.join(tmpdir(), 'cronlease-files-'));
      const first = await start({ data });
      const store = open(first.url, 'again', 10_000);
      await store.prepare();
      const ifMatch = await createRow(store);
      const leaseId = newLeaseId();
      expect(await store.acquire(JOB, { leaseId, leaseMs: 60_000, ifMatch })).toMatchObject({ kind: 'acquired' });
      expect(await store.writeRow(JOB, { token: '7' }, { leaseId, ifMatch })).toMatchObject({ kind: 'written' });
      await first.stop(end);
      await expect(store.list()).rejects.toMatchObject({ code: 'StoreUnavailable' });
      const second = await start({ data, port: first.port });
      try {
        await vi.waitFor(async () => expect((await readRow(store)).metadata).toEqual({ token: '7' }), SLOWLY);
        // A machine that was very slow may have let the lease end. It is no one else's.
        expect(await store.renew(JOB, leaseId)).toBe('renewed');
        expect((await readRow(store)).lease).toBe('leased');
      } finally {
        await second.stop();
      }
    },
    LIMIT_MS,
  );

  it(
    'that stands still costs each call its time limit and no more, and is used again',
    async () => {
      const other = await start({});
      const [patient, store] = [open(other.url, 'still', 10_000), open(other.url, 'still', 1_000)];
      try {
        await patient.prepare();
        const ifMatch = await createRow(patient);
        const leaseId = newLeaseId();
        expect(await patient.acquire(JOB, { leaseId, leaseMs: 60_000, ifMatch })).toMatchObject({ kind: 'acquired' });
        process.kill(other.pid, 'SIGSTOP');
        const started = performance.now();
        const ends = await Promise.allSettled(Array.from({ length: 15 }, () => store.renew(JOB, leaseId)));
        expect(performance.now() - started).toBeLessThan(30_000);
        for (const one of ends) expect(one).toMatchObject({ status: 'rejected', reason: { code: 'StoreUnavailable' } });
        process.kill(other.pid, 'SIGCONT');
        await vi.waitFor(async () => expect(await store.renew(JOB, leaseId)).toBe('renewed'), SLOWLY);
      } finally {
        await other.stop();
      }
    },
    LIMIT_MS,
  );
}
