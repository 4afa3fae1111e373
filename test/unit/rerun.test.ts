import { describe, expect, it } from 'vitest';
import type { JobSpec } from '../../src/core/job';
import { boundedOrigin } from '../../src/core/origin';
import type { StandardSchema } from '../../src/core/standard-schema';
import { defineFanOut } from '../../src/handler/define-fan-out';
import type { JobContext } from '../../src/handler/handler';
import { StoreUnavailableError } from '../../src/lease/store';
import { requestRun, rerun as rerunBy, requestRerun } from '../../src/operator/operations/run';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';

const T0 = Date.UTC(2026, 0, 1);
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const ANN = { actor: 'ann', channel: 'shell', note: 'the bank was closed' };
const JOB = jobSpec('bill', '@every 1h', { input: { day: 'today' } });

interface Called {
  readonly scheduledFor: string;
  readonly origin: JobContext['origin'];
  readonly trigger: string;
  readonly input: unknown;
}

/** A cluster whose handler notes what it gets. */
function billing(job: JobSpec = JOB, schema?: StandardSchema): { sim: RivalTicks; called: Called[] } {
  const called: Called[] = [];
  const sim = rivalTicks({ jobs: [job], start: T0 });
  for (const { coordinator } of sim.instances) {
    const runnable = coordinator.jobs.get(job.name);
    if (runnable === undefined) throw new Error('no job');
    const handler = {
      ...(schema === undefined ? {} : { input: schema }),
      run: ({ scheduledFor, origin, trigger }: JobContext, input: unknown) => {
        called.push({ scheduledFor: scheduledFor.toISOString(), origin, trigger, input });
      },
    };
    (coordinator.jobs as Map<unknown, unknown>).set(job.name, { ...runnable, handler });
  }
  return { sim, called };
}

describe('a run that was asked for', () => {
  it('tells its handler, its record and its summary by whom, from where and why', async () => {
    const { sim, called } = billing();
    await sim.clock.advance(MINUTE);
    await requestRun(sim, JOB, { id: 'r1', origin: ANN });
    await sim.clock.advance(MINUTE);
    expect(called).toEqual([
      { scheduledFor: '2026-01-01T00:01:00.000Z', origin: ANN, trigger: 'manual', input: { day: 'today' } },
    ]);
    expect(await sim.records('bill')).toMatchObject([{ origin: ANN, trigger: 'manual' }]);
    const { records } = await sim.store.listRecords(JOB.name, { limit: 10 });
    expect(JSON.parse(records[0]?.summary['origin'] ?? '')).toEqual(ANN);
  });

  it('is told apart from one by schedule', async () => {
    const { sim, called } = billing();
    await sim.clock.advance(61 * MINUTE);
    expect(called[0]?.origin).toEqual({ actor: 'cronlease', channel: 'schedule' });
    expect((await sim.records('bill'))[0]).not.toHaveProperty('origin');
  });

  it('gets the input of its request, also in later attempts and on other instances', async () => {
    const seen: unknown[] = [];
    const retry = { attempts: 3, backoffMs: SECOND, factor: 1, maxBackoffMs: SECOND, jitter: 'none' } as const;
    const job = jobSpec('bill', '@manual', { retry, input: 'own' });
    const sim = rivalTicks({ jobs: [job], start: T0 });
    for (const { coordinator } of sim.instances) {
      const run = (_: JobContext, input: unknown): void => {
        seen.push(input);
        if (seen.length < 3) throw new Error('again');
      };
      (coordinator.jobs as Map<unknown, unknown>).set(job.name, { spec: job, input: job.input, handler: { run } });
    }
    await sim.clock.advance(MINUTE);
    await requestRun(sim, job, { id: 'r1', input: { day: '2026-01-01' } });
    await sim.clock.advance(3 * MINUTE);
    expect(seen).toEqual([{ day: '2026-01-01' }, { day: '2026-01-01' }, { day: '2026-01-01' }]);
  });

  it('fails without a call of its handler, where the schema refuses its input', async () => {
    const schema: StandardSchema = {
      '~standard': {
        ...{ version: 1, vendor: 'test' },
        validate: (value) =>
          value === 'right' || value === 'today'
            ? { value: 'checked' }
            : { issues: [{ message: 'is wrong', path: ['day'] }] },
      },
    };
    const job = jobSpec('bill', '@manual', { input: 'today' });
    const { sim, called } = billing(job, schema);
    await sim.clock.advance(MINUTE);
    await requestRun(sim, job, { id: 'r1', input: 'wrong' });
    await sim.clock.advance(MINUTE);
    await requestRun(sim, job, { id: 'r2', input: 'right' });
    await sim.clock.advance(MINUTE);
    expect(called.map(({ input }) => input)).toEqual(['checked']);
    const [right, wrong] = await sim.records('bill');
    expect(right?.outcome).toBe('succeeded');
    expect(wrong).toMatchObject({ outcome: 'failed', reason: 'invalidInput', attempts: [{ attempt: 1 }] });
    expect(wrong?.attempts[0]?.error?.message).toBe("the handler's schema refuses the input: day: is wrong");
  });

  it('fails where its input is gone, and waits where storage does not answer', async () => {
    const job = jobSpec('bill', '@manual');
    const { sim, called } = billing(job);
    await sim.clock.advance(MINUTE);
    const [instance] = sim.instances;
    if (instance === undefined) throw new Error('no instance');
    const { store } = instance.coordinator;
    const readRequest = store.readRequest.bind(store);
    store.readRequest = async () => undefined;
    await requestRun(sim, job, { id: 'r1', input: 1 });
    await sim.clock.advance(MINUTE);
    expect((await sim.records('bill'))[0]).toMatchObject({ outcome: 'failed', reason: 'invalidInput' });
    store.readRequest = () => Promise.reject(new StoreUnavailableError('503'));
    await requestRun(sim, job, { id: 'r2', input: 2 });
    await sim.clock.advance(10 * SECOND);
    store.readRequest = readRequest;
    await sim.clock.advance(3 * MINUTE);
    expect(called.map(({ input }) => input)).toEqual([2]);
  });

  it('of a job that fans out passes input and time to each item', async () => {
    const seen: unknown[] = [];
    const job = jobSpec('bill', '@every 1h');
    const sim = rivalTicks({
      jobs: [job],
      start: T0,
      fanOut: {
        bill: () =>
          defineFanOut({
            plan: () => [1, 2],
            each: ({ scheduledFor }, item, input) => {
              seen.push([scheduledFor.toISOString().slice(11, 16), item, input]);
            },
            gather: ({ scheduledFor }, _, input) => {
              seen.push([scheduledFor.toISOString().slice(11, 16), 'all', input]);
            },
          }),
      },
    });
    await sim.clock.advance(62 * MINUTE);
    seen.length = 0;
    await requestRerun(sim, job, 0, { id: 'r1', time: T0 + 60 * MINUTE, input: 'x' });
    await sim.clock.advance(2 * MINUTE);
    expect(seen.map(String).sort()).toEqual(['01:00,1,x', '01:00,2,x', '01:00,all,x']);
  });
});

