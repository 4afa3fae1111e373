import { afterAll, describe, expect, it, vi } from 'vitest';
import { loadJobs } from '../../src/config/load';
import { listRuns } from '../../src/operator/views/runs';
import { requestRun } from '../../src/operator/operations/run';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import { type Note, coordinatedApp } from '../support/coordinated';
import { endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';
import { cancelRun } from '../support/by-operator';

afterAll(endAll);

interface Started {
  readonly instances: number;
  readonly restart?: boolean;
  readonly handler?: string;
  readonly settings?: object;
  /** Further jobs, on request. */
  readonly others?: Readonly<Record<string, object>>;
}

/** A cluster in which each instance is a deployment with its own task hub, and one run of the job in it. */
async function startRun(
  input: { count: number; ms: number; fails?: number; stuck?: boolean },
  { instances, restart = false, handler = 'steps', settings = {}, others = {} }: Started,
) {
  const jobs = { close: { schedule: '@manual', lease: '15s', timeout: '2d', handler, input, ...settings } };
  for (const [name, other] of Object.entries(others))
    Object.assign(jobs, { [name]: { schedule: '@manual', ...other } });
  const app = coordinatedApp(jobs);
  const dev = startDev(buildLocal(), { app: app.folder, instances, restart }, app.env);
  const { storage, container } = await dev.ready();
  const store = azureBlobStore({
    container: connectContainer({ CRONLEASE_STORAGE: storage }, container),
    clock: systemClock,
  });
  const [job] = loadJobs({ jobs }).jobsFile.jobs;
  if (job === undefined) throw new Error('no job');
  const waitFor = async <T>(condition: () => T | Promise<T>, timeout = 150_000): Promise<T> =>
    vi.waitFor(condition, { timeout, interval: 50 });
  await waitFor(() => requestRun({ store }, job, { id: 'abc' }));
  return {
    app,
    dev,
    store,
    job,
    waitFor,
    noted: (what: string, fits: (note: Note) => boolean): Promise<Note> =>
      waitFor(() => {
        const found = app.notes().find((note) => note.what === what && fits(note));
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
    async end() {
      process.kill(dev.pid, 'SIGTERM');
      expect(await dev.exited()).toBe(0);
    },
  };
}

const timesDone = (notes: readonly Note[]): Record<string, number> => {
  const times: Record<string, number> = {};
  for (const { what, index } of notes) {
    if (what === 'done') times[String(index)] = (times[String(index)] ?? 0) + 1;
  }
  return times;
};

describe('a job that is an orchestration', () => {
  it('survives kill -9 of its host in the middle of a step, and repeats no other step', async () => {
    const { app, noted, final, end } = await startRun({ count: 3, ms: 3_000 }, { instances: 1, restart: true });
    const second = await noted('begun', ({ index }) => index === 2);
    process.kill(second.pid, 'SIGKILL');
    const { outcome, result, attempts, orchestration } = await final();
    expect(orchestration).toMatch(/^close-\d{8}T\d{6}Z-t1$/);
    expect({ outcome, result }).toEqual({ outcome: 'succeeded', result: { done: [1, 2, 3] } });
    expect(attempts.map((attempt) => attempt.outcome)).toEqual(['planned', 'succeeded']);
    expect(timesDone(app.notes())).toEqual({ 1: 1, 2: 1, 3: 1 });
    expect(new Set(app.notes().map(({ token }) => token)).size).toBe(1);
    await end();
  }, 240_000);

  it('fails, is retried with another one, and tells of an orchestrator that is missing', async () => {
    const { app, dev, final, waitFor, end } = await startRun(
      { count: 1, ms: 100, fails: 2 },
      { instances: 1, settings: { retry: { attempts: 2, backoff: '1s' } }, others: { lost: { handler: 'missing' } } },
    );
    const { outcome, attempts } = await final();
    expect(outcome).toBe('succeeded');
    expect(attempts.map((attempt) => attempt.outcome)).toEqual(['planned', 'failed', 'planned', 'succeeded']);
    expect(attempts[1]?.error?.message).toContain('attempt 1 fails');
    expect(new Set(app.notes().map(({ token }) => token)).size).toBe(2);
    await waitFor(() => {
      expect(JSON.stringify(dev.events) + dev.stderr()).toMatch(/this app has no orchestrator \W*missing/);
    });
    await end();
  }, 240_000);

  it('gets an event when it is cancelled', async () => {
    const { noted, final, store, job, dev, waitFor, end } = await startRun(
      { count: 1, ms: 100, stuck: true },
      { instances: 1 },
    );
    await noted('done', ({ index }) => index === 1);
    await waitFor(() => cancelRun(store, { name: job.name, spec: job }));
    expect((await final()).outcome).toBe('cancelled');
    const { instances } = await dev.ready();
    const hub = `http://127.0.0.1:${String(instances[0]?.port)}/runtime/webhooks/durabletask/instances`;
    await waitFor(async () => {
      const found = (await (await fetch(hub)).json()) as {
        instanceId: string;
        runtimeStatus: string;
        output: unknown;
      }[];
      const own = found.find(({ instanceId }) => /^close-.*-t\d+$/.test(instanceId));
      expect(own).toMatchObject({ runtimeStatus: 'Completed', output: { done: [1, 'its run is over'] } });
    });
    await end();
  }, 240_000);

  it('is started anew by another deployment where its own is lost', async () => {
    const { app, noted, final, end } = await startRun({ count: 3, ms: 2_000 }, { instances: 2 });
    const second = await noted('begun', ({ index }) => index === 2);
    process.kill(second.pid, 'SIGKILL');
    const killedAt = Date.now();
    const again = await noted('begun', ({ pid }) => pid !== second.pid);
    expect(Date.now() - killedAt).toBeGreaterThan(30_000);
    expect(again.token).toBeGreaterThan(second.token);
    const { outcome, result } = await final();
    expect({ outcome, result }).toEqual({ outcome: 'succeeded', result: { done: [1, 2, 3] } });
    expect(timesDone(app.notes())).toEqual({ 1: 2, 2: 1, 3: 1 });
    await end();
  }, 300_000);
});
