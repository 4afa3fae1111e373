import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import {
  AccountSASPermissions,
  type ContainerClient,
  StorageSharedKeyCredential,
  generateAccountSASQueryParameters,
} from '@azure/storage-blob';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadJobs } from '../../src/config/load';
import { dispatch } from '../../src/coordinator/attempt/together';
import { type Hub, type Report, createCoordinator } from '../../src/coordinator/coordinator';
import type { HandedOver } from '../../src/coordinator/message';
import { createTicker } from '../../src/coordinator/tick/tick';
import type { ETag, JobName, LeaseId, Token } from '../../src/core/brand';
import type { JobSpec, JobsFile } from '../../src/core/job';
import { recordKey } from '../../src/core/key';
import { encodePresence, jobsHash } from '../../src/core/presence';
import { type LedgerRecord, parseRecord } from '../../src/core/record';
import { type Row, decodeRow, encodeRow, newRow } from '../../src/core/row';
import { decodeElectionRow, encodeElectionRow } from '../../src/election/campaign';
import type { LeaseStore } from '../../src/lease/store';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobElections, azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import { ACCOUNT, ACCOUNT_KEY, type Azurite, startAzurite } from '../support/azurite';
import { type CliFolder, type Ended, cliFolder } from '../support/cli-build';

const MINUTE = 60_000;
/** For a busy machine. */
const SLOW = { timeout: 120_000 };

let azurite: Azurite;
let folder: CliFolder;
let file: JobsFile;

beforeAll(async () => {
  azurite = await startAzurite();
  folder = cliFolder();
  folder.write('jobs.json', {
    revision: 4,
    jobs: { second: { schedule: '* * * * * *', catchUp: 'all', lease: '20s' } },
  });
  file = loadJobs(path.join(folder.path, 'jobs.json')).jobsFile;
});

afterAll(async () => {
  folder.remove();
  await azurite.stop();
});

interface Place {
  readonly container: ContainerClient;
  readonly store: LeaseStore;
  /** Runs a command on this container. */
  run(...args: readonly string[]): Promise<Ended>;
}

async function place(name: string): Promise<Place> {
  const settings = { CRONLEASE_STORAGE: azurite.connectionString };
  const container = connectContainer(settings, name);
  const store = azureBlobStore({ container, clock: systemClock });
  await store.prepare();
  return { container, store, run: (...args) => folder.run([...args, '--container', name], settings) };
}

const SECOND = (): JobSpec => {
  const [spec] = file.jobs;
  if (spec === undefined) throw new Error('no job');
  return spec;
};

async function addRow({ store }: Place, job: string, row: Row, leaseMs?: number): Promise<LeaseId> {
  const name = job as JobName;
  const leaseId = randomUUID() as LeaseId;
  await store.createRow(name, encodeRow(row));
  const ifMatch = (await store.readRow(name))?.etag;
  if (ifMatch === undefined) throw new Error(`no row of ${job}`);
  if (leaseMs !== undefined) await store.acquire(name, { leaseId, leaseMs, ifMatch });
  return leaseId;
}

function runRow(scheduledFor: number, changes: Partial<Row> = {}): Row {
  const run = { key: recordKey(scheduledFor), scheduledFor, trigger: 'schedule', since: scheduledFor } as const;
  return {
    ...newRow(scheduledFor, 4, 'hash'),
    ...{ run, phase: 'running', attempt: 1, token: 7 as Token, started: scheduledFor, incumbent: 'east' },
    ...changes,
  };
}

async function rowOf({ store }: Place, job: string): Promise<Row> {
  const row = await store.readRow(job as JobName);
  if (row === undefined) throw new Error(`no row of ${job}`);
  return decodeRow(row.metadata);
}

async function ledger({ store }: Place, job: string): Promise<LedgerRecord[]> {
  const name = job as JobName;
  const { records } = await store.listRecords(name, { limit: 500 });
  return Promise.all(
    records.map(async ({ key }) => parseRecord(name, key, (await store.readRecord(name, key))?.body ?? '')),
  );
}

