import { describe, expect, it } from 'vitest';
import { dispatch } from '../../src/coordinator/attempt/together';
import type { JobName, LeaseId } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import type { Claim } from '../../src/core/decide/situation';
import { decide } from '../../src/core/decide/decide';
import { decodeRow } from '../../src/core/row';
import { handOver } from '../../src/coordinator/tick/race';
import { giveBack, giveBackAll } from '../../src/coordinator/drain';
import type { Hub } from '../../src/coordinator/coordinator';
import type { JobContext } from '../../src/handler/handler';
import type { AttemptInput } from '../../src/coordinator/message';
import { StoreUnavailableError } from '../../src/lease/store';
import { firstInstance, leaveRow, listedRow, quietHub, runnableJob, withoutTicks } from '../support/by-hand';
import { interceptStore } from '../support/intercept';
import { jobSpec } from '../support/job';
import { type Instance, type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { ranRow, situation, T0 } from '../support/situation';

const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const A = 'a' as JobName;

function claimOf(decision: ReturnType<typeof decide>): Claim {
  if (decision.kind !== 'claim') throw new Error(decision.kind);
  return decision.claim;
}

const releases = (): void => undefined;
/** Nothing has run before. */
const before = { run: undefined, phase: 'idle' } as const;

describe('a hand-over through the task hub', () => {
  // `validate` reckons with 20 s, and a queue that was quiet is polled every 30 s by default: as long as this lease is.
  it.each([2, 10, 15, 17, 20, 23, 28, 40])(
    'that takes %i s leaves the attempt a lease that it can keep',
    async (seconds) => {
      const spec = jobSpec('a', '@hourly', { leaseMs: 30_000 });
      const sim: RivalTicks = rivalTicks({ jobs: [spec], handler: () => sleep(sim.clock, MINUTE) });
      const on = await withoutTicks(sim);
      const { etag, metadata } = await listedRow(sim, A);
      const now = T0 + HOUR + 2 * SECOND;
      await sim.clock.advanceTo(now);
      const claim = claimOf(decide(situation(spec, now, { row: decodeRow(metadata) })));
      const started: AttemptInput[] = [];
      const hub: Hub = { ...quietHub, start: async (_id, input) => void started.push(input as AttemptInput) };
      const leaseId = on.coordinator.newId() as LeaseId;
      await handOver(on.coordinator, hub.start, runnableJob(on, A), {
        claim,
        etag,
        lease: 'available',
        before,
        leaseId,
        leaseMs: spec.leaseMs,
        releases,
      });
      await sim.clock.advance(seconds * SECOND);
      const attempts = started.map((input) => dispatch(on.coordinator, input, on.report));
      await sim.clock.advance(90 * SECOND);
      expect(await Promise.all(attempts)).toMatchObject([{ kind: 'ended', record: { outcome: 'succeeded' } }]);
    },
  );

  it.each([
    ['lets go of a free row', 'available', 'letGo', 'available'],
    // A free row would say that the dead holder's run has its record: no one would take it over.
    ['keeps an expired one', 'expired', 'died', 'leased'],
  ] as const)('that a shutdown cuts short %s', async (_what, lease, left, expected) => {
    const spec = jobSpec('a', '* * * * *');
    const sim = rivalTicks({ jobs: [spec] });
    const on = await withoutTicks(sim);
    const row = ranRow(spec);
    const etag = await leaveRow(sim, A, row, left);
    await sim.clock.advance(30 * SECOND);
    const claim = claimOf(decide(situation(spec, sim.clock.now(), { row, lease, record: 'none' })));
    interceptStore(on, 'acquire', (acquire) => async (...given) => {
      const answer = await acquire(...given);
      on.coordinator.stopping = true;
      return answer;
    });
    const leaseId = on.coordinator.newId() as LeaseId;
    const race = { claim, etag, lease, before, leaseId, leaseMs: spec.leaseMs, releases };
    expect(await handOver(on.coordinator, quietHub.start, runnableJob(on, A), race)).toBe(false);
    expect((await listedRow(sim, A)).lease).toBe(expected);
  });
});

describe('a release that takes 75 s to the service', () => {
  /** A tick that is told to stop after its acquisition, and whose releases get no answer. The first arrives late. */
  async function released() {
    const spec = jobSpec('a', '* * * * *', { leaseMs: 60_000 });
    const sim: RivalTicks = rivalTicks({ jobs: [spec], handler: () => sleep(sim.clock, 2 * MINUTE) });
    const on = await withoutTicks(sim);
    const row = ranRow(spec);
    const etag = await leaveRow(sim, A, row, 'letGo');
    await sim.clock.advance(30 * SECOND);
    const claim = claimOf(decide(situation(spec, sim.clock.now(), { row })));
    const arrived: string[] = [];
    let isOff = true;
    let sent = 0;
    interceptStore(on, 'acquire', (acquire) => async (...given) => {
      const answer = await acquire(...given);
      on.coordinator.stopping = isOff;
      return answer;
    });
    interceptStore(on, 'release', (release) => async (job, leaseId, { ifMatch } = {}) => {
      const options = ifMatch === undefined ? {} : { ifMatch };
      if (!isOff) return release(job, leaseId, options);
      sent += 1;
      if (sent === 1) {
        void sleep(sim.clock, 75 * SECOND).then(async () => arrived.push(await release(job, leaseId, options)));
      }
      throw new StoreUnavailableError('no answer');
    });
    const started: AttemptInput[] = [];
    const hub: Hub = { ...quietHub, start: async (_id, input) => void started.push(input as AttemptInput) };
    const leaseId = on.coordinator.newId() as LeaseId;
    let released = 0;
    const race = {
      ...({ claim, etag, lease: 'available', before, leaseId, leaseMs: spec.leaseMs } as const),
      releases: () => {
        released += 1;
      },
    };
    const first = expect(handOver(on.coordinator, hub.start, runnableJob(on, A), race)).rejects.toThrow('no answer');
    await sim.clock.advance(65 * SECOND);
    await first;
    expect(released).toBe(1);
    isOff = false;
    on.coordinator.stopping = false;
    return { sim, on, race, hub, started, arrived };
  }

  it('ends no claim that was made under the same lease id meanwhile', async () => {
    const { sim, on, race, hub, started, arrived } = await released();
    expect(await handOver(on.coordinator, hub.start, runnableJob(on, A), race)).toBe(true);
    const attempts = started.map((input) => dispatch(on.coordinator, input, on.report));
    await sim.clock.advance(20 * SECOND);
    expect(arrived).toEqual(['lost']);
    expect((await listedRow(sim, A)).lease).toBe('leased');
    await sim.clock.advance(3 * MINUTE);
    expect(await Promise.all(attempts)).toMatchObject([{ kind: 'ended', record: { outcome: 'succeeded' } }]);
  });

  it('is the last use of its lease id', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '* * * * *', { leaseMs: 30_000, catchUpWindowMs: HOUR })] });
    const on = firstInstance(sim);
    await sim.clock.advance(MINUTE + 30 * SECOND);
    const ids: string[] = [];
    let isDown = true;
    interceptStore(on, 'acquire', (acquire) => async (job, request, options) => {
      ids.push(request.leaseId);
      on.coordinator.stopping = isDown;
      return acquire(job, request, options);
    });
    interceptStore(on, 'release', (release) => (...given) => {
      on.coordinator.stopping = false;
      return isDown ? Promise.reject(new StoreUnavailableError('no answer')) : release(...given);
    });
    await sim.clock.advance(35 * SECOND);
    expect(ids).toHaveLength(1);
    isDown = false;
    sim.calls.length = 0;
    await sim.clock.advance(90 * SECOND);
    expect(sim.calls.length).toBeGreaterThan(0);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('a claim whose store measures the lease', () => {
  it('is trusted for what is left, and no longer, whatever the dates of the answers', async () => {
    const trusted: number[] = [];
    const sim: RivalTicks = rivalTicks({
      jobs: [jobSpec('a', '@hourly', { leaseMs: 60_000 })],
      handler: async ({ signal }) => {
        const started = sim.clock.now();
        signal.addEventListener('abort', () => trusted.push(sim.clock.now() - started));
        await sleep(sim.clock, 5 * MINUTE);
      },
    });
    const on = firstInstance(sim);
    interceptStore(on, 'writeRow', (writeRow) => async (...given) => {
      const answer = await writeRow(...given);
      // Only by the dates, it would be trusted for most of a minute.
      return answer.kind === 'refused' ? answer : { ...answer, leftMs: 20 * SECOND };
    });
    interceptStore(on, 'renew', () => () => Promise.reject(new StoreUnavailableError('no answer')));
    interceptStore(on, 'acquire', (acquire) => async (...given) => {
      if (sim.calls.length > 0) throw new StoreUnavailableError('no answer');
      return acquire(...given);
    });
    await sim.clock.advance(HOUR + 2 * MINUTE);
    // Less the margin, and the look-ahead before the due time.
    expect(trusted[0]).toBeGreaterThan(0);
    expect(trusted[0]).toBeLessThanOrEqual(20 * SECOND - 6 * SECOND);
  });
});

