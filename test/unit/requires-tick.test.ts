import { describe, expect, it } from 'vitest';
import type { JobName } from '../../src/core/brand';
import { sleep } from '../../src/core/clock';
import type { JobSpec } from '../../src/core/job';
import { recordKey } from '../../src/core/key';
import { newestSucceeded } from '../../src/coordinator/ledger';
import { planText } from '../../src/cli/show/plan';
import { utc } from '../../src/cli/time';
import { showOneJob } from '../../src/manage/jobs-routes';
import { explainTime } from '../../src/operator/views/explain';
import { readOverview } from '../../src/operator/views/overview';
import { planOf } from '../../src/operator/plan/plan';
import { describe as inWords } from '../../src/operator/views/describe';
import { requestRun, requestRerun } from '../../src/operator/operations/run';
import { firstInstance } from '../support/by-hand';
import { intercepted } from '../support/intercept';
import { jobSpec } from '../support/job';
import { type RivalTicks, type SimulationOptions, rivalTicks } from '../support/rival-ticks';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const T0 = Date.UTC(2026, 0, 1);
const EXTRACT = 'extract' as JobName;
const LOAD = 'load' as JobName;

const EVERY_10 = '*/10 * * * *';
const extract = jobSpec('extract', EVERY_10, { retry: { ...jobSpec('a', EVERY_10).retry, attempts: 1 } });
const load = jobSpec('load', EVERY_10, { requires: [EXTRACT], requireWithinMs: 5 * MINUTE });

/** `extract` takes this long at each of its due times; `fails`: it throws. */
function chain(takes: (due: number) => number | 'fails', options: Partial<SimulationOptions> = {}): RivalTicks {
  return rivalTicks({
    jobs: [extract, load],
    handler: async ({ job, scheduledFor }, { coordinator }) => {
      if (job !== EXTRACT) return;
      const after = takes(scheduledFor.getTime());
      if (after === 'fails') throw new Error('no source');
      await sleep(coordinator.clock, after);
    },
    ...options,
  });
}

/** The starts of a job: its due time, and seconds after it. */
function startsOf(sim: RivalTicks, job: string): readonly (readonly [string, number])[] {
  return sim.calls
    .filter((call) => call.job === job)
    .map(({ scheduledFor, at }) => [new Date(scheduledFor).toISOString().slice(11, 16), (at - scheduledFor) / SECOND]);
}

async function outcomesOf(sim: RivalTicks, job: string): Promise<Record<string, string>> {
  const records = await sim.records(job);
  return Object.fromEntries(
    records.map(({ scheduledFor, outcome, reason }) => [
      scheduledFor.slice(11, 16),
      `${outcome ?? ''} ${reason ?? ''}`,
    ]),
  );
}

