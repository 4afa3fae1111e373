import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeControl, encodeControl, NO_CONTROL } from '../../src/core/control';
import {
  type Acknowledgement,
  type Outcomes,
  acknowledgeIncident,
  incidentOf,
  isInForce,
} from '../../src/core/incident';
import type { RanOutcome } from '../../src/core/outcome';
import type { JobName } from '../../src/core/brand';
import type { JobSpec } from '../../src/core/job';
import { recordKey } from '../../src/core/key';
import { type Recent, withRun } from '../../src/core/recent';
import type { JobStatus } from '../../src/manage/schema/jobs';
import { needsAttention } from '../../src/core/shown-state';
import { readOverview } from '../../src/operator/views/overview';
import { jobSpec } from '../support/job';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { acknowledge, unacknowledge, pauseJob, resumeJob } from '../support/by-operator';

const T0 = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const ANN = { by: 'ann', note: 'a new key is on its way', until: undefined };

const run = (minute: number, outcome: RanOutcome | undefined): Recent => ({
  ...{ kind: 'run', scheduledFor: T0 + minute * MINUTE, request: undefined, outcome, latenessMs: 0 },
  ...{ durationMs: 1_000, waitedMs: 0, attempts: 1 },
});
const key = (minute: number): string => recordKey(T0 + minute * MINUTE);

function outcomes(recent: readonly Recent[], failures: number, changes: Partial<Outcomes> = {}): Outcomes {
  return { recent, failures, lastFailedKey: undefined, lastGoodAt: T0, ...changes };
}

describe('the incident of a job', () => {
  it('has the failed runs since its last success', () => {
    const recent = [run(1, 'failed'), run(2, 'succeeded'), run(3, 'failed'), run(4, 'cancelled'), run(5, 'timedOut')];
    expect(incidentOf(outcomes(recent, 2), undefined)).toEqual({
      ...{ since: T0 + 3 * MINUTE, isWhole: true, failures: 2, first: key(3), last: key(5), lastReason: 'timeout' },
    });
    expect(incidentOf(outcomes([...recent, run(6, 'succeeded')], 0), undefined)).toBeUndefined();
    expect(incidentOf(outcomes([], 0), undefined)).toBeUndefined();
  });

  it('counts every failure, also those that the row no longer lists', () => {
    const recent = Array.from({ length: 20 }, (_, index) => run(10 + index, 'failed'));
    expect(incidentOf(outcomes(recent, 29), undefined)).toMatchObject({
      ...{ since: T0 + 10 * MINUTE, isWhole: false, failures: 29, first: key(10), last: key(29) },
    });
    expect(incidentOf(outcomes([], 3, { lastFailedKey: key(7) }), undefined)).toMatchObject({
      ...{ since: T0 + 7 * MINUTE, isWhole: false, failures: 3, first: key(7), last: key(7) },
    });
    // A row that notes nothing of its failures: they began after it was well.
    expect(incidentOf(outcomes([], 3), undefined)).toMatchObject({ since: T0, isWhole: false, first: undefined });
  });

  it('begins anew where the list lacks the success that reset the count', () => {
    const recent = [run(1, 'failed'), run(2, undefined), run(3, 'failed')];
    expect(incidentOf(outcomes(recent, 1), undefined)).toMatchObject({ since: T0 + 3 * MINUTE, failures: 1 });
  });

  it('has a run whose end is unknown, which is not counted', () => {
    expect(incidentOf(outcomes([run(1, 'failed')], 0), undefined)).toMatchObject({ failures: 1, first: key(1) });
  });

  it('is that of a job that is overdue without a failed run, too', () => {
    const overdue = incidentOf(outcomes([run(1, 'succeeded')], 0), T0 + 9 * MINUTE);
    expect(overdue).toMatchObject({ since: T0 + 9 * MINUTE, isWhole: true, failures: 0, first: undefined });
    const both = outcomes([run(1, 'succeeded'), run(3, 'stalled')], 1);
    expect(incidentOf(both, T0 + 2 * MINUTE)).toMatchObject({ since: T0 + 3 * MINUTE, lastReason: 'stallAfter' });
  });
});

