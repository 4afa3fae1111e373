import { format } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import type { JobSpec } from '../../src/core/job';
import { type LogEntry, parseEntries, ATTEMPT_LOG } from '../../src/core/log-entry';
import { parseRecordKey } from '../../src/core/key';
import { mask } from '../../src/core/redact';
import { createAttemptLog } from '../../src/coordinator/attempt/attempt-log';
import { redactSetting } from '../../src/functions/redact';
import { reportTo } from '../../src/functions/report';
import { type ItemContext, defineFanOut } from '../../src/handler/define-fan-out';
import type { JobContext } from '../../src/handler/handler';
import { serviceTime } from '../../src/lease/service-time';
import { StoreUnavailableError } from '../../src/lease/store';
import { Trust } from '../../src/lease/trust';
import { memoryService } from '../../src/stores/memory/store';
import { settableClock } from '../support/clock';
import { firstInstance } from '../support/by-hand';
import { interceptStore } from '../support/intercept';
import { jobSpec } from '../support/job';
import { type Instance, type RivalTicks, type SimulationOptions, rivalTicks } from '../support/rival-ticks';

const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const T0 = Date.UTC(2026, 0, 1);
const A = 'a' as JobName;

type Handler = (context: JobContext, clock: RivalTicks['clock'], on: Instance) => unknown;

interface Ran {
  readonly sim: RivalTicks;
  readonly on: Instance;
  readonly warnings: string[];
}

/** A job that is due at T0 + 1 h, just before that time. */
async function beforeDue(
  handler: Handler,
  spec: Partial<JobSpec> = {},
  more: Partial<SimulationOptions> = {},
  prepare: (ran: Ran) => void = () => undefined,
): Promise<Ran> {
  const sim: RivalTicks = rivalTicks({
    jobs: [jobSpec('a', '@hourly', { leaseMs: 15_000, ...spec })],
    handler: (context, on) => handler(context, sim.clock, on),
    ...more,
  });
  const on = firstInstance(sim);
  const warnings: string[] = [];
  for (const { report } of sim.instances) {
    const place: { log: typeof report.log } = report;
    place.log = (level, ...message) => {
      if (level === 'warn') warnings.push(message.map(String).join(' '));
    };
  }
  // Before the claim: an attempt takes its store from then.
  await sim.clock.advanceTo(T0 + HOUR - 10 * SECOND);
  const ran = { sim, on, warnings };
  prepare(ran);
  await sim.clock.advanceTo(T0 + HOUR - SECOND);
  return ran;
}

async function logsOf({ sim }: Ran): Promise<Map<string, readonly LogEntry[]>> {
  const logs = new Map<string, readonly LogEntry[]>();
  const { records } = await sim.store.listRecords(A, { limit: 100 });
  const keys = new Set([...records.map(({ key }) => key), (await sim.row('a')).run?.key ?? '']);
  for (const key of keys) {
    const page = await sim.store.listLogs(A, key, { limit: 1_000 });
    for (const { name, bytes } of page.logs) {
      const text = await sim.store.readLog(A, key, name, { from: 0, limit: bytes });
      logs.set(name, parseEntries(text ?? ''));
    }
  }
  return logs;
}

const texts = (entries: readonly LogEntry[] = []): string[] =>
  entries.flatMap((entry) => {
    if ('text' in entry) return [entry.text];
    return 'gap' in entry ? [`gap of ${String(entry.gap.lines)}`] : [];
  });

async function lastRecord({ sim }: Ran) {
  const records = await sim.records('a');
  return records.find(({ outcome }) => outcome !== null);
}

const logCalls = ({ on }: Ran): number[] =>
  ['createLog', 'appendLog', 'readLog'].map((kind) => on.calls.get(kind) ?? 0);

