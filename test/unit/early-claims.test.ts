import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { runIdOf, recordKey } from '../../src/core/key';
import { lostAttempt } from '../../src/core/row';
import { decidedAt } from '../../src/coordinator/attempt/waits';
import { stillRuns } from '../../src/operator/operations/pause';
import { StoreUnavailableError } from '../../src/lease/store';
import { pauseJob } from '../support/by-operator';
import { firstInstance } from '../support/by-hand';
import { interceptStore } from '../support/intercept';
import { jobSpec } from '../support/job';
import { type RivalTicks, type SimulationOptions, rivalTicks } from '../support/rival-ticks';
import { ranRow, T0 } from '../support/situation';

const SECOND = 1_000;
const HOUR = 3_600_000;
const DUE = T0 + HOUR;
const JOBS = 20;
const name = (index: number): JobName => `job-${String(index).padStart(2, '0')}` as JobName;

/** So many hourly jobs that their claims begin 22.5 s before the hour: one every second. */
function burst(jobs = JOBS, options: Pick<SimulationOptions, 'clock'> = {}): RivalTicks {
  return rivalTicks({
    ...options,
    jobs: Array.from({ length: jobs }, (_, index) => jobSpec(name(index), '@hourly', { leaseMs: 15_000 })),
    settings: { claimsPerSecond: JOBS / 20, longestLookAheadMs: 34_000 },
  });
}

/** The names of ten jobs. */
function named(first: number): string {
  return Array.from({ length: 10 }, (_, index) => name(first + index)).join(', ');
}

async function claimedEarly(sim: RivalTicks): Promise<void> {
  await sim.clock.advanceTo(DUE - 10 * SECOND);
  const first = await sim.row(name(0));
  expect(first.token).toBe(1);
}

