// Each of these passes on the code as it is, and fails with the mutation that its name begins with.
import { describe, expect, it } from 'vitest';
import type { JobName, LeaseId, Token } from '../../../src/core/brand';
import { NO_CONTROL } from '../../../src/core/control';
import type { Situation } from '../../../src/core/decide';
import { decide } from '../../../src/core/decide';
import { recordKey } from '../../../src/core/key';
import type { Row } from '../../../src/core/row';
import { encodeRow, newRow } from '../../../src/core/row';
import { failuresAfter } from '../../../src/core/run';
import { Board } from '../../../src/coordinator/board';
import { handOver } from '../../../src/coordinator/claim';
import { runAttempt } from '../../../src/coordinator/attempt';
import { hubWatch } from '../../../src/coordinator/hub-watch';
import { look } from '../../../src/coordinator/look';
import { defineFanOut } from '../../../src/coordinator/define-fan-out';
import type { AttemptInput } from '../../../src/coordinator/message';
import { packRow } from '../../../src/coordinator/message';
import { orchestrateItems } from '../../../src/functions/orchestrator';
import { StoreUnavailableError } from '../../../src/lease/store';
import { jobSpec } from '../../support/job';
import type { Instance, Simulation } from '../../support/simulation';
import { simulation } from '../../support/simulation';

const T0 = Date.UTC(2026, 0, 1);
const SECOND = 1_000;
const MINUTE = 60_000;
const A = 'a' as JobName;

function situation(job: Situation['job'], now: number, changes: Partial<Situation> = {}): Situation {
  return {
    job, now, listedAt: now, revision: 0, row: newRow(T0, 0, job.scheduleHash), lease: 'available', control: NO_CONTROL,
    record: 'unread', lookAheadMs: 5_000, sweepIntervalMs: 60_000, ...changes,
  };
}
function settled(job: Situation['job'], changes: Partial<Row> = {}): Row {
  const run = { key: recordKey(T0), scheduledFor: T0, trigger: 'schedule' as const, since: T0 - 5_000 };
  return { ...newRow(T0, 0, job.scheduleHash), phase: 'running', attempt: 1, run, ...changes };
}

