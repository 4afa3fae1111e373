import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { recordKey, runIdOf } from '../../src/core/key';
import type { Caller } from '../../src/manage/access';
import { createMeter } from '../../src/manage/limits';
import { jobSpec } from '../support/job';
import { manageBench } from '../support/manage';

const JOB = 'a' as JobName;
const VIEWER: Caller = { role: 'viewer', payloads: false, actor: 'ada', channel: 'browser' };

function bench() {
  return manageBench({ jobs: [jobSpec(JOB, '@every 1m')], deployments: 1, sweepIntervalMs: 5_000 });
}

describe('listings of the ledger', () => {
  it('are limited for each caller, who gets them back with time', async () => {
    const { sim, desk } = bench();
    const meter = createMeter(sim.clock);
    const list = async (caller: Caller, count: number) => {
      const { store, end } = meter(desk.store, caller);
      try {
        for (let made = 0; made < count; made += 1) await store.listRecords(JOB, { limit: 1 });
      } finally {
        end();
      }
    };
    await list(VIEWER, 4_999);
    // A request that has begun is carried out, and leaves a debt.
    await list(VIEWER, 401);
    await expect(list(VIEWER, 1)).rejects.toMatchObject({
      ...{ status: 429, code: 'TooManyListings', headers: { 'retry-after': '21' } },
    });
    await list({ ...VIEWER, actor: 'grace' }, 1);
    await sim.clock.advance(20_000);
    await expect(list(VIEWER, 1)).rejects.toMatchObject({ headers: { 'retry-after': '1' } });
    await sim.clock.advance(1_000);
    await list(VIEWER, 20);
    await expect(list(VIEWER, 1)).rejects.toMatchObject({ status: 429 });
  });

  it('are made by eight requests of a caller at a time', async () => {
    const { send, sim } = bench();
    await sim.clock.advance(65_000);
    const log = `runs/${runIdOf(JOB, recordKey(sim.clock.now() + 3_600_000))}/log`;
    for (const path of ['runs?note=nothing', 'audit', `jobs/${JOB}/calendar`, log]) {
      const all = await Promise.all(Array.from({ length: 10 }, () => send({ path, as: 'viewer' })));
      const statuses = all.map(({ status }) => status).toSorted((a, b) => a - b);
      expect(statuses, path).toEqual([...Array.from({ length: 8 }, () => 200), 429, 429]);
      expect(all.find(({ status }) => status === 429)?.json).toMatchObject({ title: 'Too Many Requests' });
      // What lists nothing of the ledger is answered, and so is the next listing.
      expect((await send({ path: `jobs/${JOB}`, as: 'viewer' })).status).toBe(200);
      expect((await send({ path, as: 'viewer' })).status).toBe(200);
    }
  });
});