describe('before a burst of due times', () => {
  it('claims are made early, wait without a renewal, and start on time', async () => {
    const sim = burst();
    const [on] = sim.instances;
    await claimedEarly(sim);
    const before = new Map(on?.calls);
    await sim.clock.advanceTo(DUE + 5 * SECOND);
    expect(sim.calls.map(({ at }) => at - DUE)).toEqual(Array.from({ length: JOBS }, () => 0));
    expect(on?.calls.get('renew') ?? 0).toBe(0);
    expect((on?.calls.get('readControl') ?? 0) - (before.get('readControl') ?? 0)).toBe(0);
    // The control of all jobs is read by one listing.
    expect((on?.calls.get('list') ?? 0) - (before.get('list') ?? 0)).toBeLessThan(6);
  });

  it('a job that was paused since its claim does not run, and its due time is recorded as paused', async () => {
    const sim = burst();
    await claimedEarly(sim);
    const subject = { name: name(3), spec: jobSpec(name(3), '@hourly') };
    await pauseJob(sim.store, subject, { by: 'ann', note: 'incident' });
    expect(await stillRuns(sim.store, subject)).toMatchObject({ how: 'claimedEarly', startsAt: DUE });
    // A process with thousands of jobs begins to read their controls 6 s before they are due.
    await sim.clock.advanceTo(DUE - 6 * SECOND);
    expect(await stillRuns(sim.store, subject)).toMatchObject({ how: 'reading' });
    await sim.clock.advanceTo(DUE - SECOND);
    expect(await stillRuns(sim.store, subject)).toBeUndefined();
    // The other attempts have read their controls by now: a pause that began at this moment would come too late.
    const other = { name: name(4), spec: jobSpec(name(4), '@hourly') };
    expect(await stillRuns(sim.store, other)).toMatchObject({ how: 'claimed', startsAt: DUE });
    await sim.clock.advanceTo(DUE + 5 * SECOND);
    expect(sim.calls.map(({ job }) => job)).not.toContain(name(3));
    expect(sim.calls).toHaveLength(JOBS - 1);
    const [record, ...others] = await sim.records(name(3));
    expect(others).toEqual([]);
    expect(record).toMatchObject({
      outcome: 'paused',
      reason: 'paused',
      startedAt: null,
      attempts: [],
      latenessMs: null,
    });
    const row = await sim.row(name(3));
    expect(row.failures).toBe(0);
    expect(row.recent.at(-1)).toMatchObject({ kind: 'gap', outcome: 'paused', scheduledFor: DUE, count: 1 });
    expect(sim.events.filter(({ event }) => event === 'paused')).toHaveLength(1);
  });

  it('a due time after a paused one runs again once the pause is over, and the gap stays the only entry', async () => {
    const sim = burst();
    await claimedEarly(sim);
    const pause = { by: 'ann', note: 'short', since: sim.clock.now(), until: DUE + 60 * SECOND };
    await sim.control(name(3), (control) => ({ ...control, pauses: [pause] }));
    await sim.clock.advanceTo(DUE + HOUR + 5 * SECOND);
    expect(sim.calls.filter(({ job }) => job === name(3)).map(({ scheduledFor }) => scheduledFor)).toEqual([
      DUE + HOUR,
    ]);
    await sim.clock.advanceTo(DUE + 2 * HOUR + 5 * SECOND);
    const { recent } = await sim.row(name(3));
    expect(recent.map(({ kind, scheduledFor }) => [kind, scheduledFor])).toEqual([
      ['gap', DUE],
      ['run', DUE + HOUR],
    ]);
  });

  it('a pause that ends before the due time changes nothing', async () => {
    const sim = burst();
    await claimedEarly(sim);
    const pause = { by: 'ann', note: 'short', since: sim.clock.now(), until: DUE - 2 * SECOND };
    await sim.control(name(3), (control) => ({ ...control, pauses: [pause] }));
    await sim.clock.advanceTo(DUE + 5 * SECOND);
    expect(sim.calls).toHaveLength(JOBS);
  });

  it('an acquisition without an answer is repeated under its id, with the length that it had', async () => {
    const sim = burst();
    const [on] = sim.instances;
    if (on === undefined) throw new Error('no instance');
    const asked: { readonly leaseId: string; readonly leaseMs: number }[] = [];
    let firstAt: number | undefined;
    interceptStore(on, 'acquire', (acquire) => async (job, lease, options) => {
      if (job === name(0)) {
        asked.push(lease);
        firstAt ??= sim.clock.now();
        // The first may take effect later, after a repeated one, which comes in other looks too.
        if (sim.clock.now() - firstAt < 9 * SECOND) throw new StoreUnavailableError('no answer');
      }
      return acquire(job, lease, options);
    });
    await sim.clock.advanceTo(DUE + 5 * SECOND);
    const [first] = asked;
    expect(first?.leaseMs).toBeGreaterThan(15_000);
    for (const { leaseId, leaseMs } of asked) if (leaseId === first?.leaseId) expect(leaseMs).toBe(first.leaseMs);
    expect(asked.filter(({ leaseId }) => leaseId === first?.leaseId).length).toBeGreaterThan(2);
    expect(sim.calls).toHaveLength(JOBS);
  });

  it('a run that was cancelled since its claim ends without its handler', async () => {
    const sim = burst();
    await claimedEarly(sim);
    await sim.control(name(3), (control) => ({ ...control, cancel: runIdOf(name(3), recordKey(DUE)) }));
    await sim.clock.advanceTo(DUE + 5 * SECOND);
    expect(sim.calls.map(({ job }) => job)).not.toContain(name(3));
    expect((await sim.records(name(3)))[0]).toMatchObject({
      outcome: 'cancelled',
      reason: 'cancelRequested',
      attempts: [],
    });
  });

  it('handlers start although the control cannot be read again', async () => {
    const sim = burst();
    await claimedEarly(sim);
    const [on] = sim.instances;
    if (on === undefined) throw new Error('no instance');
    interceptStore(on, 'list', () => () => Promise.reject(new StoreUnavailableError('gone')));
    await sim.clock.advanceTo(DUE + SECOND);
    expect(sim.calls).toHaveLength(JOBS);
    // Once, and not for each job.
    expect(sim.trouble.filter((line) => line.includes('before their handlers'))).toEqual([
      `jobs ${named(0)} and 10 more: their controls could not be read again before their handlers: StoreUnavailableError: gone`,
    ]);
  });

  it('a pause counts although another account of the process does not answer', async () => {
    const away = burst();
    const sim = burst(JOBS, { clock: away.clock });
    // The coordinators of a process share its clock.
    Object.assign(firstInstance(sim).coordinator, { clock: firstInstance(away).coordinator.clock });
    await claimedEarly(sim);
    interceptStore(firstInstance(away), 'list', () => () => Promise.reject(new StoreUnavailableError('gone')));
    await pauseJob(sim.store, { name: name(3), spec: jobSpec(name(3), '@hourly') }, { by: 'ann', note: 'incident' });
    await sim.clock.advanceTo(DUE + SECOND);
    expect(away.calls).toHaveLength(JOBS);
    expect(sim.calls.map(({ job }) => job)).not.toContain(name(3));
    expect(sim.calls).toHaveLength(JOBS - 1);
    expect(sim.trouble).toEqual([]);
  });

  it('what storage has shown of the controls in time counts, and the other handlers start on time', async () => {
    const sim = burst();
    await claimedEarly(sim);
    const [on] = sim.instances;
    if (on === undefined) throw new Error('no instance');
    for (const index of [3, 13])
      await pauseJob(sim.store, { name: name(index), spec: jobSpec(name(index), '@hourly') }, { by: 'ann', note: 'x' });
    interceptStore(on, 'list', (list) => async (options) => {
      const listing = await list(options);
      const enough = options?.enough;
      if (enough === undefined) return listing;
      // Ten jobs, and the next page does not come.
      await new Promise<void>((resolve) => {
        enough.addEventListener('abort', () => {
          resolve();
        });
      });
      return { ...listing, jobs: new Map([...listing.jobs].slice(0, 10)), continuation: 'more' };
    });
    await sim.clock.advanceTo(DUE + SECOND);
    const started = sim.calls.map(({ job }) => job);
    expect(started).toHaveLength(JOBS - 1);
    expect(started).not.toContain(name(3));
    // Its pause was on the page that did not come.
    expect(started).toContain(name(13));
    expect(Math.max(...sim.calls.map(({ at }) => at - DUE))).toBe(0);
    expect(sim.trouble.filter((line) => line.includes('before their handlers'))).toEqual([
      `jobs ${named(10)}: their controls could not be read again before their handlers: storage took too long to list them`,
    ]);
  });

  it('no more attempts wait than the host has room for, and the others are claimed as usual', async () => {
    const sim = rivalTicks({
      jobs: Array.from({ length: JOBS }, (_, index) => jobSpec(name(index), '@hourly')),
      settings: { claimsPerSecond: 1, longestLookAheadMs: 34_000, attemptsAtOnce: 10 },
    });
    await sim.clock.advanceTo(DUE - 7 * SECOND);
    const waiting = await Promise.all(Array.from({ length: JOBS }, (_, index) => sim.row(name(index))));
    expect(waiting.filter(({ token }) => token === 1)).toHaveLength(9);
    await sim.clock.advanceTo(DUE + 5 * SECOND);
    expect(sim.calls).toHaveLength(JOBS);
    expect(Math.max(...sim.calls.map(({ at }) => at - DUE))).toBe(0);
  });

  it('the look-ahead stays as it is if the settings fix it', async () => {
    const sim = rivalTicks({
      jobs: Array.from({ length: JOBS }, (_, index) => jobSpec(name(index), '@hourly')),
      settings: { claimsPerSecond: 1 },
    });
    await sim.clock.advanceTo(DUE - 6 * SECOND);
    expect((await sim.row(name(0))).token).toBe(0);
  });
});

