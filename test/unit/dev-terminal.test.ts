import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { userFrames } from '../../src/core/recorded-error';
import { showSpan, showTime } from '../../src/core/show-time';
import type { ClusterEvent, ClusterInstance } from '../../src/local/cluster/deployment';
import { killHint, warnedOnce } from '../../src/cli/dev/news';
import { type About, humanPrinter, jsonPrinter, type Output, type Printer } from '../../src/cli/dev/print';

const AT = Date.UTC(2026, 0, 1, 7, 0, 0, 5);
const due = new Date(AT - 5).toISOString();

function event(name: string, afterMs: number, more: Partial<ClusterEvent> = {}): ClusterEvent {
  const run = { job: 'count', scheduledFor: due, runId: 'count-1', token: 7, attempt: 1 };
  return { event: name, at: new Date(AT + afterMs).toISOString(), deployment: 'local-1', pid: 70, ...run, ...more };
}

/** A printer, and the lines that it has printed. */
function printing(options: Pick<Output, 'timeZone' | 'verbose'> = {}): { printer: Printer; lines: () => string[] } {
  let text = '';
  const out = (part: string): void => void (text += part);
  return { printer: humanPrinter({ out, err: out, color: false, ...options }), lines: () => text.trim().split('\n') };
}

function instance(number: number): ClusterInstance {
  const functions = [{ name: 'cronleaseTick' }, { name: 'orders', route: 'GET,POST /api/orders/{id}' }];
  const deployment = `local-${number}`;
  return { deployment, pid: 70 + number, port: 7070 + number, inspectorUrl: undefined, functions };
}

describe('the lines of a run', () => {
  const story = [
    event('claimed', -3_000),
    event('started', 0, { latenessMs: 5 }),
    event('takenOver', 22_000, { attempt: 2, token: 8, reason: 'holderLost' }),
    event('started', 22_100, { attempt: 2, token: 8, latenessMs: 22_105 }),
    // The end is told a little after it, when the record is written.
    event('succeeded', 42_400, { attempt: 2, token: 8, reason: 'completed', durationMs: 20_000 }),
  ];

  it('have seconds, and neither claims, tokens nor first attempts', () => {
    const { printer, lines } = printing();
    for (const one of story) printer.event(one);
    expect(lines()).toEqual([
      '07:00:00Z  local-1  count     started     due 07:00:00Z',
      '07:00:22Z  local-1  count     taken over  due 07:00:00Z, attempt 2, holderLost',
      '07:00:22Z  local-1  count     started     due 07:00:00Z, attempt 2, 22.1 s late',
      '07:00:42Z  local-1  count     succeeded   due 07:00:00Z, attempt 2, took 20 s',
    ]);
    for (const line of lines()) expect(line.length).toBeLessThanOrEqual(80);
  });

  it('have all of it with --verbose', () => {
    const { printer, lines } = printing({ verbose: true });
    for (const one of story) printer.event(one);
    expect(lines()).toHaveLength(5);
    expect(lines()[0]).toContain('claimed     due 07:00:00Z, attempt 1, token 7');
    expect(lines().at(-1)).toContain('completed');
  });

  it('tell how much of a lateness was the wait for the concurrency limit', () => {
    const { printer, lines } = printing();
    printer.event(event('started', 3_000, { latenessMs: 3_005, waitedForConcurrencyMs: 3_000 }));
    expect(lines()[0]).toContain('due 07:00:00Z, 3 s late, 3 s of it for the concurrency limit');
  });

  it('count no attempt for the plan of a fan-out', () => {
    const { printer, lines } = printing();
    printer.event(event('fannedOut', 100, { count: 6 }));
    printer.event(event('started', 3_000, { attempt: 2, token: 8, latenessMs: 3_000 }));
    printer.event(event('succeeded', 3_040, { attempt: 2, token: 8, durationMs: 2_950 }));
    expect(lines().map((line) => line.slice(30))).toEqual([
      'fanned out  due 07:00:00Z (6 items)',
      'started     due 07:00:00Z, gathers the results',
      'succeeded   due 07:00:00Z, took 3 s',
    ]);
  });

  it('have the duration of the record at the end of the run, and that of the attempt at each other end', () => {
    const { printer, lines } = printing();
    printer.event(event('started', 0));
    printer.event(event('retrying', 2_000, { reason: 'handlerError' }));
    printer.event(event('started', 12_000, { attempt: 2, token: 8 }));
    printer.event(event('failed', 13_500, { attempt: 2, token: 8, durationMs: 13_000 }));
    // The record of a run whose handler was never called has none.
    printer.event(event('failed', 14_000, { attempt: 3, token: 9, reason: 'holderLost' }));
    expect(lines().map((line) => line.split(', ').slice(1))).toEqual([
      [],
      ['took 2 s', 'handlerError'],
      ['attempt 2'],
      ['attempt 2', 'took 13 s'],
      ['attempt 3', 'holderLost'],
    ]);
  });

  it('are in the zone that was asked for, which is shown', () => {
    const { printer, lines } = printing({ timeZone: 'Europe/Paris' });
    printer.event(event('started', 0));
    expect(lines()).toEqual(['08:00:00+01:00  local-1  count     started     due 08:00:00+01:00']);
  });
});

