import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { changedText, costText } from '../../src/cli/show/cost';
import { type JobSpec, NOTICE_TOPICS } from '../../src/core/job';
import { COUNTED_CALLS } from '../../src/operator/cost/counted-calls';
import { type CostAssumptions, DEFAULT_ASSUMPTIONS as assumed, estimateCost } from '../../src/operator/cost/estimate';
import { countDueTimes } from '../../src/operator/cost/frequency';
import { PRICE_NAMES, readPrices } from '../../src/operator/cost/prices';
import { jobSpec } from '../support/job';
import { rivalTicks } from '../support/rival-ticks';

const FROM = Date.UTC(2026, 1, 1);
const FILE = path.join(__dirname, '../../prices.json');
const given = JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, unknown>;
const prices = readPrices(given, 'prices.json');
const estimate = (jobs: readonly JobSpec[], changes: Partial<CostAssumptions> = {}) =>
  estimateCost(jobs, { ...assumed, ...changes }, prices, FROM);
const minutely = jobSpec('minutely', '* * * * *');
const many = (count: number, schedule: string): JobSpec[] =>
  Array.from({ length: count }, (_, index) => jobSpec(`job-${index}`, schedule));
const brief = { deployments: 1, secondsOf: () => 2 };

function lineOf(jobs: readonly JobSpec[], item: string, changes: Partial<CostAssumptions> = {}) {
  const { runs, shared } = estimate(jobs, changes);
  const line = [...runs, ...shared].find((one) => one.item === item || `${one.item} ${one.unit}` === item);
  if (line === undefined) throw new Error(`no line "${item}"`);
  return line;
}

describe('the frequency of due times', () => {
  it.each([
    ['* * * * *', 43_200],
    ['0 3 * * *', 30],
    ['@every 90s', 28_800],
    // From Sunday 1 February to Monday 2 March.
    ['0 9 * * MON-FRI', 21],
    // Once a year: counted over 365 days.
    ['0 0 1 7 *', 30 / 365],
    ['@manual', undefined],
  ])('%s is due %s times a month', (schedule, count) => {
    expect(countDueTimes([jobSpec('a', schedule)], FROM, brief).dueTimes.get('a')).toBe(count);
  });

  it('counts no disabled job, and an @at once', () => {
    const once = jobSpec('once', '@at 2026-02-10T00:00:00Z');
    const past = jobSpec('past', '@at 2026-01-10T00:00:00Z');
    const off = { ...minutely, enabled: false };
    const { dueTimes, dueTicks } = countDueTimes([once, past, off], FROM, brief);
    expect([...dueTimes]).toEqual([
      ['once', 1],
      ['past', 0],
    ]);
    expect(dueTicks).toBe(1);
  });

  it('counts a tick once for all jobs that are due at it', () => {
    const at = (name: string, offsetMs: number): JobSpec => ({ ...minutely, name: name as JobSpec['name'], offsetMs });
    expect(countDueTimes([at('a', 0), at('b', 0), at('c', 10_000)], FROM, brief).dueTicks).toBe(43_200);
    expect(countDueTimes([at('a', 0), at('b', 30_000)], FROM, brief).dueTicks).toBe(86_400);
  });

  it.each([
    ['@manual', 4],
    ['* * * * *', 4],
    ['@every 30s', 4],
    ['20 * * * * *', 3 + 5],
    ['12 * * * * *', 3 + 12],
    ['14 * * * * *', 3 + 14],
    ['5 * * * * *', 3 + 5],
    ['@every 2s', 2 * 13 + 2 * 14],
  ])(
    'has ticks stay until their last hand-over, as the coordinator does: %s keeps them for %d s a minute',
    async (schedule, seconds) => {
      const { tickSeconds } = countDueTimes([jobSpec('a', schedule)], FROM, brief);
      expect(tickSeconds / 43_200).toBeCloseTo(seconds, 2);
      const sim = rivalTicks({ jobs: [jobSpec('a', schedule)], start: FROM });
      await sim.clock.advanceTo(FROM + 600_000);
      const before = sim.instances[0]?.tickingMs() ?? 0;
      await sim.clock.advanceTo(FROM + 1_200_000);
      const ticking = ((sim.instances[0]?.tickingMs() ?? 0) - before) / 10_000;
      expect(Math.abs(ticking / seconds - 1)).toBeLessThan(0.05);
    },
  );

  it('bounds its work for many frequent jobs, and says so', () => {
    const jobs = Array.from({ length: 5_000 }, (_, index) => jobSpec(`job-${index}`, '* * * * *', { offsetMs: index }));
    const { dueTimes, extrapolated, dueTicks } = countDueTimes(jobs, FROM, brief);
    expect(extrapolated).toBe(5_000);
    expect(dueTimes.get('job-7')).toBe(43_200);
    expect(dueTicks).toBe(43_200);
  });
});

