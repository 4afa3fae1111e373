import { expect, it } from 'vitest';
import { jobSpec } from '../../support/job';
import { simulation } from '../../support/simulation';

it('a failed run counts once, also when its holder dies between the row and the record', async () => {
  const sim = simulation({
    jobs: [jobSpec('a', '@hourly', { pauseAfterFailures: 2, retry: { attempts: 3, backoffMs: 1000, factor: 1, maxBackoffMs: 1000, jitter: 'none' } })],
    deployments: 1,
    handler: () => {
      throw Object.assign(new Error('no'), { code: 'NonRetryable' });
    },
  });
  const first = sim.instances[0]!;
  // Dies right after step (1) of settling: the row write with the count.
  const store = first.coordinator.store as { -readonly [K in keyof typeof first.coordinator.store]: (typeof first.coordinator.store)[K] };
  const createRecord = store.createRecord;
  (first.coordinator as { store: unknown }).store = new Proxy(store, {
    get: (target, property) =>
      property === 'createRecord'
        ? (...given: Parameters<typeof createRecord>) => {
            first.kill();
            return createRecord(...given);
          }
        : Reflect.get(target, property),
  });
  await sim.clock.advance(61 * 60_000);
  expect(first.dead).toBe(true);
  expect((await sim.row('a')).failures).toBe(1);
  sim.startInstance('d2');
  await sim.clock.advance(5 * 60_000);
  expect((await sim.records('a')).map(({ outcome }) => outcome)).toEqual(['failed']);
  const { control } = await sim.store.readControl('a' as never);
  expect({ failures: (await sim.row('a')).failures, paused: control !== undefined }).toEqual({ failures: 1, paused: false });
});
