import { describe, expect, it } from 'vitest';
import { afterFailover } from '../../src/core/failover';
import { type JobSpec, NOTICE_TOPICS, type NotifySettings } from '../../src/core/job';
import { shardOf } from '../../src/core/layout';
import { NonRetryableError } from '../../src/handler/handler';
import { dealtStore } from '../../src/lease/dealt-store';
import { type LeaseStore, StoreUnavailableError } from '../../src/lease/store';
import { type Forgotten, forgetJob } from '../../src/operator/operations/forget';
import { type JobRecovery, recoverJobs } from '../../src/operator/operations/recover';
import { memoryService } from '../../src/stores/memory/store';
import { firstInstance } from '../support/by-hand';
import { cutOffAfter } from '../support/cut-off';
import { interceptStore } from '../support/intercept';
import { jobSpec } from '../support/job';
import { type FakeReceiver, fakeReceiver } from '../support/receivers';
import { type RivalTicks, rivalTicks } from '../support/rival-ticks';
import { ranRow, T0 } from '../support/situation';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOTIFY: NotifySettings = { to: ['ops'], on: NOTICE_TOPICS, after: 1, remindMs: undefined };
const JOB = jobSpec('a', '@hourly', { notify: NOTIFY });
const FAILED = { change: 'failed', runId: 'a-20260101T010000Z' };

/** A failed run whose holder died between its record and its notice. */
async function diedBeforeNotice(): Promise<{ readonly sim: RivalTicks; readonly ops: FakeReceiver }> {
  const ops = fakeReceiver();
  const sim = rivalTicks({
    jobs: [JOB],
    outlet: ops.outlet,
    handler: () => {
      throw new NonRetryableError('the password is secret');
    },
  });
  const first = firstInstance(sim);
  interceptStore(first, 'createNotice', () => () => {
    first.kill();
    return new Promise(() => undefined);
  });
  await sim.clock.advance(HOUR + MINUTE);
  expect((await sim.row('a')).telling).toMatchObject([{ change: 'failed' }]);
  return { sim, ops };
}

const deskOf = ({ clock }: RivalTicks, store: LeaseStore) => ({
  ...{ store, clock, newId: () => crypto.randomUUID(), waiting: () => undefined },
});

async function recover(
  sim: RivalTicks,
  { job = JOB, apply = true, store = sim.store }: { job?: JobSpec; apply?: boolean; store?: LeaseStore } = {},
): Promise<JobRecovery | undefined> {
  const choices = { until: undefined, raiseBy: 1_000, runs: 'resume', apply } as const;
  const { jobs } = await recoverJobs(deskOf(sim, store), { ...choices, file: { revision: 0, jobs: [job] } });
  return jobs[0];
}

const forget = (sim: RivalTicks, store: LeaseStore = sim.store): Promise<Forgotten> =>
  forgetJob(deskOf(sim, store), { job: JOB.name, revision: 0, endRun: true });