describe('the estimate', () => {
  it('multiplies the counted calls of a run by its due times', () => {
    const [job] = estimate([minutely]).jobs;
    expect(job).toMatchObject({ runs: 43_200, storageCalls: 172_800, executions: 129_600 });
    expect(COUNTED_CALLS.won.calls).toEqual({ metadata: 1, acquire: 1 });
  });

  it('adds a lost race for each further deployment, and shares nothing else of a run', () => {
    const [one] = estimate([minutely], { deployments: 1 }).jobs;
    const [three] = estimate([minutely], { deployments: 3 }).jobs;
    expect((three?.storageCalls ?? 0) - (one?.storageCalls ?? 0)).toBe(2 * 43_200);
    expect(three?.executions).toBe(one?.executions);
    expect(lineOf([minutely], 'ticks', { deployments: 3 }).quantity).toBe(3 * 172_800);
  });

  it('counts the pages of a sweep: one, or as many as the ranges of a split listing', () => {
    const idle = (count: number) => Array.from({ length: count }, (_, index) => jobSpec(`job-${index}`, '@manual'));
    const calls = (count: number) => lineOf(idle(count), 'sweeps and presences').quantity;
    expect(calls(5_000)).toBe(calls(1));
    const perPage = calls(5_001) - calls(5_000);
    expect(perPage).toBeGreaterThan(0);
    expect(calls(10_000) - calls(5_000)).toBe(2 * perPage);
  });

  it('adds renewals and GB-seconds for longer handlers', () => {
    const [job] = estimate([minutely], { durationMs: 25_000 }).jobs;
    // The lease of 30 s is renewed every 10 s: twice, with a read of control each.
    expect(job?.storageCalls).toBe(43_200 * (4 + 2 * 2));
    expect((job?.gbSeconds ?? 0) / 43_200 / 2).toBeCloseTo(5 + 25 + 1, 2);
  });

  // The templates hand over at :55 what is due at :00: 5 s of waiting, 1 s of the handler, and the last turn's second.
  it.each([
    ['one job each minute', many(1, '* * * * *'), {}, 43_200 * 7],
    ['40 jobs each minute run side by side in that time', many(40, '* * * * *'), {}, 43_200 * 7],
    ['of which two deployments have a part each', many(40, '* * * * *'), { deployments: 2 }, 2 * 43_200 * 7],
    ['one job is in one of two deployments', many(1, '* * * * *'), { deployments: 2 }, 43_200 * 7],
    ['jobs at different times add up', [...many(1, '0 * * * *'), jobSpec('b', '30 * * * *')], {}, 2 * 720 * 7],
    ['runs that overlap in part', [...many(1, '0 * * * *'), jobSpec('b', '1 0 * * * *')], {}, 720 * 8],
    ['a run waits as long between two ticks', many(1, '12 0 * * * *'), {}, 720 * 7],
    ['a job each 2 s keeps one instance busy', many(1, '@every 2s'), {}, 2_592_000],
    ['a leader job, too', [jobSpec('leader', '@always')], {}, 2_592_000],
    ['an hour of handler each hour', many(3, '@hourly'), { durationMs: 3_600_000 }, 2_592_000],
  ])('bills the time for which an instance is active: %s', (_, jobs, changes, seconds) => {
    const all = estimate(jobs, changes).jobs.reduce((sum, { gbSeconds }) => sum + gbSeconds, 0);
    expect(all / 2 / seconds).toBeCloseTo(1, 2);
  });

  it('counts plan, gathering and each item of a fan-out', () => {
    const daily = jobSpec('daily', '@daily');
    const [job] = estimate([daily], { items: new Map([['daily', 50]]) }).jobs;
    expect(job?.storageCalls).toBe(30 * (15 + 50 * 5));
    expect(job?.executions).toBe(30 * (2 + 5 + 50 * 2));
    // The items run ten at a time. The last run is due as the month ends.
    expect(job?.gbSeconds).toBe(2 * (30 * (5 + 1 + 5 + 1) - 7));
  });

  it('adds listings for a job that waits for others, in each deployment', () => {
    const requires = [minutely.name, minutely.name];
    const of = (job: JobSpec) => estimate([job], { deployments: 3, durationMs: 5_000 }).jobs[0]?.storageCalls ?? 0;
    expect(of({ ...minutely, requires }) - of(minutely)).toBe(43_200 * 3 * (4 + 3));
  });

  it('adds the calls for a place in a group, and a read where several deployments share it', () => {
    const group = { name: 'db', maxParallel: 2 };
    const of = (job: JobSpec, deployments: number) => estimate([job], { deployments }).jobs[0]?.storageCalls ?? 0;
    expect(of({ ...minutely, group }, 1) - of(minutely, 1)).toBe(43_200 * 2);
    expect(of({ ...minutely, group }, 3) - of(minutely, 3)).toBe(43_200 * 3);
  });

  it('looks once for a due time and once for its end, in place of the sweep of that minute', () => {
    const presences = 43_200;
    const quantity = (jobs: readonly JobSpec[]): number => lineOf(jobs, 'sweeps and presences').quantity;
    expect(quantity([])).toBe(43_200 + presences);
    expect(quantity([minutely])).toBe(86_400 + presences);
    expect(quantity([minutely, jobSpec('other', '* * * * *')])).toBe(86_400 + presences);
  });

  it('lists notices with each sweep where a job notifies, and names the calls of each notice', () => {
    const notify = { to: ['ops'], on: NOTICE_TOPICS, after: 1, remindMs: undefined };
    const told = [minutely, { ...minutely, notify }];
    expect(lineOf(told, 'listings of notices', { deployments: 3 }).quantity).toBe(43_200 * 3);
    expect(estimate([minutely]).shared.map(({ item }) => item)).not.toContain('listings of notices');
    expect(estimate(told).storageCalls - estimate([minutely, minutely]).storageCalls).toBe(43_200);
    expect(estimate(told).callsPerNotice).toBe(2);
    expect(costText(estimate(told), { assumed, prices }).join('\n')).toContain('no notices (each: 2 calls)');
    expect(costText(estimate([minutely]), { assumed, prices }).join('\n')).not.toContain('notices');
  });

  it('has what the idle hours of the real host were measured to be', () => {
    expect(lineOf([], 'polls of Durable').quantity).toBe(4_452 * 720);
    expect(lineOf([], 'locks of the host').quantity).toBe(792 * 720);
  });

  it('has no record of a run that succeeds, but those of telemetry and of the log of writes', () => {
    const logGb = (changes: Partial<CostAssumptions>) => (estimate([minutely], changes).jobs[0]?.logGb ?? 0) / 43_200;
    expect(logGb({})).toBe(0);
    expect(logGb({ logWrites: true })).toBeCloseTo(4e-6, 12);
    expect(logGb({ telemetry: true })).toBeCloseTo(16e-6, 12);
    expect(lineOf([minutely], 'gauges of jobs', { telemetry: true }).quantity).toBeCloseTo(43_200 * 5e-6);
  });

  it("counts Durable's messages and rows of a run, as its source makes them", () => {
    // Three messages of four calls; a turn has three calls to tables, the orchestration five more.
    expect(lineOf([minutely], 'messages of Durable').quantity).toBe(43_200 * (3 * 4 + 2 * 3 + 5));
  });

  it('counts the rules of the alerts, which grow with the apps', () => {
    const overdue = jobSpec('a', '@daily', { alertAfterMs: 1 });
    expect(lineOf([minutely], 'alerts')).toMatchObject({ quantity: 6, cost: 1.5 + 4 * 0.5 + 0.1 });
    expect(lineOf([overdue], 'alerts', { deployments: 3 }).quantity).toBe(4 + 4 + 3);
    expect(lineOf([minutely], 'alerts', { availabilityPlaces: 0 }).quantity).toBe(5);
  });

  it('shows each part with its share of the bill, and the setting that lowers it', () => {
    const { runs, shared, jobsCost } = estimate([minutely]);
    const parts = [...runs, ...shared];
    expect(parts.reduce((sum, { share = 0 }) => sum + share, 0)).toBeCloseTo(1);
    expect(runs.reduce((sum, { cost }) => sum + cost, 0)).toBeCloseTo(jobsCost);
    expect(parts.filter(({ cost, lowerBy }) => cost > 0 && lowerBy === undefined)).toEqual([]);
  });

  it('bills runs on demand where no instance is always ready', () => {
    const [job] = estimate([minutely]).jobs;
    const [ready] = estimate([minutely], { alwaysReady: 1 }).jobs;
    expect(job?.cost).toBeGreaterThan(ready?.cost ?? Infinity);
    expect(lineOf([minutely], 'always ready').cost).toBe(0);
  });

  it('has each free grant once for the subscription, and never more than what is used', () => {
    for (const deployments of [1, 2, 10]) {
      expect(lineOf([minutely], 'free GB-s on demand', { deployments }).quantity).toBe(100_000);
    }
    const { shared, total, jobsCost } = estimate([]);
    const logs = lineOf([], 'logs of ticks').quantity;
    expect(lineOf([], 'free GB of logs').quantity).toBeCloseTo(logs);
    expect(total).toBeCloseTo(shared.reduce((sum, { cost }) => sum + cost, jobsCost));
  });

  it('lists the worst job first', () => {
    const jobs = [jobSpec('daily', '@daily'), minutely, jobSpec('hourly', '@hourly')];
    expect(estimate(jobs).jobs.map(({ job }) => job)).toEqual(['minutely', 'hourly', 'daily']);
  });
});