describe('a claim whose store answers absurd times', () => {
  const LEASE_MS = 60_000;
  const MARGIN_MS = 6_000;
  const YEAR = 365 * 24 * HOUR;

  /** How long after its lease began a run was aborted, whose claim was answered so, and whose renewals all fail. */
  async function claimed(answered: (date: number) => { readonly date?: number; readonly leftMs?: number }, late = 0) {
    const spec = jobSpec('a', '@hourly', { leaseMs: LEASE_MS });
    const ends: number[] = [];
    let acquiredAt = 0;
    const sim: RivalTicks = rivalTicks({
      jobs: [spec],
      handler: async ({ signal }) => {
        signal.addEventListener('abort', () => ends.push(sim.clock.now() - acquiredAt));
        await sleep(sim.clock, 5 * MINUTE);
      },
    });
    const on = await withoutTicks(sim);
    const row = ranRow(spec);
    const etag = await leaveRow(sim, A, row, 'letGo');
    await sim.clock.advanceTo(T0 + HOUR + 50 * MINUTE);
    const claim = claimOf(decide(situation(spec, sim.clock.now(), { row })));
    const started: AttemptInput[] = [];
    const hub: Hub = { ...quietHub, start: async (_id, input) => void started.push(input as AttemptInput) };
    interceptStore(on, 'acquire', (acquire) => (...given) => {
      acquiredAt = sim.clock.now();
      return acquire(...given);
    });
    interceptStore(on, 'writeRow', (writeRow) => async (...given) => {
      const answer = await writeRow(...given);
      return answer.kind === 'refused' ? answer : { ...answer, ...answered(answer.date) };
    });
    interceptStore(on, 'renew', () => () => Promise.reject(new StoreUnavailableError('no answer')));
    const leaseId = on.coordinator.newId() as LeaseId;
    const race = { claim, etag, lease: 'available', before, leaseId, leaseMs: LEASE_MS, releases } as const;
    await handOver(on.coordinator, hub.start, runnableJob(on, A), race);
    await sim.clock.advance(late);
    const attempts = started.map((input) => dispatch(on.coordinator, input, on.report));
    await sim.clock.advance(10 * MINUTE);
    await Promise.all(attempts);
    return ends;
  }

  // After 2 s the hand-over is used as it is; after 30 s its lease is acquired again.
  it.each([0, 2 * SECOND, 30 * SECOND])(
    'is trusted up to the end of its lease %i ms after it at most',
    async (late) => {
      for (const answer of [
        () => ({ leftMs: 9_223_372_036_000 }),
        () => ({ leftMs: Infinity }),
        () => ({ leftMs: LEASE_MS + SECOND }),
        (date: number) => ({ date: date - 40 * MINUTE }),
        (date: number) => ({ date: date - 2 * SECOND }),
      ]) {
        const [end] = await claimed(answer, late);
        expect(end).toBeGreaterThan(LEASE_MS / 2);
        expect(end).toBeLessThanOrEqual(LEASE_MS - MARGIN_MS);
      }
    },
  );

  it.each([0, 30 * SECOND])('that its lease is over is not trusted at all %i ms after it', async (late) => {
    for (const answer of [
      () => ({ leftMs: -9_223_372_036_000 }),
      () => ({ leftMs: 0 }),
      (date: number) => ({ date: date + YEAR }),
    ]) {
      expect(await claimed(answer, late)).toEqual([]);
    }
  });
});

