import path from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { CallOutcome } from '../../src/core/storage-call';
import { freePort, type StorageServer } from '../../src/local/servers/server';
import { agentsOf } from '../../src/stores/http/url';
import { consul } from '../../src/stores/consul/store';
import { systemClock } from '../../src/system-clock';
import { canRun, canStart, type Client, clientAt, storeAt, testConsul } from '../support/consul';
import { keepOf } from '../support/keep';
import { acquire, createRow, JOB, jobName, LEASE_MS, readRow } from './cases/support';
import { writeRowElsewhere } from './elsewhere';
import { lostAnswerConformance } from './lost-answers';
import { stoppingServerConformance } from './stopping-server';

const KEY = '8231526400000-s';
const RECORD = { body: '{"token":1}', summary: { outcome: 'open' } };
const HOUR = 3_600_000;
const LARGE = 'x'.repeat(3 * 1024 * 1024);
const SLOWLY = { timeout: 60_000, interval: 100 };

let server: StorageServer;
let client: Client;
let containers = 0;

function freshName(): string {
  containers += 1;
  return `wire-${String(containers)}`;
}

/** Makes everything that a container has as old as that. */
async function age(container: string, kind: string, ms: number): Promise<void> {
  for (const key of await client.keys(`${container}/${kind}`)) {
    const head = JSON.parse((await client.get(key))?.value ?? '') as { readonly at: number };
    await client.put(key, JSON.stringify({ ...head, at: head.at - ms }));
  }
}