describe('decide', () => {
  it.each([
    [0, 'claim'],
    [1, 'record'],
  ])('M4: a due time that is exactly as old as catchUpWindow runs, one that is %i ms older does not', (more, kind) => {
    const job = jobSpec('a', '@at 2026-01-01T00:00:01Z', { catchUpWindowMs: MINUTE });
    const now = T0 + SECOND + MINUTE + more;
    expect(decide(situation(job, now, { sweepIntervalMs: 0 })).kind).toBe(kind);
  });

  it.each([
    [0, 'claim'],
    [1, 'record'],
  ])('M26: so does a request', (more, kind) => {
    const job = jobSpec('a', '@manual', { catchUpWindowMs: MINUTE });
    const control = { ...NO_CONTROL, requests: [{ number: 1, id: 'r', time: T0 }] };
    expect(decide(situation(job, T0 + MINUTE + more, { control })).kind).toBe(kind);
  });

  it('M26b: no decision owes more than 8 expired requests, so that a row keeps to its 8 KB', () => {
    const job = jobSpec('a', '@manual', { catchUpWindowMs: MINUTE });
    const requests = Array.from({ length: 50 }, (_, index) => ({ number: index + 1, id: `r${String(index)}`, time: T0 + index }));
    const decision = decide(situation(job, T0 + 60 * MINUTE, { control: { ...NO_CONTROL, requests } }));
    if (decision.kind !== 'record') throw new Error(decision.kind);
    expect([decision.row.owed.length, decision.row.manualTaken]).toEqual([8, 8]);
  });

  it('M5: items that nobody came back from by their deadline are an attempt that was used', () => {
    const job = jobSpec('a', '@hourly', { retry: { attempts: 1, backoffMs: 1, factor: 1, maxBackoffMs: 1, jitter: 'none' } });
    const row = settled(job, { phase: 'fanning', drained: 1, notBefore: T0 + MINUTE });
    const decision = decide(situation(job, T0 + 2 * MINUTE, { row }));
    expect(decision).toMatchObject({ kind: 'claim', claim: { end: { fate: 'timedOut' }, row: { attempt: 2, drained: 0 } } });
  });

  it('M6: what lay in a pause is recorded at once when it ends', () => {
    const job = jobSpec('a', '* * * * *');
    const control = { ...NO_CONTROL, pauses: [{ by: 'x', note: 'n', since: T0 + 30_000, until: T0 + 65_000 }] };
    const decision = decide(situation(job, T0 + 70_000, { control }));
    expect(decision).toMatchObject({ kind: 'record', row: { cursor: T0 + MINUTE, owed: [{ fate: 'paused', count: 1 }] } });
  });

  it('M8: a fast clock adopts a schedule as of the listing, not as of itself', () => {
    const job = jobSpec('a', '* * * * *', { scheduleHash: 'new' });
    const row = newRow(T0, 1, 'old');
    const decision = decide(situation(job, T0 + 60 * MINUTE, { row, revision: 2, listedAt: T0 + 2 * MINUTE }));
    expect(decision).toMatchObject({ kind: 'record', row: { cursor: T0 + 2 * MINUTE + SECOND, owed: [{ count: 2 }] } });
  });

  it('M9: the larger revision is kept with the next write where the schedule is the same', () => {
    const job = jobSpec('a', '* * * * *');
    const decision = decide(situation(job, T0 + MINUTE, { row: newRow(T0, 3, job.scheduleHash), revision: 7 }));
    expect(decision).toMatchObject({ kind: 'claim', claim: { row: { revision: 7 } } });
  });

  it('M33: a fast clock does not begin a term before its back-off is over', () => {
    const job = jobSpec('a', '@always');
    const row = settled(job, { failures: 1, busyUntil: T0 });
    const decision = decide(situation(job, T0 + 60 * MINUTE, { row, listedAt: T0 + SECOND }));
    expect(decision).toMatchObject({ kind: 'wait' });
  });

  it('M34: a run that was listed as over went on until then at most, however fast its holder was', () => {
    const job = jobSpec('a', '* * * * *');
    const row = settled(job, { busyUntil: T0 + 60 * MINUTE });
    const decision = decide(situation(job, T0 + MINUTE, { row, listedAt: T0 + MINUTE - 5 * SECOND }));
    expect(decision).toMatchObject({ kind: 'claim', claim: { run: { scheduledFor: T0 + MINUTE } } });
  });

  it('M39: a due time of a disabled job ends no waiting run', () => {
    const job = jobSpec('a', '* * * * *', { overlap: 'cancel', enabled: false });
    const row = settled(job, { phase: 'retrying', notBefore: T0 + 30 * MINUTE });
    expect(decide(situation(job, T0 + 5 * MINUTE, { row })).kind).toBe('nothing');
  });

  it('M52: a due time that waits by queue goes before a request, any other after it', () => {
    const job = jobSpec('a', '* * * * *', { overlap: 'queue' });
    const control = { ...NO_CONTROL, requests: [{ number: 1, id: 'r', time: T0 + MINUTE }] };
    const now = T0 + MINUTE + 30 * SECOND;
    const queued = settled(job, { busyUntil: now });
    expect(decide(situation(job, now, { row: queued, control }))).toMatchObject({ claim: { trigger: 'schedule' } });
    const fresh = settled(job);
    expect(decide(situation(job, now, { row: fresh, control }))).toMatchObject({ claim: { trigger: 'manual' } });
  });
});

it('M22: a cancelled run neither counts as a failure nor ends a row of them', () => {
  expect((['succeeded', 'cancelled', 'failed', 'timedOut', 'stalled'] as const).map((fate) => failuresAfter(2, fate))).toEqual([0, 2, 3, 3, 3]);
});

/** One instance that has stopped ticking, and its row with this lease. */
async function still(sim: Simulation): Promise<Instance> {
  await sim.clock.advance(20 * SECOND);
  const on = sim.instances[0]!;
  on.coordinator.stopping = true;
  await sim.clock.advance(20 * SECOND);
  on.coordinator.stopping = false;
  return on;
}
const noHub = { start: async () => undefined, status: async () => 'completed' as const, purge: async () => undefined };

