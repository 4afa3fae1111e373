import { describe, expect, it } from 'vitest';
import type { JobName, LeaseId, Token } from '../../src/core/brand';
import { recordKey } from '../../src/core/key';
import { type LedgerRecord, finalRecord, openRecord } from '../../src/core/record';
import type { Row } from '../../src/core/row';
import { type HeldRow, holdRow } from '../../src/coordinator/held';
import { Trust } from '../../src/lease/trust';
import { firstInstance, listedRow, runnableJob, withoutTicks } from '../support/by-hand';
import { interceptStore } from '../support/intercept';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { ranRow, T0 } from '../support/situation';

const A = 'a' as JobName;
const SPEC = jobSpec('a', '@hourly');
const HOUR = 3_600_000;
const KEY = recordKey(T0);
const OWED = T0 - 2 * HOUR;
const END = { outcome: 'succeeded', reason: 'completed', at: T0 } as const;
/** It ended when the next due time had passed: the row has news. */
const LATE_END = { ...END, at: T0 + 2 * HOUR } as const;
const NEXT = { outcome: 'failed', notBefore: T0 + HOUR } as const;
const REFUSED = { kind: 'refused' } as const;

interface Holder {
  readonly sim: RivalTicks;
  readonly held: HeldRow;
  /** The calls that changed storage since the row was held. */
  readonly calls: string[];
}

/** A row that is held, and owes the record of one due time. */
async function holder(changes: Partial<Row> = {}): Promise<Holder> {
  const sim = rivalTicks({ jobs: [SPEC], handler: () => undefined });
  const instance = await withoutTicks(sim);
  const { coordinator } = instance;
  const { store, clock } = coordinator;
  const { etag } = await listedRow(sim, A);
  const leaseId = 'dddddddd-0000-4000-8000-000000000000' as LeaseId;
  await store.acquire(A, { leaseId, leaseMs: SPEC.leaseMs, ifMatch: etag });
  const owed = [{ from: OWED, through: OWED, count: 1, outcome: 'collapsed', reason: 'catchUpLatest' }] as const;
  const row = { ...ranRow(SPEC), owed, execution: 'this one', ...changes };
  const trust = Trust.unrenewed(clock, SPEC.leaseMs);
  const first = { row, remaining: () => trust.remaining(), trustFrom: () => trust };
  const guard = { job: runnableJob(instance, A), leaseId, leaseMs: SPEC.leaseMs, etag };
  const report = { event: () => undefined, log: () => undefined };
  const claimed = await holdRow(coordinator, report, guard, first);
  if (claimed === undefined) throw new Error('the row was not written');

  const calls: string[] = [];
  interceptStore(instance, 'writeRow', (call) => (...given) => {
    calls.push('row');
    return call(...given);
  });
  interceptStore(instance, 'createRecord', (call) => (...given) => {
    calls.push(given[1] === KEY ? 'own record' : 'owed record');
    return call(...given);
  });
  interceptStore(instance, 'release', (call) => (...given) => {
    calls.push('release');
    return call(...given);
  });
  return { sim, held: claimed.held, calls };
}

function refuseRow({ sim, calls }: Holder): void {
  interceptStore(firstInstance(sim), 'writeRow', () => async () => {
    calls.push('row refused');
    return REFUSED;
  });
}

function recordOf({ held }: Holder): LedgerRecord {
  return finalRecord(SPEC, held.row, [], LATE_END);
}

describe('a held row that ends', () => {
  const ends: readonly [string, (holder: Holder) => Promise<unknown>, readonly string[]][] = [
    [
      'with its run',
      ({ held, calls }) =>
        held.settle([], LATE_END, async () => {
          calls.push('before the release');
        }),
      ['row', 'own record', 'owed record', 'before the release', 'release'],
    ],
    ['with a run that has no news', ({ held }) => held.settle([], END), ['own record', 'owed record', 'release']],
    [
      'with a run that was over',
      (holder) => holder.held.settleFound(recordOf(holder)),
      ['row', 'owed record', 'release'],
    ],
    ['in a suspension', ({ held }) => held.suspend(undefined, NEXT), ['row', 'owed record', 'release']],
    ['with a decision that runs nothing', ({ held }) => held.finishDecided(), ['owed record', 'release']],
  ];

  it.each(ends)('%s is written before its records, and released after them', async (_, end, order) => {
    const one = await holder();
    await end(one);
    expect(one.calls).toEqual(order);
    expect((await listedRow(one.sim, A)).lease).toBe('available');
  });

  it('records a run whose outcome nobody can know before it is released', async () => {
    const one = await holder({ phase: 'idle' });
    await one.held.finishDecided();
    expect(one.calls).toEqual(['own record', 'owed record', 'release']);
  });

  it.each(ends)('%s does so once', async (_, end) => {
    const one = await holder();
    await end(one);
    const before = [...one.calls];
    for (const [, again] of ends) await expect(again(one)).rejects.toThrow(/already/);
    expect(one.calls).toEqual(before);
  });
});

describe('a held row that has passed on', () => {
  it('gets the record of its run, and keeps its lease', async () => {
    const one = await holder();
    refuseRow(one);
    expect(await one.held.settle([], LATE_END)).toMatchObject({ outcome: 'succeeded' });
    expect(one.calls).toEqual(['row refused', 'own record']);
    expect((await listedRow(one.sim, A)).lease).toBe('leased');
  });

  it.each([
    ['a suspension', (holder: Holder) => holder.held.suspend(undefined, NEXT), false],
    ['a run that was over', (holder: Holder) => holder.held.settleFound(recordOf(holder)), undefined],
  ] as const)('is left alone by %s', async (_, end, answer) => {
    const one = await holder();
    refuseRow(one);
    expect(await end(one)).toBe(answer);
    expect(one.calls).toEqual(['row refused']);
  });

  it('is not released where a successor has recorded the run', async () => {
    const one = await holder();
    const { store } = one.sim;
    const successors = finalRecord(SPEC, { ...one.held.row, execution: 'another' }, [], END);
    await store.createRecord(A, KEY, { body: JSON.stringify(successors), summary: {} });
    expect(await one.held.settle([], END)).toBeUndefined();
    expect(one.calls).toEqual(['own record']);
  });
});

describe('the mark of a held row', () => {
  it('is what its final record is written over', async () => {
    const one = await holder({ token: 2 as Token });
    const earlier = openRecord(SPEC, { ...one.held.row, execution: 'an earlier one' }, []);
    const { sim, held } = one;
    await sim.store.createRecord(A, KEY, { body: JSON.stringify({ ...earlier, token: 1 }), summary: {} });
    expect(await held.mark([])).toEqual({ kind: 'marked' });
    expect(await held.settle([], END)).toMatchObject({ state: 'final', execution: 'this one' });
  });
});