describe('a hand-over that is given back', () => {
  const spec = jobSpec('a', '@hourly', { leaseMs: 60_000 });

  /** Hands a due time over, and lets some time pass. */
  async function handedOver(lease: 'available' | 'expired' = 'available') {
    const sim: RivalTicks = rivalTicks({ jobs: [spec] });
    const on = await withoutTicks(sim);
    const row = ranRow(spec);
    const etag = await leaveRow(sim, A, row, lease === 'available' ? 'letGo' : 'died');
    await sim.clock.advanceTo(T0 + HOUR + 2 * SECOND);
    const seen = lease === 'available' ? { row } : { row, lease, record: 'none' as const };
    const claim = claimOf(decide(situation(spec, sim.clock.now(), seen)));
    const started: AttemptInput[] = [];
    const hub: Hub = { ...quietHub, start: async (_id, input) => void started.push(input as AttemptInput) };
    const leaseId = on.coordinator.newId() as LeaseId;
    const race = { claim, etag, lease, before, leaseId, leaseMs: spec.leaseMs, releases };
    await handOver(on.coordinator, hub.start, runnableJob(on, A), race);
    const attempt = (): Promise<unknown> =>
      Promise.all(started.map((input) => dispatch(on.coordinator, input, on.report)));
    return { sim, on, etag, attempt };
  }

  it('is free at once, and its late attempt acquires it anew', async () => {
    const { sim, on, attempt } = await handedOver();
    await sim.clock.advance(5 * SECOND);
    await giveBackAll(on.coordinator);
    expect((await listedRow(sim, A)).lease).toBe('available');
    const late = attempt();
    await sim.clock.advance(30 * SECOND);
    expect(await late).toMatchObject([{ kind: 'ended', record: { outcome: 'succeeded' } }]);
    expect(sim.calls).toHaveLength(1);
  });

  it('is acquired once more by an attempt that came elsewhere while it was given back', async () => {
    const { sim, on, etag, attempt } = await handedOver();
    await sim.clock.advance(5 * SECOND);
    const leaseId = on.coordinator.handOvers.of(A)?.leaseId ?? ('' as LeaseId);
    let writes = 0;
    interceptStore(on, 'writeRow', (writeRow) => async (...given) => {
      writes += 1;
      if (writes === 1) await sim.store.release(A, leaseId, { ifMatch: etag });
      return writeRow(...given);
    });
    const late = attempt();
    await sim.clock.advance(30 * SECOND);
    expect(await late).toMatchObject([{ kind: 'ended', record: { outcome: 'succeeded' } }]);
    expect([sim.calls.length, writes]).toEqual([1, 2]);
  });

  it('is lost to its late attempt once somebody else has acquired it', async () => {
    const { sim, on, etag, attempt } = await handedOver();
    await sim.clock.advance(5 * SECOND);
    await giveBackAll(on.coordinator);
    const other = { leaseId: 'eeeeeeee-0000-4000-8000-000000000000' as LeaseId, leaseMs: 60_000, ifMatch: etag };
    expect(await sim.store.acquire(A, other)).toMatchObject({ kind: 'acquired' });
    expect(await attempt()).toMatchObject([{ kind: 'lost' }]);
    expect(sim.calls).toEqual([]);
    expect(await sim.store.renew(A, other.leaseId)).toBe('renewed');
  });

  it('is not released once its claim was made', async () => {
    const { sim, on, attempt } = await handedOver();
    const [name, handOverOf] = on.coordinator.handOvers.all()[0] ?? [];
    if (name === undefined || handOverOf === undefined) throw new Error('nothing was handed over');
    const leases: string[] = [];
    interceptStore(on, 'writeRow', (writeRow) => async (...given) => {
      const answer = await writeRow(...given);
      await giveBack(on.coordinator, name, handOverOf);
      leases.push((await listedRow(sim, A)).lease);
      return answer;
    });
    const running = attempt();
    await sim.clock.advance(30 * SECOND);
    expect(await running).toMatchObject([{ kind: 'ended', record: { outcome: 'succeeded' } }]);
    expect(leases).toEqual(['leased']);
  });

  it('was available before: an expired one stays leased, since a free row would say that its run is settled', async () => {
    const { sim, on } = await handedOver('expired');
    await sim.clock.advance(5 * SECOND);
    await giveBackAll(on.coordinator);
    expect((await listedRow(sim, A)).lease).toBe('leased');
  });

  it.each([
    [89, 1, 'succeeded'],
    // The end of the first attempt may have been recorded after the decision, and deleted since.
    [91, 0, 'outcomeUnknown'],
  ])('takes no run over once the record of the run may be gone: after %i days', async (days, calls, expected) => {
    const { sim, attempt } = await handedOver('expired');
    await sim.clock.advance(days * 24 * HOUR);
    const late = attempt();
    await sim.clock.advance(30 * SECOND);
    expect(await late).toMatchObject([{ kind: calls === 0 ? 'lost' : 'ended' }]);
    expect(sim.calls).toHaveLength(calls);
    sim.startInstance('d1');
    await sim.clock.advance(3 * MINUTE);
    const ends = (await sim.records('a')).filter(({ scheduledFor }) => Date.parse(scheduledFor) === T0);
    expect(ends.map(({ outcome, reason }) => (outcome === 'succeeded' ? outcome : reason))).toEqual([expected]);
    expect(sim.calls.filter(({ scheduledFor }) => scheduledFor === T0)).toHaveLength(calls);
  });
});

