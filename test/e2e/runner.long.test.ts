import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { JobName } from '../../src/core/brand';
import type { LeaseStore } from '../../src/lease/store';
import type { StorageServer } from '../../src/local/servers/server';
import { listRuns } from '../../src/operator/views/runs';
import { type CoordinatedApp, type Note, at, coordinatedApp } from '../support/coordinated';
import { endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';
import { storeAt, testPostgres } from '../support/postgres';
import { endRunners, startRunner } from '../support/runners';

const LEASE_S = 15;
/** From the loss of a holder to the next attempt: its lease, one tick and 2 s, and time for a machine that is busy. */
const TAKEN_OVER_WITHIN_MS = (LEASE_S + 15 + 2 + 15) * 1000;

let server: StorageServer;
let schemas = 0;
beforeAll(async () => {
  server = await testPostgres();
});
afterAll(async () => {
  endRunners();
  endAll();
  await server.stop();
});

interface Fleet {
  readonly app: CoordinatedApp;
  readonly store: LeaseStore;
  readonly env: { readonly CRONLEASE_STORAGE: string; readonly CRONLEASE_CONTAINER: string };
  start(deployment: string, env?: Readonly<Record<string, string>>): ReturnType<typeof startRunner>;
  noted(job: string, what: string, count?: number): Promise<readonly Note[]>;
  /** The outcomes in the ledger by due time, once there are as many. */
  outcomes(job: string, count: number): Promise<readonly string[]>;
}

/** Programs with these jobs, and their own schema in PostgreSQL. */
function fleet(jobs: Readonly<Record<string, unknown>>): Fleet {
  schemas += 1;
  const schema = `runners-${String(schemas)}`;
  const app = coordinatedApp(jobs, { program: 'runner' });
  const store = storeAt({ url: server.url, schema });
  const env = { CRONLEASE_STORAGE: server.url, CRONLEASE_CONTAINER: schema };
  const soon = { timeout: 120_000, interval: 50 };
  return {
    ...{ app, store, env },
    start: (deployment, more = {}) => startRunner(app, deployment, { ...env, ...more }),
    noted: (job, what, count = 1) =>
      vi.waitFor(() => {
        const found = app.notes().filter((note) => note.job === job && note.what === what);
        if (found.length < count) throw new Error(`${String(found.length)} of ${String(count)} "${what}" of ${job}`);
        return found;
      }, soon),
    outcomes: (job, count) =>
      vi.waitFor(async () => {
        const { records } = await listRuns(store, [job as JobName], await store.list(), 500);
        const final = records.filter(({ state }) => state === 'final');
        if (final.length < count) throw new Error(`${String(final.length)} of ${String(count)} outcomes of ${job}`);
        return final.map(({ scheduledFor, outcome }) => `${scheduledFor} ${outcome}`);
      }, soon),
  };
}

describe.concurrent('runners in processes of their own', () => {
  it('run each due time once, and take over the run of one that is killed', { timeout: 240_000 }, async () => {
    const { start, noted, outcomes } = fleet({
      often: { schedule: '*/2 * * * * *', handler: 'mark' },
      nightly: { schedule: at(12_000), handler: 'slow', lease: `${String(LEASE_S)}s`, input: { ms: 60_000 } },
    });
    const runners = ['a', 'b', 'c'].map((name) => start(name));
    const [first] = await noted('nightly', 'started');
    const holder = runners.find(({ pid }) => pid === first?.pid);
    const killedAt = Date.now();
    expect(await holder?.end('SIGKILL')).toBe('SIGKILL');
    const [, second] = await noted('nightly', 'started', 2);
    expect(second).toMatchObject({ attempt: 2, trigger: 'takeOver', scheduledFor: first?.scheduledFor });
    expect(second?.token).toBeGreaterThan(first?.token ?? Infinity);
    expect((second?.at ?? Infinity) - killedAt).toBeLessThan(TAKEN_OVER_WITHIN_MS);
    expect(await outcomes('nightly', 1)).toEqual([expect.stringMatching(/ succeeded$/)]);
    // The killed process may have held "often" too, which then goes on once its lease of 60 s has expired.
    const often = await noted('often', 'ran', 10);
    const firstCalls = often.filter(({ attempt }) => attempt === 1);
    expect(new Set(firstCalls.map(({ scheduledFor }) => scheduledFor)).size).toBe(firstCalls.length);
    for (const runner of runners) if (runner !== holder) expect(await runner.end('SIGTERM')).toBe(0);
  });

  it('hand a run over when they are stopped, without waiting for the lease', { timeout: 240_000 }, async () => {
    const { start, noted, outcomes } = fleet({
      nightly: { schedule: at(9_000), handler: 'slow', lease: '60s', input: { ms: 60_000 } },
    });
    const runners = [start('a'), start('b')];
    const [first] = await noted('nightly', 'started');
    const stoppedAt = Date.now();
    expect(await runners.find(({ pid }) => pid === first?.pid)?.end('SIGTERM')).toBe(0);
    const [, second] = await noted('nightly', 'started', 2);
    expect(second?.pid).not.toBe(first?.pid);
    expect((second?.at ?? Infinity) - stoppedAt).toBeLessThan(45_000);
    expect(await outcomes('nightly', 1)).toEqual([expect.stringMatching(/ succeeded$/)]);
  });

  it('let runs end by themselves if they are given the time', { timeout: 240_000 }, async () => {
    const { start, noted, outcomes } = fleet({
      nightly: { schedule: at(9_000), handler: 'slow', input: { ms: 5_000 } },
    });
    const runner = start('a', { FINISH_WITHIN: '60s' });
    await noted('nightly', 'started');
    const stoppedAt = Date.now();
    expect(await runner.end('SIGTERM')).toBe(0);
    // It does not wait for longer than the run lasts.
    expect(Date.now() - stoppedAt).toBeLessThan(30_000);
    expect(await noted('nightly', 'ended')).toHaveLength(1);
    expect(await outcomes('nightly', 1)).toEqual([expect.stringMatching(/ succeeded$/)]);
  });

  it('retry a failed attempt after its pause, in the same process', { timeout: 240_000 }, async () => {
    const { start, outcomes, store } = fleet({
      copy: {
        ...{ schedule: at(9_000), handler: 'copyTable', input: { table: 'orders' } },
        retry: { attempts: 3, backoff: '1s' },
      },
    });
    const runner = start('a');
    expect(await outcomes('copy', 1)).toEqual([expect.stringMatching(/ failed$/)]);
    const { records } = await listRuns(store, ['copy' as JobName], await store.list(), 5);
    expect(records[0]).toMatchObject({ attempts: [{ attempt: 1 }, { attempt: 2 }, { attempt: 3 }] });
    expect(await runner.end('SIGTERM')).toBe(0);
  });

  it('gather a fan-out whose process was killed between its items', { timeout: 300_000 }, async () => {
    const { start, noted, outcomes } = fleet({
      wide: {
        ...{ schedule: at(9_000), handler: 'vast', lease: `${String(LEASE_S)}s` },
        input: { count: 12, ms: 1_500 },
      },
    });
    const runners = [start('a'), start('b')];
    const [, , third] = await noted('wide', 'item', 3);
    expect(await runners.find(({ pid }) => pid === third?.pid)?.end('SIGKILL')).toBe('SIGKILL');
    expect(await outcomes('wide', 1)).toEqual([expect.stringMatching(/ succeeded$/)]);
    expect(await noted('wide', 'gathered')).toHaveLength(1);
  });

  it('share jobs with a function app, and serve them alone once it is gone', { timeout: 240_000 }, async () => {
    const jobs = { often: { schedule: '*/2 * * * * *', handler: 'mark' } };
    const { start, noted, env, app } = fleet(jobs);
    const functions = coordinatedApp(jobs);
    const dev = startDev(
      buildLocal(),
      { app: functions.folder, instances: 1, storage: env.CRONLEASE_STORAGE, container: env.CRONLEASE_CONTAINER },
      { ...functions.env, NOTES: app.env['NOTES'] ?? '' },
    );
    await dev.ready();
    await noted('often', 'ran', 2);
    const runner = start('container');
    process.kill(dev.pid, 'SIGTERM');
    expect(await dev.exited()).toBe(0);
    await vi.waitFor(
      () => {
        const own = app.notes().filter(({ pid }) => pid === runner.pid);
        expect(own.length).toBeGreaterThanOrEqual(5);
      },
      { timeout: 60_000, interval: 100 },
    );
    const due = app.notes().map(({ scheduledFor }) => scheduledFor);
    expect(new Set(due).size).toBe(due.length);
    expect(await runner.end('SIGTERM')).toBe(0);
  });
});