describe('the text', () => {
  const basis = { assumed, prices };
  const long = Array.from({ length: 30 }, (_, index) => jobSpec(`${'x'.repeat(60)}-${index + 10}`, '* * * * *'));

  it('fits into 80 columns, however long the names are and however large the sums', () => {
    const before = estimate([]);
    for (const assumptions of [assumed, { ...assumed, deployments: 100, items: new Map([['x', 5]]), memoryGb: 4 }]) {
      const after = estimateCost(long, assumptions, prices, FROM);
      const lines = [
        ...costText(after, { assumed: assumptions, prices }),
        ...changedText(before, after, basis, 'origin/main'),
      ];
      expect(lines.filter((line) => line.length > 80)).toEqual([]);
    }
    expect(costText(estimate(long), basis).join('\n')).toContain('and 10 more jobs for');
  });

  it('names its assumptions, and that the prices were not checked', () => {
    const text = costText(estimate([minutely]), basis).join('\n');
    for (const word of [
      '1 deployment of 2048 MB',
      'no retries',
      'no fan-out',
      'telemetry off',
      'NOT checked',
      prices.asOf,
    ]) {
      expect(text).toContain(word);
    }
    expect(costText(estimate([]), { assumed, prices: { ...prices, checked: true } }).join('\n')).not.toContain('NOT');
  });

  it('shows what a change costs, and which jobs came and went', () => {
    const every5 = jobSpec('minutely', '*/5 * * * *');
    const text = changedText(estimate([minutely, jobSpec('gone', '@hourly')]), estimate([every5]), basis, 'main');
    expect(text[0]).toMatch(/a month at main, .* now: -\$/);
    expect(text.find((line) => line.startsWith('minutely'))).toMatch(/43,200 +8,640/);
    expect(text.find((line) => line.startsWith('gone'))).toMatch(/none$/);
    expect(changedText(estimate([]), estimate([]), basis, 'main').join('\n')).toContain('no change');
  });
});