describe('a claim', () => {
  it('that is being made is waited for by a shutdown, and its run let go', async () => {
    const sim = rivalTicks({ jobs: [jobSpec('a', '@hourly')], latencyMs: 400 });
    const on = firstInstance(sim);
    const shutDown = async (): Promise<void> => {
      await Promise.resolve();
      await on.drain();
      // The process ends with its shutdown hook.
      on.kill();
    };
    let isAsked = false;
    interceptStore(on, 'writeRow', (writeRow) => (...given) => {
      if (!isAsked) void shutDown();
      isAsked = true;
      return writeRow(...given);
    });
    await sim.clock.advance(HOUR + 5 * SECOND);
    expect(on.dead).toBe(true);
    // Any tick may go on with it at once, and no attempt is used up.
    expect(await sim.row('a')).toMatchObject({ phase: 'retrying', notBefore: 0, attempt: 1, uncountedAttempts: 1 });
    expect((await listedRow(sim, A)).lease).toBe('available');
  });

  it('whose answer was lost has its mark in the ledger before the handler is called', async () => {
    const states: unknown[] = [];
    const sim: RivalTicks = rivalTicks({
      jobs: [jobSpec('a', '@hourly')],
      handler: async () => {
        states.push((await sim.records('a')).map(({ state }) => state));
      },
    });
    let isLost = false;
    interceptStore(firstInstance(sim), 'writeRow', (writeRow) => async (...given) => {
      const answer = await writeRow(...given);
      if (isLost) return answer;
      isLost = true;
      throw new StoreUnavailableError('the answer was lost');
    });
    await sim.clock.advance(HOUR + MINUTE);
    expect(states).toEqual([['open']]);
  });
});