it('M15: an instance that is told to stop lets go of an available row, and never of an expired one', async () => {
  const spec = jobSpec('a', '@hourly');
  const sim = simulation({ jobs: [spec] });
  const on = await still(sim);
  // A holder has died: phase running, no record, lease run out.
  const seen = (await sim.store.readRow(A))!;
  const dead = 'dead0000-0000-4000-8000-000000000000' as LeaseId;
  await sim.store.acquire(A, { leaseId: dead, leaseMs: 15_000, ifMatch: seen.etag });
  const row = { ...settled(spec), token: 1 as Token };
  const written = await sim.store.writeRow(A, encodeRow(row), { leaseId: dead, ifMatch: seen.etag });
  if (written.kind !== 'written') throw new Error('refused');
  await sim.clock.advance(20 * SECOND);
  const now = sim.clock.now();
  const decision = decide(situation(spec, now, { row, lease: 'expired', record: 'none' }));
  if (decision.kind !== 'claim') throw new Error(decision.kind);
  const acquire = on.coordinator.store.acquire.bind(on.coordinator.store);
  (on.coordinator as { store: unknown }).store = new Proxy(on.coordinator.store, {
    get: (target, property) =>
      property === 'acquire'
        ? async (...given: Parameters<typeof acquire>) => {
            const answer = await acquire(...given);
            on.coordinator.stopping = true;
            return answer;
          }
        : Reflect.get(target, property),
  });
  const job = on.coordinator.jobs.get(A)!;
  const leaseId = on.coordinator.newId() as LeaseId;
  expect(await handOver(on.coordinator, noHub, job, { claim: decision.claim, etag: written.etag, lease: 'expired', leaseId })).toBe(false);
  // `available` would say that the run has its final record: it would never be taken over.
  expect((await sim.store.readRow(A))?.lease).toBe('leased');
});

it('M16: an item of an earlier claim of the run is not done', async () => {
  const done: number[] = [];
  const spec = jobSpec('a', '@hourly');
  const sim = simulation({
    jobs: [spec],
    fanOut: { a: () => defineFanOut({ plan: () => [1], each: (_context, item) => void done.push(item as number), gather: () => 1 }) },
  });
  const on = await still(sim);
  const seen = (await sim.store.readRow(A))!;
  const leaseId = 'dead0000-0000-4000-8000-000000000000' as LeaseId;
  await sim.store.acquire(A, { leaseId, leaseMs: 15_000, ifMatch: seen.etag });
  const until = sim.clock.now() + 10 * MINUTE;
  const row = { ...settled(spec, { phase: 'fanning', notBefore: until }), token: 8 as Token };
  await sim.store.writeRow(A, encodeRow(row), { leaseId, ifMatch: seen.etag });
  await sim.store.release(A, leaseId);
  const item = { kind: 'item', job: 'a', key: row.run!.key, until, index: 0, item: '1', attempt: 1 } as const;
  const stale = runAttempt(on.coordinator, { ...item, token: 7 }, on.report);
  await sim.clock.advance(5 * SECOND);
  expect([await stale, done]).toEqual([{ kind: 'item', state: 'stopped' }, []]);
});

it('M17: a due time in a pause does not cancel the attempt that runs', async () => {
  const sim = simulation({
    jobs: [jobSpec('a', '* * * * *', { overlap: 'cancel' })],
    handler: ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true })),
  });
  await sim.clock.advance(MINUTE + 10 * SECOND); // 00:01 runs
  const now = sim.clock.now();
  await sim.control('a', (control) => ({ ...control, pauses: [{ by: 'x', note: 'n', since: now, until: undefined }] }));
  await sim.clock.advance(3 * MINUTE);
  expect(await sim.records('a')).toEqual([]);
  expect(sim.calls).toHaveLength(1);
});

it('M18: what a row owes is written before a take-over that finds the final record lets go', async () => {
  const spec = jobSpec('a', '* * * * *');
  const sim = simulation({ jobs: [spec] });
  const on = await still(sim);
  const seen = (await sim.store.readRow(A))!;
  const leaseId = on.coordinator.newId() as LeaseId;
  const acquired = await sim.store.acquire(A, { leaseId, leaseMs: 30_000, ifMatch: seen.etag });
  if (acquired.kind !== 'acquired') throw new Error('lost');
  const owed = [{ fate: 'overlapped', reason: 'overlapSkip', from: T0 - MINUTE, through: T0 - MINUTE, count: 1 }] as const;
  const row = settled(spec, { attempt: 2, owed });
  const record = { job: 'a', scheduledFor: new Date(T0).toISOString(), state: 'final', outcome: 'succeeded', attempts: [] };
  await sim.store.createRecord(A, recordKey(T0), { body: JSON.stringify(record), summary: { state: 'final', outcome: 'succeeded' } });
  const input: AttemptInput = {
    kind: 'handedOver', job: 'a', leaseId, leaseMs: 30_000, etag: seen.etag, acquiredAt: acquired.date, row: packRow(row), what: 'takeOver', end: null,
  };
  const attempt = runAttempt(on.coordinator, input, on.report);
  await sim.clock.advance(SECOND);
  expect(await attempt).toMatchObject({ kind: 'ended' });
  expect((await sim.store.readRow(A))?.lease).toBe('available');
  expect((await sim.records('a')).map(({ outcome }) => outcome)).toEqual(['succeeded', 'overlapped']);
  expect(sim.calls).toEqual([]);
});