describe('the file of prices', () => {
  it('names the source of each price, the day, and that nobody has checked it', () => {
    expect(Object.keys(prices.prices)).toEqual([...PRICE_NAMES]);
    for (const { source } of Object.values(prices.prices)) {
      expect(source).toMatch(/^https:\/\/azure\.microsoft\.com\/pricing\/details\//);
    }
    expect(prices.checked).toBe(false);
    expect(given['note']).toContain('NOT checked');
  });

  const listed = given['prices'] as Record<string, object>;
  it.each([
    [[], '$', 'is not an object'],
    [{ ...given, prices: undefined }, 'prices', 'is missing'],
    [{ ...given, prices: { ...listed, blobWrit: {} } }, 'prices.blobWrit', 'is not a price'],
    [{ ...given, prices: { ...listed, blobWrite: undefined } }, 'prices.blobWrite', 'is missing'],
    [{ ...given, prices: { ...listed, logGb: { ...listed['logGb'], price: '2' } } }, 'prices.logGb.price', '"2"'],
    [{ ...given, prices: { ...listed, logGb: { ...listed['logGb'], price: -1 } } }, 'prices.logGb.price', '-1'],
    [{ ...given, prices: { ...listed, logGb: { ...listed['logGb'], per: 0 } } }, 'prices.logGb.per', 'above 0'],
    [{ ...given, prices: { ...listed, logGb: { ...listed['logGb'], free: 'x' } } }, 'prices.logGb.free', '"x"'],
    [{ ...given, prices: { ...listed, logGb: { price: 1, per: 1 } } }, 'prices.logGb.source', 'is missing'],
    [{ ...given, asOf: 'today' }, 'asOf', 'is not a date'],
    [{ ...given, checked: 'no' }, 'checked', 'true or false'],
    [{ ...given, currency: '' }, 'currency', 'is not text'],
    [{ ...given, region: 3 }, 'region', 'is not text'],
  ])('is refused with its place: %#', (value, place, problem) => {
    expect(() => readPrices(value, 'mine.json')).toThrow(expect.objectContaining({ code: 'InvalidPrices' }) as Error);
    expect(() => readPrices(value, 'mine.json')).toThrow(`mine.json: ${place}`);
    expect(() => readPrices(value, 'mine.json')).toThrow(problem);
  });
});