describe('the lines of handlers', () => {
  it('have their job in its column, and no name of a function of cronlease', () => {
    const { printer, lines } = printing();
    printer.log({ level: 'information', message: '[count] to 20', functionName: 'cronleaseAttempt' }, 'local-1');
    printer.log({ level: 'information', message: '[x] taken', functionName: 'orders' }, 'local-1');
    const error = 'job "count", attempt 2: Error: boom';
    printer.log({ level: 'error', message: error, functionName: 'cronleaseAttempt' }, 'local-1');
    expect(lines().map((line) => line.slice(11))).toEqual([
      'local-1  count     to 20',
      'local-1            orders: [x] taken',
      'local-1  count     attempt 2: Error: boom',
    ]);
  });

  it('have the frames of the user alone in stack traces', () => {
    const stack = [
      'Error: boom',
      '    at load (/app/src/jobs/load.ts:4:9)',
      '    at execute (/app/node_modules/cronlease/dist/lib/coordinator/execute.js:1:1)',
      '    at InvocationModel.<anonymous> (webpack://azure/functions/src/InvocationModel.ts:113:42)',
      '    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)',
      '    at async file:///app/src/jobs/main.ts:9:3',
    ].join('\n');
    const own = 'Error: boom\n    at load (/app/src/jobs/load.ts:4:9)\n    at async file:///app/src/jobs/main.ts:9:3';
    expect(userFrames(stack, '/app/node_modules/cronlease')).toBe(own);
    const clone = stack.replace('/app/node_modules/cronlease/dist/lib/', '/app/src/');
    expect(userFrames(clone, '/app')).toBe(own);
    const { printer, lines } = printing({ verbose: true });
    printer.log({ level: 'error', message: stack }, 'local-1');
    expect(lines()).toHaveLength(6);
  });
});

