import { describe, expect, it } from 'vitest';
import { isObject } from '../../src/core/metadata';
import type { LeaseStore } from '../../src/lease/store';
import { jobSpec } from '../support/job';
import { type Instance, rivalTicks } from '../support/rival-ticks';

const SECOND = 1_000;
const T0 = Date.UTC(2026, 0, 1);
/** After the first tick, with the job's first due times served. */
const FROM = T0 + 20_500;
const OUTAGE_MS = 10_000;

/** Storage that serves nothing for a while, and then all that was asked of it meanwhile, whoever still waits. */
function stopStorage({ coordinator }: Instance, when: (call: keyof LeaseStore) => boolean) {
  const { store } = coordinator;
  const over = Promise.withResolvers<void>();
  let stopped = false;
  const calls: string[] = [];
  Object.assign(coordinator, {
    store: new Proxy(store, {
      get(target, property: keyof LeaseStore) {
        const member = target[property];
        if (typeof member !== 'function') return member;
        return async (...parameters: unknown[]) => {
          stopped ||= when(property);
          calls.push(property);
          if (stopped) await over.promise;
          return Reflect.apply(member, target, parameters.map(withoutSignal));
        };
      },
    }),
  });
  return {
    get stopped() {
      return stopped;
    },
    calls,
    end: over.resolve,
  };
}

/** Whoever sent a request may have given it up: it is served all the same. */
function withoutSignal(parameter: unknown): unknown {
  return isObject(parameter) && 'signal' in parameter ? { ...parameter, signal: undefined } : parameter;
}

describe('an outage of storage', () => {
  it('leaves a backlog that is caught up at several due times a second', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '* * * * * *')] });
    await sim.clock.advance(FROM - T0);
    const [instance] = sim.instances;
    if (instance === undefined) throw new Error('no instance');
    const storage = stopStorage(instance, () => true);
    await sim.clock.advance(OUTAGE_MS);
    storage.end();
    const until = sim.clock.now();
    await sim.clock.advance(3 * SECOND);
    const due = Array.from({ length: OUTAGE_MS / SECOND }, (_, index) => Math.ceil(FROM / SECOND + index) * SECOND);
    expect(due.filter((at) => at < until && !sim.calls.some((call) => call.scheduledFor === at))).toEqual([]);
  });

  it('in the middle of an acquisition that nobody waits for any more does not leave its lease to run out', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '*/5 * * * * *')] });
    await sim.clock.advance(FROM - T0);
    const [instance] = sim.instances;
    if (instance === undefined) throw new Error('no instance');
    const storage = stopStorage(instance, (call) => call === 'acquire');
    const before = sim.calls.length;
    while (!storage.stopped) await sim.clock.advance(100);
    await sim.clock.advance(OUTAGE_MS);
    expect(storage.calls.filter((call) => call === 'acquire').length).toBeGreaterThanOrEqual(1);
    expect(sim.calls).toHaveLength(before);
    storage.end();
    await sim.clock.advance(2 * SECOND);
    expect(sim.calls.slice(before).map(({ scheduledFor }) => scheduledFor)).toEqual([
      T0 + 25 * SECOND,
      T0 + 30 * SECOND,
    ]);
    expect(sim.events.filter(({ event }) => event === 'takenOver')).toEqual([]);
  });
});
