import { describe, expect, it } from 'vitest';
import { dispatch } from '../../src/coordinator/attempt/together';
import type { Hub } from '../../src/coordinator/coordinator';
import { type AttemptInput, packRow } from '../../src/coordinator/message';
import { handOver } from '../../src/coordinator/tick/race';
import type { LeaseId } from '../../src/core/brand';
import { type Clock, sleep } from '../../src/core/clock';
import { decide } from '../../src/core/decide/decide';
import type { JobSpec } from '../../src/core/job';
import { decodeRow } from '../../src/core/row';
import { defineFanOut } from '../../src/handler/define-fan-out';
import { type ServiceTime, serviceTime } from '../../src/lease/service-time';
import { firstInstance, leaveRow, listedRow, quietHub, runnableJob, withoutTicks } from '../support/by-hand';
import { jobSpec } from '../support/job';
import { type Instance, type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { situation } from '../support/situation';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const T0 = Date.UTC(2026, 0, 1);

/**
 * The app is shut down between the hand-over of 01:00 and its claim, and started again eight hours later. Its task hub
 * has kept the message.
 */
async function overnight(
  settings: Partial<JobSpec>,
  meanwhile: (sim: RivalTicks) => Promise<void>,
): Promise<RivalTicks> {
  const sim = rivalTicks({ jobs: [jobSpec('hourly', '0 * * * *', settings)] });
  await sim.clock.advanceTo(T0 + 30 * MINUTE);
  const [first] = sim.instances;
  if (first === undefined) throw new Error('no instance');
  first.hubLateMs = () => 2 * SECOND;
  await sim.clock.advanceTo(T0 + HOUR - 4 * SECOND);
  expect(sim.calls).toEqual([]);
  expect(first.coordinator.handOvers.all().map(([name]) => name)).toEqual(['hourly']);
  await Promise.all([first.drain(), sim.clock.advance(3 * SECOND)]);
  await meanwhile(sim);
  // The message comes before the first tick.
  await sim.clock.advanceTo(T0 + 9 * HOUR + 9 * MINUTE + 56 * SECOND);
  sim.startInstance('d1');
  await sim.clock.advanceTo(T0 + 9 * HOUR + 40 * MINUTE);
  return sim;
}

const called = ({ calls }: RivalTicks): readonly string[] =>
  calls.map(({ scheduledFor, trigger }) => `${new Date(scheduledFor).toISOString().slice(11, 16)} ${trigger}`);

describe('a hand-over that the task hub has kept for hours', () => {
  it('does not run what is past its window', async () => {
    const sim = await overnight({ catchUpWindowMs: HOUR }, async () => undefined);
    expect(called(sim)).toEqual(['09:00 catchUp']);
    const first = (await sim.records('hourly')).at(-1);
    expect([first?.scheduledFor, first?.outcome, first?.reason]).toEqual([
      '2026-01-01T01:00:00.000Z',
      'expired',
      'catchUpWindow',
    ]);
    // No instance was at work before.
    expect((await sim.row('hourly')).run?.since).toBeGreaterThan(T0 + 9 * HOUR);
  });

  it('does not run in a pause that began before the claim', async () => {
    const paused = (sim: RivalTicks): Promise<void> =>
      sim.control('hourly', (control) => ({
        ...control,
        pauses: [{ by: 'p', note: 'n', since: T0 + 2 * HOUR, until: undefined }],
      }));
    const sim = await overnight({ catchUp: 'all', catchUpWindowMs: 24 * HOUR }, paused);
    expect(called(sim)).toEqual([]);
    await sim.control('hourly', (control) => ({
      ...control,
      pauses: control.pauses.map((pause) => ({ ...pause, until: sim.clock.now() })),
    }));
    await sim.clock.advance(5 * MINUTE);
    expect(called(sim)).toEqual(['01:00 catchUp']);
  });

  it('runs what is due then, where that is still the oldest due time', async () => {
    const sim = await overnight({ catchUp: 'all', catchUpWindowMs: 24 * HOUR }, async () => undefined);
    expect(called(sim)).toEqual(
      ['01', '02', '03', '04', '05', '06', '07', '08', '09'].map((hour) => `${hour}:00 catchUp`),
    );
  });
});

/** The time that a process knows whose machine slept after a call of T0: its monotonic clock stood still. */
const asleep = (clock: Clock): ServiceTime => {
  const time = serviceTime({ ...clock, now: () => clock.now(), monotonic: () => 0 });
  time.observe(T0, { wall: T0, monotonic: 0 });
  return time;
};

/** The time that a process knows which has just started, on a machine whose clock is behind. */
const justStarted =
  (behindMs: number) =>
  (clock: Clock): ServiceTime =>
    serviceTime({ ...clock, now: () => clock.now() - behindMs, monotonic: () => clock.monotonic() });

describe('a hand-over to another process', () => {
  /** A tick hands over the job's run of 00:01 or 00:02, and `meanwhile` passes until it comes to another process. */
  async function handedOver(
    at: number,
    timeThere: (clock: Clock) => ServiceTime,
    meanwhile: (sim: RivalTicks, again: () => Promise<unknown>) => Promise<void>,
    incumbent?: string,
  ) {
    const spec = jobSpec('minutely', '* * * * *', { leaseMs: 60_000, catchUp: 'latest' });
    const sim = rivalTicks({ jobs: [spec] });
    const { name } = spec;
    const on = await withoutTicks(sim);
    const process = { ...on.coordinator, serviceTime: timeThere(on.coordinator.clock) };
    await leaveRow(sim, name, { ...(await sim.row(name)), incumbent }, 'letGo');
    const { etag, metadata } = await listedRow(sim, name);
    await sim.clock.advanceTo(T0 + at);
    const decision = decide(situation(spec, sim.clock.now(), { row: decodeRow(metadata) }));
    if (decision.kind !== 'claim') throw new Error(decision.kind);
    const { claim } = decision;
    const started: AttemptInput[] = [];
    const hub: Hub = { ...quietHub, start: async (_id, input) => void started.push(input as AttemptInput) };
    const leaseId = on.coordinator.newId() as LeaseId;
    const lease = { etag, lease: 'available', leaseId, leaseMs: spec.leaseMs } as const;
    const race = { claim, ...lease, before: { run: undefined, phase: 'idle' }, releases: () => undefined } as const;
    await handOver(on.coordinator, hub.start, runnableJob(on, name), race);
    await meanwhile(sim, () => on.coordinator.store.acquire(name, { leaseId, leaseMs: spec.leaseMs, ifMatch: etag }));
    const attempts = started.map((input) => dispatch(process, input, on.report));
    await sim.clock.advance(MINUTE);
    expect(await Promise.all(attempts)).toMatchObject([{ kind: 'ended', record: { outcome: 'succeeded' } }]);
    return called(sim);
  }

  it.each([
    ['has just started with a clock that is behind', justStarted(2 * MINUTE)],
    ['has slept for so long that its last answer of storage does not tell the time', asleep],
  ])('is decided again, though its acquisition reached storage twice and the process %s', async (_what, timeThere) => {
    const calls = await handedOver(MINUTE + SECOND, timeThere, async ({ clock }, acquireAgain) => {
      await clock.advance(55 * SECOND);
      // The copy of the call renews the lease, so that a write under it is accepted for another minute.
      await acquireAgain();
      await clock.advance(15 * SECOND);
    });
    expect(calls).toEqual(['00:02 schedule']);
  });

  it.each([undefined, 'elsewhere'])('runs on time, though this clock is a little behind (incumbent %s)', async (by) => {
    const calls = await handedOver(MINUTE - 4_100, justStarted(1_900), async () => undefined, by);
    expect(calls).toEqual(['00:01 schedule']);
  });
});

describe('a hand-over that the task hub loses', () => {
  it('is made again by the same deployment once the lease that it gave back would have ended', async () => {
    const spec = jobSpec('often', '*/10 * * * * *', { leaseMs: MINUTE, catchUp: 'all' });
    const sim = rivalTicks({ jobs: [spec] });
    await sim.clock.advance(3 * MINUTE + 2 * SECOND);
    const [on] = sim.instances;
    if (on === undefined) throw new Error('no instance');
    on.hubLateMs = () => HOUR;
    await sim.clock.advance(4 * SECOND);
    expect(on.coordinator.handOvers.count).toBe(1);
    on.hubLateMs = () => 5;
    await sim.clock.advance(4 * MINUTE);
    const late = sim.calls.map(({ at, scheduledFor }) => at - scheduledFor);
    expect(Math.max(...late)).toBeGreaterThan(5 * SECOND);
    // The lease of a claim, and a tick.
    expect(Math.max(...late)).toBeLessThan(15 * SECOND + 15 * SECOND);
  });
});

describe('a hand-over of a run whose items were silent', () => {
  it.each(['available', 'expired'] as const)('that comes when they work again, to a row that was %s', async (lease) => {
    const spec = jobSpec('wide', '*/10 * * * *', { leaseMs: 15_000 });
    const wide = ({ coordinator: { clock } }: Instance) =>
      defineFanOut({
        plan: () => [1],
        each: ({ signal }) => sleep(clock, HOUR, signal),
        gather: () => undefined,
      });
    const sim = rivalTicks({ jobs: [spec], fanOut: { wide } });
    await sim.clock.advanceTo(T0 + 11 * MINUTE);
    const { name, leaseMs } = spec;
    const { coordinator, report } = firstInstance(sim);
    const { etag, metadata } = await listedRow(sim, name);
    if (lease === 'expired') {
      await sim.store.acquire(name, { leaseId: coordinator.newId() as LeaseId, leaseMs, ifMatch: etag });
      await sim.clock.advance(leaseMs + SECOND);
    }
    expect(await listedRow(sim, name)).toMatchObject({ lease, etag });
    const attempt = dispatch(
      coordinator,
      {
        kind: 'handedOver',
        job: name,
        leaseId: coordinator.newId(),
        leaseMs,
        etag,
        lease,
        acquiredAt: sim.clock.now() - 5 * MINUTE,
        row: packRow(decodeRow(metadata)),
        what: 'resume',
        isSilent: true,
        end: null,
      },
      report,
    );
    await sim.clock.advance(SECOND);
    expect(await attempt).toEqual({ kind: 'lost', why: 'the items of its run are at work again' });
    // A release would settle what an expired row owes.
    expect((await listedRow(sim, name)).lease).toBe(lease === 'expired' ? 'leased' : 'available');
  });
});
