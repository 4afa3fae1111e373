import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseSchedule, type TimerFunction } from '../../src/local/host/functions';
import { startTimer, type TimerInfo } from '../../src/local/host/timer';

const iso = (at: number): string => new Date(at).toISOString();
const next = (schedule: string, after: string): string => iso(parseSchedule(schedule, 'tick')(Date.parse(after)));

describe('NCRONTAB', () => {
  it.each([
    ['10,25,40,55 * * * * *', '2026-03-01T00:00:40Z', '2026-03-01T00:00:55.000Z'],
    ['10,25,40,55 * * * * *', '2026-03-01T00:00:55Z', '2026-03-01T00:01:10.000Z'],
    ['*/15 * * * * *', '2026-03-01T00:00:14.999Z', '2026-03-01T00:00:15.000Z'],
    ['0 0 3 * * *', '2026-12-31T03:00:00Z', '2027-01-01T03:00:00.000Z'],
    ['0 0 0 29 2 *', '2026-01-01T00:00:00Z', '2028-02-29T00:00:00.000Z'],
    ['0 30 9-17/4 * Jan-Mar Mon-Fri', '2026-01-02T17:31:00Z', '2026-01-05T09:30:00.000Z'],
    ['59 59 23 * * 0', '2026-03-01T00:00:00Z', '2026-03-01T23:59:59.000Z'],
    ['*/5 * * * *', '2026-03-01T00:00:00Z', '2026-03-01T00:05:00.000Z'],
    ['0 0 9 * february Monday-Fr', '2026-01-02T17:31:00Z', '2026-02-02T09:00:00.000Z'],
    ['0 0 22-2 * * *', '2026-03-01T00:00:00Z', '2026-03-01T02:00:00.000Z'],
    ['0 50/5 * * * *', '2026-03-01T00:00:00Z', '2026-03-01T00:50:00.000Z'],
    ['00:00:15', '2026-03-01T00:00:01Z', '2026-03-01T00:00:16.000Z'],
    ['1.00:00', '2026-03-01T00:00:00Z', '2026-03-02T00:00:00.000Z'],
    ['24:00:00', '2026-03-01T00:00:00Z', '2026-03-25T00:00:00.000Z'],
  ])('%s after %s is %s', (schedule, after, expected) => {
    expect(next(schedule, after)).toBe(expected);
  });

  it('wants day of month and day of week both, unlike Vixie cron', () => {
    expect(next('0 0 0 13 * Fri', '2026-03-14T00:00:00Z')).toBe('2026-11-13T00:00:00.000Z');
  });

  it.each([
    '* * * *',
    '',
    '* * * * * * *',
    '0 0 0 L * *',
    '0 0 0 ? * *',
    '@hourly',
    '60 * * * * *',
    '0 0 0 31 2 *',
    '0 0 0 * * 7',
    '0 */0 * * * *',
    '00:00:00',
  ])('refuses %j and says how it is written', (schedule) => {
    expect(() => parseSchedule(schedule, 'tick')).toThrow(
      /^Function 'tick': the schedule .* is not a valid NCRONTAB.*6 fields/,
    );
  });

  it('takes the schedule from a setting, and says which one is missing', () => {
    vi.stubEnv('EVERY', '0 * * * * *');
    expect(next('%EVERY%', '2026-03-01T00:00:00Z')).toBe('2026-03-01T00:01:00.000Z');
    expect(() => parseSchedule('%NO_SUCH%', 'tick')).toThrow("'%NO_SUCH%' in the schedule of function 'tick'");
  });
});

describe('a timer', () => {
  const timer = (schedule: string, more: Partial<TimerFunction> = {}): TimerFunction => ({
    kind: 'timer',
    name: 'tick',
    trigger: 'timer',
    clientInputs: [],
    registered: { metadata: { name: 'tick', bindings: {} }, callback: () => undefined },
    next: parseSchedule(schedule, 'tick'),
    runOnStartup: false,
    useMonitor: true,
    ...more,
  });
  let calls: { readonly at: string; readonly info: TimerInfo }[] = [];
  const invoke =
    (lastsMs = 0) =>
    async (info: TimerInfo): Promise<void> => {
      calls.push({ at: iso(Date.now()), info });
      if (lastsMs > 0) await new Promise((resolve) => setTimeout(resolve, lastsMs));
    };
  const times = (): string[] => calls.map(({ at }) => at.slice(14, 19));

  beforeEach(() => {
    vi.useFakeTimers({ now: Date.parse('2026-03-01T00:00:00Z') });
    calls = [];
  });
  afterEach(() => vi.useRealTimers());

  it('fires at its times, and not once it is stopped', async () => {
    const stop = startTimer(timer('10,25,40,55 * * * * *'), invoke());
    await vi.advanceTimersByTimeAsync(60_000);
    stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(times()).toEqual(['00:10', '00:25', '00:40', '00:55']);
  });

  it('never runs twice at once: one call makes up for the fires that it outlived', async () => {
    const stop = startTimer(timer('10,25,40,55 * * * * *'), invoke(32_000));
    await vi.advanceTimersByTimeAsync(90_000);
    stop();
    // Ends at :42, after :25 and :40; runs at once, to 1:14, after :55 and 1:10; and so on.
    expect(times()).toEqual(['00:10', '00:42', '01:14']);
  });

  it('waits for a time that is months away', async () => {
    const stop = startTimer(timer('0 0 0 1 1 *'), invoke());
    await vi.advanceTimersByTimeAsync(306 * 86_400_000 - 1);
    expect(calls).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(1);
    stop();
    expect(calls[0]?.at).toBe('2027-01-01T00:00:00.000Z');
  });

  it('runs at the start if it is told to, and then on schedule', async () => {
    const stop = startTimer(timer('10 * * * * *', { runOnStartup: true }), invoke());
    await vi.advanceTimersByTimeAsync(20_000);
    stop();
    expect(times()).toEqual(['00:00', '00:10']);
  });

  it('has a status only if it fires once a minute at most', async () => {
    const stops = [startTimer(timer('30 * * * * *'), invoke()), startTimer(timer('*/45 * * * * *'), invoke())];
    await vi.advanceTimersByTimeAsync(90_000);
    for (const stop of stops) stop();
    const [first, , , second] = calls;
    expect(calls.map(({ info }) => info.ScheduleStatus !== null)).toEqual([true, false, false, true]);
    expect(first?.info.ScheduleStatus?.Next).toBe('2026-03-01T00:00:30.000Z');
    expect(second?.info.ScheduleStatus).toMatchObject({
      Last: '2026-03-01T00:00:30.000Z',
      Next: '2026-03-01T00:01:30.000Z',
    });
    expect(calls.every(({ info }) => !info.IsPastDue)).toBe(true);
  });
});
