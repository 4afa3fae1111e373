import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import type { JobSpec } from '../../src/core/job';
import { runIdOf } from '../../src/core/key';
import { BODY_BYTES } from '../../src/stores/limits';
import { type Answering, CALL, OPERATION, type Sent, type Target, pretendTarget } from '../support/called';
import { interceptStore } from '../support/intercept';
import { jobSpec } from '../support/job';
import { type Instance, type RivalTicks, rivalTicks } from '../support/rival-ticks';

const MINUTE = 60_000;

/** Instances of two deployments with one job, a call each ten minutes, and the requests that its target got. */
function setUp(
  answer: Target,
  spec: Partial<JobSpec> = {},
): { readonly sim: RivalTicks; readonly sent: readonly Sent[]; readonly lines: () => readonly string[] } {
  const { sent, handler } = pretendTarget(answer, spec.call);
  const sim = rivalTicks({
    jobs: [jobSpec('close', '*/10 * * * *', { leaseMs: 15_000, call: CALL, ...spec })],
    fanOut: { close: handler },
    deployments: 2,
    sweepIntervalMs: 2_000,
  });
  const lines = () =>
    sent.map(({ method, address, headers }) => `${method} ${address.pathname} ${headers['x-cronlease-attempt'] ?? ''}`);
  return { sim, sent, lines };
}

async function last(sim: RivalTicks) {
  const [record] = await sim.records('close');
  if (record === undefined) throw new Error('no record yet');
  return record;
}

/** The holder shuts down, and a person cancels the run before another instance goes on with it. */
async function cancelAfterShutdown(sim: RivalTicks, sent: readonly Sent[]): Promise<void> {
  const draining = holderOf(sent).drain();
  while ((await sim.row('close')).phase !== 'retrying') await sim.clock.advance(10);
  const { run } = await sim.row('close');
  await sim.control('close', (control) => ({ ...control, cancel: runIdOf('close' as JobName, run?.key ?? '') }));
  await sim.clock.advance(MINUTE);
  await draining;
}

async function pieces(sim: RivalTicks): Promise<readonly string[]> {
  const { pieces: found } = await sim.store.listPieces('close' as JobName, { limit: 5000 });
  return found.map(({ name }) => name);
}

/** The state of an operation that takes a minute. */
const minute = ({ method, at }: Sent, all: readonly Sent[]): Answering => {
  if (method !== 'GET') return { ...OPERATION };
  const since = at - (all.find((one) => one.method === 'POST')?.at ?? 0);
  return { status: 200, headers: { 'retry-after': '5' }, body: { status: since >= MINUTE ? 'Succeeded' : 'Running' } };
};

const holderOf = (sent: readonly Sent[]): Instance => {
  const [first] = sent;
  if (first === undefined) throw new Error('nothing was sent');
  return first.from;
};