describe('an owed notice, after a failover', () => {
  it('is created by recover, is sent once by a deployment, and has no text of the handler', async () => {
    const { sim, ops } = await diedBeforeNotice();
    const dry = await recover(sim, { apply: false });
    expect((await sim.store.listNotices({ limit: 9 })).notices).toEqual([]);
    expect(dry).toMatchObject({ notices: [{ ...FAILED, to: ['ops'] }] });
    expect(await recover(sim)).toEqual(dry);
    // It exists now.
    expect(await recover(sim)).toMatchObject({ notices: [] });
    sim.startInstance('d2');
    await sim.clock.advance(10 * MINUTE);
    expect(ops.received.map(({ type, from }) => [type, from])).toEqual([['cronlease.job.failed', 'd2']]);
    // The settings that hide secrets are the deployments', not those of the operator's shell.
    expect(ops.received[0]?.body).toMatchObject({ data: { outcome: 'failed', failures: 1, attempts: 1 } });
    expect(ops.received[0]?.body).not.toHaveProperty('data.error');
  });

  it('is looked for and created in the account of its job, where there are several', async () => {
    const { sim } = await diedBeforeNotice();
    const { location } = sim.store;
    const other = Array.from({ length: 20 }, (_, n) => `other-${String(n)}`).find(
      (one) => shardOf(JOB.name, [one, location]) === 1,
    );
    const all = dealtStore([memoryService(sim.clock, other).open(), sim.store]);
    expect(await recover(sim, { store: all })).toMatchObject({ notices: [FAILED] });
    expect((await sim.store.listNotices({ limit: 9 })).notices).toHaveLength(1);
    expect(await recover(sim, { store: all })).toMatchObject({ notices: [] });
    expect(await forget(sim, all)).toMatchObject({ already: false, dropped: [] });
  });

  it('is dropped where the file names no receivers for the job, and the answer has it', async () => {
    const { sim } = await diedBeforeNotice();
    const silent = jobSpec('a', '@hourly');
    const dry = await recover(sim, { job: silent, apply: false });
    expect(dry).toMatchObject({ notices: [{ ...FAILED, to: [] }] });
    expect(await recover(sim, { job: silent })).toEqual(dry);
    expect((await sim.store.listNotices({ limit: 9 })).notices).toEqual([]);
  });

  it('is created by a repeated command, wherever the first one was cut off', async () => {
    for (let last = 1; last < 14; last += 1) {
      const { sim } = await diedBeforeNotice();
      await recover(sim, { store: cutOffAfter(sim.store, last) }).catch((error: unknown) => {
        expect(error).toBeInstanceOf(StoreUnavailableError);
      });
      await sim.clock.advance(16_000);
      expect(await recover(sim)).toMatchObject({ kind: 'recovered' });
      expect((await sim.store.listNotices({ limit: 9 })).notices, `cut off at call ${String(last)}`).toHaveLength(1);
    }
  });

  it('is told once by a deployment that starts after the command was cut off at any call', async () => {
    let calls = 0;
    for (let isCut = true; isCut; calls += 1) {
      const { sim, ops } = await diedBeforeNotice();
      isCut = await recover(sim, { store: cutOffAfter(sim.store, calls) }).then(
        (answer) => answer?.kind !== 'recovered',
        () => true,
      );
      sim.startInstance('d2');
      await sim.clock.advance(10 * MINUTE);
      expect(
        ops.received.map(({ type }) => type),
        `cut off at call ${String(calls)}`,
      ).toEqual(['cronlease.job.failed']);
    }
    expect(calls).toBeGreaterThan(8);
  });

  it('is left to the next attempt where its run goes on, with the failures that it ended', () => {
    const row = ranRow(JOB, { phase: 'running', failures: 0, failedBefore: 3, lastFailedKey: undefined });
    const owed = { change: 'recovered', of: row.run?.key ?? '', at: T0, failures: 3, since: T0, skipped: 0 } as const;
    const wreck = {
      ...{ spec: JOB, row: { ...row, telling: [owed] }, control: { pauses: [], manualRuns: [] }, records: [], now: T0 },
      ...{ runRecord: 'none', recordedManualRuns: new Set<string>() },
    } as unknown as Parameters<typeof afterFailover>[0];
    const again = afterFailover(wreck, { until: T0, raiseBy: 1, runs: 'resume' });
    expect(again.run).toMatchObject({ kind: 'goesOn' });
    expect(again.row).toMatchObject({ failures: 3, telling: [] });
    // Its success is lost, so nothing has recovered.
    const failed = afterFailover(wreck, { until: T0, raiseBy: 1, runs: 'fail' });
    expect(failed.row).toMatchObject({ failures: 3, telling: [] });
    const settled = afterFailover({ ...wreck, runRecord: 'final' }, { until: T0, raiseBy: 1, runs: 'resume' });
    expect(settled.row).toMatchObject({ failures: 0, telling: [owed] });
  });
});

describe('an owed notice of a job that is forgotten', () => {
  it('is dropped, since no file names its receivers any more, and the answer has it', async () => {
    const { sim } = await diedBeforeNotice();
    expect(await forget(sim)).toMatchObject({ already: false, endedRun: undefined, dropped: [FAILED] });
    expect((await sim.row('a')).telling).toEqual([]);
  });

  it('is not named where it exists, or where the row is as its holder has left it', async () => {
    const { sim } = await diedBeforeNotice();
    await recover(sim);
    expect(await forget(sim)).toMatchObject({ already: false, dropped: [] });
  });

  it('is not named where it was delivered so long ago that it is deleted', async () => {
    const ops = fakeReceiver();
    const handler = (): never => {
      throw new NonRetryableError('down');
    };
    const sim = rivalTicks({ jobs: [JOB], outlet: ops.outlet, handler });
    await sim.clock.advance(HOUR + 10 * MINUTE);
    expect(ops.received).toHaveLength(1);
    for (const instance of sim.instances) instance.kill();
    for (const { id } of (await sim.store.listNotices({ limit: 9 })).notices) await sim.store.deleteNotice(id);
    expect((await sim.row('a')).telling).toMatchObject([{ change: 'failed' }]);
    expect(await forget(sim)).toMatchObject({ already: false, dropped: [] });
  });

  it('is none of a run that forget itself ends as cancelled', async () => {
    const { sim } = await diedBeforeNotice();
    const { run } = await sim.row('a');
    sim.service.deleteRecord(JOB.name, run?.key ?? '');
    expect(await forget(sim)).toMatchObject({ endedRun: FAILED.runId, dropped: [] });
  });
});
