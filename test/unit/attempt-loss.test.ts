import { describe, expect, it } from 'vitest';
import { type Clock, sleep } from '../../src/core/clock';
import type { JobName, LeaseId } from '../../src/core/brand';
import { storeLoss, readLoss } from '../../src/core/past-attempt';
import { endNotice } from '../../src/core/notice';
import { keepAlive } from '../../src/lease/keep-alive';
import { moment, Trust } from '../../src/lease/trust';
import { memoryService } from '../../src/stores/memory/store';
import { systemClock } from '../../src/system-clock';
import { explainTime } from '../../src/operator/views/explain';
import { recordKey } from '../../src/core/key';
import { showRun } from '../../src/operator/views/runs';
import { firstInstance } from '../support/by-hand';
import { jobSpec } from '../support/job';
import { rivalTicks } from '../support/rival-ticks';

const SECOND = 1_000;
const HOUR = 3_600_000;

/** An hourly job whose process does nothing else for 45.1 s of its run. */
async function standstill(isBusy: boolean, other: boolean = false) {
  const jobs = [jobSpec('a', '@hourly', { leaseMs: 30_000, retry: { ...jobSpec('a', '@hourly').retry, attempts: 1 } })];
  const beside = jobSpec('b', '@hourly', { leaseMs: 60_000 });
  const sim = rivalTicks({
    jobs: other ? [...jobs, beside] : jobs,
    handler: (_, { coordinator }) => sleep(coordinator.clock, 10 * SECOND),
  });
  const on = firstInstance(sim);
  if (isBusy) Object.assign(on.coordinator.clock, { busyMs: () => sim.clock.monotonic() });
  await sim.clock.advance(HOUR + 2 * SECOND);
  on.pause();
  await sim.clock.advance(45 * SECOND);
  on.wake();
  await sim.clock.advance(60 * SECOND);
  return sim;
}

describe('an attempt whose process did nothing else past its lease', () => {
  it.each([
    [true, 'eventLoopBlocked', 'the handler blocked the event loop for 45.1 s, past its lease of 20 s'],
    [false, 'leaseLost', 'its process stood still for 45.1 s, past its lease of 20 s'],
  ] as const)('is reported as that (busy: %s)', async (isBusy, reason, message) => {
    const sim = await standstill(isBusy);
    expect(sim.events.find(({ event }) => event === 'superseded')?.reason).toBe(reason);
    expect(sim.trouble.join()).toContain(`job "a": attempt 1 ends without effect: ${message}`);
    expect(await sim.records('a')).toMatchObject([
      { outcome: 'failed', reason: 'holderLost', attempts: [{ outcome: 'holderLost', error: { message } }] },
    ]);
    const [record] = await sim.records('a');
    const [spec] = [...firstInstance(sim).coordinator.jobs.values()].map((job) => job.spec);
    if (spec === undefined) throw new Error('no job');
    const explained = await explainTime(sim.store, spec, 0, Date.UTC(2026, 0, 1, 1));
    expect(explained.record?.attempts[0]?.error?.message).toBe(message);
    const owed = { change: 'failed', of: 'x', at: 0, failures: 1, since: undefined, skipped: 0 } as const;
    expect(endNotice({ name: spec.name, description: undefined }, owed, record).error).toContain(message);
  });

  it('does not blame one of several handlers', async () => {
    const sim = await standstill(true, true);
    expect(sim.trouble.join()).toContain(
      'job "a": attempt 1 ends without effect: a handler of its instance blocked the event loop for 45.1 s, past its lease of 20 s',
    );
  });
});