it('M14: a run whose holder could not say until when it went on says so by its record', async () => {
  const sim = simulation({
    jobs: [jobSpec('a', '* * * * *', { overlap: 'skip' })],
    handler: async ({ scheduledFor }) => {
      if (scheduledFor.getTime() === T0 + MINUTE) await new Promise<void>((resolve) => sim.clock.after(70 * SECOND, resolve));
    },
  });
  const on = sim.instances[0]!;
  const { store } = on.coordinator;
  let refused = 0;
  (on.coordinator as { store: unknown }).store = new Proxy(store, {
    get: (target, property) =>
      property === 'writeRow'
        ? async (...given: Parameters<typeof store.writeRow>) => {
            // The news of the settling: 00:02 passed.
            if (given[1]['busyuntil'] === undefined || refused > 0) return store.writeRow(...given);
            refused += 1;
            return { kind: 'refused' };
          }
        : Reflect.get(target, property),
  });
  await sim.clock.advance(5 * MINUTE);
  expect(refused).toBe(1);
  const two = (await sim.records('a')).find(({ scheduledFor }) => scheduledFor === new Date(T0 + 2 * MINUTE).toISOString());
  expect(two?.outcome).toBe('overlapped');
});

it('M24: a broken lease is left alone for a lease and its margin', async () => {
  const spec = jobSpec('a', '@hourly', { leaseMs: 30_000 });
  const sim = simulation({ jobs: [spec] });
  const on = await still(sim);
  const { etag, metadata } = (await sim.store.readRow(A))!;
  const notes = new Board([A]).notes(A);
  const leaseAfter = async (ms: number): Promise<string | undefined> => {
    await sim.clock.advance(ms);
    const seen = { row: { etag, metadata, lease: 'broken' as const }, control: undefined, listedAt: sim.clock.now() };
    return (await look(on.coordinator, on.coordinator.jobs.get(A)!, notes, seen, on.report))?.lease;
  };
  expect([await leaseAfter(0), await leaseAfter(32_999), await leaseAfter(1)]).toEqual(['held', 'held', 'expired']);
});

it('M29: a retry keeps the larger revision, as every write does', async () => {
  const retry = { attempts: 2, backoffMs: MINUTE, factor: 1, maxBackoffMs: MINUTE, jitter: 'none' as const };
  const specs = [jobSpec('a', '@hourly', { retry })];
  const sim = simulation({ jobs: specs, handler: ({ attempt }) => (attempt === 1 ? Promise.reject(new Error('no')) : new Promise(() => undefined)) });
  await sim.clock.advance(60 * MINUTE + 5 * SECOND);
  expect((await sim.row('a')).phase).toBe('retrying');
  (sim.instances[0]!.coordinator as { revision: number }).revision = 7; // the host of the retry has the newer file
  await sim.clock.advance(65 * SECOND);
  expect(await sim.row('a')).toMatchObject({ phase: 'running', attempt: 2, revision: 7 });
});

it('M36: a backlog from before the run is waited for to the end of the tick, also with overlap skip', () => {
  const job = jobSpec('a', '@hourly', { overlap: 'skip', catchUp: 'all' });
  const run = { key: recordKey(T0), scheduledFor: T0, trigger: 'catchUp' as const, since: T0 + 150 * MINUTE };
  const row = settled(job, { run });
  expect(decide(situation(job, T0 + 151 * MINUTE, { row, lease: 'held' }))).toEqual({ kind: 'wait', until: 'tickEnds' });
});

it('M41: a listing from before a hand-over says nothing about it', async () => {
  const sim = simulation({ jobs: [jobSpec('a', '@hourly')] });
  const on = await still(sim);
  const watch = hubWatch(on.coordinator);
  const proven = watch.proven(noHub, () => 10_000, on.report);
  await sim.clock.advance(SECOND);
  expect(await proven).toBe(true);
  const row = (await sim.store.readRow(A))!; // available, as before the acquisition
  const askedAt = on.coordinator.clock.monotonic();
  await sim.clock.advance(100);
  const notes = new Board([A]).notes(A);
  watch.handedOver(notes, row.etag);
  watch.sawRow(notes, row, askedAt, on.report);
  expect(watch.mayRace).toBe(true);
  await sim.clock.advance(100);
  watch.sawRow(notes, row, on.coordinator.clock.monotonic(), on.report);
  expect(watch.mayRace).toBe(false);
});

