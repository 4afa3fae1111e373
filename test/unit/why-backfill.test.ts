import { describe, expect, it } from 'vitest';
import { widthOf } from '../../src/cli/fit';
import { timesOf } from '../../src/cli/time';
import { backfillText } from '../../src/cli/show/why';
import type { Backfill } from '../../src/core/backfill';
import type { EpochMs } from '../../src/core/brand';
import { NO_CONTROL } from '../../src/core/control';
import type { JobSpec } from '../../src/core/job';
import { recordKey } from '../../src/core/key';
import { backfilledRuns, explainTime } from '../../src/operator/views/explain';
import type { Row } from '../../src/core/row';
import type { ShownRecord } from '../../src/operator/views/runs';
import { jobSpec } from '../support/job';
import { manageBench } from '../support/manage';
import { type Instance, type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { sleep } from '../../src/core/clock';
import type { JobContext } from '../../src/handler/handler';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1);
const minute = (n: number): number => T0 + n * MINUTE;
const ONCE = jobSpec('a', '* * * * *', { retry: { ...jobSpec('a', '@daily').retry, attempts: 1 } });
const REASON = 'the table of the rates was empty, and nobody saw it until the next day had come';

const backfill = (id: string, given: Partial<Backfill> = {}): Backfill => ({
  ...{ id, from: minute(2), through: minute(2), order: 'oldest', includeSucceeded: true },
  ...{ scheduleHash: ONCE.scheduleHash, origin: { actor: 'ann', channel: 'shell', note: REASON } },
  ...{ at: T0, stopped: undefined, ...given },
});

const start = (sim: RivalTicks, given: Backfill): Promise<void> =>
  sim.control('a', () => ({ ...NO_CONTROL, backfill: given }));

/** The run of 00:02 fails, and so does its first back-fill. */
const handler = (context: JobContext): void => {
  if (context.scheduledFor.getTime() !== minute(2)) return;
  if (context.trigger === 'schedule' || context.runId.endsWith('-first')) throw new Error('down');
};

async function seen(spec: JobSpec = ONCE): Promise<RivalTicks> {
  const sim = rivalTicks({ jobs: [spec], handler });
  await sim.clock.advance(6 * MINUTE + 20_000);
  return sim;
}

async function until(sim: RivalTicks, isSo: (row: Row) => boolean): Promise<void> {
  for (let seconds = 0; !isSo(await sim.row('a')); seconds += 1) {
    if (seconds > 300) throw new Error('the row did not come to this');
    await sim.clock.advance(1_000);
  }
}

async function askedOf(
  { store }: Pick<RivalTicks, 'store'>,
  time: EpochMs,
  spec: JobSpec = ONCE,
): Promise<{
  readonly record: ShownRecord | null;
  readonly backfills: readonly ShownRecord[];
  readonly calls: number;
}> {
  const explained = await explainTime(store, spec, 0, time);
  let calls = 0;
  const counted = new Proxy(store, {
    get(target, name) {
      calls += 1;
      return Reflect.get(target, name) as unknown;
    },
  });
  const backfills = await backfilledRuns(counted, explained);
  return { record: explained.record, backfills, calls };
}

