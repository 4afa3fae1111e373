import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import { encodeLayout, LAYOUT, type Layout, listHash } from '../../src/core/layout';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HERE = 'memory';
const OTHER = 'https://other.blob.core.windows.net/cronlease';
const EVERY_MINUTE = jobSpec('job', '* * * * *');

const LIST_OF_TWO: Layout = {
  version: 3,
  state: 'settled',
  list: listHash([HERE, OTHER]),
  before: undefined,
  accounts: [HERE, OTHER],
  left: false,
  since: Date.UTC(2025, 11, 1),
};

async function lay(sim: RivalTicks, layout: Layout | undefined): Promise<void> {
  const { control } = await sim.store.readControl(LAYOUT);
  if (layout !== undefined) await sim.store.writeControl(LAYOUT, encodeLayout(layout), control?.etag);
  else if (control !== undefined) await sim.store.removeControl(LAYOUT, control.etag);
}

function alone(): RivalTicks {
  return rivalTicks({ jobs: [EVERY_MINUTE] });
}

function ofTwo(): RivalTicks {
  const sim = rivalTicks({ jobs: [EVERY_MINUTE], deployments: 0 });
  sim.startInstance('d1', { place: { accounts: [HERE, OTHER], index: 0 } });
  return sim;
}

function troubles(sim: RivalTicks): readonly string[] {
  return [...(sim.instances[0]?.coordinator.health.troubles.values() ?? [])];
}

describe('a deployment with one account', () => {
  it('claims where there is no layout', async () => {
    const sim = alone();
    await sim.clock.advance(3 * MINUTE);
    expect(sim.calls.length).toBeGreaterThanOrEqual(2);
    expect(troubles(sim)).toStrictEqual([]);
  });

  it('claims nothing within a sweep interval once the account belongs to a list, and says so', async () => {
    const sim = alone();
    await sim.clock.advance(2 * MINUTE);
    await lay(sim, LIST_OF_TWO);
    await sim.clock.advance(MINUTE + 15 * SECOND);
    const { length } = sim.calls;
    await sim.clock.advance(10 * MINUTE);
    expect(sim.calls).toHaveLength(length);
    expect(troubles(sim).join()).toMatch(
      /over 1 account \(memory\).*over 2 accounts .*claims nothing.*cronlease shards/,
    );
    const told = sim.events.filter(({ event, reason }) => event === 'unhealthy' && reason?.includes('2 accounts'));
    expect(told.length).toBeGreaterThan(0);

    await lay(sim, undefined);
    await sim.clock.advance(2 * MINUTE);
    expect(sim.calls.length).toBeGreaterThan(length);
    expect(troubles(sim)).toStrictEqual([]);
    expect(sim.events.at(-1)).toBeDefined();
    expect(sim.events.some(({ event, reason }) => event === 'healthy' && reason?.includes('claims again'))).toBe(true);
  });

  it('creates no rows where the account belongs to a list, and makes no call besides its sweeps', async () => {
    const sim = rivalTicks({ jobs: [EVERY_MINUTE], deployments: 0 });
    await lay(sim, LIST_OF_TWO);
    const { calls } = sim.startInstance('d1');
    await sim.clock.advance(10 * MINUTE);
    expect(await sim.store.readRow(EVERY_MINUTE.name)).toBeUndefined();
    expect(calls.get('list')).toBeLessThanOrEqual(12);
  });

  it('claims nothing where the layout cannot be read', async () => {
    const sim = rivalTicks({ jobs: [EVERY_MINUTE], deployments: 0 });
    await sim.store.writeControl(LAYOUT, { hello: 'world' }, undefined);
    sim.startInstance('d1');
    await sim.clock.advance(5 * MINUTE);
    expect(sim.calls).toHaveLength(0);
    expect(troubles(sim).join()).toMatch(/layout in memory cannot be read/);
  });

  it('claims where the list has come back to this account alone', async () => {
    const sim = rivalTicks({ jobs: [EVERY_MINUTE], deployments: 0 });
    await lay(sim, { ...LIST_OF_TWO, list: listHash([HERE]), accounts: [HERE] });
    sim.startInstance('d1');
    await sim.clock.advance(3 * MINUTE);
    expect(sim.calls.length).toBeGreaterThanOrEqual(2);
  });
});

describe('a deployment with two accounts', () => {
  it('claims nothing without a layout', async () => {
    const sim = ofTwo();
    await sim.clock.advance(5 * MINUTE);
    expect(sim.calls).toHaveLength(0);
    expect(troubles(sim).join()).toMatch(/memory has no layout/);
  });

  it('claims once the layout fits', async () => {
    const sim = ofTwo();
    await sim.clock.advance(5 * MINUTE);
    await lay(sim, LIST_OF_TWO);
    await sim.clock.advance(3 * MINUTE);
    expect(sim.calls.length).toBeGreaterThanOrEqual(2);
    expect(troubles(sim)).toStrictEqual([]);
  });

  it('claims nothing in an account that has left the list', async () => {
    const sim = ofTwo();
    await lay(sim, { ...LIST_OF_TWO, left: true });
    await sim.clock.advance(5 * MINUTE);
    expect(sim.calls).toHaveLength(0);
    expect(troubles(sim).join()).toMatch(/has left the list/);
  });
});

describe('while the list is being changed', () => {
  const CHANGING: Layout = { ...LIST_OF_TWO, state: 'changing' };

  it('runs that have begun go on, and no run begins', async () => {
    const retried = jobSpec('retried', '*/2 * * * *');
    const sim = rivalTicks({
      jobs: [EVERY_MINUTE, retried],
      handler: async ({ job, attempt }, { coordinator }) => {
        if (job !== retried.name) return;
        await sleep(coordinator.clock, 20 * SECOND);
        if (attempt === 1) throw new Error('again');
      },
    });
    await sim.clock.advance(2 * MINUTE + 5 * SECOND);
    const begun = sim.calls.length;
    await lay(sim, CHANGING);
    // The holder dies, so a tick of another process has to continue the run.
    sim.instances[0]?.kill();
    sim.startInstance('d2');
    await sim.clock.advance(10 * MINUTE);
    const later = sim.calls.slice(begun);
    expect(new Set(later.map(({ job }) => job))).toStrictEqual(new Set([retried.name]));
    expect(later.map(({ attempt }) => attempt)).toStrictEqual([2]);
    expect((await sim.records(retried.name))[0]?.outcome).toBe('succeeded');
  });

  it('deployments that already have the new list claim nothing at all', async () => {
    const sim = ofTwo();
    await lay(sim, CHANGING);
    await sim.store.createRow('other' as JobName, { token: '1' });
    await sim.clock.advance(5 * MINUTE);
    expect(sim.calls).toHaveLength(0);
    expect(troubles(sim).join()).toMatch(/is being changed in memory: it claims nothing/);
  });
});
