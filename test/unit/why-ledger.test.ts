import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import type { Stretch } from '../../src/core/outcome';
import { storeRecord, stretchRecord } from '../../src/core/record';
import { recordAt, manualRecordAt, recordOver } from '../../src/operator/views/find-record';
import type { LeaseStore } from '../../src/lease/store';
import { memoryService } from '../../src/stores/memory/store';
import { settableClock } from '../support/clock';

const JOB = 'a' as JobName;
const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1);

/** A ledger with these stretches, and a count of the listings that are asked of it. */
async function ledger(stretches: readonly Partial<Stretch>[]): Promise<{ store: LeaseStore; listings: () => number }> {
  const store = memoryService(settableClock(T0)).open();
  for (const part of stretches) {
    const from = part.from ?? T0;
    const stretch: Stretch = { outcome: 'paused', reason: 'paused', from, through: from, count: 1, ...part };
    const { key, record } = stretchRecord(JOB, stretch);
    await store.createRecord(JOB, key, storeRecord(record));
  }
  let listings = 0;
  const counted: LeaseStore = {
    ...store,
    listRecords: (...args) => {
      listings += 1;
      return store.listRecords(...args);
    },
  };
  return { store: counted, listings: () => listings };
}

describe('the record over an instant', () => {
  it('is the nearest older one, if it reaches that far', async () => {
    const { store } = await ledger([
      { from: T0 },
      { from: T0 + 10 * MINUTE, through: T0 + 20 * MINUTE, count: 11 },
      { from: T0 + 30 * MINUTE },
    ]);
    const at = async (minutes: number): Promise<string | boolean> => {
      const { found, older } = await recordOver(store, JOB, T0 + minutes * MINUTE);
      return found?.record.scheduledFor.slice(11, 16) ?? older;
    };
    expect(await Promise.all([-1, 0, 5, 11, 20, 21, 31].map(at))).toEqual([
      ...[false, false, true],
      ...['00:10', '00:10', true, true],
    ]);
  });

  it('is found in any history with few listings', async () => {
    const minutes = [0, 1, 7, 60, 1440, 40_000, 400_000, 5_000_000];
    const { store, listings } = await ledger(
      minutes.map((minute) => ({ from: T0 - minute * MINUTE, through: T0, count: 2 })),
    );
    for (const [index, minute] of minutes.entries()) {
      const before = listings();
      const { found } = await recordOver(store, JOB, T0 - minute * MINUTE - 1);
      const older = minutes[index + 1];
      expect(found?.record.scheduledFor).toBe(
        older === undefined ? undefined : new Date(T0 - older * MINUTE).toISOString(),
      );
      expect(listings() - before).toBeLessThanOrEqual(13 * 9);
    }
  });

  it('is never one of a request, however many there are', async () => {
    const requests = Array.from({ length: 45 }, (_, index) => ({
      from: T0 + MINUTE + index,
      through: T0 + MINUTE + index,
      request: `r${String(index)}`,
    }));
    const { store } = await ledger([{ from: T0, through: T0 + 5 * MINUTE, count: 6 }, ...requests]);
    const { found } = await recordOver(store, JOB, T0 + 2 * MINUTE);
    expect(found?.record).toMatchObject({ scheduledFor: new Date(T0).toISOString(), count: 6 });
    expect((await manualRecordAt(store, JOB, T0 + MINUTE + 7))?.record.runId).toBe('a-20260101T000100.007Z-m-r7');
    expect(await manualRecordAt(store, JOB, T0 + MINUTE + 50)).toBeUndefined();
  });

  it.each([-1, 1e13, Date.UTC(9999, 0, 1)])('is none at %i, which no key can have', async (time) => {
    const { store, listings } = await ledger([{ from: T0 }]);
    expect(await recordOver(store, JOB, time)).toEqual({ older: false, found: undefined });
    expect(await recordAt(store, JOB, time)).toBeUndefined();
    expect(await manualRecordAt(store, JOB, time)).toBeUndefined();
    expect(listings()).toBe(0);
  });
});