describe('a run that is a call', () => {
  it('is called once for each due time over all deployments, at no more storage calls than a handler', async () => {
    const { sim, lines, sent } = setUp(() => ({ status: 200, body: { closed: 3 } }));
    await sim.clock.advance(21 * MINUTE);
    expect(lines()).toEqual(['POST /close 1', 'POST /close 1']);
    expect(sent[0]?.body).toBe('{"n":1}');
    expect(sent[0]?.headers['idempotency-key']).not.toBe(sent[1]?.headers['idempotency-key']);
    expect(await last(sim)).toMatchObject({ outcome: 'succeeded', result: { closed: 3 }, attempts: [{ attempt: 1 }] });
    for (const { calls } of sim.instances) expect([...calls.keys()].filter((kind) => /piece/i.test(kind))).toEqual([]);
  });

  it('is called again after its holder died before the answer, with the number of the attempt', async () => {
    const { sim, sent, lines } = setUp(({ headers }) => ({
      status: 200,
      afterMs: headers['x-cronlease-attempt'] === '1' ? 30_000 : 100,
    }));
    await sim.clock.advance(10 * MINUTE + 10_000);
    holderOf(sent).kill();
    await sim.clock.advance(2 * MINUTE);
    expect(lines()).toEqual(['POST /close 1', 'POST /close 2']);
    expect(sent[1]?.headers['idempotency-key']).toBe(sent[0]?.headers['idempotency-key']);
    expect(await last(sim)).toMatchObject({ outcome: 'succeeded' });
  });

  it('whose holder dies during its operation is polled on by another one, and not called again', async () => {
    const { sim, sent, lines } = setUp(minute);
    await sim.clock.advance(10 * MINUTE + 20_000);
    const holder = holderOf(sent);
    holder.kill();
    await sim.clock.advance(2 * MINUTE);
    expect(lines().filter((line) => line.startsWith('POST'))).toEqual(['POST /close 1']);
    expect(sent.at(-1)?.from).not.toBe(holder);
    expect(sent.at(-1)?.headers['x-cronlease-attempt']).toBe('2');
    expect(await last(sim)).toMatchObject({ outcome: 'succeeded', result: { status: 'Succeeded' } });
    expect(await pieces(sim)).toEqual([]);
  });

  it('is not called again, and its operation not ended, by a holder that slept and comes back', async () => {
    const { sim, sent, lines } = setUp(minute);
    await sim.clock.advance(10 * MINUTE + 20_000);
    const holder = holderOf(sent);
    holder.pause();
    await sim.clock.advance(50_000);
    holder.wake();
    await sim.clock.advance(2 * MINUTE);
    expect(lines().filter((line) => !line.startsWith('GET'))).toEqual(['POST /close 1']);
    expect(await sim.records('close')).toHaveLength(1);
    expect(await last(sim)).toMatchObject({ outcome: 'succeeded' });
  });

  it('is polled on by another instance after a shutdown', async () => {
    const { sim, sent, lines } = setUp(minute);
    await sim.clock.advance(10 * MINUTE + 20_000);
    const draining = holderOf(sent).drain();
    await sim.clock.advance(2 * MINUTE);
    await draining;
    expect(lines().filter((line) => !line.startsWith('GET'))).toEqual(['POST /close 1']);
    expect(await last(sim)).toMatchObject({ outcome: 'succeeded' });
  });

  it('that is cancelled ends its operation', async () => {
    const { sim, lines } = setUp(minute);
    await sim.clock.advance(10 * MINUTE + 20_000);
    const { run } = await sim.row('close');
    await sim.control('close', (control) => ({ ...control, cancel: runIdOf('close' as JobName, run?.key ?? '') }));
    await sim.clock.advance(MINUTE);
    expect(lines().filter((line) => !line.startsWith('GET'))).toEqual(['POST /close 1', 'DELETE /state 1']);
    expect(await last(sim)).toMatchObject({ outcome: 'cancelled', reason: 'cancelRequested' });
    expect(await pieces(sim)).toEqual([]);
  });

  it('that is cancelled in the gap after a shutdown ends its operation, and is not called again', async () => {
    const { sim, sent, lines } = setUp(minute);
    await sim.clock.advance(10 * MINUTE + 20_000);
    await cancelAfterShutdown(sim, sent);
    expect(lines().filter((line) => !line.startsWith('GET'))).toEqual(['POST /close 1', 'DELETE /state 2']);
    expect(await last(sim)).toMatchObject({ outcome: 'cancelled', reason: 'cancelRequested' });
    expect(await pieces(sim)).toEqual([]);
  });

  it('with an input of its own that is cancelled in that gap ends its operation too', async () => {
    const call = { ...CALL, body: { customer: '{input.customer}' } };
    const { sim, sent, lines } = setUp(minute, { call });
    await sim.clock.advance(MINUTE);
    await sim.store.createRequest('req1', '{"customer":"c-1"}');
    const request = { number: 1, id: 'req1', time: sim.clock.now(), hasInput: true } as const;
    await sim.control('close', (control) => ({ ...control, manualRuns: [request] }));
    await sim.clock.advance(20_000);
    expect(sent[0]?.body).toBe('{"customer":"c-1"}');
    await cancelAfterShutdown(sim, sent);
    expect(lines().filter((line) => !line.startsWith('GET'))).toEqual(['POST /close 1', 'DELETE /state 2']);
    expect(await last(sim)).toMatchObject({ outcome: 'cancelled', reason: 'cancelRequested' });
    expect(await pieces(sim)).toEqual([]);
  });

  it('whose holder died, and that gives way to a newer due time, ends its operation', async () => {
    const endless = ({ method }: Sent): Answering =>
      method === 'POST' ? { ...OPERATION } : { status: 200, body: { status: 'Running' } };
    const { sim, sent, lines } = setUp(endless, { overlap: 'cancel', timeoutMs: 25 * MINUTE });
    await sim.clock.advance(19 * MINUTE + 55_000);
    holderOf(sent).kill();
    await sim.clock.advance(MINUTE);
    expect(lines().filter((line) => !line.startsWith('GET'))).toEqual([
      'POST /close 1',
      'DELETE /state 2',
      'POST /close 1',
    ]);
  });

  it('that was cancelled before its holder had kept an operation is not called again', async () => {
    const { sim, sent, lines } = setUp(() => ({ status: 200, afterMs: 30_000 }));
    await sim.clock.advance(10 * MINUTE + 5_000);
    const { run } = await sim.row('close');
    holderOf(sent).kill();
    await sim.control('close', (control) => ({ ...control, cancel: runIdOf('close' as JobName, run?.key ?? '') }));
    await sim.clock.advance(MINUTE);
    expect(lines()).toEqual(['POST /close 1']);
    expect(await last(sim)).toMatchObject({ outcome: 'cancelled' });
  });

  it.each([
    ['ends well', 'Succeeded', 'succeeded'],
    ['fails', 'Failed', 'failed'],
  ])('whose only attempt lost its holder is polled on until its operation %s', async (_how, status, outcome) => {
    const { sim, sent, lines } = setUp(
      (one, all) => {
        const answer = minute(one, all);
        const { status: said } = (answer.body ?? {}) as { readonly status?: string };
        return said === 'Succeeded' ? { ...answer, body: { status } } : answer;
      },
      { retry: { attempts: 1, backoffMs: 10_000, factor: 2, maxBackoffMs: 300_000, jitter: 'none' } },
    );
    await sim.clock.advance(10 * MINUTE + 20_000);
    holderOf(sent).kill();
    await sim.clock.advance(3 * MINUTE);
    expect(lines().filter((line) => !line.startsWith('GET'))).toEqual(['POST /close 1']);
    const record = await last(sim);
    expect(record.outcome).toBe(outcome);
    expect(record.attempts.map(({ outcome: one }) => one)).toEqual(['holderLost', outcome]);
  });

  it('whose only attempt lost its holder before an operation has failed', async () => {
    const { sim, sent, lines } = setUp(() => ({ status: 200, afterMs: 30_000 }), {
      retry: { attempts: 1, backoffMs: 10_000, factor: 2, maxBackoffMs: 300_000, jitter: 'none' },
    });
    await sim.clock.advance(10 * MINUTE + 5_000);
    holderOf(sent).kill();
    await sim.clock.advance(2 * MINUTE);
    expect(lines()).toEqual(['POST /close 1']);
    expect(await last(sim)).toMatchObject({ outcome: 'failed', reason: 'holderLost' });
  });

  it('whose only attempt lost its holder, and whose operation something else has overwritten, has failed', async () => {
    const { sim, sent } = setUp(minute, {
      retry: { attempts: 1, backoffMs: 10_000, factor: 2, maxBackoffMs: 300_000, jitter: 'none' },
    });
    await sim.clock.advance(10 * MINUTE + 20_000);
    holderOf(sent).kill();
    const { run } = await sim.row('close');
    const [name = ''] = await pieces(sim);
    const place = ['close' as JobName, run?.key ?? '', name] as const;
    await sim.store.deletePiece(...place);
    await sim.store.createPiece(...place, { body: 'x'.repeat(BODY_BYTES + 1), summary: {} });
    await sim.clock.advance(MINUTE);
    expect(await last(sim)).toMatchObject({ outcome: 'failed', reason: 'holderLost' });
  });

  it('that gives way to a newer due time ends its operation, and the newer one is called', async () => {
    const endless = ({ method }: Sent): Answering =>
      method === 'POST' ? { ...OPERATION } : { status: 200, body: { status: 'Running' } };
    const { sim, lines } = setUp(endless, { overlap: 'cancel', timeoutMs: 25 * MINUTE });
    await sim.clock.advance(20 * MINUTE + 30_000);
    expect(lines().filter((line) => !line.startsWith('GET'))).toEqual([
      'POST /close 1',
      'DELETE /state 1',
      'POST /close 1',
    ]);
    expect(await last(sim)).toMatchObject({ outcome: 'cancelled', reason: 'overlapCancel' });
  });

  it('whose attempt times out ends its operation, and is called again by the next attempt', async () => {
    const { sim, lines } = setUp(({ method }) => (method === 'POST' ? OPERATION : { status: 202 }), {
      timeoutMs: MINUTE,
      retry: { attempts: 2, backoffMs: 10_000, factor: 2, maxBackoffMs: 300_000, jitter: 'none' },
    });
    await sim.clock.advance(14 * MINUTE);
    expect(lines().filter((line) => !line.startsWith('GET'))).toEqual([
      'POST /close 1',
      'DELETE /state 1',
      'POST /close 2',
      'DELETE /state 2',
    ]);
    expect(await last(sim)).toMatchObject({ outcome: 'timedOut', reason: 'timeout' });
  });

  it('whose job leaves no grace ends its operation too, so that the next attempt calls beside none', async () => {
    const endless = ({ method }: Sent): Answering => (method === 'POST' ? OPERATION : { status: 202 });
    const { sim, lines } = setUp(endless, { timeoutMs: MINUTE, graceMs: 0 });
    for (const one of sim.instances) {
      interceptStore(one, 'createPiece', (createPiece) => async (...piece) => {
        await sleep(sim.clock, 20);
        return createPiece(...piece);
      });
    }
    await sim.clock.advance(12 * MINUTE);
    expect(lines().filter((line) => !line.startsWith('GET'))).toEqual([
      'POST /close 1',
      'DELETE /state 1',
      'POST /close 2',
    ]);
  });

  it('is retried no sooner than its target asks', async () => {
    const { sim, sent } = setUp((_, all) =>
      all.length === 1 ? { status: 503, headers: { 'retry-after': '120' } } : { status: 200 },
    );
    await sim.clock.advance(14 * MINUTE);
    expect(sent).toHaveLength(2);
    expect((sent[1]?.at ?? 0) - (sent[0]?.at ?? 0)).toBeGreaterThanOrEqual(120_000);
    expect(await last(sim)).toMatchObject({ outcome: 'succeeded' });
  });

  it('is retried no sooner than its target asks, though that is longer than its largest back-off', async () => {
    const { sim, sent } = setUp((_, all) =>
      all.length === 1 ? { status: 503, headers: { 'retry-after': '3600' } } : { status: 200 },
    );
    await sim.clock.advance(75 * MINUTE);
    expect(sent[1]?.headers['x-cronlease-attempt']).toBe('2');
    const waited = (sent[1]?.at ?? 0) - (sent[0]?.at ?? 0);
    expect(waited).toBeGreaterThanOrEqual(60 * MINUTE);
    expect(waited).toBeLessThan(61 * MINUTE);
  });

  it('is called again by the next attempt if its operation failed, and not polled on', async () => {
    const { sim, lines } = setUp(({ method }, all) => {
      if (method === 'POST') return OPERATION;
      const calls = all.filter((one) => one.method === 'POST').length;
      return { status: 200, body: { status: calls === 1 ? 'Failed' : 'Succeeded' } };
    });
    await sim.clock.advance(13 * MINUTE);
    expect(lines()).toEqual(['POST /close 1', 'GET /state 1', 'POST /close 2', 'GET /state 2']);
    expect(await last(sim)).toMatchObject({ outcome: 'succeeded' });
  });

  it('that is refused has failed without a second attempt, with the answer as its error', async () => {
    const { sim, sent } = setUp(() => ({ status: 422, body: { why: 'closed' } }));
    await sim.clock.advance(12 * MINUTE);
    expect(sent).toHaveLength(1);
    const record = await last(sim);
    expect(record).toMatchObject({ outcome: 'failed', reason: 'nonRetryable' });
    expect(record.attempts[0]?.error).toEqual({
      name: 'CallError',
      code: 'CallRefused',
      message: 'it answered 422: {"why":"closed"}',
    });
  });
});
