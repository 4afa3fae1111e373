import { describe, expect, it } from 'vitest';
import { historyPurger } from '../../src/coordinator/tick/purge-records';
import type { ETag, JobName, LeaseId, Token } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import { marginOf } from '../../src/core/job';
import { recordKey } from '../../src/core/key';
import { decodeRow, encodeRow } from '../../src/core/row';
import { Board } from '../../src/coordinator/tick/board';
import { HubWatch } from '../../src/coordinator/tick/hub-watch';
import type { DecideState } from '../../src/coordinator/decide-row';
import type { Hub } from '../../src/coordinator/coordinator';
import { readAndDecide } from '../../src/coordinator/tick/decide-on';
import { requiredWatch, backfillWatch } from '../../src/coordinator/ledger-watch';
import { createTicker } from '../../src/coordinator/tick/tick';
import type { LeaseStore } from '../../src/lease/store';
import { listedRow, quietHub, runnableJob, withoutTicks } from '../support/by-hand';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';

const A = 'a' as JobName;
const B = 'b' as JobName;

function stateOf({ coordinator }: Awaited<ReturnType<typeof withoutTicks>>): DecideState {
  return { coordinator, required: requiredWatch(coordinator), backfills: backfillWatch(coordinator) };
}

describe('a row whose holder could not write it any more', () => {
  it('is decided on by the record of its run: it owes no notice of a failure that was not', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@hourly')] });
    const on = await withoutTicks(sim);
    const { etag, metadata } = await listedRow(sim, A);
    const due = sim.clock.now();
    const key = recordKey(due);
    const failed = { change: 'failed', of: key, at: due, failures: 1, since: undefined, skipped: 0 } as const;
    const run = { key, scheduledFor: due, trigger: 'schedule', since: due } as const;
    const counted = { failures: 1, lastFailedKey: key, telling: [failed] };
    const held = encodeRow({ ...decodeRow(metadata), run, phase: 'running', attempt: 2, ...counted });
    const of = { job: A, scheduledFor: new Date(due).toISOString(), runId: 'a-x', trigger: 'schedule', token: 3 };
    const times = { startedAt: null, endedAt: new Date(due + 5_000).toISOString(), latenessMs: null, attempts: [] };
    const end = { ...of, ...times, state: 'final', outcome: 'cancelled', reason: 'overlapCancel' };
    await sim.store.createRecord(A, key, { body: JSON.stringify(end), summary: {} });
    await sim.clock.advance(60_000);
    const row = { etag, metadata: held, lease: 'expired' } as const;
    const seen = { row, control: undefined, listedAt: sim.clock.now() };
    const decided = await readAndDecide({ ...stateOf(on), board: new Board([A]) }, runnableJob(on, A), seen, on.report);
    expect(decided?.decision).toMatchObject({
      kind: 'record',
      row: { failures: 0, telling: [], busyUntil: due + 5_000 },
    });
  });
});