describe('what a terminal would obey', () => {
  const hostile = '\u001b]0;mine\u0007\u001b[2J\u009b1m\r\u202e\u200bb';
  const seen = '\\u001b]0;mine\\u0007\\u001b[2J\\u009b1m\\u000d\\u202e\\u200bb';
  const line = { level: 'error' as const, message: `[count] ${hostile}\n    c`, functionName: 'cronleaseAttempt' };

  /** All that a printer writes of it, wherever it comes from. */
  function written(printerOf: (output: Output) => Printer, color: boolean): string {
    let text = '';
    const out = (part: string): void => void (text += part);
    const printer = printerOf({ out, err: out, color });
    printer.log(line, 'local-1');
    printer.log({ ...line, functionName: hostile }, 'local-1');
    printer.event(event('failed', 0, { reason: hostile }));
    printer.note(hostile);
    printer.error(hostile);
    return text;
  }

  it.each([
    ['people', humanPrinter],
    ['programs', jsonPrinter],
  ])('is shown to %s', (_, printerOf) => {
    const text = written(printerOf, false);
    expect(text).not.toMatch(/[^\P{Cc}\n]|[\u202e\u200b]/u);
    // JSON has its own escape for a carriage return.
    expect(text.replaceAll('\\r', '\\u000d').split(seen)).toHaveLength(7);
    expect(text).toContain(`${seen}\n    c`);
  });

  it('does not keep the colours of dev itself from it', () => {
    const text = written(humanPrinter, true);
    expect(text).toContain(`\u001b[31m${seen}\n    c\u001b[39m\n`);
    // oxlint-disable-next-line no-control-regex -- the colours are what is left out here
    expect(text.replaceAll(/\u001b\[\d+m/g, '')).not.toMatch(/[^\P{Cc}\n]|[\u202e\u200b]/u);
  });
});

describe('columns', () => {
  it('are as wide as the longest job from the first line on', () => {
    const { printer, lines } = printing();
    const about: About = {
      ...{ app: '/app', container: 'c', data: undefined, now: AT },
      jobs: [
        { name: 'a-longer-name-of-a-job', next: undefined },
        { name: 'count', next: undefined },
      ],
    };
    printer.ready({ storage: 'AccountName=x', azuritePid: undefined, instances: () => [instance(1)] }, about);
    const before = lines().length;
    printer.event(event('started', 0));
    printer.event(event('started', 0, { job: 'a-longer-name-of-a-job' }));
    const columns = lines()
      .slice(before)
      .filter((line) => line.includes('started'))
      .map((line) => line.indexOf('started'));
    expect(new Set(columns).size).toBe(1);
  });
});

describe('the banner', () => {
  const jobs = [
    { name: 'later', next: AT - 5 + 60_000 },
    { name: 'asked', next: undefined },
    { name: 'soon', next: AT - 5 + 5_000 },
    { name: 'also-soon', next: AT - 5 + 5_000 },
    { name: 'weekly', next: AT - 5 + 4 * 86_400_000 },
    { name: 'yearly', next: AT - 5 + 364 * 86_400_000 },
  ];
  const started = (count: number) => {
    const { printer, lines } = printing();
    const instances = Array.from({ length: count }, (_, index) => instance(index + 1));
    const cluster = { storage: 'AccountName=x', azuritePid: undefined, instances: () => instances };
    printer.ready(cluster, { app: '/app', container: 'c', data: undefined, now: AT, jobs });
    return lines();
  };

  it('names the routes of each instance, and what comes next and when', () => {
    const lines = started(2);
    expect(lines[0]).toBe('2 deployments race for the jobs of /app');
    expect(lines).toContain('               GET,POST http://127.0.0.1:7071/api/orders/{id}');
    expect(lines).toContain('               GET,POST http://127.0.0.1:7072/api/orders/{id}');
    expect(lines).toContain('  next       07:00:05Z  soon, also-soon');
    expect(lines).toContain('             07:01:00Z  later');
    expect(lines).toContain('             2026-01-05 07:00:00Z  weekly');
    expect(lines.join('\n')).toContain('in UTC');
    expect(lines).toContain('  npx cronlease status        show the state of all jobs');
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  });

  it.each([
    [['local-1.1', 'local-1.2'], '2 instances of one deployment run the jobs of /app'],
    [
      ['local-1.1', 'local-1.2', 'local-2.1', 'local-2.2'],
      '2 deployments, with 4 instances, race for the jobs of /app',
    ],
  ])('counts the instances %j by deployment', (names, title) => {
    const { printer, lines } = printing();
    const instances = names.map((deployment, index) => ({ ...instance(index + 1), deployment }));
    const cluster = { storage: 'AccountName=x', azuritePid: undefined, instances: () => instances };
    printer.ready(cluster, { app: '/app', container: 'c', data: undefined, now: AT, jobs });
    expect(lines()[0]).toBe(title);
  });

  it('begins with the address of the dashboard, if the app has one', () => {
    const { printer, lines } = printing();
    const one = instance(1);
    const functions = [...one.functions, { name: 'cronleaseManage', route: 'GET /api/manage/{*path}' }];
    const cluster = { storage: 'AccountName=x', azuritePid: undefined, instances: () => [{ ...one, functions }] };
    printer.ready(cluster, { app: '/app', container: 'c', data: undefined, now: AT, jobs });
    expect(lines()[0]).toBe('Dashboard: http://127.0.0.1:7071/');
  });

  it('speaks of no others where there is one instance', () => {
    const text = started(1).join('\n');
    expect(text).toContain('One deployment runs the jobs of /app');
    expect(text).not.toMatch(/elsewhere|another instance/);
  });
});

describe('the hint to kill a process', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('names the process that holds a long run, once', () => {
    const hints: string[] = [];
    const hint = killHint(true, (text) => hints.push(text));
    hint.event(event('started', 0, { runId: 'short', pid: 1 }));
    hint.event(event('succeeded', 10, { runId: 'short', pid: 1 }));
    hint.event(event('started', 0, { runId: 'dies', pid: 2 }));
    hint.event({ event: 'instanceExited', at: due, deployment: 'local-2', pid: 2 });
    hint.event(event('started', 20));
    vi.advanceTimersByTime(1_900);
    expect(hints).toEqual([]);
    vi.advanceTimersByTime(200);
    expect(hints).toEqual([
      expect.stringMatching(/count is running on local-1\.\n[^]*another instance[^]*kill -9 70\n/),
    ]);
    hint.event(event('started', 60_000, { runId: 'next' }));
    vi.advanceTimersByTime(60_000);
    expect(hints).toHaveLength(1);
  });

  it('names the command of the platform', () => {
    const hints = ['linux', 'darwin', 'win32'].map((platform) => {
      let text = '';
      killHint(true, (hint) => (text = hint), platform as NodeJS.Platform).event(event('started', 0));
      vi.advanceTimersByTime(3_000);
      return text.trim().split('\n').at(-1)?.trim();
    });
    expect(hints).toEqual(['kill -9 70', 'kill -9 70', 'taskkill /F /PID 70']);
  });

  it('speaks of the next instance where there is no other one', () => {
    const hints: string[] = [];
    killHint(false, (text) => hints.push(text)).event(event('started', 0));
    vi.advanceTimersByTime(3_000);
    for (const line of hints.join('').split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    expect(hints[0]).toContain('its next instance takes the run over');
  });
});

describe('a warning', () => {
  it('of all instances is printed once, and one of a handler each time', () => {
    let now = 0;
    const isNew = warnedOnce(() => now);
    const line = (message: string, functionName?: string) => ({
      ...{ level: 'warning' as const, message },
      ...(functionName === undefined ? {} : { functionName }),
    });
    expect(isNew(line('(node:7) old'), 'local-1')).toBe(true);
    expect(isNew(line('(node:8) old'), 'local-2')).toBe(false);
    expect(isNew(line('another'), 'local-2')).toBe(true);
    expect(isNew(line('low', 'cronleaseAttempt'), 'local-1')).toBe(true);
    expect(isNew(line('low', 'cronleaseAttempt'), 'local-2')).toBe(true);
    expect(isNew(line('(node:7) old'), 'local-1')).toBe(true);
    now = 3_600_000;
    expect(isNew(line('(node:8) old'), 'local-2')).toBe(true);
  });

  it('of a job that all deployments report is printed once', () => {
    const { printer, lines } = printing();
    for (const deployment of ['local-1', 'local-2', 'local-3']) {
      printer.event({ event: 'warning', at: due, deployment, pid: 7, job: 'count', reason: 'raise "revision"' });
    }
    expect(lines()).toHaveLength(1);
  });
});

describe('times and spans', () => {
  it.each([
    [0, '0 ms'],
    [40, '40 ms'],
    [400, '0.4 s'],
    [6_666.7, '6.7 s'],
    [20_000, '20 s'],
    [60_000, '1 min'],
    [200_000, '3 min 20 s'],
    [7_500_000, '2 h 5 min'],
    [90_000_000, '1 d 1 h'],
  ])('%d ms is %s', (ms, text) => {
    expect(showSpan(ms)).toBe(text);
  });

  it('are shown with their zone', () => {
    expect(showTime(AT - 5, 'UTC')).toBe('2026-01-01T07:00:00Z');
    expect(showTime(AT, 'Etc/UTC')).toBe('2026-01-01T07:00:00.005Z');
    expect(showTime(AT - 5, 'Asia/Kolkata')).toBe('2026-01-01T12:30:00+05:30');
  });
});
