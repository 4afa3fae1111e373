import { afterAll, expect, it, vi } from 'vitest';
import { coordinatedApp } from '../support/coordinated';
import { endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';

afterAll(endAll);

const JOBS = ['a', 'b', 'c', 'd'];
/** The lease of a claim and a tick, whatever lease the job has. */
const AGAIN_WITHIN_MS = (15 + 15) * 1000;

it(
  'jobs of each second with a lease of 30 s run again within 15 s and a tick of kill -9',
  { timeout: 240_000 },
  async () => {
    const job = { schedule: '* * * * * *', handler: 'slow', input: { ms: 600 }, lease: '30s' };
    const app = coordinatedApp(Object.fromEntries(JOBS.map((name) => [name, job])));
    const dev = startDev(buildLocal(), { app: app.folder, instances: 2 }, app.env);
    await dev.ready();
    const ended = (): ReturnType<typeof app.notes> => app.notes().filter(({ what }) => what === 'ended');
    const soon = { timeout: 90_000, interval: 20 };
    // Each has run for a while, so that its worker has measured its hub.
    await vi.waitFor(() => {
      for (const name of JOBS) expect(ended().filter((note) => note.job === name).length).toBeGreaterThan(5);
    }, soon);
    const started = app.notes().at(-1);
    if (started === undefined) throw new Error('nothing has run');
    process.kill(started.pid, 'SIGKILL');
    const killedAt = Date.now();
    await vi.waitFor(() => {
      for (const name of JOBS) expect(ended().some((note) => note.job === name && note.at > killedAt)).toBe(true);
    }, soon);
    for (const name of JOBS) {
      const again = app.notes().find((note) => note.job === name && note.at > killedAt);
      const stoodMs = (again?.at ?? Infinity) - killedAt;
      expect(stoodMs, `${name} stood still for ${String(stoodMs)} ms`).toBeLessThan(AGAIN_WITHIN_MS);
    }
    process.kill(dev.pid, 'SIGTERM');
    expect(await dev.exited()).toBe(0);
  },
);
