import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CALLS_FILE, callsText } from '../../scripts/calls';
import type { JobSpec } from '../../src/core/job';
import type { JobHandler } from '../../src/handler/handler';
import { type Azurite, startAzurite } from '../support/azurite';
import { countSituations } from '../support/count-situations';
import { countedDeployment } from '../support/counted-deployment';
import { jobSpec } from '../support/job';

let azurite: Azurite;
beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(() => azurite.stop());

/** A test that is tried again must not find the rows of the first time. */
let tries = 0;

beforeEach(() => {
  tries += 1;
});

/** A deployment whose requests to storage are counted, by what they ask for. */
function counted(name: string, container: string, jobs: readonly JobSpec[], run?: JobHandler['run']) {
  const deployment = countedDeployment({
    connectionString: azurite.connectionString,
    name,
    container: `${container}-${String(tries)}`,
    jobs,
    ...(run && { handler: { run } }),
  });
  return { ...deployment, requests: () => deployment.calls.map(({ what }) => what) };
}

const withoutListings = (requests: readonly string[]): string[] => requests.filter((what) => what !== 'GET list');

/** The calls of one run with this handler, without listings. */
async function callsOf(container: string, run: JobHandler['run']): Promise<readonly string[]> {
  const due = Math.ceil(Date.now() / 1000) * 1000 + 7_000;
  // Long enough that no run needs a renewal.
  const job = jobSpec('once', `@at ${new Date(due).toISOString()}`, { leaseMs: 60_000 });
  const one = counted('one', container, [job], run);
  await one.tick(Date.now() + 1_000);
  one.calls.length = 0;
  await one.tick(due + 1_000);
  return withoutListings(one.requests());
}

describe('requests to storage', () => {
  it('none for a tick with nothing due and nothing in flight inside the sweep interval', async () => {
    const one = counted('one', 'calls-idle', [jobSpec('idle', '0 0 1 1 *')]);
    await one.tick(Date.now() + 1_000);
    expect(one.requests()).toContain('GET list');
    one.calls.length = 0;
    await one.tick(Date.now() + 1_000);
    expect(one.requests()).toEqual([]);
  });

  it('four for an undisturbed run, one for the race of who loses', { timeout: 40_000 }, async () => {
    const due = Math.ceil(Date.now() / 1000) * 1000 + 8_000;
    // First seen before its due time, so that neither of the two is the incumbent: both race.
    const job = jobSpec('once', `@at ${new Date(due).toISOString()}`);
    const both = ['one', 'two'].map((name) => counted(name, 'calls-race', [job]));
    await Promise.all(both.map(({ tick }) => tick(Date.now() + 1_500)));
    for (const { calls } of both) calls.length = 0;
    await Promise.all(both.map(({ tick }) => tick(due + 1_000)));
    const calls = both.map(({ requests }) => withoutListings(requests())).toSorted((a, b) => b.length - a.length);
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
      await setTimeout(2_000);
      log('the end');
    });
    const appends = calls.filter((call) => call === 'PUT log appendblock').length;
    expect([...calls].toSorted()).toEqual(
      [...RUN, 'PUT log', ...Array<string>(appends).fill('PUT log appendblock')].toSorted(),
    );
    expect(appends).toBeGreaterThanOrEqual(1);
    expect(appends).toBeLessThanOrEqual(2);
  });

  it(
    'are as many as src/operator/cost/counted-calls.ts says: npm run calls writes it',
    { timeout: 110_000 },
    async () => {
      const counted = await countSituations(azurite.connectionString);
      const file = path.join(__dirname, '../..', CALLS_FILE);
      expect(await callsText(counted)).toBe(readFileSync(file, 'utf8'));
      const { lost } = counted;
      expect(await callsText({ ...counted, lost: { ...lost, calls: { acquire: 2 } } })).not.toBe(
        await callsText(counted),
      );
    },
  );
});
