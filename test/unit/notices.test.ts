import { describe, expect, it } from 'vitest';
import type { JobName, LeaseId } from '../../src/core/brand';
import { type Clock, sleep } from '../../src/core/clock';
import { decodeDelivery } from '../../src/core/delivery';
import { type JobSpec, NOTICE_TOPICS, type NotifySettings } from '../../src/core/job';
import { type Row, decodeRow } from '../../src/core/row';
import { NonRetryableError } from '../../src/handler/handler';
import { firstInstance } from '../support/by-hand';
import { intercepted, interceptStore } from '../support/intercept';
import { jobSpec } from '../support/job';
import { fakeReceiver } from '../support/receivers';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { T0 } from '../support/situation';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOTIFY: NotifySettings = { to: ['ops'], on: NOTICE_TOPICS, after: 1, remindMs: undefined };

const told = (schedule = '@hourly', settings: Partial<JobSpec> = {}, name = 'a'): JobSpec =>
  jobSpec(name, schedule, { notify: NOTIFY, ...settings });
const no = (): never => {
  throw new NonRetryableError('no');
};
const ids = async ({ store }: RivalTicks): Promise<string[]> =>
  (await store.listNotices({ limit: 5_000 })).notices.map(({ id }) => id);
const totals = ({ instances }: RivalTicks, method: string): number =>
  instances.reduce((sum, { calls }) => sum + (calls.get(method) ?? 0), 0);

