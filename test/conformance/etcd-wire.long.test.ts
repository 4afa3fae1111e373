import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ETag } from '../../src/core/brand';
import type { CallOutcome } from '../../src/core/storage-call';
import { startStorageServer } from '../../src/local/servers/servers';
import { freePort, type StorageServer } from '../../src/local/servers/server';
import { clusterOf } from '../../src/stores/http/url';
import { checkStorage } from '../../src/operator/doctor/storage';
import { etcd } from '../../src/stores/etcd/store';
import { systemClock } from '../../src/system-clock';
import { type Client, clientAt, encoded, storeAt, urlAt } from '../support/etcd';
import { acquire, createRow, JOB, jobName, LEASE_MS } from './cases/support';
import { keepOf } from '../support/keep';
import { rewritingRelay } from '../support/listen';
import { lostAnswerConformance } from './lost-answers';
import { stoppingServerConformance } from './stopping-server';

const KEY = '8231526400000-s';
const RECORD = { body: '{"token":1}', summary: { outcome: 'open' } };
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const SLOWLY = { timeout: 60_000, interval: 100 };

let server: StorageServer;
let client: Client;
let containers = 0;
beforeAll(async () => {
  server = await startStorageServer('etcd');
  client = clientAt(server);
});
afterAll(() => server.stop());

function freshName(): string {
  containers += 1;
  return `wire-${String(containers)}`;
}

lostAnswerConformance('etcd', {
  port: () => server.port,
  open: (port, container) => storeAt({ url: urlAt(port), container }),
  // The grant of the lease that the lock then ends with.
  answersBefore: { acquire: 1 },
});

describe('a call to etcd', () => {
  it('is counted with its result, and a run makes six', async () => {
    const outcomes: CallOutcome[] = [];
    const store = storeAt({ url: server.url, container: freshName(), onOutcome: (outcome) => outcomes.push(outcome) });
    await store.prepare();
    const ifMatch = await createRow(store);
    outcomes.length = 0;
    const leaseId = await acquire(store, ifMatch);
    const answer = await store.writeRow(JOB, { token: '1' }, { leaseId, ifMatch });
    await store.createRecord(JOB, KEY, RECORD);
    await store.release(JOB, leaseId);
    expect(outcomes.map(({ kind, result }) => `${kind} ${result}`)).toEqual([
      ...['acquire ok', 'acquire ok', 'metadata ok', 'properties ok', 'write ok', 'release ok'],
    ]);
    const leftMs = answer.kind === 'written' ? (answer.leftMs ?? NaN) : NaN;
    expect(leftMs).toBeLessThan(LEASE_MS);
    expect(leftMs).toBeGreaterThanOrEqual(0);
  });

  it('deletes what is older than it is kept, of each job by its own length', async () => {
    const container = freshName();
    const store = storeAt({ url: server.url, container });
    await store.prepare();
    const [short, long] = [jobName('short'), jobName('long')];
    for (const job of [short, long]) {
      await store.createRecord(job, KEY, { ...RECORD, body: 'x'.repeat(3 * 1024 * 1024) });
      await store.createLog(job, KEY, '1');
      await store.appendLog(job, KEY, '1', { text: 'said\n', at: 0 });
    }
    await store.createRequest('old', '{}');
    const keep = new Map([
      [short, HOUR],
      [long, 3 * HOUR],
    ]);
    expect(await store.purge(keepOf(keep))).toBe('done');
    expect(await store.readRecord(short, KEY)).toBeDefined();
    /** As if the revision of this moment had been the newest two hours ago. */
    const age = (): Promise<void> =>
      client.put(`/${container}/marks/${String(Date.now() - 2 * HOUR).padStart(15, '0')}`, '');
    await age();
    await store.createRecord(short, '2-s', RECORD);
    expect(await store.purge(keepOf(keep))).toBe('done');
    expect(await store.readRecord(short, KEY)).toBeUndefined();
    expect(await store.readLog(short, KEY, '1', { from: 0, limit: 10 })).toBeUndefined();
    const left = (await client.keys(`/${container}/`)).filter((key) => key.includes('/short/'));
    expect(left).toEqual([`/${container}/bodies/records/short/2-s`, `/${container}/records/short/2-s`]);
    expect((await store.readRecord(long, KEY))?.body).toHaveLength(3 * 1024 * 1024);
    expect(await store.readLog(long, KEY, '1', { from: 0, limit: 10 })).toBe('said\n');
    expect(await store.readRequest('old')).toBe('{}');
    // Each call deletes some.
    await Promise.all(Array.from({ length: 1_010 }, (_, i) => store.createRecord(short, `${i}-m`, RECORD)));
    await age();
    expect([await store.purge(keepOf(keep)), await store.purge(keepOf(keep))]).toEqual(['more', 'done']);
    expect((await store.listRecords(short, { limit: 10 })).records).toEqual([]);
  });

  it('deletes what one deployment keeps for long, whatever another one needs', async () => {
    const container = freshName();
    const store = storeAt({ url: server.url, container });
    await store.prepare();
    const long = jobName('long');
    await store.createRecord(long, KEY, RECORD);
    const dayAgo = Math.floor(Date.now() / DAY - 5) * DAY;
    const marks = [dayAgo + HOUR, dayAgo + 2 * HOUR, Date.now() - 50 * HOUR, Date.now() - 2 * HOUR];
    for (const at of marks) await client.put(`/${container}/marks/${String(at).padStart(15, '0')}`, '');
    await store.purge({ jobs: new Map([[jobName('short'), HOUR]]), longestMs: 3 * DAY });
    // The last one before that time, the later ones, and a new one.
    expect(await client.keys(`/${container}/marks/`)).toHaveLength(4);
    await store.purge(keepOf(new Map([[long, 3 * DAY]])));
    expect(await store.readRecord(long, KEY)).toBeUndefined();
  });

  it('tries every step of a trial, and leaves no row', async () => {
    const container = freshName();
    await storeAt({ url: server.url, container }).prepare();
    const options = { server: clusterOf(server.url), container, clock: systemClock, callTimeoutMs: 10_000 };
    const trial = await etcd(options).trial('aaaa');
    expect(trial).toMatchObject({ container: 'there', untried: [], left: undefined });
    expect(trial.failures.size).toBe(0);
    // The version of Debian, for example.
    expect(trial.durability?.risks.filter(({ message }) => !message.includes('has version'))).toEqual([]);
    expect(await client.keys(`/${container}/elections`)).toEqual([]);
  });
});

