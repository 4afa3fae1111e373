import { afterAll, expect, it, vi } from 'vitest';
import { loadJobs } from '../../src/config/load';
import { itemPiece } from '../../src/core/fan-out';
import { listRuns } from '../../src/operator/list-runs';
import { requestRun } from '../../src/operator/request';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import { coordinatedApp } from '../support/coordinated';
import { endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';

afterAll(endAll);

const ITEMS = 8;

it('a run that fans out outlives the instance that planned it, and then one that works on its items', async () => {
  const jobs = { wide: { schedule: '@manual', lease: '15s', input: { count: ITEMS, ms: 1_000 } } };
  const app = coordinatedApp(jobs);
  const dev = startDev(buildLocal(), { app: app.folder, instances: 3, restart: false }, app.env);
  const { storage, container } = await dev.ready();
  const store = azureBlobStore({
    container: connectContainer({ CRONLEASE_STORAGE: storage }, container),
    clock: systemClock,
  });
  const [job] = loadJobs({ jobs }).jobsFile.jobs;
  if (job === undefined) throw new Error('no job');
  const done = async (): Promise<readonly string[]> => {
    const { pieces } = await store.listPieces(job.name, { limit: 500 });
    return pieces.map(({ name }) => name).filter((name) => name.startsWith('item-'));
  };
  const waitFor = async <T>(look: () => T | Promise<T>): Promise<T> =>
    vi.waitFor(look, { timeout: 90_000, interval: 50 });

  await waitFor(() => requestRun(store, job, 'abc'));
  const planner = await waitFor(() => {
    const note = app.notes().find(({ what }) => what === 'planned');
    if (note === undefined) throw new Error('not planned yet');
    return note;
  });
  await waitFor(async () => {
    expect((await done()).length).toBeGreaterThanOrEqual(2);
  });
  process.kill(planner.pid, 'SIGKILL');
  const afterFirst = { done: await done(), notes: app.notes().length };

  const worker = await waitFor(() => {
    const note = app
      .notes()
      .slice(afterFirst.notes)
      .find(({ what, pid }) => what === 'item' && pid !== planner.pid);
    if (note === undefined) throw new Error('nobody goes on with the items yet');
    return note;
  });
  process.kill(worker.pid, 'SIGKILL');
  const afterSecond = { done: await done(), notes: app.notes().length };

  const record = await waitFor(async () => {
    const { records } = await listRuns(store, [job.name], await store.list(), 5);
    const final = records.find(({ state }) => state === 'final');
    if (final === undefined) throw new Error('not final yet');
    return final;
  });
  expect(record).toMatchObject({
    outcome: 'succeeded',
    result: Array.from({ length: ITEMS }, (_, index) => index * index),
  });
  const notes = app.notes();
  expect(notes.filter(({ what }) => what === 'planned')).toHaveLength(1);
  expect(notes.filter(({ what }) => what === 'gathered')).toHaveLength(1);
  const startedAfter = (from: number): string[] =>
    notes
      .slice(from)
      .filter(({ what }) => what === 'item')
      .map(({ index }) => itemPiece(index ?? -1));
  for (const after of [afterFirst, afterSecond]) {
    expect(startedAfter(after.notes).filter((item) => after.done.includes(item))).toEqual([]);
  }
  const tokens = notes.filter(({ what }) => what !== 'item').map(({ token }) => token);
  expect(tokens).toEqual(tokens.toSorted((a, b) => a - b));
  process.kill(dev.pid, 'SIGTERM');
  expect(await dev.exited()).toBe(0);
}, 240_000);
