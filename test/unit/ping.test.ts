import { describe, expect, it } from 'vitest';
import type { Report } from '../../src/coordinator/outlet';
import { sleep } from '../../src/core/clock';
import { defineFanOut } from '../../src/handler/define-fan-out';
import { createPings } from '../../src/notices/ping';
import { PostError } from '../../src/notices/request';
import { firstInstance } from '../support/by-hand';
import { interceptStore } from '../support/intercept';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { settableClock } from '../support/clock';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

function pings(answer: (path: string, call: number) => number | 'lost' | 'never') {
  const clock = settableClock();
  const called: string[] = [];
  const warned: string[] = [];
  const report: Report = { event: () => undefined, log: (_level, ...message) => void warned.push(message.join(' ')) };
  const address = new URL('https://hc.example/secret-id?create=1');
  const ping = createPings(clock, new Map([['nightly', address]]), async (posting) => {
    const { pathname, search } = posting.address;
    called.push(pathname + search);
    const status = answer(pathname, called.length);
    if (status === 'never') return new Promise(() => undefined);
    if (status === 'lost') throw new PostError('host "hc.example" cannot be reached: ECONNRESET');
    return { status, retryAfterMs: undefined, text: '' };
  });
  return {
    clock,
    called,
    warned,
    ping: (kind: 'start' | 'success' | 'fail', name = 'nightly') => ping(name, kind, report),
  };
}

describe('a ping', () => {
  it('calls the address of healthchecks, with a word for the start and the failure', async () => {
    const { called, warned, ping } = pings(() => 200);
    await Promise.all([ping('start'), ping('success'), ping('start'), ping('fail')]);
    const base = '/secret-id';
    expect(called).toEqual([`${base}/start`, base, `${base}/start`, `${base}/fail`].map((path) => `${path}?create=1`));
    expect(warned).toEqual([]);
  });

  it('is tried once more, before the next one for the same name, and then left with a warning', async () => {
    const { clock, called, warned, ping } = pings((path) => (path.endsWith('/start') ? 'lost' : 200));
    const both = Promise.all([ping('start'), ping('success')]);
    await clock.advance(3_000);
    await both;
    expect(called.map((path) => path.split('?')[0])).toEqual(['/secret-id/start', '/secret-id/start', '/secret-id']);
    expect(warned).toEqual(['ping "nightly", start: host "hc.example" cannot be reached: ECONNRESET']);
  });

  it('is left out only while ten others wait, however many went before it without a pause between them', async () => {
    const { called, warned, ping } = pings(() => 200);
    let last = ping('start');
    for (let index = 0; index < 40; index += 1) {
      const next = ping('success');
      await last;
      last = next;
    }
    await last;
    expect(warned).toEqual([]);
    expect(called).toHaveLength(41);
  });

  it('does not fill the memory where nobody answers, and names no secret', async () => {
    const { called, warned, ping } = pings(() => 'never');
    for (let index = 0; index < 30; index += 1) void ping('success');
    await ping('success', 'unknown');
    expect(called).toHaveLength(1);
    expect(warned).toHaveLength(21);
    expect(warned.at(-1)).toBe('ping "unknown", success: its address is not in CRONLEASE_PINGS');
    expect(warned.join()).not.toContain('secret-id');
  });
});

describe('the pings of a job', () => {
  it('neither fail nor delay its runs, whatever becomes of them', async () => {
    const kinds: string[] = [];
    const sim = rivalTicks({
      jobs: [
        jobSpec('a', '*/10 * * * *', { ping: 'nightly', retry: { ...jobSpec('a', '@hourly').retry, attempts: 2 } }),
      ],
      outlet: () => ({
        ...{ instance: 'p', receivers: new Set(), send: async () => undefined, sawOff: () => undefined },
        ping: (name, kind) => {
          kinds.push(`${name} ${kind}`);
          return new Promise(() => undefined);
        },
      }),
      handler: ({ scheduledFor }) => {
        if (scheduledFor.getUTCMinutes() === 20) throw new Error('no');
      },
    });
    await sim.clock.advance(HOUR / 2 + MINUTE);
    expect((await sim.records('a')).map(({ outcome }) => outcome)).toEqual(['succeeded', 'failed', 'succeeded']);
    for (const { latenessMs } of await sim.records('a')) expect(latenessMs).toBeLessThan(1_000);
    // Attempts that are tried again are neither a start nor an end.
    expect(kinds).toEqual(['start', 'success', 'start', 'fail', 'start', 'success'].map((kind) => `nightly ${kind}`));
  });

  it('have a start for a run whose first attempt had no turn', async () => {
    const kinds: string[] = [];
    const sim: RivalTicks = rivalTicks({
      jobs: [
        jobSpec('blocker', '@hourly', { priority: 9, timeoutMs: 50_000 }),
        jobSpec('waiter', '@hourly', { ping: 'nightly', timeoutMs: 30_000 }),
      ],
      maxConcurrentRuns: 1,
      settings: { functionTimeoutMs: MINUTE },
      outlet: () => ({
        ...{ instance: 'p', receivers: new Set(), send: async () => undefined, sawOff: () => undefined },
        ping: async (_name, kind) => void kinds.push(kind),
      }),
      handler: ({ job }) => (job === 'blocker' ? sleep(sim.clock, 45_000) : undefined),
    });
    await sim.clock.advance(HOUR + 2 * MINUTE);
    const crowded = sim.events.filter(({ event, job }) => event === 'retrying' && job === 'waiter');
    expect(crowded.length).toBeGreaterThan(0);
    expect(kinds).toEqual(['start', 'success']);
  });

  it('do not wait until the pieces of a fan-out are deleted', async () => {
    const kinds: string[] = [];
    const sim = rivalTicks({
      jobs: [jobSpec('a', '*/10 * * * *', { ping: 'nightly' })],
      fanOut: { a: () => defineFanOut({ plan: () => [1], each: () => 1, gather: () => 1 }) },
      outlet: () => ({
        ...{ instance: 'p', receivers: new Set(), send: async () => undefined, sawOff: () => undefined },
        ping: async (_name, kind) => void kinds.push(kind),
      }),
    });
    interceptStore(firstInstance(sim), 'deletePiece', () => () => new Promise(() => undefined));
    await sim.clock.advance(11 * MINUTE);
    expect(kinds).toEqual(['start', 'success']);
    expect(sim.events.filter(({ event }) => event === 'succeeded')).toHaveLength(1);
  });

  it('are none where the job has none', async () => {
    const kinds: string[] = [];
    const sim = rivalTicks({
      jobs: [jobSpec('a', '*/10 * * * *')],
      outlet: () => ({
        ...{ instance: 'p', receivers: new Set(), send: async () => undefined, sawOff: () => undefined },
        ping: async (name) => void kinds.push(name),
      }),
    });
    await sim.clock.advance(HOUR / 2);
    expect(kinds).toEqual([]);
  });
});