describe('a member that answers absurd times', () => {
  it.each([
    ['99', LEASE_MS],
    ['-9', 0],
  ])('is not believed that %s s of a lease are left', async (absurd, most) => {
    const relay = await rewritingRelay(server.port, (answer) => answer.replace(/"TTL":"\d\d"/, `"TTL":"${absurd}"`));
    try {
      const store = storeAt({ url: urlAt(relay.port), container: freshName() });
      await store.prepare();
      const ifMatch = await createRow(store);
      const leaseId = await acquire(store, ifMatch);
      const answer = await store.writeRow(JOB, { token: '1' }, { leaseId, ifMatch });
      expect(answer).toMatchObject({ kind: 'written', leftMs: most });
      expect((await store.list({ job: JOB })).jobs.get(JOB)?.row).toMatchObject({ lease: 'leased', leftMs: most });
      const etag = (await store.readRow(JOB))?.etag as ETag;
      expect(await store.breakLease(JOB, etag)).toEqual({ kind: 'broken', leftMs: most });
    } finally {
      relay.close();
    }
  });
});

describe('a cluster without space', () => {
  it('is named by a trial, and its refusal says what to do', async () => {
    const full = await startStorageServer('etcd', { settings: [['quota-backend-bytes', '2000000']] });
    try {
      const store = storeAt({ url: full.url, container: 'full' });
      await store.prepare();
      const { call } = clientAt(full);
      const value = Buffer.alloc(200_000, 1).toString('base64');
      await expect(
        (async () => {
          for (let number = 0; number < 50; number += 1) {
            await call('kv/put', { key: encoded(`/other/${String(number)}`), value });
          }
        })(),
      ).rejects.toThrow(/space exceeded/);
      await expect(store.createRecord(jobName('a'), KEY, RECORD)).rejects.toMatchObject({
        code: 'StoreUnavailable',
        message: expect.stringContaining('auto-compaction-retention') as unknown,
      });
      const options = { server: clusterOf(full.url), container: 'full', clock: systemClock, callTimeoutMs: 10_000 };
      const trial = await etcd(options).trial('aaaa');
      const [, , finding, ...others] = checkStorage(full.url, trial);
      expect(finding).toMatchObject({
        check: 'storage',
        message: expect.stringContaining('is full: compact it') as unknown,
      });
      expect(others.map(({ check }) => check)).not.toContain('permissions');
      expect(trial.durability?.risks[0]).toMatchObject({
        isProblem: true,
        message: expect.stringMatching(/NOSPACE/) as unknown,
      });
    } finally {
      await full.stop();
    }
  });
});