interface Call {
  readonly scheduledFor: number;
  readonly token: number;
}

/** A deployment in this process that ticks until it has called its handler so often. */
async function tickUntil({ store }: Place, calls: Call[], count: number): Promise<void> {
  const enough = calls.length + count;
  const spec = SECOND();
  const handler = {
    run: (context: { scheduledFor: Date; fence: { token: number } }) => {
      calls.push({ scheduledFor: context.scheduledFor.getTime(), token: context.fence.token });
    },
  };
  const coordinator = createCoordinator({
    ...{ store, clock: systemClock, random: Math.random, newId: randomUUID },
    ...{
      deployment: 'east',
      revision: 4,
    },
    jobs: new Map([[spec.name, { spec, input: undefined, handler }]]),
    settings: { lookAheadMs: 5_000, sweepIntervalMs: 1_000, functionTimeoutMs: 1_800_000 },
  });
  const report: Report = { event: () => undefined, log: () => undefined };
  const attempts: Promise<unknown>[] = [];
  const hub: Hub = {
    start: async (_id, input) => {
      attempts.push(dispatch(coordinator, input as HandedOver, report));
    },
    status: async () => 'completed',
    purge: async () => 0,
  };
  const ticker = createTicker(coordinator);
  while (calls.length < enough) await ticker.tick(hub, (after) => Math.ceil((after + 1) / 1000) * 1000, report);
  coordinator.stopping = true;
  await Promise.all(attempts);
}

