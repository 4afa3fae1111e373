import { describe, expect, it } from 'vitest';
import { kindOf } from '../../bench/backends/kind-of-call';
import { cronOf, jobsOf, loadName, nextDue, parseLoad } from '../../bench/load';
import { KnownTooLateError, withEnoughTime } from '../../bench/measure/run';
import { type Options, readOptions, UsageError } from '../../bench/options';
import { plannedName, planRuns } from '../../bench/plan';

function options(...args: string[]): Options {
  const read = readOptions(args);
  if (typeof read === 'string') throw new Error(read);
  return read;
}

describe('loads', () => {
  it.each(['1/s', '300/s', '5000/min'])('are read and named: %s', (text) => {
    const load = parseLoad(text);
    expect(load && loadName(load)).toBe(text);
  });

  it.each(['', '0/s', '1/h', '-1/s', '1.5/s', '100', '100000/s'])('are nothing else: %j', (text) => {
    expect(parseLoad(text)).toBeUndefined();
  });

  it('are so many jobs with names of their own', () => {
    const jobs = jobsOf({ kind: 'burst', jobs: 100 }, 0);
    expect(new Set(jobs.map(({ name }) => name)).size).toBe(100);
  });

  it.each([
    [100, '2026-01-01T10:00:10Z', '10:01:00'],
    [100, '2026-01-01T10:00:20Z', '10:02:00'],
    [1_000, '2026-01-01T10:00:16Z', '10:01:00'],
    [5_000, '2026-01-01T10:00:10Z', '10:02:00'],
  ])('of %i in a burst are due together, once, a while after the start at %s', (count, startsAt, expected) => {
    const jobs = jobsOf({ kind: 'burst', jobs: count }, Date.parse(startsAt));
    const dues = new Set(jobs.map(({ schedule }) => nextDue(schedule, 0)));
    expect(dues).toEqual(new Set([Date.parse(`2026-01-01T${expected}Z`)]));
  });

  it('in a burst are due later for a system that needs more time to start', () => {
    const [job] = jobsOf({ kind: 'burst', jobs: 1 }, Date.parse('2026-01-01T10:00:00Z'), 60_000);
    expect(job && nextDue(job.schedule, 0)).toBe(Date.parse('2026-01-01T10:02:00Z'));
  });

  it('are due after an instant, never at it', () => {
    const at = Date.UTC(2026, 0, 31, 23, 59, 58);
    expect(nextDue({ kind: 'second' }, at)).toBe(at + 1_000);
    expect(nextDue({ kind: 'minute' }, at + 2_000)).toBe(at + 62_000);
    expect(nextDue({ kind: 'once', at }, at - 1)).toBe(at);
    expect(nextDue({ kind: 'once', at }, at)).toBeUndefined();
    expect(cronOf({ kind: 'minute' })).toBe('0 * * * * *');
    expect(cronOf({ kind: 'once', at })).toBe('58 59 23 31 1 *');
  });
});

describe('a burst whose jobs are known too late', () => {
  it('is run once more, with more time', async () => {
    const spares: number[] = [];
    const run = (spareMs: number): Promise<string> => {
      spares.push(spareMs);
      return spareMs > 0 ? Promise.resolve('measured') : Promise.reject(new KnownTooLateError('12 s before'));
    };
    await expect(withEnoughTime(run)).resolves.toBe('measured');
    expect(spares).toEqual([0, 60_000]);
  });

  it('fails if more time does not help', async () => {
    const tooLate = new KnownTooLateError('12 s before');
    await expect(withEnoughTime(() => Promise.reject(tooLate))).rejects.toBe(tooLate);
  });

  it('is not run again for another failure', async () => {
    const spares: number[] = [];
    const run = (spareMs: number): Promise<never> => {
      spares.push(spareMs);
      return Promise.reject(new Error('no server'));
    };
    await expect(withEnoughTime(run)).rejects.toThrow('no server');
    expect(spares).toEqual([0]);
  });
});