describe('a user of etcd', () => {
  it('needs the rights of docs/reference/stores.md, and signs in again once its token is forgotten', async () => {
    const data = mkdtempSync(path.join(tmpdir(), 'etcd-users-'));
    const first = await startStorageServer('etcd', { data });
    const { call } = clientAt(first);
    for (const name of ['root', 'app']) await call('auth/user/add', { name, password: 's3cret' });
    for (const name of ['root', 'app']) await call('auth/role/add', { name });
    const range = { key: encoded('/cronlease/'), range_end: encoded('/cronlease0') };
    await call('auth/role/grant', { name: 'app', perm: { permType: 'READWRITE', ...range } });
    for (const name of ['root', 'app']) await call('auth/user/grant', { user: name, role: name });
    await call('auth/enable', {});
    const url = first.url.replace('//', '//app:s3cret@');
    const store = storeAt({ url, container: 'cronlease', callTimeoutMs: 5_000 });
    await store.prepare();
    const leaseId = await acquire(store, await createRow(store));
    const other = storeAt({ url, container: 'other' });
    await expect(other.prepare()).rejects.toMatchObject({ code: 'StoreDenied', why: 'role' });
    const wrong = storeAt({ url: first.url.replace('//', '//app:wr0ng@'), container: 'cronlease' });
    const error: unknown = await wrong.list().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'StoreDenied', why: 'credentials' });
    expect(`${inspect(error, { depth: 10, showHidden: true })} ${wrong.location}`).not.toContain('wr0ng');
    const nobody = storeAt({ url: first.url, container: 'cronlease' });
    await expect(nobody.list()).rejects.toMatchObject({ code: 'StoreDenied', why: 'credentials' });
    // A server forgets all tokens at its end.
    await first.stop('SIGKILL');
    const second = await startStorageServer('etcd', { data, port: first.port });
    try {
      await vi.waitFor(async () => expect(await store.renew(JOB, leaseId)).toBe('renewed'), SLOWLY);
    } finally {
      await second.stop();
    }
  });
});

describe('a server of etcd', () => {
  it('that asks for TLS is trusted by the roots that the URL names, and by no others', async () => {
    const files = path.join(__dirname, '../support/certificate');
    const [cert, key] = [path.join(files, 'localhost.pem'), path.join(files, 'localhost-key.pem')];
    const port = await freePort();
    const at = `https://127.0.0.1:${String(port)}`;
    const other = await startStorageServer('etcd', {
      port,
      untilReady: false,
      settings: [
        ['cert-file', cert],
        ['key-file', key],
        ['listen-client-urls', at],
        ['advertise-client-urls', at],
      ],
    });
    try {
      const url = `etcds://localhost:${String(port)}`;
      await expect(storeAt({ url, container: 'tls' }).prepare()).rejects.toMatchObject({
        code: 'StoreUnavailable',
        message: expect.stringMatching(/certificate/i),
      });
      const store = storeAt({ url: `${url}?cacert=${encodeURIComponent(cert)}`, container: 'tls' });
      await vi.waitFor(() => store.prepare(), SLOWLY);
      await acquire(store, await createRow(store));
    } finally {
      await other.stop();
    }
  });

  stoppingServerConformance({
    start: (options) => startStorageServer('etcd', options),
    open: (url, container, callTimeoutMs) => storeAt({ url, container, callTimeoutMs }),
  });
});
