import { expect, it } from 'vitest';
import { jobSpec } from '../../support/job';
import { simulation } from '../../support/simulation';

// A leader that stood still wakes after its lease, its row write is refused, and its record goes in between a
// successor's look and the successor's mark. The successor then releases without saying when the run ended, so that a
// due time that passed during the run is run instead of being overlapped.
it('due times that passed during a run are overlapped, also when a take-over finds its final record', async () => {
  let hold = true;
  const sim = simulation({
    jobs: [jobSpec('a', '*/1 * * * *', { overlap: 'skip' })],
    deployments: 1,
    handler: () => (hold ? new Promise(() => undefined) : 'ok'),
  });
  await sim.clock.advance(61_000); // 00:01 runs
  expect(sim.calls).toHaveLength(1);
  const first = sim.instances[0]!;
  first.kill();
  hold = false;
  await sim.clock.advance(65_000); // 00:02:06
  const second = sim.startInstance('d2');
  // Its mark finds what the paused leader wrote meanwhile: its own record, ended at 00:02:05.
  const { store } = second.coordinator;
  let written = false;
  (second.coordinator as { store: unknown }).store = new Proxy(store, {
    get: (target, property) =>
      property === 'createRecord'
        ? async (job: never, key: string, record: { body: string; summary: Record<string, string> }, options: never) => {
            if (!written && record.summary['state'] === 'open') {
              written = true;
              const endedAt = new Date(sim.clock.now()).toISOString();
              const body = JSON.stringify({
                ...(JSON.parse(record.body) as object), state: 'final', outcome: 'succeeded', reason: 'completed', endedAt, token: 1, execution: 'first',
              });
              await sim.store.createRecord(job, key, { body, summary: { state: 'final', outcome: 'succeeded', reason: 'completed' } });
            }
            return store.createRecord(job, key, record, options);
          }
        : Reflect.get(target, property),
  });
  await sim.clock.advance(5 * 60_000);
  expect(written).toBe(true);
  const records = await sim.records('a');
  const two = records.find(({ scheduledFor }) => scheduledFor === '2026-01-01T00:02:00.000Z');
  const one = records.find(({ scheduledFor }) => scheduledFor === '2026-01-01T00:01:00.000Z');
  expect([one?.outcome, one?.endedAt, two?.outcome]).toEqual(['succeeded', one?.endedAt, Date.parse(one!.endedAt!) > Date.parse('2026-01-01T00:02:00Z') ? 'overlapped' : 'succeeded']);
  expect(Date.parse(one!.endedAt!)).toBeGreaterThan(Date.parse('2026-01-01T00:02:00Z'));
});
