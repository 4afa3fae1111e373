import type { RequestPolicyFactory } from '@azure/storage-blob';
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runAttempt } from '../../src/coordinator/attempt/attempt';
import type { Coordinator, Hub, Report } from '../../src/coordinator/coordinator';
import { Health } from '../../src/coordinator/coordinator';
import { createTicker } from '../../src/coordinator/tick/tick';
import type { JobSpec } from '../../src/core/job';
import type { JobHandler } from '../../src/handler/handler';
import { serviceTime } from '../../src/lease/service-time';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import type { Azurite } from '../support/azurite';
import { startAzurite } from '../support/azurite';
import { jobSpec } from '../support/job';

let azurite: Azurite;
beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(() => azurite.stop());

const report: Report = { event: () => undefined, log: () => undefined };

/** A deployment whose every request to storage is counted, by what it asks for. */
function countedDeployment(
  name: string,
  container: string,
  jobs: readonly JobSpec[],
  run: JobHandler['run'] = () => 'done',
) {
  const requests: string[] = [];
  const count: RequestPolicyFactory = {
    create: (next) => ({
      sendRequest: (request) => {
        const url = new URL(request.url);
        const action = request.headers.get('x-ms-lease-action') ?? url.searchParams.get('comp') ?? '';
        const what = url.pathname.includes('/logs/') ? 'log ' : '';
        requests.push(`${request.method} ${what}${action}`.trim());
        return next.sendRequest(request);
      },
    }),
  };
  const settings = { CRONLEASE_STORAGE: azurite.connectionString };
  const coordinator: Coordinator = {
    store: azureBlobStore({
      container: connectContainer(settings, container, { policies: [count] }),
      clock: systemClock,
    }),
    clock: systemClock,
    serviceTime: serviceTime(systemClock),
    random: Math.random,
    newId: randomUUID,
    deployment: name,
    revision: 0,
    jobs: new Map(jobs.map((spec) => [spec.name, { spec, input: undefined, handler: { run } }])),
    settings: { lookAheadMs: 5_000, sweepIntervalMs: 60_000, functionTimeoutMs: 1_800_000 },
    health: new Health(),
    running: new Set(),
    ticks: new Set(),
    handOvers: new Map(),
    ended: new Map(),
    stopping: false,
  };
  const attempts: Promise<unknown>[] = [];
  const hub: Hub = {
    start: async (_id, input) => {
      attempts.push(runAttempt(coordinator, input, report));
    },
    status: async () => 'completed',
    purge: async () => undefined,
  };
  const ticker = createTicker(coordinator);
  return {
    requests,
    /** One tick, and the attempts that came of it. */
    tick: async (nextFire: number) => {
      // A tick that outlives its fire serves the one after it.
      await ticker.tick(hub, (after) => (after < nextFire ? nextFire : after + 15_000), report);
      await Promise.all(attempts.splice(0));
    },
  };
}

const withoutListings = (requests: readonly string[]): string[] => requests.filter((what) => what !== 'GET list');

/** The calls of one run with this handler, without listings. */
async function callsOf(container: string, run: JobHandler['run']): Promise<readonly string[]> {
  const due = Math.ceil(Date.now() / 1000) * 1000 + 7_000;
  // Long enough that no run needs a renewal.
  const job = jobSpec('once', `@at ${new Date(due).toISOString()}`, { leaseMs: 60_000 });
  const one = countedDeployment('one', container, [job], run);
  await one.tick(Date.now() + 1_000);
  one.requests.length = 0;
  await one.tick(due + 1_000);
  return withoutListings(one.requests);
}

describe('requests to storage', () => {
  it('none for a tick with nothing due and nothing in flight inside the sweep interval', async () => {
    const one = countedDeployment('one', 'calls-idle', [jobSpec('idle', '0 0 1 1 *')]);
    await one.tick(Date.now() + 1_000);
    expect(one.requests).toContain('GET list');
    one.requests.length = 0;
    await one.tick(Date.now() + 1_000);
    expect(one.requests).toEqual([]);
  });

  it('four for an undisturbed occurrence, one for the race of who loses', { timeout: 40_000 }, async () => {
    const due = Math.ceil(Date.now() / 1000) * 1000 + 8_000;
    // First seen before its due time, so that neither of the two is the incumbent: both race.
    const job = jobSpec('once', `@at ${new Date(due).toISOString()}`);
    const both = ['one', 'two'].map((name) => countedDeployment(name, 'calls-race', [job]));
    await Promise.all(both.map(({ tick }) => tick(Date.now() + 1_500)));
    for (const { requests } of both) requests.length = 0;
    await Promise.all(both.map(({ tick }) => tick(due + 1_000)));
    const calls = both.map(({ requests }) => withoutListings(requests)).toSorted((a, b) => b.length - a.length);
    expect(calls[0]).toEqual(['PUT acquire', 'PUT metadata', 'PUT', 'PUT release']);
    expect(calls[1]?.length).toBeLessThanOrEqual(1);
    expect(calls[1]?.every((call) => call === 'PUT acquire')).toBe(true);
  });

  const RUN = ['PUT acquire', 'PUT metadata', 'PUT', 'PUT release'];

  it('four for a short run, whatever it logs up to 16 KB', { timeout: 40_000 }, async () => {
    const calls = await callsOf('calls-short-log', async ({ log, progress }) => {
      for (let n = 0; n < 100; n += 1) log(`line ${n}`);
      await setTimeout(1_000);
      progress('nearly done', 0.9);
      log.error('done');
    });
    expect(calls).toEqual(RUN);
  });

  it('two more for a short run that logs more', { timeout: 40_000 }, async () => {
    const calls = await callsOf('calls-much-log', ({ log }) => {
      for (let n = 0; n < 10_000; n += 1) log(`line ${n}`);
    });
    expect(calls).toEqual([...RUN.slice(0, 2), 'PUT log', 'PUT log appendblock', ...RUN.slice(2)]);
  });

  it('one to create the log of a longer run, and one for each 2 s in which it logs', { timeout: 40_000 }, async () => {
    const calls = await callsOf('calls-long-log', async ({ log }) => {
      for (let n = 0; n < 25; n += 1) {
        log(`line ${n}`);
        await setTimeout(100);
      }
      // Silence costs nothing.
      await setTimeout(3_000);
      log('the end');
    });
    const appends = calls.filter((call) => call === 'PUT log appendblock').length;
    expect([...calls].toSorted()).toEqual(
      [...RUN, 'PUT log', ...Array<string>(appends).fill('PUT log appendblock')].toSorted(),
    );
    expect(appends).toBeGreaterThanOrEqual(1);
    expect(appends).toBeLessThanOrEqual(2);
  });
});
