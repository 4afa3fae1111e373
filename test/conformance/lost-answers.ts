import { describe, expect, it } from 'vitest';
import type { LeaseStore } from '../../src/lease/store';
import { type Cut, cutRelay } from '../support/listen';
import { acquire, createRow, JOB, LEASE_MS, leaseOf, newLeaseId, readRow } from './cases/support';

const KEY = '8231526400000-s';
const RECORD = { body: '{"token":1}', summary: { outcome: 'open' } };
const LINE = { text: 'said\n', at: 0 };

/** A server that is reached by TCP. */
export interface ServerOfLostAnswers {
  /** Known once the tests run. */
  port(): number;
  /** A store on the server, by its port or by that of a relay to it. Each place is apart from all others. */
  open(port: number, place: string): LeaseStore & { prepare(): Promise<void> };
  /** How many answers of a call come before the one that decides. Default: 0. */
  readonly answersBefore?: Partial<Record<'acquire' | 'writeRow' | 'appendLog' | 'release', number>>;
}

interface Cutting {
  /** Straight to the server. */
  readonly direct: LeaseStore;
  /** Makes the call with the cut, which must fail as unavailable. */
  lose(when: Cut, call: (store: LeaseStore) => Promise<unknown>, passing?: number): Promise<void>;
}

/** Makes each call once, so that client and server need no second exchange for the next of its kind. */
async function acquaint(store: LeaseStore & { prepare(): Promise<void> }): Promise<void> {
  await store.prepare();
  const ifMatch = await createRow(store);
  const leaseId = await acquire(store, ifMatch);
  await store.writeRow(JOB, { token: '1' }, { leaseId, ifMatch });
  await store.createRecord(JOB, KEY, RECORD);
  await store.createLog(JOB, KEY, '1');
  await store.appendLog(JOB, KEY, '1', LINE);
  await store.release(JOB, leaseId);
}

/** How a store's calls end whose connection is cut before the server has them, or before its answer arrives. */
export function lostAnswerConformance(name: string, { port, open, answersBefore = {} }: ServerOfLostAnswers): void {
  let places = 0;

  async function withCuts(use: (cutting: Cutting) => Promise<void>): Promise<void> {
    const relay = await cutRelay(port());
    places += 1;
    const place = `lost-${String(places)}`;
    const store = open(relay.port, place);
    try {
      await acquaint(open(port(), `${place}-before`));
      await store.prepare();
      await use({
        direct: open(port(), place),
        async lose(when, call, passing) {
          relay.cutting(when, passing);
          await expect(call(store)).rejects.toMatchObject({ code: 'StoreUnavailable' });
          relay.cutting('never');
          // The next call has its own connection, which works.
          expect((await store.list()).date).toBeGreaterThan(0);
        },
      });
    } finally {
      relay.close();
    }
  }

  describe(`an answer of ${name} that is lost`, () => {
    it('changes nothing if the connection is cut before the call', () =>
      withCuts(async ({ direct, lose }) => {
        const ifMatch = await createRow(direct);
        const leaseId = newLeaseId();
        await lose('before', (store) => store.acquire(JOB, { leaseId, leaseMs: LEASE_MS, ifMatch }));
        expect(await leaseOf(direct)).toBe('available');
        await acquire(direct, ifMatch);
        await lose('before', (store) => store.createRecord(JOB, KEY, RECORD));
        expect(await direct.readRecord(JOB, KEY)).toBeUndefined();
      }));

    it('leaves an acquisition that a repetition finds as its own', () =>
      withCuts(async ({ direct, lose }) => {
        const ifMatch = await createRow(direct);
        const request = { leaseId: newLeaseId(), leaseMs: LEASE_MS, ifMatch };
        await lose('after', (store) => store.acquire(JOB, request), answersBefore.acquire);
        expect(await leaseOf(direct)).toBe('leased');
        expect(await direct.acquire(JOB, request)).toMatchObject({ kind: 'acquired' });
        expect(await direct.acquire(JOB, { ...request, leaseId: newLeaseId() })).toEqual({ kind: 'lost' });
      }));

    it('leaves a claim that is read back, and that a repetition does not make twice', () =>
      withCuts(async ({ direct, lose }) => {
        const ifMatch = await createRow(direct);
        const leaseId = await acquire(direct, ifMatch);
        const claim = { token: '1', execution: 'mine' };
        await lose('after', (store) => store.writeRow(JOB, claim, { leaseId, ifMatch }), answersBefore.writeRow);
        expect(await direct.writeRow(JOB, claim, { leaseId, ifMatch })).toEqual({ kind: 'refused' });
        expect((await readRow(direct)).metadata).toEqual(claim);
      }));

    it('leaves records, appends and releases that a repetition does not make twice', () =>
      withCuts(async ({ direct, lose }) => {
        const leaseId = await acquire(direct, await createRow(direct));
        await lose('after', (store) => store.createRecord(JOB, KEY, RECORD));
        expect(await direct.createRecord(JOB, KEY, RECORD)).toEqual({ kind: 'exists' });
        expect((await direct.readRecord(JOB, KEY))?.body).toBe(RECORD.body);
        await direct.createLog(JOB, KEY, '1');
        await lose('after', (store) => store.appendLog(JOB, KEY, '1', LINE), answersBefore.appendLog);
        expect(await direct.appendLog(JOB, KEY, '1', LINE)).toBe('refused');
        expect(await direct.readLog(JOB, KEY, '1', { from: 0, limit: 100 })).toBe('said\n');
        await lose('after', (store) => store.release(JOB, leaseId), answersBefore.release);
        expect(await direct.release(JOB, leaseId)).toBe('lost');
        expect(await leaseOf(direct)).toBe('available');
      }));
  });
}