describe('a lease that somebody broke', () => {
  it('is left alone for its length and its margin', async () => {
    const spec = jobSpec('a', '@hourly', { leaseMs: 30_000 });
    const sim = rivalTicks({ jobs: [spec] });
    const on = await withoutTicks(sim);
    const job = runnableJob(on, A);
    const { etag, metadata } = await listedRow(sim, A);
    const state = { ...stateOf(on), board: new Board([A]) };
    const leaseAfter = async (ms: number): Promise<string | undefined> => {
      await sim.clock.advance(ms);
      const row = { etag, metadata, lease: 'broken' } as const;
      const seen = { row, control: undefined, listedAt: sim.clock.now() };
      return (await readAndDecide(state, job, seen, on.report))?.lease;
    };
    const whole = spec.leaseMs + marginOf(spec.leaseMs);
    expect([await leaseAfter(0), await leaseAfter(whole - 1), await leaseAfter(1)]).toEqual([
      ...['held', 'held', 'expired'],
    ]);
  });

  it('is left alone while it still lasts, however long that is', async () => {
    const spec = jobSpec('a', '@hourly', { leaseMs: 15_000 });
    const sim = rivalTicks({ jobs: [spec] });
    const on = await withoutTicks(sim);
    const { etag, metadata } = await listedRow(sim, A);
    const state = { ...stateOf(on), board: new Board([A]) };
    const leaseOf = async (isEnding: boolean): Promise<string | undefined> => {
      const row = { etag, metadata, lease: 'broken', isEnding } as const;
      const seen = { row, control: undefined, listedAt: sim.clock.now() };
      return (await readAndDecide(state, runnableJob(on, A), seen, on.report))?.lease;
    };
    expect(await leaseOf(true)).toBe('held');
    await sim.clock.advance(60_000);
    expect([await leaseOf(true), await leaseOf(false)]).toEqual(['held', 'expired']);
  });

  it('is left alone for as long as its holder had it, whatever length the file here gives', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@hourly', { leaseMs: 15_000 })] });
    const on = await withoutTicks(sim);
    const { etag, metadata } = await listedRow(sim, A);
    const state = { ...stateOf(on), board: new Board([A]) };
    const leaseAfter = async (ms: number): Promise<string | undefined> => {
      await sim.clock.advance(ms);
      const row = { etag, metadata: { ...metadata, leasems: '60000' }, lease: 'broken' } as const;
      const seen = { row, control: undefined, listedAt: sim.clock.now() };
      return (await readAndDecide(state, runnableJob(on, A), seen, on.report))?.lease;
    };
    const whole = 60_000 + marginOf(60_000);
    expect([await leaseAfter(0), await leaseAfter(whole - 1), await leaseAfter(1)]).toEqual([
      ...['held', 'held', 'expired'],
    ]);
  });
});

describe('finished orchestrations', () => {
  /** The spans that ticks ask for, oldest last, in two hours. The hub has so many orchestrations a minute. */
  async function purgedSpans(perMinute: number, fails = false) {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@hourly')] });
    const { coordinator, report } = await withoutTicks(sim);
    const spans: { readonly at: number; readonly from: number; readonly to: number }[] = [];
    const purge: Hub['purge'] = async ({ from, to }) => {
      spans.push({ at: sim.clock.now(), from: from.getTime(), to: to.getTime() });
      if (fails) throw new Error('no hub');
      return ((to.getTime() - from.getTime()) / 60_000) * perMinute;
    };
    const purgeNext = historyPurger(coordinator);
    for (let tick = 0; tick < 2 * 240; tick += 1) {
      purgeNext({ ...quietHub, purge }, report);
      await sim.clock.advance(15_000);
    }
    return spans;
  }
  const DAY = 24 * 3_600_000;

  it('are purged a day after they began, those of a fan-out that took a week as well, each hour', async () => {
    const spans = await purgedSpans(0);
    const first = spans.slice(0, spans.length / 2);
    const last = first.at(-1);
    expect(first.length).toBeLessThan(6);
    expect((first[0]?.at ?? 0) - (first[0]?.to ?? 0)).toBeGreaterThanOrEqual(DAY);
    expect((first[0]?.to ?? 0) - (last?.from ?? 0)).toBe(8 * DAY);
    for (const [index, { from }] of first.slice(0, -1).entries()) expect(first[index + 1]?.to).toBe(from);
    expect((spans[first.length]?.at ?? 0) - (first[0]?.at ?? 0)).toBeGreaterThanOrEqual(3_600_000);
  });

  it('are asked for in small numbers where there are many', async () => {
    const spans = await purgedSpans(250);
    for (const { from, to } of spans) expect(to - from).toBeLessThanOrEqual(2 * 60_000);
    expect(spans.length).toBeGreaterThan(200);
  });

  it('are purged by the next hour if the hub fails', async () => {
    expect((await purgedSpans(0, true)).length).toBe(2);
  });
});

