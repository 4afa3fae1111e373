import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { loadJobs } from '../../src/config/load';
import { explainTime } from '../../src/operator/views/explain';
import { openStore } from '../../src/stores/open';
import { systemClock } from '../../src/system-clock';
import { canStart } from '../support/consul';
import { coordinatedApp } from '../support/coordinated';
import { endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';

afterAll(endAll);

const SERVERS = ['embedded', 'redis', 'etcd', ...(canStart('kills in turn on Consul') ? ['consul'] : [])];

describe('each of three instances killed in turn', () => {
  const title = 'leaves every due time with one outcome that why explains, and none run twice';
  it.for(SERVERS)(`${title}: %s`, { timeout: 300_000 }, async (server) => {
    const app = coordinatedApp({
      often: { schedule: '*/2 * * * * *', handler: 'mark', lease: '15s' },
      long: { schedule: '*/10 * * * * *', handler: 'slow', lease: '15s', overlap: 'queue', input: { ms: 3_000 } },
    });
    const dev = startDev(buildLocal(), { app: app.folder, instances: 3, storage: server }, app.env);
    const { instances, storage, container } = await dev.ready();
    const first = await dev.event(({ event }) => event === 'succeeded', 90_000);
    const from = Date.parse(String(first['scheduledFor']));

    for (const { pid, deployment } of instances) {
      // While it holds something, if it ever does within a while: then its death is felt.
      await vi
        .waitFor(() => expect(app.notes().at(-1)?.pid).toBe(pid), { timeout: 8_000, interval: 20 })
        .catch(() => undefined);
      process.kill(pid, 'SIGKILL');
      await dev.event((event) => event.event === 'instanceStarted' && event['deployment'] === deployment, 60_000);
    }
    const through = Date.now();
    // A run whose holder died is taken over within its lease and one tick.
    await vi.waitFor(() => expect(app.notes().some(({ scheduledFor }) => scheduledFor > through + 20_000)).toBe(true), {
      timeout: 60_000,
      interval: 200,
    });

    const store = openStore({ settings: { CRONLEASE_STORAGE: storage }, container, clock: systemClock });
    const file = JSON.parse(readFileSync(path.join(app.folder, 'jobs.json'), 'utf8')) as object;
    const { jobsFile } = loadJobs(file);
    const outcomes = new Set<string>();
    for (const job of jobsFile.jobs) {
      for (let due = job.timetable.next(from); due !== undefined && due < through; due = job.timetable.next(due)) {
        const time = due;
        // On a busy machine the run that was interrupted last may not be over yet.
        await vi.waitFor(
          async () => {
            const { outcome, reason, record } = await explainTime(store, job, jobsFile.revision, time);
            expect(record?.state, `${job.name} at ${new Date(time).toISOString()}: ${outcome}, ${reason}`).toBe(
              'final',
            );
            outcomes.add(outcome);
          },
          { timeout: 60_000, interval: 500 },
        );
      }
    }
    expect([...outcomes].filter((outcome) => !['succeeded', 'overlapped', 'collapsed'].includes(outcome))).toEqual([]);
    process.kill(dev.pid, 'SIGTERM');
    expect(await dev.exited()).toBe(0);
    const ended = app.notes().filter(({ what }) => what === 'ran' || what === 'ended');
    const attempts = ended.map(({ job, scheduledFor, attempt }) => `${job} ${String(scheduledFor)} ${String(attempt)}`);
    expect(new Set(attempts).size).toBe(attempts.length);
  });
});