it('M42: an item may write until 3 s before somebody else may take its run, and no longer', async () => {
  const checks: boolean[] = [];
  const spec = jobSpec('a', '@hourly');
  const sim = simulation({
    jobs: [spec],
    fanOut: {
      a: () =>
        defineFanOut({
          plan: () => [1],
          gather: () => 1,
          each: async ({ fence }) => {
            for (const wait of [16_500, 1_000]) {
              await new Promise<void>((resolve) => sim.clock.after(wait, resolve));
              try {
                fence.check();
                checks.push(true);
              } catch {
                checks.push(false);
              }
            }
          },
        }),
    },
  });
  const on = await still(sim);
  const seen = (await sim.store.readRow(A))!;
  const leaseId = 'dead0000-0000-4000-8000-000000000000' as LeaseId;
  await sim.store.acquire(A, { leaseId, leaseMs: 15_000, ifMatch: seen.etag });
  const until = sim.clock.now() + 20 * SECOND;
  const row = { ...settled(spec, { phase: 'fanning', notBefore: until }), token: 8 as Token };
  await sim.store.writeRow(A, encodeRow(row), { leaseId, ifMatch: seen.etag });
  await sim.store.release(A, leaseId);
  void runAttempt(on.coordinator, { kind: 'item', job: 'a', key: row.run!.key, until, index: 0, item: '1', attempt: 1, token: 8 }, on.report);
  await sim.clock.advance(30 * SECOND);
  expect(checks).toEqual([true, false]);
});

it('M47: when the time is corrected, whatever was to be looked at later is looked at now', () => {
  const board = new Board([A, 'b' as JobName]);
  board.notes(A).lookAt = T0 + 60 * MINUTE;
  board.lookAgain();
  expect([board.due(T0), board.notes('b' as JobName).lookAt]).toEqual([[A], undefined]);
});

it('M48: a cancelled run pauses no job, also where earlier ones had failed often enough', async () => {
  const sim = simulation({
    jobs: [jobSpec('a', '*/10 * * * *', { pauseAfterFailures: 1 })],
    handler: ({ signal, scheduledFor }) => {
      if (scheduledFor.getTime() === T0 + 10 * MINUTE) throw Object.assign(new Error('no'), { code: 'NonRetryable' });
      return new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    },
  });
  await sim.clock.advance(11 * MINUTE);
  await sim.control('a', (control) => ({ ...control, pauses: control.pauses.map((pause) => ({ ...pause, until: sim.clock.now() })) }));
  await sim.clock.advance(9 * MINUTE + 30 * SECOND);
  await sim.control('a', (control) => ({ ...control, cancel: 'a-20260101T002000Z' }));
  await sim.clock.advance(MINUTE);
  expect((await sim.records('a'))[0]).toMatchObject({ outcome: 'cancelled' });
  await sim.control('a', (control) => {
    expect(control.pauses.filter(({ until }) => until === undefined)).toEqual([]);
    return control;
  });
});

it('M49: an item whose calls were all lost is called once more, so that its failure is written down', () => {
  const run = orchestrateItems({
    df: {
      getInput: () => ({ job: 'a', key: 'k', token: 1, until: 1, attempts: 3, items: [{ index: 0, item: '1' }] }),
      callActivity: (_name: string, input: unknown) => input,
      createTimer: () => ({}),
    },
  } as never);
  const attempts: unknown[] = [];
  let step = run.next();
  while (step.done !== true) {
    attempts.push((step.value as unknown as { attempt: number }).attempt);
    step = run.throw(new Error('its process died'));
  }
  expect([attempts, step.value]).toEqual([[1, 2, 3, 4], 'stopped']);
});

it('M51: a first claim whose answer was lost writes its mark before the handler is called', async () => {
  const states: unknown[] = [];
  const sim = simulation({
    jobs: [jobSpec('a', '@hourly')],
    handler: async () => {
      states.push((await sim.records('a')).map(({ state }) => state));
    },
  });
  const on = sim.instances[0]!;
  const { store } = on.coordinator;
  let lost = false;
  (on.coordinator as { store: unknown }).store = new Proxy(store, {
    get: (target, property) =>
      property === 'writeRow'
        ? async (...given: Parameters<typeof store.writeRow>) => {
            const answer = await store.writeRow(...given);
            if (lost) return answer;
            lost = true;
            throw new StoreUnavailableError('the answer was lost');
          }
        : Reflect.get(target, property),
  });
  await sim.clock.advance(61 * MINUTE);
  expect(states).toEqual([['open']]);
});
