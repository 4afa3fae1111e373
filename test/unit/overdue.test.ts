import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ETag, LeaseId } from '../../src/core/brand';
import { type Control, NO_CONTROL, decodeControl } from '../../src/core/control';
import type { CoordinatorEvent } from '../../src/core/event';
import { recordKey } from '../../src/core/key';
import { mentionOf, overdueBy } from '../../src/core/overdue';
import { overdueWatch } from '../../src/coordinator/tick/notice-watch';
import { NonRetryableError } from '../../src/handler/handler';
import { humanPrinter, jsonPrinter } from '../../src/cli/dev/print';
import { StoreUnavailableError } from '../../src/lease/store';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { pauseJob, resumeJob } from '../support/by-operator';

const T0 = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const LEASE = '0f3b5c1e-0000-4000-8000-000000000001' as LeaseId;

function paused(since: number, until?: number): Control {
  return { ...NO_CONTROL, pauses: [{ by: 'ada', note: 'x', since, until }] };
}

describe('whether a job is overdue', () => {
  const instant = fc.integer({ min: T0, max: T0 + 100 * 24 * HOUR });
  const span = fc.integer({ min: 1_000, max: 40 * 24 * HOUR });
  const hourly = (alertAfterMs: number) => jobSpec('a', '@hourly', { alertAfterMs });

  it('is whether its last success is older than alertAfter, and by how much', () => {
    fc.assert(
      fc.property(instant, span, span, (from, alertAfterMs, age) => {
        const expected = age > alertAfterMs ? age : undefined;
        expect(overdueBy(hourly(alertAfterMs), NO_CONTROL, from, from + age)).toBe(expected);
      }),
    );
  });

  it('is never so while it is paused or disabled, nor without alertAfter', () => {
    fc.assert(
      fc.property(instant, instant, span, (from, now, alertAfterMs) => {
        const job = hourly(alertAfterMs);
        expect(overdueBy(job, paused(from), from, now)).toBeUndefined();
        expect(overdueBy({ ...job, enabled: false }, NO_CONTROL, from, now)).toBeUndefined();
        expect(overdueBy({ ...job, alertAfterMs: undefined }, NO_CONTROL, from, now)).toBeUndefined();
      }),
    );
  });

  it('counts from the end of a pause as from a success', () => {
    fc.assert(
      fc.property(instant, instant, instant, span, (from, until, now, alertAfterMs) => {
        const job = hourly(alertAfterMs);
        const asSucceeded = overdueBy(job, NO_CONTROL, Math.max(from, until), now);
        expect(overdueBy(job, paused(T0, until), from, now)).toBe(asSucceeded);
      }),
    );
  });

  it('is never found out too late by a bound that is too early', () => {
    fc.assert(
      fc.property(instant, span, instant, span, (from, earlier, now, alertAfterMs) => {
        const job = hourly(alertAfterMs);
        if (overdueBy(job, NO_CONTROL, from, now) !== undefined) {
          expect(overdueBy(job, NO_CONTROL, from - earlier, now)).toBeGreaterThan(alertAfterMs);
        }
      }),
    );
  });

  it('counts an @at job from its due time, until it has succeeded', () => {
    const at = T0 + 10 * 24 * HOUR;
    const job = jobSpec('a', `@at ${new Date(at).toISOString()}`, { alertAfterMs: HOUR });
    expect(overdueBy(job, NO_CONTROL, T0, at + HOUR)).toBeUndefined();
    expect(overdueBy(job, NO_CONTROL, T0, at + HOUR + 1)).toBe(HOUR + 1);
    expect(overdueBy(job, NO_CONTROL, at + 1, at + 1000 * HOUR)).toBeUndefined();
    const far = jobSpec('a', '@at 2040-01-01T00:00:00Z', { alertAfterMs: HOUR });
    expect(overdueBy(far, NO_CONTROL, T0, T0 + 2 * HOUR)).toBeUndefined();
    expect(overdueBy(far, NO_CONTROL, T0, Date.UTC(2040, 0, 1, 2))).toBe(2 * HOUR);
  });

  it('is so for leader jobs and jobs on request as well', () => {
    for (const schedule of ['@always', '@manual']) {
      expect(overdueBy(jobSpec('a', schedule, { alertAfterMs: HOUR }), NO_CONTROL, T0, T0 + 2 * HOUR)).toBe(2 * HOUR);
    }
  });

  it('is told by summaries of successes, and of due times that nobody could expect one of', () => {
    const key = recordKey(T0);
    const ended = new Date(T0 + 5_000).toISOString();
    const through = new Date(T0 + HOUR).toISOString();
    expect(mentionOf(key, { outcome: 'succeeded', ended })).toEqual({ kind: 'succeeded', at: T0 + 5_000 });
    expect(mentionOf(key, { outcome: 'paused', through })).toEqual({ kind: 'excused', at: T0 + HOUR });
    expect(mentionOf(key, { outcome: 'disabled' })).toEqual({ kind: 'excused', at: T0 });
    for (const outcome of ['failed', 'expired', 'overlapped', 'cancelled']) {
      expect(mentionOf(key, { outcome, ended })).toBeUndefined();
    }
    expect(mentionOf(key, { state: 'open' })).toBeUndefined();
  });
});

