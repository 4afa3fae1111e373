import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import type { JobSpec } from '../../src/core/job';
import { recordKey } from '../../src/core/key';
import { openRecord, storeRecord } from '../../src/core/record';
import type { Row } from '../../src/core/row';
import { firstInstance, leaveRow, listedRow } from '../support/by-hand';
import { interceptStore } from '../support/intercept';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { ranRow, T0 } from '../support/situation';

const A = 'a' as JobName;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

/** When each call of the handler began, in seconds after the due time that it was for. */
function startsOf(sim: RivalTicks): readonly (readonly [due: string, attempt: number, late: number])[] {
  return sim.calls.map(({ scheduledFor, attempt, at }) => [
    new Date(scheduledFor).toISOString().slice(11, 19),
    attempt,
    Math.round((at - scheduledFor) / SECOND),
  ]);
}

async function endsOf(sim: RivalTicks): Promise<readonly string[]> {
  const records = await sim.records('a');
  return records.map(
    ({ scheduledFor, state, outcome, reason }) =>
      `${scheduledFor.slice(11, 19)} ${state} ${outcome ?? ''} ${reason ?? ''}`,
  );
}

describe('a lease that a tool releases during a run', () => {
  /** Releases the lease of the first claim, so long after it. */
  function released(spec: JobSpec, afterMs: number, takes: readonly number[]): RivalTicks {
    const sim = rivalTicks({
      jobs: [spec],
      handler: async ({ signal }) => {
        const aborted = new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => {
            resolve();
          });
        });
        await Promise.race([sleep(sim.clock, takes[sim.calls.length - 1] ?? 0), aborted]);
        signal.throwIfAborted();
      },
    });
    let claims = 0;
    interceptStore(firstInstance(sim), 'writeRow', (writeRow) => async (job, metadata, guard, options) => {
      const written = await writeRow(job, metadata, guard, options);
      claims += 1;
      if (claims === 1) void sleep(sim.clock, afterMs).then(() => sim.store.release(job, guard.leaseId));
      return written;
    });
    return sim;
  }

  it('is left to expire by the holder, so that the run is taken over', async () => {
    const sim = released(jobSpec('a', '@hourly', { leaseMs: 30_000 }), 2 * SECOND, [MINUTE, SECOND]);
    await sim.clock.advance(90 * MINUTE);
    expect(startsOf(sim)).toEqual([
      ['01:00:00', 1, 0],
      ['01:00:00', 2, expect.any(Number) as number],
    ]);
    expect(startsOf(sim)[1]?.[2]).toBeLessThan(60);
    expect(await endsOf(sim)).toEqual(['01:00:00 final succeeded completed']);
  });

  it('ends the run with an unknown outcome, if another one has the row before its holder notices', async () => {
    const spec = jobSpec('a', '@every 10s', { leaseMs: 60_000, catchUpWindowMs: 30 * SECOND });
    const sim = released(spec, SECOND, [30 * SECOND]);
    await sim.clock.advance(2 * MINUTE);
    const [first] = startsOf(sim);
    const ends = await endsOf(sim);
    expect(ends.filter((end) => end.startsWith(first?.[0] ?? '-'))).toEqual([
      `${first?.[0] ?? ''} final failed outcomeUnknown`,
    ]);
    expect(ends.filter((end) => !end.endsWith('succeeded completed'))).toHaveLength(1);
    expect(startsOf(sim).every(([, attempt]) => attempt === 1)).toBe(true);
  });
});

