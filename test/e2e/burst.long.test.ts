import { afterAll, expect, it, vi } from 'vitest';
import { at, coordinatedApp } from '../support/coordinated';
import { endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';

afterAll(endAll);

const SLOW = { timeout: 300_000 };
const JOBS = 60;
const RUN_MS = 6_000;

interface Orchestration {
  readonly name: string;
  readonly instanceId: string;
}

/** The orchestrations of one instance's task hub, from Durable's own API. */
async function orchestrations(port: number): Promise<readonly Orchestration[]> {
  const answer = await fetch(`http://127.0.0.1:${String(port)}/runtime/webhooks/durabletask/instances?showInput=false`);
  return (await answer.json()) as readonly Orchestration[];
}

it('a burst is handed over in few orchestrations, and each run of a killed instance is taken over', SLOW, async () => {
  const schedule = at(30_000);
  const names = Array.from({ length: JOBS }, (_, index) => `job-${String(index)}`);
  const jobs = Object.fromEntries(
    names.map((name) => [
      name,
      { schedule, handler: 'slow', input: { ms: RUN_MS }, lease: '15s', catchUpWindow: '5m' },
    ]),
  );
  const app = coordinatedApp(jobs);
  const dev = startDev(buildLocal(), { app: app.folder, instances: 2 }, app.env);
  const { instances } = await dev.ready();
  await vi.waitFor(() => expect(app.notes().length).toBeGreaterThanOrEqual(JOBS / 2), {
    timeout: 90_000,
    interval: 50,
  });
  const hubs = await Promise.all(
    instances.map(async (instance) => ({ ...instance, started: await orchestrations(instance.port) })),
  );
  const all = hubs.flatMap(({ started }) => started).filter(({ instanceId }) => !instanceId.includes('probe'));
  expect(all.filter(({ name }) => name === 'cronleaseBatch').length).toBeGreaterThan(0);
  expect(all.length).toBeLessThanOrEqual(JOBS / 4);

  const [victim] = hubs.toSorted((one, other) => other.started.length - one.started.length);
  process.kill(victim?.pid ?? 0, 'SIGKILL');
  const ended = () => new Set(dev.events.filter(({ event }) => event === 'succeeded').map(({ job }) => job));
  await vi.waitFor(() => expect(ended().size).toBe(JOBS), { timeout: 150_000, interval: 200 });
  process.kill(dev.pid, 'SIGTERM');
  expect(await dev.exited()).toBe(0);

  // No attempt began twice, and a run that was on its way when its process died had one more.
  const attempts = app
    .notes()
    .filter(({ what }) => what === 'started')
    .map(({ job, attempt }) => `${job} ${String(attempt)}`);
  expect(new Set(attempts).size).toBe(attempts.length);
  expect(dev.events.filter(({ event }) => event === 'succeeded')).toHaveLength(JOBS);
  expect(dev.events.some(({ event }) => event === 'takenOver')).toBe(true);
});