describe('a run that fails', () => {
  it('is told once by three deployments, within seconds, and so is the recovery', async () => {
    const ops = fakeReceiver();
    const sim = rivalTicks({
      jobs: [told()],
      deployments: 3,
      outlet: ops.outlet,
      handler: ({ scheduledFor }) => (scheduledFor.getTime() < T0 + 4 * HOUR ? no() : undefined),
    });
    await sim.clock.advance(HOUR + MINUTE);
    expect(ops.received.map(({ type }) => type)).toEqual(['cronlease.job.failed']);
    const [failed] = ops.received;
    expect((failed?.at ?? 0) - (T0 + HOUR)).toBeLessThan(2_000);
    expect(failed?.body).toMatchObject({
      ...{ specversion: '1.0', subject: 'a', id: failed?.id },
      data: { runId: 'a-20260101T010000Z', outcome: 'failed', failures: 1, error: 'NonRetryableError: no' },
    });
    await sim.clock.advance(5 * HOUR);
    expect(ops.received.map(({ type }) => type)).toEqual(['cronlease.job.failed', 'cronlease.job.recovered']);
    expect(ops.received[1]?.body).toMatchObject({ data: { failures: 3, since: '2026-01-01T01:00:00.000Z' } });
    expect(new Set(ops.received.map(({ id }) => id)).size).toBe(2);
    for (const { metadata } of (await sim.store.listNotices({ limit: 10 })).notices) {
      expect(decodeDelivery(metadata).to).toEqual([{ name: 'ops', tries: 0, next: 0, end: 'sent' }]);
    }
  });

  it('costs no call and no write where nobody asked to be told', async () => {
    const calls = async (notify: NotifySettings | undefined, fails: boolean): Promise<Record<string, number>> => {
      const sim = rivalTicks({ jobs: [told('@hourly', { notify })], handler: () => (fails ? no() : undefined) });
      await sim.clock.advance(3 * HOUR + MINUTE);
      return Object.fromEntries(firstInstance(sim).calls);
    };
    const quiet = await calls(undefined, true);
    expect(Object.keys(quiet).filter((method) => /notice/i.test(method))).toEqual([]);
    // A notice is one call more, and none for the failures after it. Sweeps list notices once each.
    const { listNotices, createNotice, ...others } = await calls(NOTIFY, true);
    expect(others).toEqual(quiet);
    expect(createNotice).toBe(1);
    expect(listNotices).toBeLessThanOrEqual(3 * 60 + 2);
    const good = await calls(undefined, false);
    const { listNotices: _, ...rest } = await calls(NOTIFY, false);
    expect(rest).toEqual(good);
  });

  it('is told where its holder dies after the record, and the row names the notice until then', async () => {
    const ops = fakeReceiver();
    const sim = rivalTicks({ jobs: [told()], outlet: ops.outlet, handler: no });
    const first = firstInstance(sim);
    interceptStore(first, 'createNotice', () => () => {
      first.kill();
      return new Promise(() => undefined);
    });
    await sim.clock.advance(HOUR + MINUTE);
    expect(await sim.records('a')).toMatchObject([{ state: 'final', outcome: 'failed' }]);
    expect(await ids(sim)).toEqual([]);
    expect((await sim.row('a')).telling).toMatchObject([{ change: 'failed', failures: 1 }]);
    sim.startInstance('d2');
    await sim.clock.advance(3 * MINUTE);
    expect(ops.received.map(({ type, from }) => [type, from])).toEqual([['cronlease.job.failed', 'd2']]);
    expect(ops.received[0]?.body).toMatchObject({ data: { error: 'NonRetryableError: no' } });
    await sim.clock.advance(5 * MINUTE);
    expect(ops.received).toHaveLength(1);
    expect(sim.calls).toHaveLength(1);
  });

  it('is not told again days later, by ticks that find the row as its dead holder left it', async () => {
    const ops = fakeReceiver();
    const sim = rivalTicks({ jobs: [told()], outlet: ops.outlet, handler: no });
    const first = firstInstance(sim);
    interceptStore(first, 'release', () => () => new Promise(() => undefined));
    await sim.clock.advance(HOUR + 5_000);
    first.kill();
    expect((await sim.row('a')).telling).toMatchObject([{ change: 'failed' }]);
    expect(ops.received).toHaveLength(1);
    // The beginning of a trouble is deleted after 30 days, but not while a row names it.
    await sim.clock.advance(31 * 24 * HOUR);
    sim.startInstance('d2');
    await sim.clock.advance(10 * MINUTE);
    expect(ops.received).toHaveLength(1);
    expect(await sim.row('a')).toMatchObject({ failures: 2, telling: [] });
    expect(await ids(sim)).toEqual([]);
  });

  it('is sent by another deployment where its own dies on the way, under the same id', async () => {
    const ops = fakeReceiver();
    const sim = rivalTicks({ jobs: [told()], outlet: ops.outlet, handler: no });
    // It arrives, and no one stores that it did.
    ops.answer = ({ from }) => {
      if (from === 'd1') firstInstance(sim).kill();
      return { status: 200 };
    };
    await sim.clock.advance(HOUR + MINUTE);
    sim.startInstance('d2');
    sim.startInstance('d3');
    await sim.clock.advance(10 * MINUTE);
    const [one, two] = ops.received;
    expect(ops.received).toHaveLength(2);
    expect(one?.from).toBe('d1');
    expect(two?.from).not.toBe('d1');
    expect(one?.id).toBe(two?.id);
    expect(one?.id).toMatch(/^a_failed_\d{13}-s$/);
  });

  it('is not sent by a process whose take-over was refused', async () => {
    const ops = fakeReceiver();
    const sim = rivalTicks({ jobs: [told()], outlet: ops.outlet, handler: no });
    ops.answer = ({ from }) => {
      if (from === 'd1') firstInstance(sim).kill();
      return { status: 200 };
    };
    await sim.clock.advance(HOUR + MINUTE);
    const second = sim.startInstance('d2');
    let refusals = 0;
    interceptStore(second, 'writeNotice', (write) => (...given) => {
      if (refusals > 0) return write(...given);
      refusals += 1;
      return Promise.resolve({ kind: 'refused' });
    });
    while (refusals === 0) await sim.clock.advance(1_000);
    await sim.clock.advance(20_000);
    expect(ops.received.map(({ from }) => from)).toEqual(['d1']);
    await sim.clock.advance(5 * MINUTE);
    expect(ops.received.map(({ from }) => from)).toEqual(['d1', 'd2']);
  });

  it('is told by the claim that finds the record of a holder which died', async () => {
    const ops = fakeReceiver();
    const sim = rivalTicks({ jobs: [told()], outlet: ops.outlet, handler: no });
    const first = firstInstance(sim);
    let late: Parameters<typeof sim.store.createRecord> | undefined;
    interceptStore(first, 'createRecord', () => (...given) => {
      late = given;
      first.kill();
      return new Promise(() => undefined);
    });
    await sim.clock.advance(HOUR + 10_000);
    const second = sim.startInstance('d2');
    // The dead holder's record arrives after the look of the second one, and before its mark.
    interceptStore(second, 'createRecord', (create) => async (...given) => {
      if (late !== undefined) await sim.store.createRecord(...late);
      late = undefined;
      return create(...given);
    });
    await sim.clock.advance(5 * MINUTE);
    expect(await sim.records('a')).toMatchObject([{ outcome: 'failed', attempts: [{ deployment: 'd1' }] }]);
    expect(sim.calls).toHaveLength(1);
    expect(ops.received.map(({ type, from }) => [type, from])).toEqual([['cronlease.job.failed', 'd2']]);
  });

  it('is told of by the next holder too, if a due time comes before any sweep', async () => {
    const ops = fakeReceiver();
    const sim = rivalTicks({ jobs: [told('* * * * *')], deployments: 2, outlet: ops.outlet, handler: no });
    for (const instance of sim.instances) {
      interceptStore(instance, 'createNotice', (create) => async (...given) => {
        if (sim.instances.some(({ dead }) => dead)) return create(...given);
        instance.kill();
        return new Promise(() => undefined);
      });
    }
    await sim.clock.advance(6 * MINUTE);
    const failed = ops.received.filter(({ type }) => type === 'cronlease.job.failed');
    expect(failed).toHaveLength(1);
    expect((await sim.records('a')).length).toBeGreaterThan(2);
  });

  it('is told of together with its pause, which only the run that caused it tells', async () => {
    const ops = fakeReceiver();
    const sim = rivalTicks({
      ...{ jobs: [told('*/10 * * * *', { pauseAfterFailures: 2 })], outlet: ops.outlet, handler: no },
    });
    await sim.clock.advance(2 * HOUR);
    expect(ops.received.map(({ type }) => type)).toEqual(['cronlease.job.failed', 'cronlease.job.paused']);
    expect(ops.received[1]?.body).toMatchObject({
      data: { failures: 2, title: 'a is paused: 2 runs in a row failed' },
    });
  });
});