describe('a job that requires another one', () => {
  it.each([1, 3])('starts soon after the end of that one, with %i deployments', async (deployments) => {
    const sim = chain((due) => (due % (20 * MINUTE) === 0 ? 90 * SECOND : 4 * SECOND), { deployments });
    await sim.clock.advance(45 * MINUTE);
    const starts = startsOf(sim, LOAD);
    expect(starts.map(([due]) => due)).toEqual(['00:10', '00:20', '00:30', '00:40']);
    for (const [due, late] of starts) {
      const end = due === '00:20' || due === '00:40' ? 90 : 4;
      expect(late).toBeGreaterThanOrEqual(end);
      expect(late).toBeLessThanOrEqual(end + 3);
    }
    expect(new Set(Object.values(await outcomesOf(sim, LOAD)))).toEqual(new Set(['succeeded completed']));
  });

  it('starts soon after the end of that one also where that one is claimed while its ledger is read', async () => {
    const sim = chain(() => 2 * SECOND);
    const { clock } = sim;
    const { store } = firstInstance(sim).coordinator;
    Object.assign(
      store,
      intercepted(store, 'listRecords', (list) => async (...given) => {
        const page = await list(...given);
        await sleep(clock, SECOND);
        return page;
      }),
    );
    await clock.advance(12 * MINUTE);
    const late = new Map(startsOf(sim, LOAD)).get('00:10');
    expect(late).toBeGreaterThanOrEqual(2);
    expect(late).toBeLessThanOrEqual(6);
  });

  it('starts on time if that one has succeeded since the last due time', async () => {
    const later = jobSpec('load', '5,15,25,35,45,55 * * * *', { requires: [EXTRACT], requireWithinMs: 4 * MINUTE });
    const sim = chain(() => 20 * SECOND, { jobs: [extract, later] });
    await sim.clock.advance(40 * MINUTE);
    // No one had seen extract at 00:00.
    expect(startsOf(sim, LOAD)).toEqual([
      ['00:15', 0],
      ['00:25', 0],
      ['00:35', 0],
    ]);
    expect((await outcomesOf(sim, LOAD))['00:05']).toBe('expired requirementNotMet');
  });

  it.each(['succeeds', 'fails'] as const)(
    'knows whether that one %s when retention has deleted the record',
    async (ends) => {
      const rare = { ...jobSpec('extract', '10 0 1 * *', { keepMs: 30 * MINUTE }), retry: extract.retry };
      const monthly = jobSpec('load', '0 1 1 * *', { requires: [EXTRACT], requireWithinMs: 5 * MINUTE });
      const sim = chain(() => (ends === 'fails' ? 'fails' : 20 * SECOND), { jobs: [rare, monthly] });
      await sim.clock.advance(45 * MINUTE);
      sim.service.deleteRecord(EXTRACT, recordKey(T0 + 10 * MINUTE));
      await sim.clock.advance(25 * MINUTE);
      expect(startsOf(sim, LOAD)).toEqual(ends === 'fails' ? [] : [['01:00', 0]]);
      expect(Object.values(await outcomesOf(sim, LOAD))).toEqual([
        ends === 'fails' ? 'expired requirementNotMet' : 'succeeded completed',
      ]);
    },
  );

  it('does not count the run of the last due time for the next one', async () => {
    const sim = chain((due) => (due === T0 + 20 * MINUTE ? 'fails' : 8 * MINUTE), {
      jobs: [extract, { ...load, requireWithinMs: 9 * MINUTE }],
    });
    await sim.clock.advance(45 * MINUTE);
    const outcomes = await outcomesOf(sim, LOAD);
    expect(outcomes).toMatchObject({ '00:10': 'succeeded completed', '00:20': 'expired requirementNotMet' });
  });

  it('expires soon after the end of its time', async () => {
    const sim = chain(() => 'fails');
    await sim.clock.advance(14 * MINUTE + 59 * SECOND);
    expect(await sim.records(LOAD)).toEqual([]);
    await sim.clock.advance(6 * SECOND);
    expect(await outcomesOf(sim, LOAD)).toEqual({ '00:10': 'expired requirementNotMet' });
  });

  it('starts soon after a run of that one by hand', async () => {
    const failing = new Set([T0 + 10 * MINUTE]);
    const sim = chain((due) => (failing.has(due) ? 'fails' : 5 * SECOND), { sweepIntervalMs: 20 * SECOND });
    await sim.clock.advance(12 * MINUTE);
    expect(startsOf(sim, LOAD)).toEqual([]);
    await requestRun(sim, extract, { id: 'byhand' });
    await sim.clock.advance(40 * SECOND);
    const [start] = startsOf(sim, LOAD);
    const [, again] = sim.calls.filter(({ job }) => job === EXTRACT);
    if (again === undefined) throw new Error('extract did not run again');
    expect(start?.[0]).toBe('00:10');
    expect(T0 + 10 * MINUTE + (start?.[1] ?? 0) * SECOND - again.at).toBeLessThan(8 * SECOND);
  });

  it('does not count a run that repeats one of before its last due time', async () => {
    const sim = chain((due) => (due === T0 + 20 * MINUTE ? 'fails' : SECOND));
    await sim.clock.advance(21 * MINUTE);
    const [run] = (await sim.records(EXTRACT)).filter(({ scheduledFor }) => scheduledFor.includes('00:10'));
    await requestRerun(sim, extract, 0, { id: 'again', time: Date.parse(run?.scheduledFor ?? '') });
    await sim.clock.advance(5 * MINUTE);
    expect((await sim.records(EXTRACT))[0]).toMatchObject({ outcome: 'succeeded', rerunOf: run?.scheduledFor });
    expect(await outcomesOf(sim, LOAD)).toMatchObject({ '00:20': 'expired requirementNotMet' });
  });

  it('is found by its neighbours where each row is listed alone', async () => {
    const many = Array.from({ length: 600 }, (_, index) => jobSpec(`m${String(index)}`, '@manual'));
    const sim = chain(() => 25 * SECOND, { jobs: [...many, extract, load] });
    await sim.clock.advance(12 * MINUTE);
    const late = new Map(startsOf(sim, LOAD)).get('00:10');
    expect(late).toBeGreaterThanOrEqual(25);
    expect(late).toBeLessThanOrEqual(28);
  });

  it('is run by another deployment if its own is gone, and once', async () => {
    const sim = chain(() => 30 * SECOND, { deployments: 2 });
    await sim.clock.advance(19 * MINUTE);
    const [first] = sim.calls.filter(({ job }) => job === LOAD);
    await sim.clock.advance(MINUTE + 10 * SECOND);
    sim.instances.find(({ deployment }) => deployment === first?.deployment)?.kill();
    await sim.clock.advance(3 * MINUTE);
    expect(startsOf(sim, LOAD).filter(([due]) => due === '00:20')).toHaveLength(1);
  });

  it('explains the wait', async () => {
    const sim = chain(() => 2 * MINUTE);
    await sim.clock.advance(11 * MINUTE);
    const show = (instant: number): string => new Date(instant).toISOString().slice(11, 16);
    const told = async (time: number): Promise<string> => inWords(await explainTime(sim.store, load, 0, time), show);
    expect(await told(T0 + 10 * MINUTE)).toBe(
      'It waits until extract has succeeded for a due time after 00:00. If that takes until 00:15, it expires: see "requires".',
    );
    expect(await told(T0 + 20 * MINUTE)).toBe('It is due in 9m. Then it waits up to 5m for a success of extract.');
    const late: JobSpec = { ...load, requireWithinMs: 30 * SECOND };
    const explained = await explainTime(sim.store, late, 0, T0 + 10 * MINUTE);
    expect(explained).toMatchObject({ outcome: 'expired', reason: 'requirementNotMet' });
    expect(inWords(explained, show)).toBe(
      'A job that it requires (extract) had not succeeded within "requireWithin" (30s). The ledger does not have the record yet.',
    );
  });
});