describe.runIf(canRun('what Consul is asked, and what it answers'))('Consul', () => {
  beforeAll(async () => {
    server = await testConsul();
    client = clientAt(server.url);
  }, 120_000);
  afterAll(() => server.stop());

  lostAnswerConformance('Consul', {
    port: () => server.port,
    open: (port, container) => storeAt({ url: `consul://127.0.0.1:${String(port)}`, container }),
    // A look, and, for an acquisition, the session that the lock is then given to.
    answersBefore: { acquire: 2, writeRow: 1, appendLog: 1, release: 1 },
  });

  describe('a call to Consul', () => {
    it('is counted with its result, and a run makes four', async () => {
      const outcomes: CallOutcome[] = [];
      const store = storeAt({
        url: server.url,
        container: freshName(),
        onOutcome: (outcome) => outcomes.push(outcome),
      });
      await store.prepare();
      const ifMatch = await createRow(store);
      outcomes.length = 0;
      const leaseId = await acquire(store, ifMatch);
      const answer = await store.writeRow(JOB, { token: '1' }, { leaseId, ifMatch });
      await store.createRecord(JOB, KEY, RECORD);
      await store.release(JOB, leaseId);
      expect(outcomes.map(({ kind, result }) => `${kind} ${result}`)).toEqual([
        ...['acquire ok', 'metadata ok', 'write ok', 'release ok'],
      ]);
      const leftMs = answer.kind === 'written' ? (answer.leftMs ?? NaN) : NaN;
      expect(leftMs).toBeLessThan(LEASE_MS);
      expect(leftMs).toBeGreaterThanOrEqual(0);
    });

    it('of a process that has not acquired the lease puts a session of its own under the claim', async () => {
      const container = freshName();
      const store = storeAt({ url: server.url, container });
      await store.prepare();
      const ifMatch = await createRow(store);
      const leaseId = await acquire(store, ifMatch);
      const sessionOf = async () => (await client.get(`${container}/jobs/${JOB}/lease/`))?.session;
      const first = await sessionOf();
      const handover = { connectionString: server.url, containerName: container, job: JOB, metadata: { token: '1' } };
      const answer = await writeRowElsewhere({ ...handover, guard: { leaseId, ifMatch } });
      expect(answer).toMatchObject({ kind: 'written' });
      expect(answer.kind === 'written' ? answer.leftMs : 0).toBeGreaterThan(LEASE_MS / 2);
      const second = await sessionOf();
      expect(second).toBeDefined();
      expect(second).not.toBe(first);
      // The end of the first one ends nothing.
      await client.call('PUT', `session/destroy/${first ?? ''}`);
      expect((await readRow(store)).lease).toBe('leased');
      // This process has made none of the second one's length.
      expect((await store.list({ job: JOB })).jobs.get(JOB)?.row?.leftMs).toBe(0);
      expect(await store.renew(JOB, leaseId)).toBe('renewed');
      expect((await store.list({ job: JOB })).jobs.get(JOB)?.row?.leftMs).toBeGreaterThan(LEASE_MS / 2);
    });

    it('finds a lease broken whose session somebody has ended before its time, or whose node', async () => {
      const container = freshName();
      const store = storeAt({ url: server.url, container });
      await store.prepare();
      const ifMatch = await createRow(store);
      const leaseId = await acquire(store, ifMatch);
      const session = (await client.get(`${container}/jobs/${JOB}/lease/`))?.session ?? '';
      await client.call('PUT', `session/destroy/${session}`);
      expect(await readRow(store)).toMatchObject({ lease: 'broken' });
      expect(await store.writeRow(JOB, { token: '9' }, { leaseId, ifMatch })).toEqual({ kind: 'refused' });
      expect(await store.renew(JOB, leaseId)).toBe('renewed');
      expect((await readRow(store)).lease).toBe('leased');
      await client.call('PUT', 'catalog/deregister', { Node: container });
      expect(await readRow(store)).toMatchObject({ lease: 'broken' });
      await expect(store.renew(JOB, leaseId)).rejects.toMatchObject({
        code: 'StoreUnavailable',
        message: expect.stringContaining('restart an app') as unknown,
      });
      await store.prepare();
      expect(await store.renew(JOB, leaseId)).toBe('renewed');
    });

    it('deletes what is older than it is kept, of each job by its own length', async () => {
      const container = freshName();
      const store = storeAt({ url: server.url, container });
      await store.prepare();
      const [short, long] = [jobName('short'), jobName('long')];
      for (const job of [short, long]) {
        await store.createRecord(job, KEY, { ...RECORD, body: LARGE });
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
      for (const kind of ['records/', 'logs/', 'requests/']) await age(container, kind, 2 * HOUR);
      await store.createRecord(short, '2-s', RECORD);
      expect(await store.purge(keepOf(keep))).toBe('done');
      expect(await store.readRecord(short, KEY)).toBeUndefined();
      expect(await store.readLog(short, KEY, '1', { from: 0, limit: 10 })).toBeUndefined();
      const left = (await client.keys(`${container}/`)).filter((key) => key.includes('/short/'));
      expect(left).toEqual([`${container}/bodies/records/short/2-s/`, `${container}/records/short/2-s/2-s/`]);
      expect((await store.readRecord(long, KEY))?.body).toHaveLength(LARGE.length);
      expect(await store.readLog(long, KEY, '1', { from: 0, limit: 10 })).toBe('said\n');
      expect(await store.readRequest('old')).toBe('{}');
      // Each call deletes some.
      const many = Array.from({ length: 1_010 }, (_, index) => `${String(8_231_526_400_000 + index)}-s`);
      for (let from = 0; from < many.length; from += 50) {
        await Promise.all(many.slice(from, from + 50).map((key) => store.createRecord(short, key, RECORD)));
      }
      await age(container, 'records/short/', 2 * HOUR);
      expect([await store.purge(keepOf(keep)), await store.purge(keepOf(keep))]).toEqual(['more', 'done']);
      expect((await store.listRecords(short, { limit: 10 })).records).toEqual([]);
    });

    it('deletes the parts of a body whose entry was never written', async () => {
      const container = freshName();
      const store = storeAt({ url: server.url, container });
      await store.prepare();
      await store.createRecord(JOB, KEY, RECORD);
      // Its key is taken.
      expect(await store.createRecord(JOB, KEY, { ...RECORD, body: LARGE })).toEqual({ kind: 'exists' });
      expect(await client.keys(`${container}/uploads/`)).toHaveLength(1);
      expect((await client.keys(`${container}/bodies/`)).length).toBeGreaterThan(10);
      const keep = new Map([[JOB, 100 * HOUR]]);
      expect(await store.purge(keepOf(keep))).toBe('done');
      expect(await client.keys(`${container}/uploads/`)).toHaveLength(1);
      await age(container, 'uploads/', 2 * HOUR);
      expect(await store.purge(keepOf(keep))).toBe('done');
      expect(await client.keys(`${container}/uploads/`)).toEqual([]);
      expect(await client.keys(`${container}/bodies/`)).toHaveLength(1);
      expect((await store.readRecord(JOB, KEY))?.body).toBe(RECORD.body);
    });

    it('tries every step of a trial, and leaves no row', async () => {
      const container = freshName();
      await storeAt({ url: server.url, container }).prepare();
      const options = { server: agentsOf(server.url), container, clock: systemClock, callTimeoutMs: 10_000 };
      const trial = await consul(options).trial('aaaa');
      expect(trial).toMatchObject({ container: 'there', untried: [], left: undefined });
      expect(trial.failures.size).toBe(0);
      expect(await client.keys(`${container}/elections`)).toEqual([]);
    });
  });

  describe.runIf(canStart('the rights of a token of Consul'))('a token of the ACL', () => {
    it('needs the rights of docs/reference/stores.md', async () => {
      const acl = 'acl { enabled = true default_policy = "deny" tokens { master = "the-first-token" } }';
      const own = await testConsul({
        settings: [
          ['bootstrap-expect', '1'],
          ['hcl', acl],
        ],
      });
      try {
        const admin = clientAt(own.url, 'the-first-token');
        const rules =
          'key_prefix "cronlease/" { policy = "write" } node "cronlease" { policy = "write" } session "cronlease" { policy = "write" }';
        await vi.waitFor(() => admin.call('PUT', 'acl/policy', { Name: 'cronlease', Rules: rules }), SLOWLY);
        const tokenWith = async (...policies: readonly string[]): Promise<string> => {
          const body = { Policies: policies.map((Name) => ({ Name })) };
          return ((await admin.call('PUT', 'acl/token', body)) as { readonly SecretID: string }).SecretID;
        };
        const at = (token: string, container = 'cronlease') =>
          storeAt({ url: own.url.replace('//', `//:${token}@`), container, callTimeoutMs: 5_000 });
        const store = at(await tokenWith('cronlease'));
        await store.prepare();
        const leaseId = await acquire(store, await createRow(store));
        expect(await store.renew(JOB, leaseId)).toBe('renewed');
        const none = at(await tokenWith());
        await expect(none.prepare()).rejects.toMatchObject({ code: 'StoreDenied', why: 'role' });
        await expect(at(await tokenWith('cronlease'), 'other').prepare()).rejects.toMatchObject({ why: 'role' });
        const wrong = at('00000000-wr0ng');
        const error: unknown = await wrong.list().catch((reason: unknown) => reason);
        expect(error).toMatchObject({ code: 'StoreDenied', why: 'credentials' });
        expect(`${inspect(error, { depth: 10, showHidden: true })} ${wrong.location}`).not.toContain('wr0ng');
      } finally {
        await own.stop();
      }
    });
  });

  describe.runIf(canStart('a server of Consul that stops'))('a server of Consul', () => {
    it('that asks for TLS is trusted by the roots that the URL names, and by no others', async () => {
      const files = path.join(__dirname, '../support/certificate');
      const [cert, key] = [path.join(files, 'localhost.pem'), path.join(files, 'localhost-key.pem')];
      const port = await freePort();
      const tls = `cert_file = "${cert}" key_file = "${key}" ports { https = ${String(port)} }`;
      const other = await testConsul({
        settings: [
          ['bootstrap-expect', '1'],
          ['hcl', tls],
        ],
      });
      try {
        const url = `consuls://localhost:${String(port)}`;
        await expect(storeAt({ url, container: 'tls' }).prepare()).rejects.toMatchObject({
          code: 'StoreUnavailable',
          message: expect.stringMatching(/certificate/i) as unknown,
        });
        const store = storeAt({ url: `${url}?cacert=${encodeURIComponent(cert)}`, container: 'tls' });
        await store.prepare();
        await acquire(store, await createRow(store));
      } finally {
        await other.stop();
      }
    });

    stoppingServerConformance({
      start: testConsul,
      open: (url, container, callTimeoutMs) => storeAt({ url, container, callTimeoutMs }),
    });
  });
});