const overdueOf = ({ events }: RivalTicks) => events.filter(({ event }) => event === 'overdue');

describe('a coordinator', () => {
  /** Fails while it is told to. */
  function minutely(deployments = 1, sweepIntervalMs = MINUTE) {
    const state = { fails: false };
    const world = rivalTicks({
      jobs: [jobSpec('a', '* * * * *', { alertAfterMs: 5 * MINUTE })],
      start: T0,
      deployments,
      sweepIntervalMs,
      handler: () => {
        if (state.fails) throw new NonRetryableError('no');
      },
    });
    return { world, state };
  }
  /** Without the one before the row of the one job was created. */
  const listings = ({ instances }: RivalTicks): number => (instances[0]?.calls.get('listRecords') ?? 0) - 1;

  it('says nothing of a job that succeeds, and asks the ledger once in alertAfter', async () => {
    const { world } = minutely();
    await world.clock.advance(60 * MINUTE);
    expect(overdueOf(world)).toEqual([]);
    expect(listings(world)).toBeGreaterThan(0);
    expect(listings(world)).toBeLessThanOrEqual(12);
  });

  it('says at each sweep that a job fails for too long, until it succeeds', async () => {
    const { world, state } = minutely();
    await world.clock.advance(10 * MINUTE);
    state.fails = true;
    const lastSuccess = Date.parse((await world.records('a'))[0]?.endedAt ?? '');
    await world.clock.advance(4 * MINUTE);
    expect(overdueOf(world)).toEqual([]);
    await world.clock.advance(10 * MINUTE);
    const said = overdueOf(world);
    expect(said.length).toBeGreaterThanOrEqual(7);
    expect(said.length).toBeLessThanOrEqual(10);
    for (const { at, ageMs = 0, job } of said) {
      expect(job).toBe('a');
      expect(at - ageMs).toBe(lastSuccess);
      expect(ageMs).toBeGreaterThan(5 * MINUTE);
    }
    state.fails = false;
    await world.clock.advance(2 * MINUTE);
    const until = overdueOf(world).length;
    await world.clock.advance(20 * MINUTE);
    expect(overdueOf(world)).toHaveLength(until);
    expect(world.instances[0]?.coordinator.health.healthy).toBe(true);
  });

  it('asks the ledger again for a lease that may have been released and acquired meanwhile', async () => {
    const job = jobSpec('a', '@manual', { alertAfterMs: 5 * MINUTE });
    const world = rivalTicks({ jobs: [job], start: T0 });
    await world.clock.advance(MINUTE);
    const [instance] = world.instances;
    if (instance === undefined) throw new Error('no instance');
    const said: string[] = [];
    const watch = overdueWatch(instance.coordinator);
    const report = { event: ({ event }: CoordinatorEvent) => said.push(event), log: () => undefined };
    const sweep = async (): Promise<void> => {
      const etag = (await world.store.readRow(job.name))?.etag ?? ('' as ETag);
      await world.store.acquire(job.name, { leaseId: LEASE, leaseMs: MINUTE, ifMatch: etag });
      const checked = watch.check(await world.store.list(), report);
      await world.clock.advance(1_000);
      await checked;
    };
    await world.clock.advance(10 * MINUTE);
    await sweep();
    expect(said).toEqual(['overdue']);
    const [state, ended] = ['final', new Date(world.clock.now()).toISOString()];
    const summary = { state, outcome: 'succeeded', ended };
    await world.store.createRecord(job.name, recordKey(world.clock.now()), { body: '{}', summary });
    await world.store.release(job.name, LEASE);
    await world.clock.advance(MINUTE);
    await sweep();
    expect(said).toEqual(['overdue']);
  });

  it('asks the ledger no more while nothing has changed', async () => {
    const world = rivalTicks({
      jobs: [jobSpec('a', '@daily', { alertAfterMs: HOUR })],
      start: T0 + HOUR,
    });
    await world.clock.advance(3 * HOUR);
    expect(overdueOf(world).length).toBeGreaterThan(100);
    expect(listings(world)).toBe(1);
    const first = overdueOf(world)[0];
    // It counts from when it was first seen.
    expect((first?.at ?? 0) - (first?.ageMs ?? 0)).toBeLessThan(T0 + HOUR + MINUTE);
  });

  it('says it about once a sweep interval, however often it looks', async () => {
    const world = rivalTicks({
      jobs: [
        jobSpec('a', '@daily', { alertAfterMs: MINUTE }),
        jobSpec('b', '@every 1s'),
        jobSpec('c', '@every 2s', { leaseMs: 15_000 }),
      ],
      start: T0 + HOUR,
    });
    await world.clock.advance(11 * MINUTE);
    expect(overdueOf(world).length).toBeGreaterThanOrEqual(6);
    expect(overdueOf(world).length).toBeLessThanOrEqual(15);
  });

  it('does not wait for a second listing after one that came a little before its time', async () => {
    const world = rivalTicks({ jobs: [jobSpec('a', '@daily', { alertAfterMs: MINUTE })], start: T0 + HOUR });
    await world.clock.advance(3 * MINUTE);
    const coordinator = world.instances[0]?.coordinator;
    if (coordinator === undefined) throw new Error('no instance');
    const watch = overdueWatch(coordinator);
    const said: number[] = [];
    const report = { event: ({ at }: CoordinatorEvent) => said.push(at), log: () => undefined };
    const sweep = async (): Promise<void> => {
      await Promise.all([watch.check(await coordinator.store.list(), report), world.clock.advance(MINUTE / 60)]);
    };
    await sweep();
    await world.clock.advance(50 * 1_000);
    await sweep();
    expect(said).toHaveLength(2);
    await world.clock.advance(20 * 1_000);
    await sweep();
    expect(said).toHaveLength(2);
  });

  it.each([
    [59, ['overdue']],
    [61, []],
  ])('tells nothing by a listing that is old because its process stood still: %i s', async (seconds, expected) => {
    const world = rivalTicks({ jobs: [jobSpec('a', '@manual', { alertAfterMs: 2 * MINUTE })], start: T0 });
    await world.clock.advance(10 * MINUTE);
    const coordinator = world.instances[0]?.coordinator;
    if (coordinator === undefined) throw new Error('no instance');
    const said: string[] = [];
    const listing = await coordinator.store.list();
    await world.clock.advance(seconds * 1_000);
    const report = { event: ({ event }: CoordinatorEvent) => said.push(event), log: () => undefined };
    await Promise.all([overdueWatch(coordinator).check(listing, report), world.clock.advance(1_000)]);
    expect(said).toEqual(expected);
  });

  it('says so in each deployment, by one account', async () => {
    const { world, state } = minutely(2);
    state.fails = true;
    await world.clock.advance(15 * MINUTE);
    const said = overdueOf(world);
    expect(new Set(said.map(({ deployment }) => deployment))).toEqual(new Set(['d1', 'd2']));
    expect(new Set(said.map(({ at, ageMs = 0 }) => at - ageMs)).size).toBe(1);
  });

  it('says nothing while the job is paused, and counts anew from the end of the pause', async () => {
    const { world, state } = minutely();
    await world.clock.advance(3 * MINUTE);
    state.fails = true;
    const since = world.clock.now();
    await world.control('a', () => paused(since));
    await world.clock.advance(HOUR);
    expect(overdueOf(world)).toEqual([]);
    const until = world.clock.now();
    await world.control('a', () => paused(since, until));
    await world.clock.advance(4 * MINUTE);
    expect(overdueOf(world)).toEqual([]);
    // An operator's next write drops the pause: its record in the ledger says enough.
    await world.control('a', () => NO_CONTROL);
    await world.clock.advance(20_000);
    expect(overdueOf(world)).toEqual([]);
    await world.clock.advance(4 * MINUTE);
    expect(overdueOf(world).length).toBeGreaterThan(0);
  });

  it('finds the success in the ledger that no row was told of', async () => {
    const { world } = minutely();
    await world.clock.advance(10 * MINUTE);
    expect((await world.row('a')).lastGoodAt).toBeLessThanOrEqual(T0 + 6 * MINUTE);
    // A new process knows what the row says.
    world.instances[0]?.kill();
    const second = world.startInstance('d1');
    await world.clock.advance(10 * MINUTE);
    expect(overdueOf(world)).toEqual([]);
    expect((await world.row('a')).lastGoodAt).toBeGreaterThan(T0 + 10 * MINUTE);
    expect(second.calls.get('listRecords')).toBeLessThanOrEqual(4);
  });

  it('tells the row of a success with a write that is made anyway', async () => {
    const { world, state } = minutely();
    state.fails = true;
    await world.clock.advance(2.5 * MINUTE);
    state.fails = false;
    await world.clock.advance(MINUTE);
    const [newest] = await world.records('a');
    expect(newest?.outcome).toBe('succeeded');
    expect((await world.row('a')).lastGoodAt).toBe(Date.parse(newest?.endedAt ?? ''));
    expect(listings(world)).toBe(0);
  });

  it('leaves jobs without alertAfter, and of a newer file, to others', async () => {
    const world = rivalTicks({ jobs: [jobSpec('a', '@daily')], start: T0 + HOUR, revision: 2 });
    await world.clock.advance(HOUR);
    world.startInstance('d2', { jobs: [jobSpec('a', '@hourly', { alertAfterMs: MINUTE })], revision: 1 });
    await world.clock.advance(3 * HOUR);
    expect(overdueOf(world)).toEqual([]);
    expect(world.instances.map(({ calls }) => calls.get('listRecords') ?? 0)).toEqual([1, 0]);
  });

  it.each([
    ['@manual', HOUR],
    ['@always', HOUR],
    // No due time lies in its pause, so that no record shows it.
    ['@daily', HOUR],
  ])('is excused by a pause that is over, also one of %s', async (schedule, alertAfterMs) => {
    const job = jobSpec('a', schedule, { alertAfterMs });
    const world = rivalTicks({
      jobs: [job],
      handler: () => {
        throw new Error('no success');
      },
    });
    await world.clock.advance(10 * MINUTE);
    await pauseJob(world.store, { name: job.name, spec: job }, { by: 'x', note: 'n' });
    await world.clock.advance(3 * HOUR);
    await resumeJob(world.store, { name: job.name, spec: job });
    // Another change of the control record keeps it, too.
    await pauseJob(world.store, { name: job.name, spec: job }, { by: 'x', note: 'again' });
    await resumeJob(world.store, { name: job.name, spec: job });
    await world.clock.advance(HOUR - 2 * MINUTE);
    expect(overdueOf(world)).toEqual([]);
    await world.clock.advance(5 * MINUTE);
    expect(overdueOf(world).length).toBeGreaterThan(0);
    const { control } = await world.store.readControl(job.name);
    expect(decodeControl(control?.metadata ?? {}).pauses.length).toBeLessThanOrEqual(2);
  });

  it('is not kept from its work by a ledger that fails, and tells as soon as it can', async () => {
    const { world, state } = minutely();
    state.fails = true;
    const store = world.instances[0]?.coordinator.store;
    if (store === undefined) throw new Error('no instance');
    const { listRecords } = store;
    await world.clock.advance(20_000);
    Object.assign(store, { listRecords: () => Promise.reject(new StoreUnavailableError('down')) });
    await world.clock.advance(12 * MINUTE);
    expect(world.calls.length).toBeGreaterThanOrEqual(10);
    expect(overdueOf(world)).toEqual([]);
    Object.assign(store, { listRecords });
    await world.clock.advance(2 * MINUTE);
    expect(overdueOf(world).length).toBeGreaterThan(0);
  });
});

