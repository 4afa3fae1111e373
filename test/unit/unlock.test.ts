import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { confirm, confirmYes } from '../../src/cli/run/person';
import type { JobName } from '../../src/core/brand';
import { type FencedBlob, StaleLeaderError } from '../../src/lease/fence';
import { heldLease, unlockJob } from '../../src/operator/operations/unlock';
import { jobSpec } from '../support/job';
import { rivalTicks } from '../support/rival-ticks';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 0, 1);
const JOB = jobSpec('a', '@at 2026-01-01T00:01:00Z');

describe('unlock', () => {
  it('refuses what is not held, and says how it stands', async () => {
    const sim = rivalTicks({ jobs: [JOB], handler: () => Promise.reject(new Error('no')) });
    const refusal = async (): Promise<unknown> => heldLease(sim.store, JOB.name).catch((error: unknown) => error);
    expect(await refusal()).toMatchObject({ code: 'Unseen' });
    await sim.clock.advance(20_000);
    expect(await refusal()).toMatchObject({
      code: 'NotHeld',
      message: expect.stringContaining('it is free') as unknown,
    });
    await sim.clock.advanceTo(T0 + MINUTE + 2_000);
    expect(await refusal()).toMatchObject({
      message: expect.stringContaining('waits for its next attempt') as unknown,
    });
    await sim.store.createRow('odd' as JobName, { format: '9' });
    await expect(heldLease(sim.store, 'odd' as JobName)).rejects.toMatchObject({ code: 'ForeignMetadata' });
  });

  it('is refused where nobody can break a lease, with the time after which it ends', async () => {
    const sim = rivalTicks({ jobs: [JOB], handler: () => new Promise(() => undefined) });
    await sim.clock.advanceTo(T0 + MINUTE + 2_000);
    const held = await heldLease(sim.store, JOB.name);
    const { breakLease: _, ...unbreakable } = sim.store;
    const refusal = { code: 'CannotBreak', message: expect.stringContaining('within 60 s') as unknown };
    await expect(heldLease(unbreakable, JOB.name)).rejects.toMatchObject(refusal);
    await expect(unlockJob(unbreakable, held)).rejects.toMatchObject(refusal);
  });

  it('breaks nothing that is not what was looked at', async () => {
    const sim = rivalTicks({ jobs: [JOB], handler: () => new Promise(() => undefined) });
    await sim.clock.advanceTo(T0 + MINUTE + 2_000);
    const held = await heldLease(sim.store, JOB.name);
    expect(held).toMatchObject({ runId: 'a-20260101T000100Z', holder: 'd1', attempt: 1, since: T0 + MINUTE });
    for (const instance of sim.instances) instance.kill();
    sim.startInstance('d2');
    await sim.clock.advance(2 * MINUTE);
    await expect(unlockJob(sim.store, held)).rejects.toMatchObject({ code: 'NotHeld' });
    expect((await heldLease(sim.store, JOB.name)).holder).toBe('d2');
  });

  it('tells the holder at its next renewal, whose fenced writes are refused, and gives the run to another', async () => {
    const writes: Promise<unknown>[] = [];
    const sim = rivalTicks({
      jobs: [JOB],
      deployments: 2,
      handler: ({ attempt, signal, fence }) => {
        if (attempt > 1) return 'done';
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            writes.push(fence.write(target, 'late').catch((error: unknown) => error));
            reject(signal.reason as Error);
          });
        });
      },
    });
    await sim.clock.advanceTo(T0 + MINUTE + 2_000);
    const { leftMs } = await unlockJob(sim.store, await heldLease(sim.store, JOB.name));
    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(JOB.leaseMs);
    await expect(heldLease(sim.store, JOB.name)).rejects.toThrow('already being broken');
    // A third of the lease.
    await sim.clock.advance(10_000);
    expect(await Promise.all(writes)).toEqual([expect.any(StaleLeaderError)]);
    expect(sim.calls).toHaveLength(1);
    await sim.clock.advance(leftMs);
    await expect(heldLease(sim.store, JOB.name)).rejects.toThrow('already broken');
    await sim.clock.advance(JOB.leaseMs + 20_000);
    expect(sim.calls.map(({ attempt, token, trigger }) => [attempt, token, trigger])).toEqual([
      [1, 1, 'schedule'],
      [2, 2, 'takeOver'],
    ]);
    // Not before the first holder's trust must have ended.
    expect((sim.calls[1]?.at ?? 0) - T0).toBeGreaterThan(MINUTE + JOB.leaseMs);
    expect(await sim.records('a')).toMatchObject([{ outcome: 'succeeded', state: 'final' }]);
  });
});

const target: FencedBlob = {
  url: 'https://account/blob',
  getProperties: () => Promise.reject(Object.assign(new Error('none'), { statusCode: 404 })),
  upload: () => Promise.reject(new Error('it was written')),
};

describe('asking before', () => {
  const terminal = (isTTY: boolean): { input: PassThrough & { isTTY: boolean }; output: PassThrough } => ({
    input: Object.assign(new PassThrough(), { isTTY }),
    output: new PassThrough(),
  });

  it('wants the name of the job typed', async () => {
    const right = terminal(true);
    right.input.write('nightly\n');
    await expect(confirm('nightly', false, right)).resolves.toBeUndefined();
    const wrong = terminal(true);
    wrong.input.write('yes\n');
    await expect(confirm('nightly', false, wrong)).rejects.toMatchObject({ code: 'NotConfirmed' });
    const closed = terminal(true);
    closed.input.end();
    await expect(confirm('nightly', false, closed)).rejects.toMatchObject({ code: 'NotConfirmed' });
  });

  it('wants a yes for what can be undone', async () => {
    const answered = async (text: string): Promise<void> => {
      const asked = terminal(true);
      asked.input.end(text);
      return confirmYes('Go? ', false, asked);
    };
    for (const yes of ['yes\n', 'Y\n', ' YES \n']) await expect(answered(yes)).resolves.toBeUndefined();
    for (const no of ['\n', 'no\n', 'yesterday\n', '']) {
      await expect(answered(no)).rejects.toMatchObject({ code: 'NotConfirmed' });
    }
    await expect(confirmYes('Go? ', true, terminal(false))).resolves.toBeUndefined();
    await expect(confirmYes('Go? ', false, terminal(false))).rejects.toThrow('--yes');
  });

  it('is not done where nobody can answer, or it was said', async () => {
    await expect(confirm('nightly', false, terminal(false))).rejects.toThrow('--yes');
    await expect(confirm('nightly', true, terminal(false))).resolves.toBeUndefined();
  });
});
