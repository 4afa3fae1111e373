import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { decodeLayout, LAYOUT, movedRow } from '../../src/core/layout';
import { encodePresence, type Presence } from '../../src/core/presence';
import { dealtStore } from '../../src/lease/dealt-store';
import type { LeaseStore } from '../../src/lease/store';
import { surveyAccounts } from '../../src/operator/shards/apply';
import { repairLayouts } from '../../src/operator/shards/repair';
import { jobSpec } from '../support/job';
import { manageBench } from '../support/manage';
import { LOCATIONS, NAMES, type World, makeRow, world } from '../support/accounts';

const PRESENCE: Omit<Presence, 'tickedAt'> = {
  ...{ instance: 'i', hub: 'h', version: '1.0.0', revision: 1, jobs: 'j', hubProven: true },
  ...{ tickEveryMs: 15_000, skewMs: 0, rival: undefined },
};
const FOREIGN = { cronleasejob: 'word-index', cronleasetoken: '1' };

async function overwrite(store: LeaseStore | undefined): Promise<void> {
  const control = (await store?.readControl(LAYOUT))?.control;
  expect(await store?.writeControl(LAYOUT, FOREIGN, control?.etag)).toBe('written');
}

const storesOf = ({ stores }: World, ...indices: number[]): LeaseStore =>
  dealtStore(indices.map((index) => stores[index] as LeaseStore));

async function layoutIn(store: LeaseStore | undefined) {
  return (await store?.readControl(LAYOUT))?.control;
}

describe('a layout that something else wrote', () => {
  it('is removed by POST layout/repair, and the jobs run again', async () => {
    const bench = manageBench({ jobs: [jobSpec('a', '* * * * *')], deployments: 1, sweepIntervalMs: 5_000 });
    const { sim, send } = bench;
    await sim.clock.advance(125_000);
    await overwrite(sim.store);
    await sim.clock.advance(10_000);
    const lastRun = async (): Promise<unknown> => {
      const { json } = await send({ path: 'runs?limit=1', as: 'viewer' });
      return (json as { runs: { scheduledFor: string }[] }).runs[0]?.scheduledFor;
    };
    const before = await lastRun();
    await sim.clock.advance(180_000);
    expect(await lastRun()).toBe(before);

    const request = { method: 'POST', path: 'layout/repair', body: { note: 'a target named it' } } as const;
    expect(await send({ ...request, as: 'operator' })).toMatchObject({ status: 403 });
    const { json } = await send({ ...request, as: 'admin' });
    expect(json).toEqual({ repaired: [sim.store.location], recorded: true });
    expect(await layoutIn(sim.store)).toBeUndefined();
    await sim.clock.advance(120_000);
    expect(await lastRun()).not.toBe(before);
    expect((await send({ ...request, as: 'admin' })).json).toEqual({ repaired: [], recorded: true });
  });

  it('becomes that of the other accounts, where these have settled', async () => {
    const all = world();
    for (const name of NAMES) await makeRow(all.stores[0] as LeaseStore, name);
    await all.apply([0, 1]);
    await overwrite(all.stores[1]);
    expect(await repairLayouts(storesOf(all, 0, 1))).toEqual([LOCATIONS[1]]);
    const [first, second] = await Promise.all(all.stores.map(layoutIn));
    expect(decodeLayout(second?.metadata ?? {})).toEqual(decodeLayout(first?.metadata ?? {}));
    expect((await surveyAccounts(all.changeTo([0, 1]))).isSettled).toBe(true);
  });

  it('is left alone where it is not certain what was there, and "shards --apply" replaces it', async () => {
    const all = world();
    for (const name of NAMES) await makeRow(all.stores[0] as LeaseStore, name);
    await all.apply([0, 1]);
    await overwrite(all.stores[0]);
    await overwrite(all.stores[1]);
    await expect(repairLayouts(storesOf(all, 0, 1))).rejects.toMatchObject({ code: 'LayoutUnclear' });
    await expect(repairLayouts(storesOf(all, 0))).rejects.toMatchObject({ code: 'LayoutUnclear' });
    expect((await layoutIn(all.stores[0]))?.metadata).toEqual(FOREIGN);
    expect((await surveyAccounts(all.changeTo([0, 1]))).isSettled).toBe(false);
    expect(await all.apply([0, 1])).toMatchObject({ settled: true, moved: [] });
    expect((await surveyAccounts(all.changeTo([0, 1]))).isSettled).toBe(true);
  });

  it('is left alone where a deployment has another number of accounts than this list', async () => {
    const all = world();
    const [store] = all.stores as [LeaseStore];
    await overwrite(store);
    const { date } = await store.listPresences();
    const presence = { ...PRESENCE, tickedAt: date };
    await store.writePresence('east', encodePresence({ ...presence, accounts: 3 }), undefined);
    await expect(repairLayouts(store)).rejects.toMatchObject({
      code: 'LayoutUnclear',
      message: expect.stringContaining(
        'deployment "east" distributes its jobs over 3 account(s), but this list has 1',
      ) as unknown,
    });
    expect((await layoutIn(store))?.metadata).toEqual(FOREIGN);
    await store.writePresence('east', encodePresence(presence), undefined);
    expect(await repairLayouts(store)).toEqual([LOCATIONS[0]]);
  });

  it('is left alone where a job has moved away', async () => {
    const all = world();
    const [store] = all.stores as [LeaseStore];
    await store.createRow('gone' as JobName, movedRow({ token: '7' }, LOCATIONS[1] ?? ''));
    await overwrite(store);
    await expect(repairLayouts(storesOf(all, 0))).rejects.toMatchObject({ code: 'LayoutUnclear' });
  });
});
