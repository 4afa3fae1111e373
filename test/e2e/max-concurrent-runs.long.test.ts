import { afterAll, expect, it, vi } from 'vitest';
import { loadJobs } from '../../src/config/load';
import { listRuns } from '../../src/operator/views/runs';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import { at, coordinatedApp } from '../support/coordinated';
import { endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';

afterAll(endAll);

const LIMIT = 2;
const RUN_MS = 1_500;
const ARRIVES_MS = 200;

it('an instance with a limit runs what is due at once by priority, and its ledger shows who waited', async () => {
  const priorities = [0, 4, 9, 6, 2, 8];
  const schedule = at(25_000);
  const jobs = Object.fromEntries(
    priorities.map((priority) => [
      `p${String(priority)}`,
      { schedule, priority, handler: 'slow', input: { ms: RUN_MS }, catchUpWindow: '5m' },
    ]),
  );
  const app = coordinatedApp(jobs);
  const env = { ...app.env, CRONLEASE_MAX_CONCURRENT_RUNS: String(LIMIT) };
  const dev = startDev(buildLocal(), { app: app.folder, instances: 1 }, env);
  const { storage, container } = await dev.ready();
  const store = azureBlobStore({
    container: connectContainer({ CRONLEASE_STORAGE: storage }, container),
    clock: systemClock,
  });
  const names = loadJobs({ jobs }).jobsFile.jobs.map(({ name }) => name);
  const records = await vi.waitFor(
    async () => {
      const { records: found } = await listRuns(store, names, await store.list(), 20);
      expect(found.filter(({ state }) => state === 'final')).toHaveLength(priorities.length);
      return found;
    },
    { timeout: 90_000, interval: 200 },
  );
  process.kill(dev.pid, 'SIGTERM');
  expect(await dev.exited()).toBe(0);

  const runs = [...records].sort((a, b) => Date.parse(a.startedAt ?? '') - Date.parse(b.startedAt ?? ''));
  expect(runs.map(({ outcome }) => outcome)).toEqual(priorities.map(() => 'succeeded'));
  // Two start at the same instant, in any order.
  const pairs = [0, 2, 4].map((from) =>
    runs
      .slice(from, from + LIMIT)
      .map(({ job }) => job)
      .sort(),
  );
  expect(pairs).toEqual([
    ['p8', 'p9'],
    ['p4', 'p6'],
    ['p0', 'p2'],
  ]);
  const waited = runs.map(({ attempts }) => attempts[0]?.waitedForConcurrencyMs);
  expect(waited.slice(0, LIMIT)).toEqual([undefined, undefined]);
  for (const [index, run] of runs.entries()) {
    // The activities of a batch arrive one after another, and a wait begins with the arrival.
    const least = Math.floor(index / LIMIT) * (RUN_MS - ARRIVES_MS);
    expect(waited[index] ?? 0).toBeGreaterThanOrEqual(least);
    expect(run.latenessMs).toBeGreaterThanOrEqual(waited[index] ?? 0);
  }
  const notes = app.notes();
  for (const { at: instant, what } of notes.filter((note) => note.what === 'started')) {
    const running = notes.filter((note) => note.at <= instant);
    const ended = running.filter((note) => note.what === 'ended').length;
    expect(running.length - 2 * ended, what).toBeLessThanOrEqual(LIMIT);
  }
});