describe('a run that continues after a holder counted its end, and died before its record', () => {
  it('begins no second incident, and leaves a row that names no notice', async () => {
    const ops = fakeReceiver();
    let calls = 0;
    // The first run fails. The second one succeeds with a holder that dies; its next attempts fail.
    const handler = (): void => {
      calls += 1;
      if (calls === 1) throw new NonRetryableError('first');
      if (calls > 2) throw new Error('later');
    };
    const sim = rivalTicks({ jobs: [told()], outlet: ops.outlet, handler });
    const first = firstInstance(sim);
    interceptStore(first, 'createRecord', (create) => (...given) => {
      if (calls < 2) return create(...given);
      first.kill();
      return new Promise(() => undefined);
    });
    await sim.clock.advance(2 * HOUR + 1_000);
    expect((await sim.row('a')).telling).toMatchObject([{ change: 'recovered', failures: 1 }]);
    const second = sim.startInstance('d2');
    const suspended: Row[] = [];
    interceptStore(second, 'writeRow', (write) => async (...given) => {
      const row = decodeRow(given[1]);
      if (row.phase === 'retrying') suspended.push(row);
      return write(...given);
    });
    await sim.clock.advance(10 * MINUTE);
    expect(calls).toBe(4);
    expect(suspended).toMatchObject([{ telling: [], failures: 1 }]);
    expect(await sim.records('a')).toMatchObject([{ outcome: 'failed' }, { outcome: 'failed' }]);
    expect((await sim.row('a')).failures).toBe(2);
    expect(ops.received.map(({ type }) => type)).toEqual(['cronlease.job.failed']);
  });
});

