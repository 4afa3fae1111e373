import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { loadJobs } from '../../src/config/load';
import { explainTime } from '../../src/operator/views/explain';
import { openStore } from '../../src/stores/open';
import { systemClock } from '../../src/system-clock';
import { startAzurite } from '../support/azurite';
import { coordinatedApp } from '../support/coordinated';
import { endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';

const EVERY_MS = 5_000;
const [TIMEOUT_MS, GRACE_MS, LEASE_MS] = [6_000, 1_000, 15_000];
/** For so long after its claim, the killed holder may have been at work. */
const AT_WORK_MS = TIMEOUT_MS + GRACE_MS + LEASE_MS;
const OUTAGE_MS = AT_WORK_MS + 6 * EVERY_MS;

afterAll(endAll);

it(
  'catches up what came due once nobody could be at work on a run that an outage ended',
  { timeout: 400_000 },
  async () => {
    const azurite = await startAzurite();
    const app = coordinatedApp({
      often: {
        schedule: `*/${String(EVERY_MS / 1000)} * * * * *`,
        catchUp: 'all',
        handler: 'slow',
        input: { ms: 2_000 },
        timeout: `${String(TIMEOUT_MS / 1000)}s`,
        grace: `${String(GRACE_MS / 1000)}s`,
        lease: `${String(LEASE_MS / 1000)}s`,
      },
    });
    const start = () =>
      startDev(buildLocal(), { app: app.folder, instances: 2, storage: azurite.connectionString }, app.env);
    const killed = start();
    const { container } = await killed.ready();
    const noted = (what: string) => app.notes().filter((note) => note.what === what);
    await vi.waitFor(() => expect(noted('ended').length).toBeGreaterThan(0), { timeout: 90_000 });
    const before = noted('started').length;
    const last = await vi.waitFor(
      () => {
        const [next] = noted('started').slice(before);
        if (next === undefined) throw new Error('no further run has started');
        return next;
      },
      { timeout: 60_000, interval: 20 },
    );
    process.kill(-killed.pid, 'SIGKILL');
    await killed.exited();

    await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(last.scheduledFor + OUTAGE_MS), { timeout: 120_000 });
    const backAt = Date.now();
    const back = start();
    await back.ready();

    const store = openStore({
      settings: { CRONLEASE_STORAGE: azurite.connectionString },
      container,
      clock: systemClock,
    });
    const { jobsFile } = loadJobs(JSON.parse(readFileSync(path.join(app.folder, 'jobs.json'), 'utf8')));
    const [job] = jobsFile.jobs;
    if (job === undefined) throw new Error('no job');
    const outcomeOf = (time: number) =>
      vi.waitFor(
        async () => {
          const { outcome, record } = await explainTime(store, job, jobsFile.revision, time);
          expect(record?.state).toBe('final');
          return outcome;
        },
        { timeout: 120_000, interval: 500 },
      );
    expect(await outcomeOf(last.scheduledFor)).toBe('succeeded');
    for (let due = last.scheduledFor + EVERY_MS; due < backAt; due += EVERY_MS) {
      const outcome = await outcomeOf(due);
      const what = `${String(due - last.scheduledFor)} ms after the due time of the run`;
      if (due < last.scheduledFor + AT_WORK_MS) expect(outcome, what).toBe('overlapped');
      // Its handler started later than it was claimed.
      if (due > last.at + AT_WORK_MS) expect(outcome, what).toBe('succeeded');
    }
  },
);
