import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { coordinatedApp } from '../support/coordinated';
import { type DevEvent, endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';

afterAll(endAll);

/** Resident memory, in MB. */
function residentMemory(pid: number): number {
  const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Runs so many jobs every second on three deployments, and checks the end of each of their due times. */
async function underLoad(
  jobs: number,
  seconds: number,
): Promise<{ readonly ranShare: number; readonly megabytes: number }> {
  const names = Array.from({ length: jobs }, (_, index) => `job-${String(index)}`);
  const app = coordinatedApp(
    Object.fromEntries(names.map((name) => [name, { schedule: '* * * * * *', handler: 'mark', lease: '15s' }])),
  );
  const dev = startDev(buildLocal(), { app: app.folder, instances: 3 }, app.env);
  const { instances } = await dev.ready();
  // From the first second in which all of them ran.
  const first = await dev.event((event) => event.event === 'succeeded', 90_000);
  const from = Date.parse(String(first['scheduledFor'])) + 5_000;
  const through = from + seconds * 1_000;
  // Once a job has started a later due time, all its earlier ones are decided.
  const isLater = (event: DevEvent): boolean =>
    event.event === 'started' && Date.parse(String(event['scheduledFor'])) > through;
  await Promise.all(names.map((name) => dev.event((event) => event['job'] === name && isLater(event), 120_000)));
  const memory = instances.map(({ pid }) => Math.round(residentMemory(pid)));
  process.kill(dev.pid, 'SIGTERM');
  expect(await dev.exited()).toBe(0);

  const notes = app.notes();
  const seen = new Set(notes.map((note) => `${note.job} ${String(note.scheduledFor)}`));
  expect(seen.size).toBe(notes.length);
  // On a machine that is short of time a run may last until the next one is due, which is then overlapped by the
  // job's own policy: recorded, not lost.
  const overlapped = dev.events.filter(({ event }) => event === 'overlapped');
  const isOverlapped = (name: string, due: number): boolean =>
    overlapped.some(
      (event) =>
        event['job'] === name &&
        Date.parse(String(event['scheduledFor'])) <= due &&
        due <= Date.parse(String(event['through'] ?? event['scheduledFor'])),
    );
  let ran = 0;
  for (const name of names) {
    for (let due = from; due < through; due += 1000) {
      const didRun = seen.has(`${name} ${String(due)}`);
      if (didRun) ran += 1;
      expect(didRun || isOverlapped(name, due), `${name} at ${new Date(due).toISOString()}`).toBe(true);
    }
  }
  const lateness = notes
    .filter(({ scheduledFor }) => scheduledFor >= from && scheduledFor < through)
    .map((note) => note.at - note.scheduledFor);
  expect(Math.min(...lateness)).toBeGreaterThanOrEqual(0);
  console.log(
    `${String(jobs)} jobs each second: lateness of ${String(lateness.length)} handler starts: p50 ${String(percentile(lateness, 0.5))} ms, ` +
      `p99 ${String(percentile(lateness, 0.99))} ms; resident memory ${memory.join(', ')} MB`,
  );
  return { ranShare: ran / (names.length * seconds), megabytes: Math.max(...memory) };
}

describe('three deployments, 20 jobs each second', () => {
  it('run every due time once, without a gap, in modest memory', { timeout: 480_000 }, async () => {
    const few = await underLoad(4, 10);
    const many = await underLoad(20, 30);
    // A busy machine lets more due times overlap, under the small load too.
    expect(many.ranShare / few.ranShare).toBeGreaterThan(0.7);
    expect(many.megabytes).toBeLessThan(180);
  });
});