describe('recover', () => {
  it('puts a failover right: no token goes back, nothing runs twice, one outcome each', SLOW, async () => {
    const at = await place('failover');
    const calls: Call[] = [];
    await tickUntil(at, calls, 3);
    const blob = at.container.getBlobClient('jobs/second/lease');
    const older = (await blob.getProperties()).metadata ?? {};
    await tickUntil(at, calls, 4);
    const lost = await rowOf(at, 'second');
    // The account fails over: the row is an older one, a record is gone, and so are all leases.
    await blob.setMetadata(older);
    const gone = calls[5] ?? { scheduledFor: 0 };
    await at.container.getBlobClient(`runs/second/${recordKey(gone.scheduledFor)}`).delete();

    const dry = await at.run('recover', '--after-failover');
    expect(dry).toMatchObject({ code: 0, stdout: expect.stringContaining('Dry run: nothing was written.') as unknown });
    expect((await blob.getProperties()).metadata).toEqual(older);
    const answer = await folder.json<{ applied: boolean; until: string; jobs: Record<string, unknown>[] }>(
      at.run('recover', '--after-failover', '--apply', '--json'),
    );
    expect(answer).toMatchObject({
      applied: true,
      jobs: [{ job: 'second', inFile: true, isNew: false, token: { from: Number(older['token']) }, abandoned: [] }],
    });
    expect((await rowOf(at, 'second')).token).toBeGreaterThanOrEqual(lost.token + 999_999);
    expect((await rowOf(at, 'second')).cursor).toBe(Date.parse(answer.until));
    const why = await folder.json<object>(at.run('why', 'second', new Date(gone.scheduledFor).toISOString(), '--json'));
    expect(why).toMatchObject({ outcome: 'expired', reason: 'failedOver' });

    const before = calls.length;
    await tickUntil(at, calls, 3);
    const ran = calls.map(({ scheduledFor }) => scheduledFor);
    expect(new Set(ran).size).toBe(ran.length);
    for (const { token } of calls.slice(before)) expect(token).toBeGreaterThan(lost.token + 999_999);
    const records = await ledger(at, 'second');
    for (let due = ran[0] ?? 0; due <= (ran.at(-1) ?? 0); due += 1000) {
      const covering = records.filter(
        ({ scheduledFor, through = scheduledFor }) => Date.parse(scheduledFor) <= due && due <= Date.parse(through),
      );
      expect(
        covering.map(({ state }) => state),
        new Date(due).toISOString(),
      ).toEqual(['final']);
    }
  });

  it('says no where a lease is held, and goes on with the others; asked again it is done', SLOW, async () => {
    const at = await place('held');
    const leaseId = await addRow(at, 'second', newRow(Date.now(), 4, SECOND().scheduleHash), 60_000);
    await addRow(at, 'old-job', runRow(Date.now() - 5 * MINUTE));
    const presence = {
      ...{ instance: 'one', hub: undefined, version: '0.1.0', revision: 4, jobs: jobsHash(file.jobs) },
      ...{
        tickedAt: Math.floor(Date.now() / 1000) * 1000,
        tickEveryMs: 15_000,
        skewMs: 0,
        rival: undefined,
        hubProven: true,
      },
    };
    await at.store.writePresence('east', encodePresence(presence), undefined);
    const first = await at.run('recover', '--after-failover', '--yes');
    expect(first.code).toBe(1);
    expect(first.stdout).toMatch(/^old-job {2}token 7 -> 1000007, cursor \S+\n {2}not in the jobs file/m);
    expect(first.stdout).toContain('second  not done: the lease of job "second" is held');
    expect(first.stdout).toContain('Not done for 1 of 2: correct the cause');
    expect(first.stderr).toContain('these deployments ticked recently: east at');
    await at.store.release('second' as JobName, leaseId);
    const elections = azureBlobElections(at.container, systemClock);
    await elections.createRow('board' as JobName, encodeElectionRow({ token: 5 as Token }));
    const again = await folder.json<object>(at.run('recover', '--after-failover', '--apply', '--fail', '--json'));
    expect(again).toMatchObject({
      jobs: [
        { job: 'old-job', run: { becomes: 'ends', outcome: 'failed', reason: 'failedOver' } },
        { job: 'second', token: { from: 0, to: 1_000_000 }, run: null },
      ],
      elections: [{ election: 'board', token: { from: 5, to: 1_000_005 } }],
    });
    expect(await ledger(at, 'old-job')).toMatchObject([{ outcome: 'failed', reason: 'failedOver' }]);
    const board = await elections.readRow('board' as JobName);
    expect(decodeElectionRow(board?.metadata ?? {})).toEqual({ token: 1_000_005 as Token });
    const held = { leaseId: randomUUID() as LeaseId, leaseMs: 60_000 };
    await elections.acquire('board' as JobName, { ...held, ifMatch: board?.etag ?? ('' as ETag) });
    const refused = await at.run('recover', '--after-failover', '--apply');
    expect(refused).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('lease of election "board" is held') as unknown,
    });
  });

  it('is not run by mistake', async () => {
    const settings = { CRONLEASE_STORAGE: azurite.connectionString };
    const run = (...args: string[]): Promise<Ended> =>
      folder.run(['recover', '--container', 'held', ...args], settings);
    expect(await run('--apply')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--after-failover') as unknown,
    });
    expect(await run('--after-failover', '--rerun', '--fail')).toMatchObject({ code: 2 });
    expect(await run('--after-failover', '--until', 'soon')).toMatchObject({ code: 2 });
    const future = await run('--after-failover', '--until', '2099-01-01T00:00:00Z', '--json');
    expect(future.code).toBe(1);
    expect(JSON.parse(future.stdout)).toMatchObject({ error: { code: 'FutureTime' } });
  });
});