describe('the back-filled runs of a due time', () => {
  it('are shown beside its own record, the oldest first', async () => {
    const sim = await seen();
    await start(sim, backfill('first'));
    await sim.clock.advance(MINUTE);
    await start(sim, backfill('again'));
    await sim.clock.advance(MINUTE);
    const { record, backfills } = await askedOf(sim, minute(2));
    expect(record).toMatchObject({ runId: 'a-20260101T000200Z', trigger: 'schedule', outcome: 'failed' });
    expect(backfills).toMatchObject([
      { runId: 'a-20260101T000200Z-m-first', trigger: 'backfill', outcome: 'failed', reason: 'handlerError' },
      { runId: 'a-20260101T000200Z-m-again', trigger: 'backfill', outcome: 'succeeded', reason: 'completed' },
    ]);
    expect(backfills.every((one) => !('log' in one))).toBe(true);
  });

  it('cost one listing where there are none, and nothing for an instant that is not decided', async () => {
    const sim = await seen();
    expect(await askedOf(sim, minute(3))).toMatchObject({ backfills: [], calls: 1 });
    expect(await askedOf(sim, minute(9))).toMatchObject({ backfills: [], calls: 0 });
    expect(await askedOf(sim, -MINUTE)).toMatchObject({ backfills: [], calls: 0 });
    const unseen = rivalTicks({ jobs: [ONCE], deployments: 0 });
    expect(await askedOf(unseen, minute(3))).toMatchObject({ backfills: [], calls: 0 });
  });

  it('are not the requests of people at that time', async () => {
    const manual = jobSpec('a', '@manual');
    const sim = rivalTicks({ jobs: [manual] });
    await sim.clock.advance(20_000);
    await sim.control('a', () => ({ ...NO_CONTROL, manualRuns: [{ number: 1, id: 'abc', time: T0 + 20_000 }] }));
    await sim.clock.advance(MINUTE);
    const { record, backfills } = await askedOf(sim, T0 + 20_000, manual);
    expect(record).toMatchObject({ runId: 'a-20260101T000020Z-m-abc', trigger: 'manual' });
    expect(backfills).toEqual([]);
  });

  it('has one in progress too, before the ledger has it', async () => {
    const slow = async ({ trigger }: JobContext, { coordinator: { clock } }: Instance): Promise<void> => {
      if (trigger === 'backfill') await sleep(clock, MINUTE / 2);
    };
    const sim = rivalTicks({ jobs: [ONCE], handler: slow });
    await sim.clock.advance(6 * MINUTE + 20_000);
    await start(sim, backfill('slow'));
    await until(sim, ({ run }) => run?.key === recordKey(minute(2), 'slow'));
    await sim.clock.advance(5_000);
    const { record, backfills } = await askedOf(sim, minute(2));
    expect(record).toMatchObject({ trigger: 'schedule', outcome: 'succeeded' });
    expect(backfills).toMatchObject([
      { runId: 'a-20260101T000200Z-m-slow', outcome: 'running', attempts: [{ attempt: 1, outcome: 'running' }] },
    ]);
    await sim.clock.advance(MINUTE);
    expect((await askedOf(sim, minute(2))).backfills).toMatchObject([{ outcome: 'succeeded' }]);
  });

  it('has one that waits for its next attempt while due times go first', async () => {
    const spec = jobSpec('a', '* * * * *', {
      retry: { attempts: 3, backoffMs: 10 * MINUTE, maxBackoffMs: 10 * MINUTE, factor: 1, jitter: 'none' },
    });
    const failing = ({ trigger }: JobContext): void => {
      if (trigger === 'backfill') throw new Error('down');
    };
    const sim = rivalTicks({ jobs: [spec], handler: failing });
    await sim.clock.advance(6 * MINUTE + 20_000);
    await start(sim, backfill('aside'));
    await until(sim, ({ backfill: progress }) => progress?.aside?.scheduledFor === minute(2));
    const { backfills } = await askedOf(sim, minute(2), spec);
    expect(backfills).toMatchObject([
      { runId: 'a-20260101T000200Z-m-aside', outcome: 'retrying', origin: { actor: 'ann' } },
    ]);
    expect(backfills[0]?.attempts).toMatchObject([{ attempt: 1, outcome: 'failed' }]);
  });

  it('is not repeated where it has the answer itself, at a time that the schedule no longer has', async () => {
    const sim = await seen();
    await start(sim, backfill('only'));
    await sim.clock.advance(MINUTE);
    sim.service.deleteRecord(ONCE.name, recordKey(minute(2)));
    const daily = jobSpec('a', '@daily');
    const { record, backfills } = await askedOf(sim, minute(2), daily);
    expect(record).toMatchObject({ runId: 'a-20260101T000200Z-m-only' });
    expect(backfills).toEqual([]);
  });

  it('fit into 80 columns, with who asked', async () => {
    const sim = await seen();
    await start(sim, backfill('first'));
    await sim.clock.advance(MINUTE);
    const lines = backfillText((await askedOf(sim, minute(2))).backfills, timesOf({}));
    expect(lines.slice(0, 3)).toEqual([
      '',
      'Back-filled: failed (handlerError)',
      '  run      a-20260101T000200Z-m-first',
    ]);
    expect(lines.join('\n')).toMatch(/\n {2}asked +by ann \(shell\): the table of the rates/);
    expect(lines.join('\n')).toMatch(/\n {2}attempts 1, the last on \S+\n {2}error +Error: down$/);
    expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(80);
    expect(lines.join(' ').replaceAll(/\s+/g, ' ')).toContain(REASON);
  });

  it('are in the HTTP answer', async () => {
    const { sim, send } = manageBench({ jobs: [ONCE], handler });
    await sim.clock.advance(6 * MINUTE + 20_000);
    await start(sim, backfill('again'));
    await sim.clock.advance(MINUTE);
    const { json } = await send({ path: 'jobs/a/why?time=2026-01-01T00:02:00Z', as: 'viewer' });
    expect(json).toMatchObject({
      ...{ outcome: 'failed', runId: 'a-20260101T000200Z' },
      backfills: [{ runId: 'a-20260101T000200Z-m-again', outcome: 'succeeded', reason: 'completed' }],
    });
  });
});
