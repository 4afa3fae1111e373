import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { NonRetryableError, type StandardSchema, defineJob } from '../../src/index';
import { runJob, settableClock } from '../../src/testing/index';

const blob = (url: string) => ({
  url,
  getProperties: () => Promise.reject(new Error('a test makes no call to storage')),
  upload: () => Promise.reject(new Error('a test makes no call to storage')),
});

describe('runJob', () => {
  it('gives the handler its context, its checked input, and an in-memory fence', async () => {
    const input: StandardSchema<{ size: number }> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value) => ({ value: { size: Number((value as { size: string }).size) } }),
      },
    };
    const job = defineJob({
      input,
      run: async (ctx, { size }) => {
        await ctx.fence.write(blob('https://a/b'), `size ${String(size)}`, { contentType: 'text/plain' });
        ctx.log.warn('written');
        return { due: ctx.scheduledFor, attempt: ctx.attempt, trigger: ctx.trigger, token: ctx.fence.token };
      },
    });
    const done = await runJob(job, {
      settings: { input: { size: '7' } },
      scheduledFor: '2026-03-01T03:00:00Z',
      attempt: 2,
      trigger: 'takeOver',
      token: 9,
    });
    expect(done).toMatchObject({
      outcome: 'succeeded',
      reason: 'completed',
      result: { due: '2026-03-01T03:00:00.000Z', attempt: 2, trigger: 'takeOver', token: 9 },
      writes: [{ url: 'https://a/b', body: 'size 7', contentType: 'text/plain', token: 9 }],
      logs: [{ level: 'warn', message: ['[job]', 'written'] }],
    });
  });

  it('keeps the timeout and the grace on the clock of the test', async () => {
    const job = defineJob({ run: () => new Promise(() => undefined) });
    const clock = settableClock();
    const done = await runJob(job, {
      clock,
      settings: { timeout: '2m', grace: '3s' },
      during: () => clock.advance(120_000),
    });
    expect(done).toMatchObject({ outcome: 'timedOut', reason: 'timeout' });
    expect(clock.monotonic()).toBeLessThan(125_000);
  });

  it('stalls a handler that reports no progress, and not one that does', async () => {
    const job = defineJob({
      run: (ctx) =>
        new Promise((resolve) => {
          ctx.progress('half way');
          ctx.signal.addEventListener('abort', () => {
            resolve(undefined);
          });
        }),
    });
    const done = await runJob(job, {
      settings: { stallAfter: '10s' },
      during: ({ clock }) => clock.advance(10_000),
    });
    expect(done).toMatchObject({ outcome: 'stalled' });
    expect(done.error?.message).toContain('half way');
  });

  it.each(['cancelled', 'draining', 'timedOut', 'stalled'] as const)('can abort: %s', async (code) => {
    let reason: unknown;
    const job = defineJob({
      run: (ctx) =>
        new Promise((_, reject) => {
          ctx.signal.addEventListener('abort', () => {
            reason = ctx.signal.reason;
            reject(new Error('obeyed'));
          });
        }),
    });
    const done = await runJob(job, {
      during: (run) => {
        run.abort(code);
      },
    });
    expect(done.outcome).toBe(code);
    expect(reason).toMatchObject({ code });
  });

  it('can take the lease away: signal and fence say so', async () => {
    let refused: unknown;
    const job = defineJob({
      run: async (ctx) => {
        await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
        await ctx.fence.write(blob('https://a/b'), 'late').catch((error: unknown) => (refused = error));
      },
    });
    const done = await runJob(job, {
      during: (run) => {
        run.loseLease();
      },
    });
    expect(done).toMatchObject({ outcome: 'lost', writes: [] });
    expect(refused).toMatchObject({ code: 'StaleLeader' });
  });

  it('refuses a write over a higher token', async () => {
    const job = defineJob({ run: (ctx) => ctx.fence.write(blob('https://a/b'), 'x') });
    const done = await runJob(job, { token: 3, tokens: { 'https://a/b': 4 } });
    expect(done).toMatchObject({ outcome: 'failed', error: { name: 'StaleLeaderError' }, writes: [] });
  });

  it('tells what the ledger would keep of an error', async () => {
    const job = defineJob({
      run: () => {
        throw new NonRetryableError('no use');
      },
    });
    expect(await runJob(job)).toMatchObject({
      outcome: 'failed',
      reason: 'nonRetryable',
      error: { name: 'NonRetryableError', message: 'no use' },
    });
  });

  it('hands the previous record out', async () => {
    const first = defineJob({ run: () => 1 });
    const job = defineJob({ run: async (ctx) => (await ctx.previous())?.outcome });
    await runJob(first);
    const previous = {
      job: 'job',
      scheduledFor: '2025-12-31T00:00:00.000Z',
      state: 'final',
      outcome: 'succeeded',
      reason: 'completed',
      trigger: 'schedule',
      token: 1,
      runId: 'job-20251231T000000Z',
      startedAt: '2025-12-31T00:00:00.000Z',
      claimedAt: '2025-12-31T00:00:00.000Z',
      endedAt: '2025-12-31T00:00:01.000Z',
      latenessMs: 0,
      attempts: [],
    } as const;
    expect(await runJob(job, { previous })).toMatchObject({ result: 'succeeded' });
  });

  it('waits for a handler that does real work', async () => {
    const job = defineJob({
      run: async () => (await readFile(__filename, 'utf8')).includes('real work'),
    });
    expect(await runJob(job)).toMatchObject({ outcome: 'succeeded', result: true });
  });

  it('refuses settings that the jobs file would refuse', async () => {
    const job = defineJob({ run: () => undefined });
    await expect(runJob(job, { settings: { timeout: 'soon' } })).rejects.toMatchObject({ code: 'InvalidJobs' });
  });

  it('has what the handler said, and refuses what is no progress', async () => {
    const talking = defineJob({
      run: ({ log, progress }) => {
        log.warn('slow', 3);
        progress('half', 0.5);
        progress();
      },
    });
    const { logs, progress } = await runJob(talking);
    expect(logs).toEqual([{ level: 'warn', message: ['[job]', 'slow', 3] }]);
    expect(progress).toEqual({ note: 'half', fraction: 0.5 });
    const wrong = await runJob(defineJob({ run: (context) => context.progress('half', 50) }));
    expect(wrong).toMatchObject({ outcome: 'failed', error: { name: 'InvalidProgressError' }, progress: undefined });
  });
});