describe('unlock', () => {
  it('breaks a lease that is held, for what remains of it, and only if it was said', SLOW, async () => {
    const at = await place('unlock');
    const leaseId = await addRow(at, 'second', runRow(Date.now() - MINUTE), 60_000);
    const asked = await at.run('unlock', 'second');
    expect(asked).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('--yes') as unknown });
    expect(asked.stderr).toMatch(/An instance of east holds the lease of second, with attempt 1 of run second-\S+Z/);
    expect((await at.store.readRow('second' as JobName))?.lease).toBe('leased');
    const answer = await folder.json<{ endsInMs: number }>(at.run('unlock', 'second', '--yes', '--json'));
    expect(answer).toMatchObject({ job: 'second', holder: 'east' });
    expect(answer.endsInMs).toBeGreaterThan(1_000);
    expect(await at.store.readRow('second' as JobName)).toMatchObject({ lease: 'broken', isEnding: true });
    // Its holder is told at its next renewal.
    expect(await at.store.renew('second' as JobName, leaseId)).toBe('lost');
    const again = await folder.json<object>(at.run('unlock', 'second', '--yes', '--json'), 1);
    expect(again).toMatchObject({
      error: { code: 'NotHeld', message: expect.stringContaining('being broken') as unknown },
    });
    const unknown = await at.run('unlock', 'secnd', '--yes');
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('Did you mean "second"?') as unknown });
  });

  it('never ends at once a lease that has no end', async () => {
    const at = await place('endless');
    await addRow(at, 'second', newRow(Date.now(), 4, SECOND().scheduleHash));
    await at.container.getBlobClient('jobs/second/lease').getBlobLeaseClient(randomUUID()).acquireLease(-1);
    const seen = await folder.json<{ findings: unknown[] }>(at.run('doctor', '--json'), 1);
    expect(seen.findings).toContainEqual(
      expect.objectContaining({
        check: 'leases',
        status: 'problem',
        message: expect.stringContaining('never expires') as unknown,
      }),
    );
    const { stdout } = await at.run('unlock', 'second', '--yes');
    expect(stdout).toContain('A tick takes the job over once it has seen the broken lease for 22s.');
    expect(await at.store.readRow('second' as JobName)).toMatchObject({ lease: 'broken', isEnding: true });
  });
});

describe('forget', () => {
  it('drops a job that is in the file no more, once, and keeps its token', SLOW, async () => {
    const at = await place('forget');
    await addRow(at, 'second', newRow(Date.now(), 4, SECOND().scheduleHash));
    await addRow(at, 'old-job', runRow(Date.now() - 5 * MINUTE, { phase: 'retrying', notBefore: Date.now() }));
    await at.store.writeControl('old-job' as JobName, { format: '1' }, undefined);
    const refused = async (job: string, code: string): Promise<void> => {
      expect(await folder.json<object>(at.run('forget', job, '--json'), 1)).toMatchObject({ error: { code } });
    };
    await refused('second', 'StillInFile');
    await refused('nobody', 'UnknownJob');
    await refused('old-job', 'RunGoesOn');
    expect(await at.run('forget', 'old-job', '--file', 'none.json')).toMatchObject({ code: 1 });
    const done = await at.run('forget', 'old-job', '--end-run');
    expect(done).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^old-job is forgotten\..*as cancelled\.\n$/) as unknown,
    });
    expect(await rowOf(at, 'old-job')).toMatchObject({
      token: 8,
      phase: 'idle',
      forgotten: expect.any(Number) as unknown,
    });
    expect(await ledger(at, 'old-job')).toMatchObject([{ outcome: 'cancelled', state: 'final' }]);
    expect((await at.store.list()).jobs.has('old-job' as JobName)).toBe(true);
    expect((await at.store.readControl('old-job' as JobName)).control).toBeUndefined();
    expect(await folder.json<object>(at.run('forget', 'old-job', '--json'))).toMatchObject({ already: true });
    const paused = await at.run('pause', 'old-job', '--note', 'n');
    expect(paused).toMatchObject({ code: 1, stderr: expect.stringContaining('no job "old-job"') as unknown });
    // Its history is still there.
    expect((await at.run('runs', 'old-job')).stdout).toContain('cancelRequested');
  });
});

