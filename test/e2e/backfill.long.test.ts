import { afterAll, expect, it, vi } from 'vitest';
import { loadJobs } from '../../src/config/load';
import type { JobName } from '../../src/core/brand';
import { readBackfillStatus, startBackfill } from '../../src/operator/operations/backfill';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import { coordinatedApp } from '../support/coordinated';
import { endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';

afterAll(endAll);

const MINUTE = 60_000;
const DUE_TIMES = 1_000;
const OTHERS = 20;
/** The due times of this long are compared, with the back-fill and without it. */
const SPAN_MS = 30_000;
const DELAYED_MOST_MS = 100;

it('a back-fill of 1,000 due times delays no other job, and outlives the death of every instance', async () => {
  const others = Array.from({ length: OTHERS }, (_, index) => `other${String(index)}`);
  const jobs = {
    fill: { schedule: '* * * * *', handler: 'mark' },
    ...Object.fromEntries(others.map((name) => [name, { schedule: '@every 5s', handler: 'mark' }])),
  };
  const app = coordinatedApp(jobs);
  const dev = startDev(buildLocal(), { app: app.folder, instances: 2 }, app.env);
  const { storage, container, instances } = await dev.ready();
  const store = azureBlobStore({
    container: connectContainer({ CRONLEASE_STORAGE: storage }, container),
    clock: systemClock,
  });
  const spec = loadJobs({ jobs }).jobsFile.jobs.find(({ name }) => name === ('fill' as JobName));
  if (spec === undefined) throw new Error('no job');
  const p99 = (since: number): number => {
    const late = app
      .notes()
      .filter(({ job, what, scheduledFor }) => job !== 'fill' && what === 'ran' && scheduledFor >= since)
      .map(({ at, scheduledFor }) => at - scheduledFor)
      .sort((a, b) => a - b);
    expect(late.length).toBeGreaterThan(OTHERS * 5);
    return late[Math.ceil(late.length * 0.99) - 1] ?? Infinity;
  };
  const filled = (): number => app.notes().filter(({ trigger }) => trigger === 'backfill').length;

  await new Promise((resolve) => setTimeout(resolve, 20_000));
  const beforeAt = Date.now();
  await new Promise((resolve) => setTimeout(resolve, SPAN_MS));
  const without = p99(beforeAt);
  const origin = { actor: 'test', channel: 'shell' };
  const span = { from: Date.now() - DUE_TIMES * MINUTE, to: undefined, order: 'oldest', limit: DUE_TIMES } as const;
  await startBackfill({ store }, spec, { ...span, includeSucceeded: true, id: 'fill', origin });
  await vi.waitFor(() => expect(filled()).toBeGreaterThan(0), { timeout: 30_000, interval: 100 });
  const duringAt = Date.now();
  await new Promise((resolve) => setTimeout(resolve, SPAN_MS));
  const during = p99(duringAt);
  expect(filled()).toBeLessThan(DUE_TIMES);
  expect(during - without).toBeLessThanOrEqual(DELAYED_MOST_MS);

  for (const { pid } of instances) process.kill(pid, 'SIGKILL');
  const atDeath = filled();
  await vi.waitFor(() => expect(filled()).toBeGreaterThan(atDeath + 5), { timeout: 120_000, interval: 500 });
  const status = await readBackfillStatus(store, spec);
  expect(status?.state).toBe('active');
  const runs = app.notes().filter(({ trigger, attempt }) => trigger === 'backfill' && attempt === 1);
  expect(new Set(runs.map(({ scheduledFor }) => scheduledFor)).size).toBe(runs.length);
  process.kill(dev.pid, 'SIGTERM');
  expect(await dev.exited()).toBe(0);
}, 300_000);
