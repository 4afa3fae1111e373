import type { InvocationContext } from '@azure/functions';
import { describe, expect, it } from 'vitest';
import type { Coordinator } from '../../src/coordinator/coordinator';
import type { JobName } from '../../src/core/brand';
import type { CoordinatorEvent } from '../../src/core/event';
import { duringCall } from '../../src/functions/register';
import { isJsonLog, reportTo } from '../../src/functions/report';
import type { Feed } from '../../src/telemetry/feed';
import { jobLog } from '../../src/coordinator/attempt/run-handler';
import { NO_LOG } from '../../src/coordinator/attempt/attempt-log';
import { jobSpec } from '../support/job';

const TRACE = 'a'.repeat(32);
const JOB = 'nightly' as JobName;
const LOUD = 'loud' as JobName;
const jobs = new Map([[LOUD, { spec: jobSpec('loud', '@daily', { logs: 'host' }) }]]);
const coordinator = { deployment: 'eu', serviceTime: { now: () => 0 }, jobs } as unknown as Coordinator;

/** A report, the lines that it writes, and the events that telemetry gets. */
function reporting({ isJson = false, hasFeed = true, problems = [] as readonly string[] } = {}) {
  const lines: (readonly [level: string, text: string])[] = [];
  const events: CoordinatorEvent[] = [];
  const log =
    (level: string) =>
    (...message: unknown[]) =>
      void lines.push([level, message.join(' ')]);
  const context = {
    ...{ debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
    ...{ invocationId: 'invocation-1', traceContext: { traceParent: `00-${'b'.repeat(32)}-${'c'.repeat(16)}-01` } },
  } as unknown as InvocationContext;
  const feed = {
    event: (event: CoordinatorEvent) => void events.push(event),
    traceId: () => TRACE,
    problems: () => problems,
  } as unknown as Feed;
  return { report: reportTo(context, { coordinator, feed: hasFeed ? feed : undefined, isJson }), lines, events };
}

describe('the report of an invocation', () => {
  it('gives events the id of their trace, and passes them on', () => {
    const { report, lines, events } = reporting();
    report.event({ event: 'started', at: 0, job: JOB, runId: 'run-1', attempt: 2 });
    const [, text] = lines[0] ?? [];
    expect(JSON.parse((text ?? '').replace('cronlease ', ''))).toMatchObject({
      ...{ event: 'started', deployment: 'eu', job: 'nightly', runId: 'run-1', attempt: 2, traceId: TRACE },
    });
    expect(events).toEqual([{ event: 'started', at: 0, job: 'nightly', runId: 'run-1', attempt: 2 }]);
    expect(report.invocation).toMatchObject({
      id: 'invocation-1',
      traceparent: `00-${'b'.repeat(32)}-${'c'.repeat(16)}-01`,
    });
  });

  it('warns of what keeps telemetry from its receiver', () => {
    const { lines } = reporting({ problems: ['metrics and traces are off: a package is missing'] });
    expect(lines).toEqual([['warn', expect.stringContaining('a package is missing')]]);
  });

  it.each([false, true])(
    'raises what a job with `logs` `host` says to warnings, and nothing else (JSON: %s)',
    (isJson) => {
      const { report, lines } = reporting({ hasFeed: false, isJson });
      for (const job of [JOB, LOUD]) {
        const log = jobLog({ report, redact: undefined }, { job, runId: 'r', attempt: 1 }, NO_LOG);
        report.event({ event: 'succeeded', at: 0, job });
        log('a line');
        log.debug('a detail');
        log.error('trouble');
      }
      expect(lines.map(([level]) => level)).toEqual([
        ...['info', 'info', 'debug', 'error'],
        ...['warn', 'warn', 'debug', 'error'],
      ]);
      const said = lines[5]?.[1] ?? '';
      if (isJson) expect(JSON.parse(said)).toMatchObject({ level: 'info', job: 'loud', message: 'a line' });
      else expect(said).toBe('[loud] a line');
    },
  );

  it('leaves events as they are where nothing is exported', () => {
    const { report, lines } = reporting({ hasFeed: false });
    report.event({ event: 'started', at: 0, job: JOB, runId: 'run-1' });
    expect(lines[0]?.[1]).not.toContain('traceId');
    expect(report.invocation).toBeUndefined();
    expect(report.line).toBeUndefined();
  });

  it('writes the lines of handlers as JSON, if the setting asks for it', () => {
    const { report, lines } = reporting({ isJson: true });
    const speaker = { job: JOB, runId: 'run-1', attempt: 1, traceparent: `00-${TRACE}-${'d'.repeat(16)}-01` };
    report.line?.('warn', speaker, ['copied %d of %s', 3, 'orders', { left: 2 }]);
    report.line?.('info', { ...speaker, item: 4, traceparent: undefined }, ['done']);
    const common = { at: '1970-01-01T00:00:00.000Z', deployment: 'eu', job: 'nightly', runId: 'run-1', attempt: 1 };
    expect(lines.map(([level, text]): unknown => [level, JSON.parse(text)])).toEqual([
      ['warn', { level: 'warn', ...common, traceId: TRACE, message: 'copied 3 of orders { left: 2 }' }],
      ['info', { level: 'info', ...common, item: 4, message: 'done' }],
    ]);
  });

  it('refuses another format', () => {
    expect(isJsonLog({})).toBe(false);
    expect(isJsonLog({ CRONLEASE_LOG_FORMAT: 'json' })).toBe(true);
    expect(() => isJsonLog({ CRONLEASE_LOG_FORMAT: 'xml' })).toThrow('CRONLEASE_LOG_FORMAT');
  });
});

describe('a call of the host', () => {
  const callOf = (lines: string[]) => {
    const at =
      (level: string) =>
      (...message: unknown[]): void =>
        void lines.push(`${level} ${message.join(' ')}`);
    return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), invocationId: '1' };
  };

  it('gets no line after its end: the next call has it, and those that were not too many', async () => {
    const late: Parameters<typeof duringCall>[1] = [];
    const first: string[] = [];
    const outlived = await duringCall(callOf(first), late, async (call) => {
      call.info('in time');
      return call;
    });
    for (let n = 1; n <= 201; n += 1) outlived.warn('notice', n);
    expect(first).toEqual(['info in time']);
    const second: string[] = [];
    await duringCall(callOf(second), late, async () => undefined);
    expect([second.length, second[0], second.at(-1)]).toEqual([200, 'warn notice 2', 'warn notice 201']);
    const third: string[] = [];
    await duringCall(callOf(third), late, async () => undefined);
    expect(third).toEqual([]);
  });

  it('that fails has ended too', async () => {
    const lines: string[] = [];
    const work = duringCall(callOf(lines), [], async (call) => {
      setImmediate(() => {
        call.warn('late');
      });
      throw new Error('no');
    });
    await expect(work).rejects.toThrow('no');
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    expect(lines).toEqual([]);
  });
});