describe('doctor', () => {
  it('has one line for each check, and leaves nothing behind', SLOW, async () => {
    const at = await place('well');
    await tickUntil(at, [], 1);
    const presence = {
      ...{ instance: 'one', hub: 'east in account', version: '0.1.0', revision: 4, jobs: jobsHash(file.jobs) },
      ...{
        tickedAt: Math.floor(Date.now() / 1000) * 1000,
        tickEveryMs: 15_000,
        skewMs: 0,
        rival: undefined,
        hubProven: true,
      },
    };
    await at.store.writePresence('east', encodePresence(presence), undefined);
    const { code, stdout, stderr } = await at.run('doctor');
    expect(code, stdout + stderr).toBe(0);
    expect(stdout).toMatch(/^ok {7}storage {7}http:\S+\/well answers in \d+ ms\n/);
    expect(stdout).toMatch(/\n\n0 problems, 0 warnings\.\n$/);
    expect(stdout.split('\n').filter((line) => line.startsWith('ok '))).toHaveLength(20);
    const names: string[] = [];
    for await (const { name } of at.container.listBlobsFlat()) names.push(name.split('/', 1)[0] ?? '');
    expect(new Set(names)).toEqual(new Set(['deployments', 'jobs', 'runs']));
  });

  it('says no when there is a problem, and what to do', SLOW, async () => {
    const at = await place('unwell');
    await addRow(at, 'old-job', newRow(Date.now(), 4, 'h'));
    await at.store.createRow('second' as JobName, { format: '9' });
    const { ok, problems, warnings, findings } = await folder.json<{
      readonly ok: boolean;
      readonly problems: number;
      readonly warnings: number;
      readonly findings: readonly Record<string, unknown>[];
    }>(at.run('doctor', '--json'), 1);
    expect({ ok, problems, warnings }).toEqual({ ok: false, problems: 1, warnings: 2 });
    expect(findings.filter(({ status }) => status !== 'ok').map(({ check, subject }) => [check, subject])).toEqual([
      ['metadata', 'jobs/second/lease'],
      ['orphans', 'old-job'],
      ['deployments', null],
    ]);
    for (const finding of findings) {
      expect(Object.keys(finding)).toEqual(['check', 'status', 'subject', 'message', 'remedy']);
    }
  });

  it("looks at how long Durable's queues hide what a killed host had taken", SLOW, async () => {
    const at = await place('queues');
    const storageProvider = { controlQueueVisibilityTimeout: '00:00:30' };
    writeFileSync(
      path.join(folder.path, 'host.json'),
      JSON.stringify({ extensions: { durableTask: { storageProvider } } }),
    );
    try {
      const { findings } = await folder.json<{ findings: { check: string; status: string }[] }>(
        at.run('doctor', '--json'),
        1,
      );
      const host = findings.filter(({ check }) => check === 'host');
      expect(host.map(({ status }) => status)).toEqual(['problem', 'warning', 'warning']);
    } finally {
      rmSync(path.join(folder.path, 'host.json'));
    }
  });

  it('says which permission is missing, what is not there, and what does not answer', SLOW, async () => {
    await place('denied');
    const endpoint = `http://127.0.0.1:${azurite.port}/${ACCOUNT}`;
    const sas = generateAccountSASQueryParameters(
      {
        services: 'b',
        resourceTypes: 'sco',
        permissions: AccountSASPermissions.parse('rlwc'),
        expiresOn: new Date(Date.now() + 3_600_000),
      },
      new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY),
    ).toString();
    const problemsOf = async (storage: string, container: string): Promise<string[]> => {
      const running = folder.run(['doctor', '--json', '--storage', storage, '--container', container]);
      const { findings } = await folder.json<{ findings: Record<string, string>[] }>(running, 1);
      return findings.filter(({ status }) => status === 'problem').map(({ check, message }) => `${check}: ${message}`);
    };
    const denied = await problemsOf(`BlobEndpoint=${endpoint};SharedAccessSignature=${sas}`, 'denied');
    expect(denied).toEqual([
      expect.stringMatching(/^permissions: may not delete blobs; the blob doctor\/\S+ remains: .*403/),
    ]);
    expect(denied.join('')).not.toContain('sig=');
    expect(await problemsOf(azurite.connectionString, 'nothing-here')).toEqual([
      expect.stringMatching(/^storage: \S+\/nothing-here answers, but there is no such container$/),
    ]);
    expect(await problemsOf(azurite.connectionString.replaceAll(String(azurite.port), '9'), 'denied')).toEqual([
      expect.stringMatching(/^storage: .*Check whether this machine can reach the service/),
    ]);
  });
});