describe('a run whose success a holder counted before it died, and that fails after all', () => {
  it('counts with the failures before it, and is told', async () => {
    const ops = fakeReceiver();
    let calls = 0;
    const handler = (): void => {
      calls += 1;
      if (calls !== 2) throw new NonRetryableError('no');
    };
    const sim = rivalTicks({
      jobs: [told('@hourly', { notify: { ...NOTIFY, after: 2 } })],
      outlet: ops.outlet,
      handler,
    });
    const first = firstInstance(sim);
    interceptStore(first, 'createRecord', (create) => (...given) => {
      if (calls < 2) return create(...given);
      first.kill();
      return new Promise(() => undefined);
    });
    await sim.clock.advance(2 * HOUR + 1_000);
    expect(await sim.row('a')).toMatchObject({ failures: 0, telling: [] });
    sim.startInstance('d2');
    await sim.clock.advance(10 * MINUTE);
    expect(calls).toBe(3);
    expect(await sim.records('a')).toMatchObject([{ outcome: 'failed' }, { outcome: 'failed' }]);
    expect((await sim.row('a')).failures).toBe(2);
    expect(ops.received.map(({ type }) => type)).toEqual(['cronlease.job.failed']);
  });
});

describe('one outage of a job', () => {
  const alerted = (settings: Partial<JobSpec> = {}): JobSpec =>
    told('@hourly', { alertAfterMs: 90 * MINUTE, ...settings });

  it('leads to two notices where it is overdue first and fails then', async () => {
    const ops = fakeReceiver();
    const sim = rivalTicks({
      jobs: [alerted()],
      outlet: ops.outlet,
      async handler({ scheduledFor }, { coordinator }) {
        // The first run hangs until the job is overdue.
        if (scheduledFor.getTime() < T0 + 2 * HOUR) await sleep(coordinator.clock, 2 * HOUR);
        if (scheduledFor.getTime() < T0 + 6 * HOUR) no();
      },
    });
    await sim.clock.advance(2 * HOUR);
    expect(ops.received.map(({ type }) => type)).toEqual(['cronlease.job.overdue']);
    await sim.clock.advance(3 * HOUR);
    expect((await sim.row('a')).failures).toBeGreaterThan(1);
    await sim.clock.advance(4 * HOUR);
    expect(ops.received.map(({ type }) => type)).toEqual(['cronlease.job.overdue', 'cronlease.job.recovered']);
    // The next one fails first.
    expect(await ids(sim)).not.toContainEqual(expect.stringContaining('a_failed_'));
  });

  it('leads to a notice of its failure where a receiver was not told that it is overdue', async () => {
    const ops = fakeReceiver();
    const handler = async (
      { scheduledFor }: { scheduledFor: Date },
      { coordinator }: { coordinator: { clock: Clock } },
    ) => {
      if (scheduledFor.getTime() < T0 + 2 * HOUR) await sleep(coordinator.clock, 2 * HOUR);
      no();
    };
    const sim = rivalTicks({
      jobs: [alerted({ notify: { ...NOTIFY, on: ['failure'] } })],
      outlet: ops.outlet,
      handler,
    });
    await sim.clock.advance(4 * HOUR);
    expect(ops.received.map(({ type }) => type)).toEqual(['cronlease.job.failed']);
  });

  it('costs two listings at the beginning of an incident of a job that may be overdue, and else none', async () => {
    const listings = async (settings: Partial<JobSpec>): Promise<number> => {
      const sim = rivalTicks({ jobs: [alerted(settings)], handler: no, sweepIntervalMs: 24 * HOUR });
      await sim.clock.advance(6 * HOUR);
      return totals(sim, 'listNotices');
    };
    const sweeps = await listings({ alertAfterMs: undefined });
    expect(await listings({})).toBe(sweeps);
    expect(await listings({ alertAfterMs: 30 * MINUTE })).toBe(sweeps + 2);
  });
});