describe('the log of a run', () => {
  it('that is silent makes no call, and its record has none', async () => {
    const ran = await beforeDue(() => 'done');
    await ran.sim.clock.advance(MINUTE);
    expect(logCalls(ran)).toEqual([0, 0, 0]);
    const record = await lastRecord(ran);
    expect(record).toMatchObject({ outcome: 'succeeded' });
    expect(record).not.toHaveProperty('log');
    expect(record).not.toHaveProperty('progress');
  });

  it('that is short lies in its record, at no call', async () => {
    const ran = await beforeDue(async ({ log, progress }, clock) => {
      log('read %d of', 3, { n: 7 });
      await sleep(clock, 1_500);
      log.warn('slow');
      progress('half', 0.5);
    });
    await ran.sim.clock.advance(MINUTE);
    expect(logCalls(ran)).toEqual([0, 0, 0]);
    expect(await lastRecord(ran)).toMatchObject({
      progress: { note: 'half', fraction: 0.5 },
      log: {
        kept: 'inline',
        entries: [
          { n: 1, at: '2026-01-01T01:00:00.000Z', attempt: 1, level: 'info', text: 'read 3 of { n: 7 }' },
          { n: 2, at: '2026-01-01T01:00:01.500Z', attempt: 1, level: 'warn', text: 'slow' },
          { n: 2, at: '2026-01-01T01:00:01.500Z', attempt: 1, progress: { note: 'half', fraction: 0.5 } },
        ],
      },
    });
    const [stored] = (await ran.sim.store.listRecords(A, { limit: 1 })).records;
    expect(stored?.summary).toMatchObject({ log: 'inline', progress: '{"note":"half","fraction":0.5}' });
  });

  it('is written every 2 s at most while the run goes on, and its end lies in the record', async () => {
    const ran = await beforeDue(async ({ log }, clock) => {
      for (let second = 0; second < 9; second += 0.5) {
        log(`at ${String(second)}`);
        await sleep(clock, 500);
      }
    });
    await ran.sim.clock.advance(6 * SECOND);
    expect(texts((await logsOf(ran)).get('1'))).toHaveLength(8);
    await ran.sim.clock.advance(MINUTE);
    expect(logCalls(ran)).toEqual([1, 4, 0]);
    const record = await lastRecord(ran);
    expect(record?.log?.kept).toBe('blob');
    const all = [...texts((await logsOf(ran)).get('1')), ...texts(record?.log?.entries)];
    expect(all).toEqual(Array.from({ length: 18 }, (_, index) => `at ${String(index / 2)}`));
  });

  it('costs nothing while nothing is said, and progress alone is written every 10 s', async () => {
    const ran = await beforeDue(async ({ log, progress }, clock) => {
      await sleep(clock, MINUTE);
      for (let second = 0; second < 60; second += 1) {
        progress();
        await sleep(clock, SECOND);
      }
      log('now');
      await sleep(clock, MINUTE);
      for (let second = 0; second < 60; second += 1) {
        progress(undefined, second / 60);
        await sleep(clock, SECOND);
      }
    });
    await ran.sim.clock.advance(HOUR / 2);
    // One for the line, and six for the minute of progress.
    expect(logCalls(ran)).toEqual([1, 7, 0]);
    expect(await lastRecord(ran)).toMatchObject({ progress: { fraction: 59 / 60 } });
  });

  it('keeps the beginning and the end of too many lines, and names the gap', async () => {
    const ran = await beforeDue(async ({ log }, clock) => {
      for (let n = 1; n <= 5_000; n += 1) log(`line ${String(n)}`);
      await sleep(clock, 10 * SECOND);
      log('last');
    });
    await ran.sim.clock.advance(MINUTE);
    expect(logCalls(ran)).toEqual([1, 2, 0]);
    const all = texts((await logsOf(ran)).get('1'));
    expect(all).toHaveLength(2_001);
    expect([all[0], all[999], all[1_000], all[1_001], all.at(-1)]).toEqual([
      'line 1',
      'line 1000',
      'gap of 3001',
      'line 4002',
      'last',
    ]);
    expect((await lastRecord(ran))?.log).toEqual({ kept: 'blob', entries: [] });
  });

  it('of an attempt that is retried is written before the next one, which has a log of its own', async () => {
    const ran = await beforeDue(({ log, attempt }) => {
      log(`attempt ${String(attempt)}`);
      if (attempt === 1) throw new Error('once');
    });
    await ran.sim.clock.advance(5 * SECOND);
    expect([...(await logsOf(ran))].map(([name, entries]) => [name, texts(entries)])).toEqual([['1', ['attempt 1']]]);
    await ran.sim.clock.advance(MINUTE);
    const record = await lastRecord(ran);
    expect(record).toMatchObject({
      outcome: 'succeeded',
      log: { kept: 'blob', entries: [{ attempt: 2, text: 'attempt 2' }] },
    });
  });

  it('of a holder that was killed has what was written, and the record says where to look', async () => {
    const ran = await beforeDue(
      async ({ log, attempt }, clock) => {
        if (attempt > 1) return;
        log('before');
        await sleep(clock, 3 * SECOND);
        log('too late');
        await sleep(clock, HOUR);
      },
      {},
      { deployments: 2 },
    );
    await ran.sim.clock.advance(5 * SECOND);
    ran.sim.instances.find(({ deployment }) => deployment === ran.sim.calls[0]?.deployment)?.kill();
    await ran.sim.clock.advance(3 * MINUTE);
    expect(texts((await logsOf(ran)).get('1'))).toEqual(['before']);
    expect(await lastRecord(ran)).toMatchObject({ outcome: 'succeeded', log: { kept: 'blob', entries: [] } });
  });

  it('is not kept with `logs` `none`', async () => {
    const ran = await beforeDue(
      async ({ log, progress }, clock) => {
        log('secret');
        progress('secret', 1);
        await sleep(clock, 5 * SECOND);
      },
      { logs: 'none' },
    );
    await ran.sim.clock.advance(MINUTE);
    expect(logCalls(ran)).toEqual([0, 0, 0]);
    const [stored] = (await ran.sim.store.listRecords(A, { limit: 1 })).records;
    expect(JSON.stringify([await lastRecord(ran), stored])).not.toContain('secret');
  });

  it('has no secrets, in lines or progress', async () => {
    const handler: Handler = async ({ log, progress }, clock) => {
      log('key=abc and');
      progress('key=abc', 0.1);
      await sleep(clock, 5 * SECOND);
      log('key=abc again');
    };
    const ran = await beforeDue(handler, {}, {}, ({ on }) => {
      const place: { redact?: Instance['coordinator']['redact'] } = on.coordinator;
      const part = (text: string) => ({ start: text.indexOf('key=abc'), end: text.indexOf('key=abc') + 7 });
      place.redact = (all, most) => all.map((text) => mask(text, [part(text)], most));
    });
    await ran.sim.clock.advance(MINUTE);
    const record = await lastRecord(ran);
    expect([...texts((await logsOf(ran)).get('1')), ...texts(record?.log?.entries)]).toEqual(['*** and', '*** again']);
    expect(record?.progress).toEqual({ note: '***', fraction: 0.1 });
    const [stored] = (await ran.sim.store.listRecords(A, { limit: 1 })).records;
    expect(JSON.stringify([record, stored, [...(await logsOf(ran))]])).not.toContain('abc');
  });

  it('has no secrets in the log of the host, an error, its cause or the result either', async () => {
    const redact = redactSetting({ CRONLEASE_REDACT: '["key=\\\\S+"]' });
    if (redact === undefined) throw new Error('there is nothing to redact');
    const said: unknown[] = [];
    const handler: Handler = ({ log, attempt }) => {
      // In two parts of one call, and in an object.
      log('%s=%s', 'key', 'abc', { of: 'key=abc' });
      if (attempt === 1) throw new Error('key=abc', { cause: new Error('key=abc') });
      return { url: 'x?key=abc' };
    };
    const retry = { attempts: 2, backoffMs: SECOND, factor: 1, maxBackoffMs: SECOND, jitter: 'none' } as const;
    const ran = await beforeDue(handler, { retry }, {}, ({ on }) => {
      Object.assign(on.coordinator, { redact });
      Object.assign(on.report, { log: (...message: unknown[]) => said.push(message) });
    });
    await ran.sim.clock.advance(MINUTE);
    const record = await lastRecord(ran);
    expect(record).toMatchObject({
      ...{ outcome: 'succeeded', result: { url: 'x?***' } },
      attempts: [{ error: { message: '***', cause: { message: '***' } } }, { error: null }],
    });
    expect(said).toContainEqual(['info', '[a]', "*** { of: '*** }"]);
    expect(JSON.stringify([record, said, [...(await logsOf(ran))]])).not.toContain('abc');
  });

  it('has notes of any text in a summary that every store takes', async () => {
    const note = '漢\u001b"\\\ud800 '.repeat(500);
    const ran = await beforeDue(({ progress }) => progress(note, 1 / 3));
    await ran.sim.clock.advance(MINUTE);
    const record = await lastRecord(ran);
    expect(record?.progress).toEqual({ note: note.slice(0, 200), fraction: 1 / 3 });
    const [stored] = (await ran.sim.store.listRecords(A, { limit: 1 })).records;
    expect(JSON.parse(stored?.summary['progress'] ?? '')).toEqual(record?.progress);
  });

  it.each(['text', 'json'])('shows what cannot be shown as such in %s, and the handler goes on', async (form) => {
    const ran = await beforeDue(
      ({ log }) => {
        log({
          [Symbol.for('nodejs.util.inspect.custom')]: () => {
            throw new Error('no');
          },
        });
        return 'done';
      },
      {},
      {},
      ({ on }) => {
        // A host makes a text of what it gets.
        const host = { debug: format, info: format, warn: format, error: format };
        const report = reportTo(host, { coordinator: on.coordinator, feed: undefined, isJson: form === 'json' });
        Object.assign(on.report, { log: report.log, line: report.line });
      },
    );
    await ran.sim.clock.advance(MINUTE);
    expect(await lastRecord(ran)).toMatchObject({
      outcome: 'succeeded',
      log: { entries: [{ text: '(a message that cannot be shown)' }] },
    });
  });

  it.each([
    [[5], 'the note is a number: pass text'],
    [['a', 1.5], 'the fraction is 1.5: pass a number from 0 to 1'],
    [[undefined, Number.NaN], 'the fraction is NaN'],
    [['a', '50%'], 'the fraction is a string'],
    [[null], 'the note is null'],
  ])('refuses progress(...%j)', async (parameters, message) => {
    const ran = await beforeDue(({ progress }) => Reflect.apply(progress, undefined, parameters), {
      retry: { attempts: 1, backoffMs: 0, factor: 1, maxBackoffMs: 0, jitter: 'none' },
    });
    await ran.sim.clock.advance(MINUTE);
    const record = await lastRecord(ran);
    expect(record?.attempts[0]?.error?.name).toBe('InvalidProgressError');
    expect(record?.attempts[0]?.error?.message).toContain(message);
  });
});