describe('an acknowledgement', () => {
  const recent = [run(1, 'succeeded'), run(2, 'failed'), run(3, 'failed')];
  const at = T0 + 3.5 * MINUTE;
  const made = (changes: Partial<Acknowledgement> = {}): Acknowledgement => {
    const incident = incidentOf(outcomes(recent, 2), undefined);
    if (incident === undefined) throw new Error('the job has no incident');
    return { ...acknowledgeIncident(incident, { ...ANN, at }), ...changes };
  };

  it('is in force until its end', () => {
    const until = T0 + 10 * MINUTE;
    expect(isInForce(made({ until }), outcomes(recent, 2), until - 1)).toBe(true);
    expect(isInForce(made({ until }), outcomes(recent, 2), until)).toBe(false);
  });

  it('is in force while further runs fail or are cancelled, and not after a success', () => {
    const failing = [...recent, run(4, 'failed'), run(5, 'cancelled')];
    expect(isInForce(made(), outcomes(failing, 3), at)).toBe(true);
    expect(isInForce(made(), outcomes([...failing, run(6, 'succeeded')], 0), at)).toBe(false);
    const again = [...failing, run(6, 'succeeded'), run(7, 'failed'), run(8, 'failed'), run(9, 'failed')];
    expect(isInForce(made(), outcomes(again, 3), at)).toBe(false);
  });

  it('ends with a success that the list lacks, since the count was reset', () => {
    expect(isInForce(made(), outcomes([...recent, run(5, undefined), run(6, 'failed')], 1), at)).toBe(false);
    const grown = [...recent, run(4, undefined), run(5, 'failed'), run(6, 'failed'), run(7, 'failed')];
    expect(isInForce(made(), outcomes(grown, 3), at)).toBe(false);
  });

  it('ends with a success after which more than 20 outcomes came', () => {
    const later = Array.from({ length: 20 }, (_, index) => run(40 + index, 'failed'));
    expect(isInForce(made(), outcomes(later, 39), at)).toBe(true);
    expect(isInForce(made(), outcomes(later, 25, { lastGoodAt: T0 + 20 * MINUTE }), at)).toBe(false);
  });

  it('of a job without a failed run ends with its next success', () => {
    const idle = made({ run: undefined, failures: 0 });
    expect(isInForce(idle, outcomes([run(1, 'succeeded')], 0), at)).toBe(true);
    expect(isInForce(idle, outcomes([run(1, 'succeeded'), run(4, 'succeeded')], 0), at)).toBe(false);
  });

  it('holds for exactly the runs until the next success, whatever the outcomes', () => {
    const someEnds = fc.array(fc.constantFrom<RanOutcome>('succeeded', 'failed', 'timedOut', 'cancelled'), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(someEnds, fc.nat(60), (ends, when) => {
        let state = outcomes([], 0);
        let acknowledged: Acknowledgement | undefined;
        let expected = false;
        for (const [index, outcome] of ends.entries()) {
          const entry = run(index + 1, outcome);
          if (entry.kind !== 'run') throw new Error('no run');
          const isFailure = outcome === 'failed' || outcome === 'timedOut';
          const good = outcome === 'succeeded';
          state = {
            recent: withRun(state.recent, entry),
            failures: good ? 0 : state.failures + (isFailure ? 1 : 0),
            lastFailedKey: good ? undefined : isFailure ? key(index + 1) : state.lastFailedKey,
            lastGoodAt: good ? T0 + (index + 1) * MINUTE + 1_000 : (state.lastGoodAt ?? T0),
          };
          const now = T0 + (index + 1.5) * MINUTE;
          if (good) expected = false;
          const incident = incidentOf(state, undefined);
          expect(incident?.failures ?? 0).toBe(state.failures);
          if (index === when && incident !== undefined) {
            acknowledged = acknowledgeIncident(incident, { ...ANN, at: now });
            expected = true;
          }
          if (acknowledged !== undefined) expect(isInForce(acknowledged, state, now)).toBe(expected);
        }
      }),
    );
  });
});

describe('a stored acknowledgement', () => {
  const stored: Acknowledgement = { ...ANN, at: T0, run: key(1), failures: 1 };

  it('is read back', () => {
    const metadata = encodeControl({ ...NO_CONTROL, acknowledgement: { ...stored, note: 'für später' } });
    expect(decodeControl(metadata).acknowledgement).toEqual({ ...stored, note: 'für später' });
    expect(decodeControl(encodeControl(NO_CONTROL)).acknowledgement).toBeUndefined();
  });

  it('never makes a control unreadable: a job does not stand still for it', () => {
    const texts = ['', '{', '[]', '[1]', '[{"by":1}]', '[{"by":"a","note":"n","at":-1,"failures":0}]', '"x"', 'null'];
    for (const acknowledged of texts) expect(decodeControl({ format: '1', acknowledged })).toEqual(NO_CONTROL);
  });
});

interface World {
  readonly sim: RivalTicks;
  readonly job: JobSpec;
  status(): Promise<JobStatus>;
}

/** A job that fails while `fails` returns true. */
async function failing(fails: (minute: number) => boolean, changes: Partial<JobSpec> = {}): Promise<World> {
  const job = jobSpec('a', '@every 1m', { retry: { ...jobSpec('a', '@manual').retry, attempts: 1 }, ...changes });
  const sim: RivalTicks = rivalTicks({
    jobs: [job, jobSpec('b', '@every 1m')],
    handler: ({ job: name }) => {
      if (name === 'a' && fails(Math.round((sim.clock.now() - T0) / MINUTE))) throw new Error('a fault');
    },
    start: T0,
  });
  const status = async (): Promise<JobStatus> => {
    const found = (await readOverview(sim.store, [job])).jobs.find(({ name }) => name === 'a');
    if (found === undefined) throw new Error('no job a');
    return found;
  };
  await sim.clock.advance(2.5 * MINUTE);
  return { sim, job, status };
}