describe('the plan', () => {
  it('lets systems alternate, and begins each repetition with another one', () => {
    const runs = planRuns(
      options('--systems', 'croner,cronlease', '--loads', '1/s,100/min', '--repetitions', '2', '--skew', '0'),
    );
    expect(runs.map(plannedName)).toEqual([
      'croner 1/s (1)',
      'cronlease 1/s (1)',
      'croner 100/min (1)',
      'cronlease 100/min (1)',
      'cronlease 1/s (2)',
      'croner 1/s (2)',
      'cronlease 100/min (2)',
      'croner 100/min (2)',
    ]);
  });

  it('ends with runs with skewed clocks, once, under some loads, of what is not slowed down', () => {
    const systems = ['--systems', 'cronlease,cronlease-1s'];
    const runs = planRuns(options(...systems, '--loads', '1/s,20/s', '--repetitions', '2', '--skew', '150'));
    expect(runs).toHaveLength(9);
    expect(runs.slice(0, 8).every(({ skewMs }) => skewMs === 0)).toBe(true);
    expect(runs.slice(8).map(plannedName)).toEqual(['cronlease 20/s, clocks 150 ms apart (1)']);
  });

  it('leaves minute-only systems out of what is due every second', () => {
    const [system] = options('--systems', 'croner').systems;
    if (system === undefined) throw new Error('there is no croner');
    const runs = planRuns({
      ...options('--loads', '1/s,100/min', '--repetitions', '1', '--skew', '0'),
      systems: [{ ...system, minutesOnly: true }],
    });
    expect(runs.map(plannedName)).toEqual(['croner 100/min (1)']);
  });
});

describe('the options', () => {
  it.each([
    [['--systems', 'none'], /there is no system "none"/],
    [['--loads', '1/h'], /"1\/h" is not a load/],
    [['--repetitions', '0'], /--repetitions: "0"/],
    [['--seconds', '1.5'], /--seconds: "1.5"/],
    [['--skew', '-1'], /--skew/],
    [['--parts', 'kills'], /there is no part "kills"/],
    [['--idle', '1,x'], /--idle: "x"/],
    [['--cores', '0'], /--cores: "0"/],
    [['--cores', '1,half'], /--cores: "half"/],
    [['--unknown'], /--unknown/],
    [['more'], /more/],
  ])('refuse %j', (args, message) => {
    expect(() => readOptions(args)).toThrow(UsageError);
    expect(() => readOptions(args)).toThrow(message);
  });

  it('make a whole run only if nothing is left out', () => {
    expect(options().whole).toBe(true);
    expect(options('--quick').whole).toBe(false);
    expect(options('--loads', '1/s').whole).toBe(false);
    expect(options('--quick')).toMatchObject({ parts: ['loads'], repetitions: 1, skewMs: 0 });
  });

  it('compare one cronlease with each peer in a quick run', () => {
    const names = ({ systems }: Options) => systems.map(({ name }) => name);
    const peers = options().systems.filter(({ name, own }) => own !== true && name !== 'croner-all');
    expect(names(options('--quick'))).toEqual([...peers.map(({ name }) => name), 'cronlease']);
    expect(names(options('--quick', '--systems', 'croner'))).toEqual(['croner']);
  });

  it('answer with a text', () => {
    expect(readOptions(['--help'])).toContain('npm run bench');
    expect(readOptions(['--list'])).toContain('cronlease');
  });
});

describe('the kind of a request to blob storage', () => {
  it.each([
    ['PUT', '/devstoreaccount1/cronlease/jobs/a/lease?comp=lease', 'acquire', 'acquire'],
    ['PUT', '/devstoreaccount1/cronlease/jobs/a/lease?comp=metadata', undefined, 'metadata'],
    ['GET', '/devstoreaccount1/cronlease?restype=container&comp=list&prefix=jobs', undefined, 'list'],
    ['PUT', '/devstoreaccount1/cronlease?restype=container', undefined, 'container'],
    ['PUT', '/devstoreaccount1/cronlease/runs/a/1', undefined, 'put runs'],
    ['GET', '/devstoreaccount1/cronlease/control/a', undefined, 'read control'],
  ])('%s %s', (method, target, action, kind) => {
    expect(kindOf(method, target, action)).toBe(kind);
  });
});