describe('a rerun', () => {
  it('has the time of the earlier run in its handler, and a record of its own', async () => {
    const { sim, called } = billing();
    await sim.clock.advance(90 * MINUTE);
    const { runId } = await requestRerun(sim, JOB, 0, { id: 'r1', time: T0 + 60 * MINUTE, origin: ANN });
    await sim.clock.advance(MINUTE);
    expect(called.map(({ scheduledFor, trigger }) => [scheduledFor, trigger])).toEqual([
      ['2026-01-01T01:00:00.000Z', 'schedule'],
      ['2026-01-01T01:00:00.000Z', 'manual'],
    ]);
    const [again, first] = await sim.records('bill');
    expect(again).toMatchObject({ runId, rerunOf: '2026-01-01T01:00:00.000Z', origin: ANN, outcome: 'succeeded' });
    expect(first).toMatchObject({ runId: 'bill-20260101T010000Z', outcome: 'succeeded' });
  });

  it('of a rerun has the first time, and of a request with an input that input', async () => {
    const { sim, called } = billing();
    await sim.clock.advance(90 * MINUTE);
    const first = await requestRerun(sim, JOB, 0, { id: 'r1', time: T0 + 60 * MINUTE, input: { day: 'other' } });
    await sim.clock.advance(MINUTE);
    await requestRerun(sim, JOB, 0, { id: 'r2', time: first.requestedAt });
    await sim.clock.advance(MINUTE);
    const other = { scheduledFor: '2026-01-01T01:00:00.000Z', input: { day: 'other' } };
    expect(called.slice(1)).toMatchObject([other, other]);
  });

  it('of a manual run has its input, although a due time has the same time', async () => {
    const { sim, called } = billing();
    await sim.clock.advance(90 * MINUTE);
    const time = T0 + 60 * MINUTE;
    const { runId } = await requestRun(sim, JOB, { id: 'r1', time, input: { day: 'other' } });
    await sim.clock.advance(MINUTE);
    const { store, clock } = sim;
    const acting = { store, clock, newId: () => '', waiting: () => undefined, origin: ANN };
    await rerunBy(acting, JOB, { time, runId, revision: 0 });
    await sim.clock.advance(MINUTE);
    expect(called.map(({ input }) => input)).toEqual([{ day: 'today' }, { day: 'other' }, { day: 'other' }]);
    await rerunBy(acting, JOB, { time, runId: 'bill-20260101T010000Z', revision: 0 });
    await sim.clock.advance(MINUTE);
    expect(called.at(-1)?.input).toEqual({ day: 'today' });
  });

  it('is refused where there is nothing to repeat', async () => {
    const { sim } = billing();
    await sim.clock.advance(90 * MINUTE);
    const at = (minutes: number): Promise<unknown> =>
      requestRerun(sim, JOB, 0, { id: 'r1', time: T0 + minutes * MINUTE });
    await expect(at(61)).rejects.toThrow('has no due time and no run at 2026-01-01T01:01:00.000Z');
    await expect(at(120)).rejects.toThrow('which is ahead');
  });

  it('is refused with an integer that JavaScript has rounded', async () => {
    const { sim } = billing();
    const input: unknown = JSON.parse('{"days": [{"id": 9007199254740993}], "most": 9007199254740991, "far": 1e300}');
    await expect(requestRun(sim, JOB, { id: 'r1', input })).rejects.toThrow(
      'has an integer beyond 2^53 at $.days.0.id, which JavaScript reads as 9007199254740992: put it in double quotes, as text',
    );
  });

  it('is refused with an input of more than 32 KB', async () => {
    const { sim } = billing();
    await expect(requestRun(sim, JOB, { id: 'r1', input: 'x'.repeat(32 * 1024) })).rejects.toThrow(
      'has 32770 bytes of JSON, and 32768 are allowed',
    );
  });
});

describe('an origin', () => {
  it('is cut to what a row has room for', () => {
    const long = boundedOrigin({ actor: '漢'.repeat(300), channel: 'browser', note: '漢'.repeat(300) });
    expect(JSON.stringify(long).length).toBeLessThan(500);
    expect(long.actor).not.toBe('');
    expect(boundedOrigin(ANN)).toEqual(ANN);
  });
});