describe('acknowledging a job that fails', () => {
  it('takes it off the top until its next success, and a later failure is another incident', async () => {
    const { sim, job, status } = await failing((minute) => minute !== 4);
    expect(await status()).toMatchObject({ incident: { failures: 2, acknowledgement: null } });
    expect(needsAttention(await status())).toBe(true);
    const { acknowledgement, incident } = await acknowledge(sim.store, { name: job.name, spec: job }, ANN);
    expect([Date.parse(acknowledgement.at), incident.acknowledgement]).toEqual([T0 + 2.5 * MINUTE, undefined]);
    await sim.clock.advance(MINUTE);
    expect(await status()).toMatchObject({
      failures: 3,
      incident: {
        ...{ since: '2026-01-01T00:01:00.000Z', isWhole: true, failures: 3, lastReason: null },
        ...{ firstRunId: 'a-20260101T000100Z', lastRunId: 'a-20260101T000300Z' },
        acknowledgement: { by: 'ann', note: ANN.note, at: '2026-01-01T00:02:30.000Z', until: null },
      },
    });
    expect(needsAttention(await status())).toBe(false);
    await sim.clock.advance(MINUTE);
    expect((await status()).incident).toBeNull();
    await sim.clock.advance(3 * MINUTE);
    expect((await status()).incident).toMatchObject({ failures: 3, acknowledgement: null });
  });

  it('lists it below those that nobody looks after, and above the others', async () => {
    const once = { retry: { ...jobSpec('a', '@manual').retry, attempts: 1 } };
    const jobs = [jobSpec('a', '@every 1m', once), jobSpec('b', '@every 1m', once), jobSpec('c', '@every 1m')];
    const sim = rivalTicks({
      ...{ jobs, start: T0 },
      handler: ({ job }) => {
        if (job !== 'c') throw new Error('a fault');
      },
    });
    await sim.clock.advance(2.5 * MINUTE);
    const names = async (): Promise<readonly string[]> =>
      (await readOverview(sim.store, jobs)).jobs.map(({ name }) => name);
    expect(await names()).toEqual(['a', 'b', 'c']);
    await acknowledge(sim.store, { name: 'a' as JobName }, ANN);
    expect(await names()).toEqual(['b', 'a', 'c']);
    await pauseJob(sim.store, { name: 'a' as JobName }, { by: 'ann', note: 'a test' });
    expect(await names()).toEqual(['b', 'c', 'a']);
  });

  it('outlasts a pause and a resume, and a write that ends it drops it', async () => {
    const { sim, job, status } = await failing((minute) => minute < 8);
    const subject = { name: job.name, spec: job };
    await acknowledge(sim.store, subject, ANN);
    await pauseJob(sim.store, subject, { by: 'ben', note: 'a test' });
    await sim.clock.advance(2 * MINUTE);
    await resumeJob(sim.store, subject);
    expect((await status()).incident?.acknowledgement).toMatchObject({ by: 'ann' });
    await sim.clock.advance(5 * MINUTE);
    await pauseJob(sim.store, subject, { by: 'ben', note: 'another one' });
    const { control } = await sim.store.readControl(job.name);
    expect(control?.metadata['acknowledged']).toBeUndefined();
  });

  it('replaces an earlier one, and can be taken back', async () => {
    const { sim, job, status } = await failing(() => true);
    const subject = { name: job.name, spec: job };
    await acknowledge(sim.store, subject, ANN);
    const until = T0 + 60 * MINUTE;
    const { incident } = await acknowledge(sim.store, subject, { by: 'ben', note: '', until });
    expect(incident.acknowledgement).toMatchObject({ by: 'ann' });
    expect(await unacknowledge(sim.store, subject)).toMatchObject({ by: 'ben', until });
    expect((await status()).incident).toMatchObject({ acknowledgement: null });
    await expect(unacknowledge(sim.store, subject)).rejects.toMatchObject({ code: 'NotAcknowledged' });
  });

  it('is refused where nothing fails, with an end in the past, and with a long note', async () => {
    const { sim, job } = await failing(() => true);
    const subject = { name: job.name, spec: job };
    await expect(acknowledge(sim.store, { ...subject, name: 'b' as JobName }, ANN)).rejects.toMatchObject({
      code: 'NothingToAcknowledge',
    });
    const past = acknowledge(sim.store, subject, { ...ANN, until: T0 });
    await expect(past).rejects.toMatchObject({ code: 'PastEnd', message: expect.stringContaining('past') as unknown });
    const long = acknowledge(sim.store, subject, { ...ANN, note: 'x'.repeat(201) });
    await expect(long).rejects.toMatchObject({ code: 'NoteTooLong' });
    expect((await sim.store.readControl(job.name)).control).toBeUndefined();
  });

  it('is possible for a job that is overdue and does not run', async () => {
    const job = jobSpec('a', '@manual', { alertAfterMs: MINUTE });
    const sim = rivalTicks({ jobs: [job], start: T0 });
    await sim.clock.advance(3 * MINUTE);
    const { incident } = await acknowledge(sim.store, { name: job.name, spec: job }, ANN);
    expect(incident).toMatchObject({ failures: 0, first: undefined });
    const [status] = (await readOverview(sim.store, [job])).jobs;
    expect(status).toMatchObject({ state: 'overdue', incident: { acknowledgement: { by: 'ann' } } });
  });
});