describe('an attempt that another process took over from a blocked one', () => {
  const message = 'the handler blocked the event loop for 1 min 15 s, past its lease of 20 s';

  /** The first attempt is blocked for 75 s, and the other deployment ends the run meanwhile. */
  async function takenOver(spec = jobSpec('a', '@hourly', { leaseMs: 30_000 })) {
    const sim = rivalTicks({
      jobs: [spec],
      deployments: 2,
      handler: ({ attempt }, { coordinator }) => sleep(coordinator.clock, attempt === 1 ? 10 * SECOND : SECOND),
    });
    await sim.clock.advance(HOUR + 2 * SECOND);
    const on = sim.instances.find(({ coordinator }) => coordinator.deployment === sim.calls[0]?.deployment);
    if (on === undefined) throw new Error('no instance runs it');
    Object.assign(on.coordinator.clock, { busyMs: () => sim.clock.monotonic() });
    on.pause();
    await sim.clock.advance(75 * SECOND);
    const key = recordKey(Date.UTC(2026, 0, 1, 1));
    const shown = async () => {
      const listing = await sim.store.list();
      const [run, why] = await Promise.all([
        showRun(sim.store, spec.name, key, listing),
        explainTime(sim.store, spec, 0, Date.UTC(2026, 0, 1, 1)),
      ]);
      return [run, why.record].map((record) => record?.attempts.map(({ outcome, error }) => [outcome, error?.message]));
    };
    return { sim, on, shown };
  }

  it('is shown as blocked once its holder has seen that, and the record stays as it is', async () => {
    const { sim, on, shown } = await takenOver();
    const lost = (text: string | undefined) => [
      ['holderLost', text],
      ['succeeded', undefined],
    ];
    expect(await shown()).toEqual([lost(undefined), lost(undefined)]);
    const before = await sim.records('a');
    on.wake();
    await sim.clock.advance(20 * SECOND);
    expect(await shown()).toEqual([lost(message), lost(message)]);
    expect(await sim.records('a')).toEqual(before);
  });

  it('is shown so for a job without logs too', async () => {
    const { sim, on, shown } = await takenOver(jobSpec('a', '@hourly', { leaseMs: 30_000, logs: 'none' }));
    on.wake();
    await sim.clock.advance(20 * SECOND);
    expect((await shown())[0]).toContainEqual(['holderLost', message]);
  });

  it('is shown as before if its note says something else, or cannot be written', async () => {
    const { sim, on, shown } = await takenOver();
    const key = recordKey(Date.UTC(2026, 0, 1, 1));
    await sim.store.createLog('a' as JobName, key, 'lost-1');
    await sim.store.appendLog('a' as JobName, key, 'lost-1', { text: 'hello', at: 0 });
    on.wake();
    await sim.clock.advance(20 * SECOND);
    expect((await shown())[0]).toContainEqual(['holderLost', undefined]);
    expect(sim.calls.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });
});

describe('the real event loop', () => {
  const lost = async (block: (clock: Clock) => void) => {
    const clock = systemClock;
    const trust = Trust.withoutLease(clock, moment(clock), 1_500);
    const seen: string[] = [];
    const alive = keepAlive({
      ...{ store: memoryService(clock).open(), clock, random: () => 0.5, job: 'a' as JobName, leaseMs: 6_000, trust },
      leaseId: '11111111-1111-4111-8111-111111111111' as LeaseId,
      untilDueMs: HOUR,
      onLost: (why) => seen.push(why),
      onTrouble: () => undefined,
    });
    block(clock);
    while (trust.lost === undefined) await sleep(clock, 10);
    alive.stop();
    return { seen, loss: trust.lost?.loss };
  };

  it('that a handler blocks is told apart from a lease that ends in peace', async () => {
    const { seen, loss } = await lost((clock) => {
      const until = clock.monotonic() + 2_500;
      while (clock.monotonic() < until);
    });
    expect(loss).toMatchObject({ kind: 'blocked', leaseMs: 6_000 });
    expect(seen[0]).toMatch(/^the handler blocked the event loop for \d.*s, past its lease of 6 s$/);
  });
});

describe('a loss in a row', () => {
  it.each([
    { kind: 'refused' },
    { kind: 'blocked', ms: 45_000, leaseMs: 30_000 },
    { kind: 'blockedBeside', ms: 45_000, leaseMs: 30_000 },
    { kind: 'stopped', ms: 45_000, leaseMs: 30_000 },
  ] as const)('is read as it was written: $kind', (loss) => {
    expect(readLoss(storeLoss(loss))).toEqual(loss);
  });

  it.each(['', 'b', 'b x 1', 'x 1 2', 5, undefined])('is nothing else: %s', (text) => {
    expect(readLoss(text)).toBeUndefined();
  });
});