describe('a rollout that lengthens a lease', () => {
  const withLease = (leaseMs: number) => [jobSpec('a', '@hourly', { leaseMs, timeoutMs: 20 * MINUTE })];
  const trusts = ({ fence, signal }: JobContext): boolean => {
    if (signal.aborted) return false;
    try {
      fence.check();
      return true;
    } catch {
      return false;
    }
  };

  it('leaves one execution that trusts its lease, where tick and attempt have different jobs files', async () => {
    const running: { readonly context: JobContext; readonly on: Instance }[] = [];
    const sim = rivalTicks({
      jobs: withLease(30_000),
      handler: (context, on) => {
        running.push({ context, on });
        return new Promise(() => undefined);
      },
    });
    // The first instance ticks for the deployment, and the new one gets the attempt.
    const fresh = sim.startInstance('d1', { jobs: withLease(60_000) });
    await sim.clock.advance(HOUR - 10 * SECOND);
    let isCutOff = false;
    interceptStore(fresh, 'renew', (renew) => async (...given) => {
      if (isCutOff) throw new StoreUnavailableError('cut off');
      return renew(...given);
    });
    await sim.clock.advance(11 * SECOND);
    expect(running.map(({ on }) => on)).toEqual([fresh]);
    // Once its lease has been renewed, for as long as the tick had asked for.
    await sim.clock.advance(20 * SECOND);
    isCutOff = true;
    sim.startInstance('d2', { jobs: withLease(30_000) });
    const atOnce: number[] = [];
    for (let second = 0; second < 120; second += 1) {
      await sim.clock.advance(SECOND);
      atOnce.push(running.filter(({ context }) => trusts(context)).length);
    }
    expect(running.length).toBeGreaterThan(1);
    expect(Math.max(...atOnce)).toBe(1);
  });
});