describe('a change that nobody claims', () => {
  it('is told once by three deployments: the job is overdue, and no longer', async () => {
    const ops = fakeReceiver();
    const sim = rivalTicks({
      jobs: [told('@hourly', { alertAfterMs: 90 * MINUTE, notify: { ...NOTIFY, on: ['overdue'] } })],
      deployments: 3,
      outlet: ops.outlet,
      handler: ({ scheduledFor }) => (scheduledFor.getTime() < T0 + 5 * HOUR ? no() : undefined),
    });
    await sim.clock.advance(8 * HOUR);
    expect(ops.received.map(({ type }) => type)).toEqual(['cronlease.job.overdue', 'cronlease.job.punctual']);
    expect((ops.received[0]?.at ?? 0) - (T0 + 90 * MINUTE)).toBeLessThan(3 * MINUTE);
  });

  it('is told once by three deployments: the job is unreadable, and no longer', async () => {
    const ops = fakeReceiver();
    const sim = rivalTicks({ jobs: [told()], deployments: 3, outlet: ops.outlet });
    await sim.clock.advance(5 * MINUTE);
    const a = 'a' as JobName;
    const write = async (metadata: Readonly<Record<string, string>>): Promise<void> => {
      const row = await sim.store.readRow(a);
      if (row === undefined) throw new Error('no row');
      const leaseId = 'dddddddd-0000-4000-8000-000000000000' as LeaseId;
      await sim.store.acquire(a, { leaseId, leaseMs: 15_000, ifMatch: row.etag });
      await sim.store.writeRow(a, metadata, { leaseId, ifMatch: row.etag });
      await sim.store.release(a, leaseId);
    };
    const good = (await sim.store.readRow(a))?.metadata ?? {};
    await write({ format: '2' });
    await sim.clock.advance(5 * MINUTE);
    await write({ format: '3' });
    await sim.clock.advance(5 * MINUTE);
    await write(good);
    await sim.clock.advance(5 * MINUTE);
    expect(ops.received.map(({ type }) => type)).toEqual(['cronlease.job.unreadable', 'cronlease.job.restored']);
  });

  it('is repeated once a period by three deployments', async () => {
    const ops = fakeReceiver();
    const sim = rivalTicks({
      jobs: [told('@hourly', { notify: { ...NOTIFY, remindMs: 2 * HOUR } })],
      ...{ deployments: 3, outlet: ops.outlet, handler: no },
    });
    await sim.clock.advance(6 * HOUR);
    expect(ops.received.map(({ type }) => type)).toEqual([
      'cronlease.job.failed',
      'cronlease.job.reminder',
      'cronlease.job.reminder',
    ]);
    expect(ops.received.map(({ body }) => (body['data'] as { count?: number }).count)).toEqual([undefined, 1, 2]);
  });

  it('is repeated for as long as it lasts, also after the month for which its beginning stays', async () => {
    const DAY = 24 * HOUR;
    const ops = fakeReceiver();
    const notify = { ...NOTIFY, remindMs: 10 * DAY };
    const jobs = [told(`@at ${new Date(T0 + HOUR).toISOString()}`, { notify })];
    const sim = rivalTicks({ jobs, outlet: ops.outlet, handler: no });
    await sim.clock.advance(HOUR + MINUTE);
    let last = firstInstance(sim);
    for (const days of [31, 41]) {
      last.kill();
      await sim.clock.advanceTo(T0 + days * DAY);
      last = sim.startInstance(`d${String(days)}`);
      await sim.clock.advance(10 * MINUTE);
    }
    expect(ops.received.map(({ body }) => (body['data'] as { count?: number }).count)).toEqual([undefined, 3, 4]);
  });
});