describe('a hand-over', () => {
  it('is not doubted for a listing from before it', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@hourly')] });
    const { coordinator, report } = await withoutTicks(sim);
    const watch = new HubWatch(coordinator);
    const proven = watch.prove(quietHub, () => 10_000, new AbortController().signal, report);
    await sim.clock.advance(1_000);
    expect(await proven).toBe(true);
    // Free, as before the acquisition.
    const row = await listedRow(sim, A);
    const before = coordinator.clock.monotonic();
    await sim.clock.advance(100);
    const at = coordinator.clock.monotonic();
    const leaseId = coordinator.newId() as LeaseId;
    const handOver = {
      leaseId,
      leaseMs: 30_000,
      etag: row.etag,
      token: 0 as Token,
      lease: 'available',
      turn: 't',
      at,
      isLate: false,
    } as const;
    coordinator.handOvers.note(A, handOver);
    void watch.sawRow(A, row, before, report);
    expect(watch.mayRace).toBe(true);
    await sim.clock.advance(100);
    void watch.sawRow(A, row, coordinator.clock.monotonic(), report);
    expect(watch.mayRace).toBe(false);
  });

  it.each([
    ['a claim of its deployment', { token: '1' }, true],
    ['a record of its deployment, which raises no token', { token: '0' }, false],
    ["somebody else's claim", { token: '1', incumbent: 'other' }, false],
  ])('followed by %s', async (_, metadata, mayRace) => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@hourly')] });
    const { coordinator, report } = await withoutTicks(sim);
    const watch = new HubWatch(coordinator);
    const proven = watch.prove(quietHub, () => 10_000, new AbortController().signal, report);
    await sim.clock.advance(1_000);
    await proven;
    const row = await listedRow(sim, A);
    const at = coordinator.clock.monotonic();
    const leaseId = coordinator.newId() as LeaseId;
    coordinator.handOvers.note(A, {
      ...{ leaseId, leaseMs: 30_000, etag: row.etag, token: 0 as Token },
      ...{ lease: 'available', turn: 't', at, isLate: false },
    });
    const changed = { ...row.metadata, incumbent: coordinator.deployment, ...metadata };
    void watch.sawRow(A, { ...row, etag: '"changed"' as ETag, metadata: changed }, at, report);
    expect(watch.mayRace).toBe(mayRace);
    expect(coordinator.handOvers.of(A)).toBeUndefined();
  });
});

describe('a task hub that is in doubt', () => {
  const HOUR = 3_600_000;

  it('stops claims, and nothing else', async () => {
    const jobs = [jobSpec('a', '* * * * *', { alertAfterMs: HOUR }), jobSpec('paused', '@hourly')];
    const sim = rivalTicks({ jobs, deployments: 0 });
    const instance = sim.startInstance('d1');
    instance.hubDead = true;
    const since = sim.clock.now();
    await sim.clock.advance(1.5 * HOUR);
    const pause = { by: 'x', note: 'n', since, until: sim.clock.now() };
    await sim.control('paused', (control) => ({ ...control, pauses: [pause] }));
    await sim.clock.advance(1.5 * HOUR);
    expect(sim.calls).toEqual([]);
    // Once a sweep, and not as often as the hub is asked.
    expect(instance.calls.get('list')).toBeLessThan(3 * 60 * 4);
    const overdue = sim.events.filter(({ event }) => event === 'overdue');
    expect(overdue.length).toBeGreaterThan(100);
    expect(await sim.records('paused')).toMatchObject([
      { outcome: 'paused', scheduledFor: '2026-01-01T01:00:00.000Z' },
    ]);
    expect([...instance.coordinator.health.troubles.keys()]).toEqual(['hub']);
    instance.hubDead = false;
    const backAt = sim.clock.now();
    await sim.clock.advance(2 * 60_000);
    expect(sim.calls.filter(({ job }) => job === 'a')[0]?.at).toBeLessThan(backAt + 60_000);
  });

  it('does not keep a deployment from saying that it is there', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '* * * * *')] });
    const { coordinator, report } = await withoutTicks(sim);
    const facts = { instance: 'one', version: '1.0.0', hubAccount: undefined, tickEveryMs: 15_000 };
    const deadHub = { ...quietHub, status: async () => 'pending' as const };
    const ticker = createTicker({ ...coordinator, presence: facts });
    const tick = ticker.tick(deadHub, (after) => after + 15_000, report);
    await sim.clock.advance(20_000);
    await tick;
    await sim.clock.advance(1_000);
    expect((await sim.store.listPresences()).presences.size).toBe(1);
  });
});

