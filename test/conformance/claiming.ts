import { setTimeout as pause } from 'node:timers/promises';
import { type LeaseStore, StoreUnavailableError } from '../../src/lease/store';
import { JOB, newLeaseId, readRow } from './cases/support';

const LEASE_MS = 15_000;

/** Claims until told otherwise, as attempts do: what was not answered is read back. */
export function startClaiming(store: LeaseStore) {
  const answered: number[] = [];
  let unanswered = 0;
  let isOver = false;
  const claim = async (): Promise<void> => {
    const { etag, metadata } = await readRow(store);
    const token = Number(metadata['token']) + 1;
    const leaseId = newLeaseId();
    if ((await store.acquire(JOB, { leaseId, leaseMs: LEASE_MS, ifMatch: etag })).kind === 'lost') return;
    const answer = await store.writeRow(JOB, { token: String(token) }, { leaseId, ifMatch: etag });
    if (answer.kind === 'written') answered.push(token);
    await store.release(JOB, leaseId);
  };
  const done = (async () => {
    while (!isOver) {
      await pause(20);
      try {
        await claim();
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
        unanswered += 1;
      }
    }
  })();
  return {
    /** The tokens of answered claims. */
    answered,
    /** How many claims ended without an answer. */
    unanswered: () => unanswered,
    async stop(): Promise<void> {
      isOver = true;
      await done;
    },
  };
}