describe('an attempt', () => {
  it('waits for its own notices at most, not for those of other jobs', async () => {
    const ops = fakeReceiver();
    const slow: typeof ops.outlet = (process) => ({
      ...ops.outlet(process),
      send: () => sleep(process.clock, 10 * MINUTE),
    });
    const jobs = [told('@hourly'), jobSpec('b', '* * * * *')];
    const sim = rivalTicks({ jobs, outlet: slow, handler: ({ job }) => (job === 'a' ? no() : undefined) });
    const { running } = firstInstance(sim).coordinator;
    await sim.clock.advance(HOUR + 1_000);
    expect(running.size).toBe(1);
    await sim.clock.advance(MINUTE);
    expect(sim.calls.filter(({ job }) => job === 'b')).toHaveLength(61);
    expect(running.size).toBe(0);
  });
});

describe('a receiver', () => {
  it('that does not answer is tried again in 5 s, and then after minutes, by whoever sweeps', async () => {
    const ops = fakeReceiver();
    const sim = rivalTicks({ jobs: [told()], deployments: 3, outlet: ops.outlet, handler: no });
    ops.answer = () => (ops.received.length < 4 ? 'lost' : { status: 202 });
    await sim.clock.advance(3 * HOUR);
    const [first, ...others] = ops.received.map(({ at }) => at);
    const waits = others.map((at) => at - (first ?? 0));
    expect(waits).toHaveLength(3);
    expect(waits[0]).toBe(5_000);
    expect(waits[1]).toBeGreaterThanOrEqual(5 * MINUTE);
    expect(waits[1]).toBeLessThan(8 * MINUTE);
    expect(waits[2]).toBeLessThan(40 * MINUTE);
    expect(new Set(ops.received.map(({ id }) => id)).size).toBe(1);
  });

  it('that asks for time gets it', async () => {
    const ops = fakeReceiver();
    const sim = rivalTicks({ jobs: [told()], deployments: 2, outlet: ops.outlet, handler: no });
    ops.answer = () => (ops.received.length < 2 ? { status: 429, retryAfterMs: 20 * MINUTE } : { status: 202 });
    await sim.clock.advance(2 * HOUR);
    const [first, second, ...others] = ops.received.map(({ at }) => at);
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(20 * MINUTE);
    expect((second ?? 0) - (first ?? 0)).toBeLessThan(23 * MINUTE);
    expect(others).toEqual([]);
  });

  it('that answers 410 is switched off for all deployments, with an event', async () => {
    const ops = fakeReceiver();
    ops.answer = () => ({ status: 410 });
    const jobs = [told('@hourly', {}, 'a'), told('30 * * * *', {}, 'b')];
    const sim = rivalTicks({ jobs, deployments: 3, outlet: ops.outlet, handler: no });
    await sim.clock.advance(3 * HOUR);
    expect(ops.received).toHaveLength(1);
    expect(sim.events.filter(({ event }) => event === 'noticeLost')).toMatchObject([
      { reason: expect.stringContaining('"ops" answered 410') as unknown },
    ]);
    expect((await ids(sim)).filter((id) => id.startsWith('_off_ops_'))).toHaveLength(1);
  });

  it('that was switched off gets another chance after a week', async () => {
    const ops = fakeReceiver();
    const at = (hours: number) => new Date(T0 + hours * HOUR).toISOString();
    ops.answer = () => ({ status: ops.received.length === 1 ? 410 : 204 });
    const jobs = [told(`@at ${at(1)}`, {}, 'a'), told(`@at ${at(100)}`, {}, 'b'), told(`@at ${at(175)}`, {}, 'c')];
    const sim = rivalTicks({ jobs, outlet: ops.outlet, handler: no, sweepIntervalMs: HOUR });
    await sim.clock.advance(176 * HOUR);
    expect(ops.received.map(({ body }) => body['subject'])).toEqual(['a', 'c']);
    expect((await ids(sim)).filter((id) => id.startsWith('_off_'))).toEqual([]);
  });

  it('gets a digest where many jobs fail at once, and each failure once', async () => {
    const ops = fakeReceiver();
    const names = Array.from({ length: 30 }, (_, index) => `j${String(index)}`);
    const sim = rivalTicks({
      jobs: names.map((name) => told('@hourly', {}, name)),
      ...{ deployments: 3, outlet: ops.outlet, handler: no },
    });
    await sim.clock.advance(HOUR + 5 * MINUTE);
    const single = ops.received
      .filter(({ type }) => type === 'cronlease.job.failed')
      .map(({ body }) => body['subject']);
    const digests = ops.received.filter(({ type }) => type === 'cronlease.digest');
    const inDigests = digests.flatMap(({ body }) =>
      (body['data'] as { notices: { job: string }[] }).notices.map(({ job }) => job),
    );
    expect(digests.length).toBeGreaterThan(0);
    expect(ops.received.length).toBeLessThan(20);
    expect([...single, ...inDigests].map(String).toSorted((a, b) => a.localeCompare(b))).toEqual(
      names.toSorted((a, b) => a.localeCompare(b)),
    );
    expect(totals(sim, 'createNotice')).toBe(names.length + digests.length);
  });

  it('of PagerDuty gets each of many failures once, also those whose turn comes after minutes', async () => {
    const ops = fakeReceiver('ops', 'pagerduty');
    const jobs = Array.from({ length: 250 }, (_, index) => told('@hourly', {}, `j${String(index)}`));
    const sim = rivalTicks({ jobs, deployments: 2, outlet: ops.outlet, handler: no });
    await sim.clock.advance(HOUR + 15 * MINUTE);
    expect(ops.received).toHaveLength(jobs.length);
    expect(new Set(ops.received.map(({ id }) => id)).size).toBe(jobs.length);
    const { notices } = await sim.store.listNotices({ limit: 5_000 });
    expect(notices.filter(({ metadata }) => decodeDelivery(metadata).doneAt === undefined)).toEqual([]);
  });

  it('of PagerDuty gets no failure after its recovery, which would open an incident that nothing resolves', async () => {
    const ops = fakeReceiver('ops', 'pagerduty');
    ops.answer = () => (ops.received.length < 3 ? 'lost' : { status: 202 });
    const handler = ({ scheduledFor }: { scheduledFor: Date }) =>
      scheduledFor.getTime() === T0 + 10 * MINUTE ? no() : undefined;
    const sim = rivalTicks({ jobs: [told('*/2 * * * *')], deployments: 2, outlet: ops.outlet, handler });
    await sim.clock.advance(HOUR);
    const actions = ops.received.map(({ body }) => body['event_action']);
    expect(actions).toEqual(['trigger', 'trigger', 'resolve']);
    const { notices } = await sim.store.listNotices({ limit: 10 });
    expect(notices.map(({ metadata }) => decodeDelivery(metadata).to.map(({ end }) => end))).toEqual([
      ['over'],
      ['sent'],
    ]);
  });

  it('gets no digest from a process that finds the same one in storage', async () => {
    const ops = fakeReceiver();
    const jobs = Array.from({ length: 30 }, (_, index) => told('@hourly', {}, `j${String(index)}`));
    let found = 0;
    const withDigests: typeof ops.outlet = ({ store, ...process }) =>
      ops.outlet({
        ...process,
        store: intercepted(store, 'createNotice', (create) => (...given) => {
          if (!given[0].startsWith('all_digest_')) return create(...given);
          found += 1;
          return Promise.resolve({ kind: 'exists' });
        }),
      });
    const sim = rivalTicks({ jobs, outlet: withDigests, handler: no });
    await sim.clock.advance(HOUR + MINUTE);
    expect(found).toBeGreaterThan(0);
    expect(ops.received.filter(({ type }) => type === 'cronlease.digest')).toEqual([]);
  });
});
