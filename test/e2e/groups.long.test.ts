import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { loadJobs } from '../../src/config/load';
import { readGroup } from '../../src/core/group';
import { listRuns } from '../../src/operator/views/runs';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import { type Note, at, coordinatedApp } from '../support/coordinated';
import { endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';

afterAll(endAll);

const LIMIT = 2;
const RUN_MS = 3_000;
/** What is left of a lease at least, a second after its handler has started. */
const HELD_FOR_MS = 4_000;

it('a group runs as many at once as it may on two instances, also after kill -9 of a holder', async () => {
  const schedule = at(25_000);
  const priorities = [9, 8, 7, 6, 5, 4];
  const jobs = Object.fromEntries(
    priorities.map((priority) => [
      `p${String(priority)}`,
      {
        ...{ schedule, priority, group: 'db', handler: 'slow', input: { ms: RUN_MS } },
        ...{ catchUpWindow: '10m', lease: '15s' },
      },
    ]),
  );
  const file = { groups: { db: { maxParallel: LIMIT } }, jobs };
  const app = coordinatedApp(jobs);
  writeFileSync(path.join(app.folder, 'jobs.json'), JSON.stringify(file));
  const dev = startDev(buildLocal(), { app: app.folder, instances: 2, restart: false }, app.env);
  const { storage, container } = await dev.ready();
  const store = azureBlobStore({
    container: connectContainer({ CRONLEASE_STORAGE: storage }, container),
    clock: systemClock,
  });
  const first = await vi.waitFor(
    () => {
      const [note] = app.notes();
      if (note === undefined) throw new Error('no handler has started');
      return note;
    },
    { timeout: 60_000, interval: 20 },
  );
  process.kill(first.pid, 'SIGKILL');
  const killedAt = Date.now();

  const names = loadJobs(file).jobsFile.jobs.map(({ name }) => name);
  const records = await vi.waitFor(
    async () => {
      const { records: found } = await listRuns(store, names, await store.list(), 20);
      expect(found.filter(({ state }) => state === 'final')).toHaveLength(priorities.length);
      return found;
    },
    { timeout: 150_000, interval: 500 },
  );
  await vi.waitFor(
    async () => {
      const group = readGroup('db', (await store.readGroup('db'))?.body ?? '');
      expect(group).toEqual({ running: [], waiting: [] });
    },
    { timeout: 10_000, interval: 200 },
  );
  process.kill(dev.pid, 'SIGTERM');
  expect(await dev.exited()).toBe(0);

  expect(records.map(({ outcome }) => outcome)).toEqual(priorities.map(() => 'succeeded'));
  const attempts = records.flatMap((record) => record.attempts);
  expect(Math.max(...attempts.map(({ waitedForGroupMs = 0 }) => waitedForGroupMs))).toBeGreaterThan(0);
  const notes = app.notes();
  const starts = notes.filter(({ what }) => what === 'started');
  const endOf = (start: Note): number => {
    const ended = notes.find(({ what, job, token }) => what === 'ended' && job === start.job && token === start.token);
    if (ended !== undefined) return ended.at;
    expect(start.pid).toBe(first.pid);
    return killedAt + HELD_FOR_MS;
  };
  for (const start of starts) {
    const together = starts.filter((other) => other.at <= start.at && start.at < endOf(other));
    expect(
      together.length,
      `${start.job} starts beside ${together.map(({ job }) => job).join(', ')}`,
    ).toBeLessThanOrEqual(LIMIT);
  }
});