describe('a listing of several pages', () => {
  it('shows each row as of its own page, however old the first one is', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@hourly')] });
    const { coordinator, report } = await withoutTicks(sim);
    const { store } = coordinator;
    const calls: string[] = [];
    const list: LeaseStore['list'] = async (options) => {
      calls.push(options?.job ?? 'all');
      const { date } = await store.list(options);
      // The row is on a page that is read 9 s later.
      if (options?.job === undefined) await sleep(sim.clock, 9_000);
      return { ...(await store.list(options)), date };
    };
    const acquire: LeaseStore['acquire'] = async (...given) => {
      calls.push('acquire');
      return store.acquire(...given);
    };
    const due = Date.UTC(2026, 0, 1, 1);
    await sim.clock.advance(due - 10_000 - sim.clock.now());
    const ticker = createTicker({ ...coordinator, store: { ...store, list, acquire } });
    const tick = ticker.tick(quietHub, (after) => after + 10_000, report);
    await sim.clock.advance(9_500);
    expect(calls.slice(0, 2)).toEqual(['all', 'acquire']);
    await sim.clock.advance(30_000);
    await tick;
  });
});

describe('a tick whose sweep finds work for minutes', () => {
  /** Whether a tick that has 15 s ends in time. */
  async function endsInTime(sim: RivalTicks, slow: Partial<LeaseStore>): Promise<boolean> {
    const { coordinator, report } = await withoutTicks(sim);
    await sim.clock.advance(2 * 3_600_000);
    const ticker = createTicker({ ...coordinator, store: { ...coordinator.store, ...slow } });
    let isOver = false;
    const tick = ticker
      .tick(quietHub, (after) => after + 15_000, report)
      .then(() => {
        isOver = true;
      });
    await sim.clock.advance(16_000);
    const inTime = isOver;
    await sim.clock.advance(600_000);
    await tick;
    return inTime;
  }

  it('ends in time, however long old records take', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@daily')] });
    let purges = 0;
    const purge = async (): Promise<'done'> => {
      purges += 1;
      await sleep(sim.clock, 120_000);
      return 'done';
    };
    expect(await endsInTime(sim, { purge })).toBe(true);
    expect(purges).toBeGreaterThan(0);
  });

  it('waits for what ends before it does: its lines belong to it', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@daily')] });
    const { coordinator, report } = await withoutTicks(sim);
    const ended: string[] = [];
    const purge = async (): Promise<'done'> => {
      await sleep(sim.clock, 3_000);
      ended.push('purge');
      return 'done';
    };
    const ticker = createTicker({ ...coordinator, store: { ...coordinator.store, purge } });
    const tick = ticker.tick(quietHub, (after) => after + 15_000, report).then(() => ended.push('tick'));
    await sim.clock.advance(16_000);
    await tick;
    expect(ended).toEqual(['purge', 'tick']);
  });

  it('ends in time, however long the jobs that may be overdue take', async () => {
    const names = Array.from({ length: 40 }, (_, index) => `job-${String(index)}`);
    const sim = rivalTicks({ jobs: names.map((name) => jobSpec(name, '@daily', { alertAfterMs: 3_600_000 })) });
    let listings = 0;
    const listRecords = (): Promise<never> => {
      listings += 1;
      return new Promise(() => undefined);
    };
    expect(await endsInTime(sim, { listRecords })).toBe(true);
    expect(listings).toBeGreaterThanOrEqual(40);
  });
});

describe('a corrected time', () => {
  it('has all that was to be looked at later looked at now', () => {
    const board = new Board([A, B]);
    const inAnHour = Date.UTC(2026, 0, 1, 1);
    board.note(A, 'putOff', { next: { kind: 'rest', at: inAnHour } });
    board.noteAll('clockCorrected', null);
    expect(board.due(inAnHour - 3_600_000)).toEqual([A]);
    // What waits for a sweep goes on waiting for it.
    expect(board.notes(B).next).toEqual({ kind: 'sweep' });
  });
});