describe('a job that waits', () => {
  const job = { ...load, requires: [EXTRACT, 'check' as JobName] };

  it('shows that in lists, and its settings in the HTTP API', async () => {
    const check = jobSpec('check', '@manual');
    const sim = chain(() => 2 * MINUTE, { jobs: [extract, check, job] });
    await sim.clock.advance(11 * MINUTE);
    const [found] = (await readOverview(sim.store, [job])).jobs.filter(({ name }) => name === LOAD);
    expect(found).toMatchObject({ state: 'waiting', detail: 'due, and requires a success of extract, check' });
    const entry = { name: LOAD, spec: job, state: undefined, unreadable: [], listed: undefined, isForgotten: false };
    expect(showOneJob(entry, T0).settings).toMatchObject({
      ...{ requires: ['extract', 'check'], requireWithinMs: 5 * MINUTE },
    });
    expect(showOneJob({ ...entry, spec: extract }, T0).settings).toMatchObject({ requires: [], requireWithinMs: null });
  });

  it('shows that in plans', () => {
    const plan = planOf([extract, job], { from: T0, to: T0 + 15 * MINUTE, limit: 10 });
    const notes = 'waits up to 5m for a success of extract, check';
    expect(plan.starts.map(({ spec, notes: found }) => [spec.name, found])).toEqual([
      ['extract', []],
      ['load', [notes]],
      ['extract', []],
      ['load', [notes]],
    ]);
    const text = planText(plan, { from: T0, to: T0 + 15 * MINUTE, specs: [extract, job] }, utc).join('\n');
    expect(text).toMatch(/STARTS +JOB +AFTER/);
    expect(text).toMatch(/load +extract, check/);
    expect(Math.max(...text.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80);
  });
});

describe('the calls that it costs', () => {
  const listed = (sim: RivalTicks, call: string): number =>
    sim.instances.reduce((sum, { calls }) => sum + (calls.get(call) ?? 0), 0);

  it('are none for a job that requires none', async () => {
    const sim = chain(() => SECOND, { jobs: [extract, { ...load, requires: [] }] });
    await sim.clock.advance(32 * MINUTE);
    // One before each row was created.
    expect(listed(sim, 'listRecords')).toBe(2);
  });

  it('are one for each required job, where it has succeeded before', async () => {
    const later = jobSpec('load', '5,15,25,35,45,55 * * * *', { requires: [EXTRACT], requireWithinMs: SECOND });
    const sim = chain(() => SECOND, { jobs: [extract, later], deployments: 3 });
    await sim.clock.advance(12 * MINUTE);
    const before = listed(sim, 'listRecords');
    await sim.clock.advance(10 * MINUTE);
    expect(startsOf(sim, LOAD)).toEqual([['00:15', 0]]);
    expect(listed(sim, 'listRecords') - before).toBe(1);
  });

  it('are a listing each 2 s at most while the required job runs, and few while nothing happens', async () => {
    const sim = chain((due) => (due === T0 + 10 * MINUTE ? 2 * MINUTE : 'fails'), {
      jobs: [extract, { ...load, requireWithinMs: 9 * MINUTE }],
    });
    await sim.clock.advance(10 * MINUTE + 10 * SECOND);
    const before = listed(sim, 'list');
    await sim.clock.advance(100 * SECOND);
    expect(listed(sim, 'list') - before).toBeLessThanOrEqual(60);
    await sim.clock.advance(9 * MINUTE);
    // extract has failed, and load waits.
    const idle = listed(sim, 'list');
    const read = listed(sim, 'listRecords');
    await sim.clock.advance(5 * MINUTE);
    expect(listed(sim, 'list') - idle).toBeLessThanOrEqual(8);
    expect(listed(sim, 'listRecords') - read).toBe(0);
  });
});

describe('the newest success of a ledger', () => {
  const call = <T>(one: (signal?: AbortSignal) => Promise<T>): Promise<T> => one();
  const ledger = (records: readonly (readonly [number, string, number?])[]) => {
    let pages = 0;
    const store = {
      listRecords: async (_job: JobName, { continuation = '0' }: { readonly continuation?: string }) => {
        pages += 1;
        const at = Number(continuation);
        const page = records.slice(at, at + 2).map(([due, outcome, repeats]) => ({
          key: `${String(1e13 - due)}-s`,
          etag: '' as never,
          summary: { outcome, ...(repeats === undefined ? {} : { rerunof: new Date(repeats).toISOString() }) },
        }));
        return { records: page, continuation: at + 2 < records.length ? String(at + 2) : undefined };
      },
    };
    const newest = (since: number): Promise<number | undefined> => newestSucceeded(store, EXTRACT, since, call);
    return { newest, pages: () => pages };
  };

  it('is found on any page, down to the instant of interest', async () => {
    const of = (since: number) =>
      ledger([
        [T0 + 5, 'failed'],
        [T0 + 4, 'expired'],
        [T0 + 3, 'cancelled'],
        [T0 + 2, 'succeeded'],
        [T0 + 1, 'succeeded'],
      ]).newest(since);
    expect(await of(T0)).toBe(T0 + 2);
    expect(await of(T0 + 1)).toBe(T0 + 2);
    expect(await of(T0 + 2)).toBeUndefined();
    expect(await of(-Infinity)).toBe(T0 + 2);
  });

  it('is that of a repeated due time, where a run repeats one', async () => {
    const { newest } = ledger([
      [T0 + 9, 'succeeded', T0 + 2],
      [T0 + 3, 'failed'],
      [T0 + 1, 'succeeded'],
    ]);
    expect(await newest(T0)).toBe(T0 + 2);
    expect(await newest(T0 + 2)).toBeUndefined();
  });

  it('is not looked for behind the first page that has it', async () => {
    const { newest, pages } = ledger([
      [T0 + 3, 'succeeded'],
      [T0 + 2, 'failed'],
      [T0 + 1, 'failed'],
    ]);
    expect([await newest(T0), pages()]).toEqual([T0 + 3, 1]);
    const past = ledger([
      [T0 + 3, 'failed'],
      [T0 + 2, 'failed'],
      [T0 + 1, 'failed'],
    ]);
    expect([await past.newest(T0 + 2), past.pages()]).toEqual([undefined, 1]);
  });
});