describe('a task hub that is slower than a burst', () => {
  it('is given no more early claims than it delivers in time, and all of them start on time', async () => {
    const jobs = 120;
    const sim = rivalTicks({
      jobs: Array.from({ length: jobs }, (_, index) => jobSpec(`job-${String(index)}`, '@hourly')),
      settings: { claimsPerSecond: 4, longestLookAheadMs: 34_000 },
    });
    const [on] = sim.instances;
    if (on === undefined) throw new Error('no instance');
    on.hubLateMs = () => 2_500;
    let most = 0;
    for (let at = DUE - 40 * SECOND; at <= DUE + 10 * SECOND; at += 200) {
      await sim.clock.advanceTo(at);
      most = Math.max(most, on.coordinator.handOvers.count);
    }
    // What runs side by side may pass the limit at the same time.
    expect(most).toBeLessThanOrEqual(40 + 32);
    expect(sim.calls).toHaveLength(jobs);
    expect(Math.max(...sim.calls.map(({ at }) => at - DUE))).toBe(0);
    expect(sim.events.filter(({ event }) => event === 'superseded' || event === 'unhealthy')).toEqual([]);
  });
});

describe('the instant at which a claim was decided', () => {
  const claimed = { date: DUE + 20 * SECOND, monotonic: 0 };
  // The clock of the process is far behind.
  const row = ranRow(jobSpec('a', '@hourly'), { claimedAt: DUE - 10 * SECOND });

  it('is that before the call, if its answer came late', () => {
    expect(decidedAt({ claimed, row })).toBe(DUE - 10 * SECOND);
  });

  it('is that of the service after an earlier attempt, whose handler may have started before a pause', () => {
    expect(decidedAt({ claimed, row: { ...row, past: [lostAttempt(row)] } })).toBe(DUE + 20 * SECOND);
  });
});