describe('an open record under a free row', () => {
  const run = { key: recordKey(T0), scheduledFor: T0, trigger: 'schedule', since: T0 - 5 * SECOND } as const;

  /** Someone has released the row of a dead holder during the second attempt of its run. */
  async function left(
    spec: JobSpec,
    changes: Partial<Row> = {},
    state: 'open' | 'final' = 'open',
  ): Promise<RivalTicks> {
    const sim = rivalTicks({ jobs: [spec], start: T0 });
    await sim.clock.advance(20 * SECOND);
    const row = ranRow(spec, { run, cursor: T0, attempt: 2, token: 2 as Row['token'], execution: 'dead', ...changes });
    const open = openRecord(spec, row, []);
    const record = state === 'open' ? open : ({ ...open, state, outcome: 'succeeded', reason: 'completed' } as const);
    await sim.store.createRecord(A, run.key, storeRecord(record));
    await leaveRow(sim, A, row, 'letGo');
    return sim;
  }

  it.each([
    ['seldom due', '@hourly', {}, 62 * MINUTE],
    ['often due', '* * * * *', {}, 3 * MINUTE],
    ['so seldom due that its row is settled once more', '0 0 1 * *', { keepMs: 7 * DAY }, 4 * DAY],
  ] as const)(
    'is settled by the take-over of its run, where the job is %s',
    async (_what, schedule, settings, lasts) => {
      const spec = jobSpec('a', schedule, settings);
      const sim = await left(spec, { keepMs: spec.keepMs });
      await sim.clock.advance(lasts);
      expect(startsOf(sim)[0]?.slice(0, 2)).toEqual(['00:00:00', 3]);
      expect((await endsOf(sim)).at(-1)).toBe('00:00:00 final succeeded completed');
      expect(sim.calls.filter(({ scheduledFor }) => scheduledFor === T0)).toHaveLength(1);
      // What was due meanwhile runs after it, or overlaps with it.
      const due = new Date(spec.timetable.next(T0) ?? 0);
      if (due.getTime() < T0 + lasts) {
        expect((await endsOf(sim)).some((end) => end.startsWith(due.toISOString().slice(11, 19)))).toBe(true);
      }
    },
  );

  describe('of a job with no due time to come', () => {
    const once = jobSpec('a', `@at ${new Date(T0 + DAY).toISOString()}`);
    const past = { cursor: once.at ?? T0 };

    it('is found by the next sweep', async () => {
      const sim = await left(once, past);
      await sim.clock.advance(3 * MINUTE);
      expect(startsOf(sim)).toEqual([['00:00:00', 3, expect.any(Number)]]);
      expect(await endsOf(sim)).toEqual(['00:00:00 final succeeded completed']);
    });

    it('costs one call after a run of several attempts, and none after others', async () => {
      const readsAfter = async (attempt: number): Promise<number> => {
        const sim = await left(once, { ...past, attempt }, 'final');
        await sim.clock.advance(10 * MINUTE);
        expect(sim.calls).toEqual([]);
        return firstInstance(sim).calls.get('readRecord') ?? 0;
      };
      expect([await readsAfter(1), await readsAfter(2)]).toEqual([0, 1]);
    });
  });

  it('costs the run that follows one of several attempts a call, and others none', async () => {
    const often = jobSpec('a', '* * * * *');
    const readsAfter = async (attempt: number): Promise<number> => {
      const sim = await left(often, { attempt }, 'final');
      await sim.clock.advance(3 * MINUTE);
      expect(sim.calls.map(({ attempt: number }) => number)).toEqual([1, 1, 1]);
      return firstInstance(sim).calls.get('readRecord') ?? 0;
    };
    expect([await readsAfter(1), await readsAfter(2)]).toEqual([0, 1]);
  });
});

describe('a holder that has lost its row', () => {
  it('writes nothing where its run continues, or has its record', async () => {
    const spec = jobSpec('a', '@hourly', { leaseMs: 15_000 });
    const sim = rivalTicks({ jobs: [spec], handler: () => sleep(sim.clock, 40 * SECOND), deployments: 2 });
    const [on] = sim.instances;
    await sim.clock.advanceTo(T0 + 60 * MINUTE + SECOND);
    for (const instance of sim.instances) if (instance.deployment === sim.calls[0]?.deployment) instance.pause();
    await sim.clock.advance(3 * MINUTE);
    const before = await listedRow(sim, A);
    for (const instance of sim.instances) instance.wake();
    await sim.clock.advance(2 * MINUTE);
    expect(on?.dead).toBe(false);
    expect(sim.events.filter(({ event }) => event === 'superseded')).toHaveLength(1);
    expect(sim.calls.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(await listedRow(sim, A)).toMatchObject({ etag: before.etag, lease: 'available' });
    expect(await endsOf(sim)).toEqual(['01:00:00 final succeeded completed']);
  });
});
