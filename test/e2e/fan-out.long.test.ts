import { afterAll, expect, it, vi } from 'vitest';
import { loadJobs } from '../../src/config/load';
import { itemPiece } from '../../src/core/fan-out';
import { listRuns } from '../../src/operator/views/runs';
import { requestRun } from '../../src/operator/operations/run';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import { type Note, coordinatedApp } from '../support/coordinated';
import { endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';

afterAll(endAll);

const ITEMS = 8;

/** A cluster whose instances are gone permanently when they are killed, and one run of the job in it. */
async function startRun(name: string, instances: number, input: { count: number; ms: number }) {
  const jobs = { [name]: { schedule: '@manual', lease: '15s', input } };
  const app = coordinatedApp(jobs);
  const dev = startDev(buildLocal(), { app: app.folder, instances, restart: false }, app.env);
  const { storage, container } = await dev.ready();
  const store = azureBlobStore({
    container: connectContainer({ CRONLEASE_STORAGE: storage }, container),
    clock: systemClock,
  });
  const [job] = loadJobs({ jobs }).jobsFile.jobs;
  if (job === undefined) throw new Error('no job');
  const waitFor = async <T>(condition: () => T | Promise<T>): Promise<T> =>
    vi.waitFor(condition, { timeout: 90_000, interval: 50 });
  await waitFor(() => requestRun({ store }, job, { id: 'abc' }));
  return {
    app,
    dev,
    waitFor,
    done: async (): Promise<readonly string[]> => {
      const { pieces } = await store.listPieces(job.name, { limit: 500 });
      return pieces.map(({ name: piece }) => piece).filter((piece) => piece.startsWith('item-'));
    },
    /** The first note from the `from`-th on that fits. */
    noted: (what: string, fits: (note: Note) => boolean, from = 0): Promise<Note> =>
      waitFor(() => {
        const found = app
          .notes()
          .slice(from)
          .find((note) => note.what === what && fits(note));
        if (found === undefined) throw new Error(`no "${what}" yet`);
        return found;
      }),
    final: () =>
      waitFor(async () => {
        const { records } = await listRuns(store, [job.name], await store.list(), 5);
        const final = records.find(({ state }) => state === 'final');
        if (final === undefined) throw new Error('not final yet');
        return final;
      }),
  };
}

const squaresOf = (count: number): number[] => Array.from({ length: count }, (_, index) => index * index);

it('a run that fans out goes on elsewhere within a minute where its only host and its task hub are lost', async () => {
  const { app, dev, waitFor, done, noted, final } = await startRun('vast', 2, { count: ITEMS, ms: 2_000 });
  const planner = await noted('planned', () => true);
  await waitFor(async () => {
    expect((await done()).length).toBeGreaterThanOrEqual(2);
  });
  process.kill(planner.pid, 'SIGKILL');
  const killedAt = Date.now();
  const before = { done: await done(), notes: app.notes().length };

  await noted('item', ({ pid }) => pid !== planner.pid, before.notes);
  // Its items have a deadline of 10 minutes. A beat is 15 s old at most, and silence is 45 s; then comes a tick.
  expect(Date.now() - killedAt).toBeGreaterThan(25_000);
  // And 20 s for a machine that is busy.
  expect(Date.now() - killedAt).toBeLessThan((45 + 1 + 15 + 20) * 1_000);
  const { outcome, result, attempts } = await final();
  expect({ outcome, result }).toEqual({ outcome: 'succeeded', result: squaresOf(ITEMS) });
  expect(attempts.map((attempt) => attempt.outcome)).toEqual(['planned', 'succeeded']);
  const after = app.notes().slice(before.notes);
  expect(app.notes().filter(({ what }) => what === 'planned')).toHaveLength(1);
  const again = after.filter(({ what }) => what === 'item').map(({ index }) => itemPiece(index ?? -1));
  expect(again.filter((item) => before.done.includes(item))).toEqual([]);
  process.kill(dev.pid, 'SIGTERM');
  expect(await dev.exited()).toBe(0);
}, 240_000);

it('a run that fans out goes on elsewhere with the next tick where its only host is shut down', async () => {
  const { app, dev, waitFor, done, noted, final } = await startRun('vast', 2, { count: ITEMS, ms: 4_000 });
  const planner = await noted('planned', () => true);
  await waitFor(async () => {
    expect((await done()).length).toBeGreaterThanOrEqual(2);
  });
  process.kill(planner.pid, 'SIGTERM');
  const stoppedAt = Date.now();
  const before = app.notes().length;

  await noted('item', ({ pid }) => pid !== planner.pid, before);
  // A tick comes every 15 s. Without the hand-over, the silence would last for 30 s at least.
  expect(Date.now() - stoppedAt).toBeLessThan(25_000);
  const { outcome, result, attempts } = await final();
  expect({ outcome, result }).toEqual({ outcome: 'succeeded', result: squaresOf(ITEMS) });
  expect(attempts.map((attempt) => attempt.outcome)).toEqual(['planned', 'succeeded']);
  process.kill(dev.pid, 'SIGTERM');
  expect(await dev.exited()).toBe(0);
}, 240_000);

it('a run that fans out outlives the instance that planned it, and then one that works on its items', async () => {
  const { app, dev, waitFor, done, noted, final } = await startRun('wide', 3, { count: ITEMS, ms: 1_000 });
  const planner = await noted('planned', () => true);
  await waitFor(async () => {
    expect((await done()).length).toBeGreaterThanOrEqual(2);
  });
  process.kill(planner.pid, 'SIGKILL');
  const afterFirst = { done: await done(), notes: app.notes().length };

  const worker = await noted('item', ({ pid }) => pid !== planner.pid, afterFirst.notes);
  process.kill(worker.pid, 'SIGKILL');
  const afterSecond = { done: await done(), notes: app.notes().length };

  expect(await final()).toMatchObject({ outcome: 'succeeded', result: squaresOf(ITEMS) });
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