describe('when storage does not take the log', () => {
  const talk: Handler = async ({ log }, clock) => {
    for (let n = 1; n <= 30; n += 1) {
      log(`line ${String(n)} ${'x'.repeat(2_000)}`);
      await sleep(clock, SECOND);
    }
  };
  const numbers = (all: readonly string[]): string[] => all.map((text) => text.replace(/ x+$/, ''));

  it('an append whose answer is lost doubles nothing', async () => {
    const ran = await beforeDue(talk, {}, {}, ({ on }) => {
      let calls = 0;
      interceptStore(on, 'appendLog', (append) => async (...call) => {
        const answer = await append(...call);
        calls += 1;
        if (calls % 2 === 1) throw new StoreUnavailableError('the answer is lost');
        return answer;
      });
      let creations = 0;
      interceptStore(on, 'createLog', (create) => async (...call) => {
        const answer = await create(...call);
        creations += 1;
        if (creations === 1) throw new StoreUnavailableError('the answer is lost');
        return answer;
      });
    });
    await ran.sim.clock.advance(5 * MINUTE);
    const record = await lastRecord(ran);
    const written = (await logsOf(ran)).get('1') ?? [];
    const last = written.at(-1)?.n ?? 0;
    // The record repeats what may or may not be written: a reader drops it by its number.
    const all = [...written, ...(record?.log?.entries.filter(({ n }) => n > last) ?? [])];
    expect(numbers(texts(all))).toEqual(Array.from({ length: 30 }, (_, index) => `line ${String(index + 1)}`));
    expect(record?.outcome).toBe('succeeded');
    expect(ran.warnings).toEqual([]);
  });

  it('for the whole run, its end is 1 s late at most, the record has all of it, and one warning says so', async () => {
    const ran = await beforeDue(talk, {}, {}, ({ on }) => {
      interceptStore(on, 'appendLog', () => async () => {
        throw new StoreUnavailableError('503');
      });
    });
    await ran.sim.clock.advance(5 * MINUTE);
    const record = await lastRecord(ran);
    expect(record?.endedAt).toBe('2026-01-01T01:00:30.000Z');
    const kept = numbers(texts(record?.log?.entries));
    expect(kept).toEqual(Array.from({ length: 30 }, (_, index) => `line ${String(index + 1)}`));
    expect(ran.warnings).toHaveLength(1);
    expect(ran.warnings[0]).toContain('cannot be written at present');
    expect(logCalls(ran)[0]).toBe(1);
  });

  const slow = (on: Instance, clock: RivalTicks['clock'], ms: number): void => {
    interceptStore(on, 'createLog', (create) => async (...call) => {
      await sleep(clock, ms);
      return create(...call);
    });
    interceptStore(on, 'appendLog', (append) => async (...call) => {
      await sleep(clock, ms);
      return append(...call);
    });
  };

  it('a flood keeps its first and its last half, however slow each call is', async () => {
    const flood: Handler = async ({ log }, clock) => {
      for (let n = 1; n <= 5_000; n += 1) {
        log(`line ${String(n)}`);
        if (n % 5 === 0) await sleep(clock, 5);
      }
    };
    const ran = await beforeDue(flood, {}, {}, ({ on, sim }) => {
      slow(on, sim.clock, 4 * SECOND);
    });
    await ran.sim.clock.advance(5 * MINUTE);
    const record = await lastRecord(ran);
    expect(record).toMatchObject({ outcome: 'succeeded', endedAt: '2026-01-01T01:00:05.000Z' });
    const kept = new Map(
      [...((await logsOf(ran)).get('1') ?? []), ...(record?.log?.entries ?? [])].map((e) => [e.n, e]),
    );
    const all = texts([...kept.values()].toSorted((a, b) => a.n - b.n));
    expect(all).toHaveLength(2_001);
    expect([all[0], all[999], all[1_000], all[1_001], all.at(-1)]).toEqual([
      ...['line 1', 'line 1000', 'gap of 3000', 'line 4001', 'line 5000'],
    ]);
    expect(ran.warnings).toEqual([]);
  });

  it('because its calls hang, the run and its lease do not wait', async () => {
    const ran = await beforeDue(talk, {}, {}, ({ on }) => {
      interceptStore(on, 'createLog', () => () => new Promise(() => undefined));
    });
    await ran.sim.clock.advance(5 * MINUTE);
    const record = await lastRecord(ran);
    expect(record).toMatchObject({ outcome: 'succeeded', endedAt: '2026-01-01T01:00:30.000Z' });
    expect(record?.attempts).toHaveLength(1);
    const released = ran.sim.events.find(({ event }) => event === 'succeeded');
    expect((released?.at ?? Infinity) - Date.parse('2026-01-01T01:00:30.000Z')).toBeLessThanOrEqual(1_100);
    expect(ran.warnings).toHaveLength(1);
  });

  it('and little of the trust is left, its end waits for a quarter of that', async () => {
    const clock = settableClock();
    const { createLog: _, ...store } = memoryService(clock).open();
    const log = createAttemptLog({
      coordinator: {
        ...{ clock, serviceTime: serviceTime(clock) },
        store: { ...store, createLog: () => new Promise(() => undefined) },
      },
      trust: Trust.withoutLease(clock, { wall: clock.now(), monotonic: clock.monotonic() }, 800),
      report: { event: () => undefined, log: () => undefined },
      ...{ job: A, key: '1-s', name: () => '1', speaker: { attempt: 1 }, limits: ATTEMPT_LOG },
    });
    for (let n = 0; n < 10; n += 1) log.line('info', () => 'x'.repeat(8_000));
    let said: Awaited<ReturnType<typeof log.conclude>> | undefined;
    void log.conclude().then((answer) => (said = answer));
    await clock.advance(199);
    expect(said).toBeUndefined();
    await clock.advance(2);
    expect(texts(said?.log?.entries)).toHaveLength(10);
  });

  it('at once, an attempt that is to be retried waits for it as long as its retry waits anyway', async () => {
    const handler: Handler = ({ log, attempt }) => {
      log(`attempt ${String(attempt)}`);
      if (attempt === 1) throw new Error('once');
    };
    const ran = await beforeDue(handler, {}, {}, ({ on, sim }) => slow(on, sim.clock, 1_200));
    await ran.sim.clock.advance(MINUTE);
    expect(texts((await logsOf(ran)).get('1'))).toEqual(['attempt 1']);
    expect((ran.sim.calls[1]?.at ?? Infinity) - T0 - HOUR).toBeLessThan(10.1 * SECOND);
  });

  it('and an attempt is to be retried, the retry is on time', async () => {
    const handler: Handler = ({ log, attempt }) => {
      log('lost');
      if (attempt === 1) throw new Error('once');
    };
    const ran = await beforeDue(handler, {}, {}, ({ on }) => {
      interceptStore(on, 'createLog', () => () => new Promise(() => undefined));
    });
    await ran.sim.clock.advance(MINUTE);
    expect(ran.sim.calls).toHaveLength(2);
    expect((ran.sim.calls[1]?.at ?? Infinity) - T0 - HOUR).toBeLessThan(10.1 * SECOND);
    expect(ran.warnings.filter((warning) => warning.includes('the log of'))).toMatchObject([
      expect.stringContaining('has lost 1 line'),
    ]);
  });

  it('a log that holds the text of another writer is left alone', async () => {
    const ran = await beforeDue(async ({ log, fence }, clock) => {
      const key = (await ran.sim.row('a')).run?.key ?? '';
      await ran.sim.store.createLog(A, key, String(fence.token));
      await ran.sim.store.appendLog(A, key, String(fence.token), { text: 'mine\n', at: 0 });
      log('a');
      await sleep(clock, 10 * SECOND);
      log('b');
    });
    await ran.sim.clock.advance(MINUTE);
    const record = await lastRecord(ran);
    expect(texts(record?.log?.entries)).toEqual(['a', 'b']);
    const key = (await ran.sim.row('a')).run?.key ?? '';
    expect(parseRecordKey(key)?.scheduledFor).toBe(T0 + HOUR);
    expect(await ran.sim.store.readLog(A, key, '1', { from: 0, limit: 100 })).toBe('mine\n');
  });

  it('nothing is written once the lease is lost', async () => {
    const ran = await beforeDue(
      async ({ log, signal }, clock, on) => {
        if (on !== ran.on) return;
        log('first');
        await sleep(clock, 3 * SECOND);
        on.pause();
        log('while stopped');
        await sleep(clock, 20 * MINUTE, signal);
        log('after');
      },
      {},
      { deployments: 1 },
    );
    await ran.sim.clock.advance(5 * SECOND);
    await ran.sim.clock.advance(MINUTE);
    ran.on.wake();
    await ran.sim.clock.advance(MINUTE);
    expect(texts((await logsOf(ran)).get('1'))).toEqual(['first']);
  });
});