describe('cronlease dev', () => {
  const base = { deployment: 'local-1', pid: 1, job: 'a' };
  const event = (name: string, second: number, more: object = {}) => ({
    ...base,
    event: name,
    at: new Date(T0 + second * 1000).toISOString(),
    ...more,
  });
  const EVENTS = [
    event('overdue', 100, { ageMs: 60_000 }),
    event('overdue', 101, { ageMs: 61_000, deployment: 'local-2' }),
    event('overdue', 102, { ageMs: 62_000 }),
    event('succeeded', 103),
    // It had looked before.
    event('overdue', 104, { ageMs: 64_000, deployment: 'local-2' }),
    event('overdue', 164, { ageMs: 61_000 }),
  ];

  it('prints to people when it begins and when it ends', () => {
    const lines: string[] = [];
    const printer = humanPrinter({ out: (text) => lines.push(text), err: () => undefined, color: false });
    for (const one of EVENTS) printer.event(one);
    expect(lines.map((line) => line.slice(11).trim().replaceAll(/\s+/g, ' '))).toEqual([
      'local-1 a overdue no success for 1 min',
      'local-1 a succeeded',
      'local-1 a overdue no longer',
      'local-1 a overdue no success for 1 min 1 s',
    ]);
  });

  it('prints to programs what there is', () => {
    const lines: string[] = [];
    const printer = jsonPrinter({ out: (text) => lines.push(text), err: () => undefined, color: false });
    for (const one of EVENTS) printer.event(one);
    expect(lines).toHaveLength(EVENTS.length);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ event: 'overdue', job: 'a', ageMs: 60_000 });
  });
});
