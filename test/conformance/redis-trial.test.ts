import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Redis as Client } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Trial } from '../../src/lease/trial';
import type { StorageServer } from '../../src/local/servers/server';
import { checkStorage } from '../../src/operator/doctor/storage';
import { serverOf } from '../../src/stores/redis/settings';
import { durabilityIn, redis } from '../../src/stores/redis/store';
import { systemClock } from '../../src/system-clock';
import { callsOf } from './cases/calls';
import { acquire, createRow, JOB } from './cases/support';
import { keepOf } from '../support/keep';
import { describeWith } from '../support/needs';
import { clientAt, storeAt, testRedis } from '../support/redis';

/** The rights that the page grants, for the user app and the container cronlease. */
const PAGE = readFileSync(path.join(__dirname, '../../docs/reference/stores.md'), 'utf8');
const GRANT = /^ACL SETUSER app (.*)$/m.exec(PAGE)?.[1]?.replace('PASSWORD', 'pw') ?? '';

const onRedis = describeWith('redis-server', 'the trial of doctor on Redis');

let server: StorageServer;
let client: Client;
beforeAll(async () => {
  server = await testRedis();
  client = clientAt(server);
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});
beforeEach(async () => {
  await client.flushall();
  await storeAt({ url: server.url, container: 'cronlease' }).prepare();
});

function trialAs(user: string): Promise<Trial> {
  const url = server.url.replace('//', `//${user}:pw@`);
  const options = { container: 'cronlease', clock: systemClock, callTimeoutMs: 10_000 };
  return redis({ ...options, server: serverOf(user === '' ? server.url : url) }).trial('aaaa');
}

async function grant(user: string, ...rules: readonly string[]): Promise<void> {
  await client.acl('SETUSER', user, 'reset', 'on', '>pw', ...rules);
}

onRedis('a trial of each call on Redis', () => {
  it('tries every step and leaves no row', async () => {
    const trial = await trialAs('');
    expect(trial).toMatchObject({ container: 'there', untried: [], left: undefined });
    expect(trial.failures.size).toBe(0);
    expect(Math.abs(trial.skewMs ?? 9_999)).toBeLessThan(1_000);
    expect(await client.exists('{cronlease}:elections', '{cronlease}:elections:metadata')).toBe(0);
  });

  it('names each refused step, and the row that it could not delete', async () => {
    await grant('some', '~{cronlease}:*', '+@all', '-hdel', '-info');
    const trial = await trialAs('some');
    expect([...trial.failures.keys()]).toEqual(['delete']);
    expect(trial.left).toBe('doctor-aaaa');
    expect(trial.durability?.risks[0]?.message).toContain('is unknown');
  });

  it('needs no right but those of the page', async () => {
    expect(GRANT).toContain('+evalsha');
    await grant('app', ...GRANT.split(' '));
    expect((await trialAs('app')).failures.size).toBe(0);
    const url = server.url.replace('//', '//app:pw@');
    const store = storeAt({ url, container: 'cronlease' });
    for (const [method, call] of Object.entries(callsOf(store)))
      await expect(call(store), method).resolves.not.toThrow();
    await expect(storeAt({ url, container: 'other' }).prepare()).rejects.toMatchObject({
      code: 'StoreDenied',
      why: 'role',
    });
  });

  it('sees a server that evicts keys, or keeps nothing in files', async () => {
    const found = async (): Promise<readonly unknown[]> =>
      checkStorage(server.url, await trialAs(''))
        .filter(({ check }) => check === 'durability')
        .map(({ status, message, remedy }) => [status, message.split(/[:,]/)[0], remedy]);
    expect(await found()).toEqual([['warning', 'appendonly is no', expect.stringContaining('appendfsync')]]);
    await client.config('SET', 'appendonly', 'yes');
    expect(await found()).toEqual([['ok', 'the server keeps what it has accepted', null]]);
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    const evicts = 'set maxmemory-policy to noeviction';
    expect(await found()).toEqual([['problem', 'maxmemory-policy is allkeys-lru', evicts]]);
    await client.config('SET', 'maxmemory-policy', 'volatile-lru');
    expect(await found()).toEqual([['warning', 'maxmemory-policy is volatile-lru', evicts]]);
    expect(durabilityIn('maxmemory_policy:allkeys-random\r\naof_enabled:0\r\n').risks).toHaveLength(2);
  });
});

onRedis('a full server', () => {
  it('lists, renews, releases and deletes, and takes no other write', async () => {
    const store = storeAt({ url: server.url, container: 'cronlease' });
    const leaseId = await acquire(store, await createRow(store));
    await client.config('SET', 'maxmemory-policy', 'noeviction');
    await client.config('SET', 'maxmemory', '1');
    try {
      expect((await store.list()).jobs.size).toBe(1);
      expect(await store.purge(keepOf(new Map()))).toBe('done');
      // A run that has begun keeps its lease until there is room for its record.
      expect(await store.renew(JOB, leaseId)).toBe('renewed');
      expect(await store.release(JOB, leaseId)).toBe('released');
      await expect(callsOf(store)['createRow']?.(store)).rejects.toMatchObject({
        code: 'StoreUnavailable',
        message: expect.stringContaining('maxmemory'),
      });
    } finally {
      await client.config('SET', 'maxmemory', '0');
    }
  });
});