describe('the log of an item', () => {
  const spec = { retry: { attempts: 3, backoffMs: 1_000, factor: 1, maxBackoffMs: 1_000, jitter: 'none' as const } };

  async function fannedOut(each: (context: ItemContext, clock: RivalTicks['clock']) => unknown): Promise<Ran> {
    const ran = await beforeDue(() => undefined, spec, {
      fanOut: {
        a: (on) =>
          defineFanOut<unknown, number>({
            concurrency: 2,
            itemRetry: { attempts: 3, backoff: '1s', jitter: 'none' },
            plan: ({ log }) => {
              log('planned');
              return [0, 1, 2];
            },
            each: (context) => each(context, on.coordinator.clock as RivalTicks['clock']),
            gather: ({ log }) => log('gathered'),
          }),
      },
    });
    await ran.sim.clock.advance(5 * MINUTE);
    return ran;
  }

  it('is its own, for each call that said something, and names the item', async () => {
    const ran = await fannedOut(({ log, index, attempt, progress }) => {
      if (index === 2) return;
      log(`item ${String(index)}, attempt ${String(attempt)}`);
      progress('at it', 0.5);
      if (index === 1 && attempt === 1) throw new Error('once');
    });
    const logs = await logsOf(ran);
    const names = [...logs.keys()].map((name) => name.replace(/-[^-]{8}$/, '-id'));
    expect(names.toSorted()).toEqual(['1', '1-0-1-id', '1-1-1-id', '1-1-2-id']);
    expect(texts(logs.get('1'))).toEqual(['planned']);
    const item = [...logs].find(([name]) => name.startsWith('1-1-2-'))?.[1];
    expect(item).toMatchObject([
      { attempt: 2, item: 1, text: 'item 1, attempt 2' },
      { attempt: 2, item: 1, progress: { note: 'at it', fraction: 0.5 } },
    ]);
    expect(await lastRecord(ran)).toMatchObject({
      outcome: 'succeeded',
      log: { kept: 'blob', entries: [{ text: 'gathered' }] },
    });
  });

  it('costs two calls, however much it says at once', async () => {
    const ran = await fannedOut(({ log }) => {
      for (let n = 0; n < 3_000; n += 1) log(n);
    });
    // One log of the plan, and three of items.
    expect(logCalls(ran)).toEqual([4, 4, 0]);
    for (const [name, entries] of await logsOf(ran)) {
      if (name !== '1') expect(texts(entries)).toHaveLength(1_001);
    }
  });
});
