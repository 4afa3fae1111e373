import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Hub, type Report, createCoordinator } from '../../src/coordinator/coordinator';
import { announcer } from '../../src/coordinator/tick/presence';
import { decodePresence, encodePresence, jobsHash, type Presence } from '../../src/core/presence';
import { presenceState } from '../../src/core/presence-state';
import type { CoordinatorEvent } from '../../src/core/event';
import { hubAccount, longestGap, tickSchedule } from '../../src/functions/settings';
import { type LeaseStore, StoreUnavailableError } from '../../src/lease/store';
import { moment } from '../../src/lease/trust';
import { memoryService } from '../../src/stores/memory/store';
import { VERSION } from '../../src/version';
import { settableClock } from '../support/clock';
import { jobSpec } from '../support/job';

const TICK = 15_000;
const T0 = Date.UTC(2026, 0, 1);
const clock = settableClock(T0);
const JOB = jobSpec('a', '@hourly');

function process(instance: string, store: LeaseStore, hub = 'Hub') {
  const events: CoordinatorEvent[] = [];
  const coordinator = createCoordinator({
    ...{ store, clock, random: () => 0, newId: () => 'x', deployment: 'east' },
    ...{
      revision: 3,
    },
    jobs: new Map([[JOB.name, { spec: JOB, input: undefined, handler: { run: () => 1 } }]]),
    settings: { lookAheadMs: 0, sweepIntervalMs: 0, functionTimeoutMs: 0 },
    presence: { instance, version: '0.1.0', hubAccount: 'account', tickEveryMs: TICK },
  });
  const announce = announcer(coordinator);
  const report: Report = { event: (event) => events.push(event), log: () => undefined };
  const asHub: Hub = {
    name: hub,
    start: async () => undefined,
    status: async () => 'completed',
    purge: async () => 0,
  };
  const tick = (): void => {
    announce(asHub, report, { hubProven: true, isPoke: false });
  };
  return { tick, events, serviceTime: coordinator.serviceTime };
}

/** A store of which nothing but writes of presences is counted. */
function counting(store: LeaseStore, counted: string[]): LeaseStore {
  return new Proxy(store, {
    get(target, property: keyof LeaseStore) {
      if (property === 'writePresence' || property === 'listPresences') counted.push(property);
      return target[property];
    },
  });
}

async function said(store: LeaseStore): Promise<Presence> {
  const { presences } = await store.listPresences();
  return decodePresence(presences.get('east')?.metadata ?? {});
}

async function tickFor(ms: number, ...processes: readonly { tick: () => void }[]): Promise<void> {
  for (let passed = 0; passed < ms; passed += TICK) {
    for (const { tick } of processes) {
      tick();
      await clock.advance(1_000);
    }
    await clock.advance(TICK - processes.length * 1_000);
  }
}

describe('a deployment that ticks', () => {
  it('says so at once, and then once a minute', async () => {
    const store = memoryService(clock).open();
    const calls: string[] = [];
    const one = process('one', counting(store, calls));
    const started = clock.now();
    await tickFor(TICK, one);
    expect(await said(store)).toEqual({
      ...{ instance: 'one', hub: 'hub in account', version: '0.1.0', revision: 3, jobs: jobsHash([JOB]) },
      ...{ tickedAt: started, tickEveryMs: 15_000, skewMs: 0, rival: undefined, hubProven: true },
    });
    await tickFor(10 * 60_000, one);
    // Each a little after the minute, and a tick is only every 15 s.
    expect(calls).toEqual(Array.from({ length: 11 }, () => 'writePresence'));
    expect((await said(store)).tickedAt).toBe(started + 600_000);
    expect(one.events).toEqual([]);
  });

  it('says in the log, every five minutes, that its clock is wrong, and by how much', async () => {
    const one = process('one', memoryService(clock).open());
    const at = clock.now() - 5_000;
    // The Date of an answer is cut off to whole seconds: half of one is allowed for.
    one.serviceTime.observe(at - 500, moment(clock));
    await tickFor(6 * 60_000, one);
    expect(one.events).toMatchObject([
      { event: 'clockSkew', at, skewMs: 5_000 },
      { event: 'clockSkew', skewMs: 5_000 },
    ]);
  });

  it('tells another process that ticks under its name, with another hub or the same', async () => {
    const store = memoryService(clock).open();
    const calls: string[] = [];
    const one = process('one', counting(store, calls));
    const two = process('two', store, 'Other');
    await tickFor(6 * 60_000, one, two);
    expect((await said(store)).rival).toEqual({ instance: 'one', hub: 'hub in account' });
    await tickFor(60_000, one);
    expect(await said(store)).toMatchObject({ instance: 'one', rival: { instance: 'two', hub: 'other in account' } });
    // As the only one again, it says so.
    await tickFor(6 * 60_000, one);
    expect((await said(store)).rival).toBeUndefined();
  });

  it('takes an instance that ticked while it did not for its own', async () => {
    const store = memoryService(clock).open();
    const one = process('one', store);
    const two = process('two', store);
    await tickFor(6 * 60_000, one);
    await tickFor(6 * 60_000, two);
    await tickFor(TICK, one);
    expect(await said(store)).toMatchObject({ instance: 'one', rival: undefined });
  });

  it('is not disturbed by storage that fails, warns once, and tries again after 15 s and then once a minute', async () => {
    const store = memoryService(clock).open();
    let down = true;
    const calls: string[] = [];
    const failing: LeaseStore = {
      ...store,
      writePresence: async (...args) => {
        calls.push('write');
        if (down) throw new StoreUnavailableError('down');
        return store.writePresence(...args);
      },
    };
    const one = process('one', failing);
    await tickFor(3 * 60_000, one);
    expect(calls.length).toBe(4);
    expect(one.events).toMatchObject([{ event: 'warning', reason: expect.stringContaining('down') as unknown }]);
    down = false;
    await tickFor(2 * 60_000, one);
    expect(await said(store)).toMatchObject({ instance: 'one', rival: undefined });
    expect(one.events).toHaveLength(1);
  });

  it('says nothing that it cannot, and lets no answer that never comes hold anything', async () => {
    const store = memoryService(clock).open();
    const silent: LeaseStore = { ...store, writePresence: () => new Promise(() => undefined) };
    const one = process('one', silent);
    await tickFor(60_000, one);
    expect(one.events).toMatchObject([{ event: 'warning', reason: expect.stringContaining('5000 ms') as unknown }]);
    await store.writePresence('east', { format: '9' }, undefined);
    const two = process('two', store);
    await tickFor(TICK, two);
    await store.writePresence('east', { format: '9' }, undefined);
    await tickFor(6 * 60_000, two);
    expect(two.events).toMatchObject([{ event: 'warning', reason: expect.stringContaining('"format"') as unknown }]);
    await tickFor(2 * 60_000, two);
    expect((await said(store)).instance).toBe('two');
  });
});

describe('the state of a deployment', () => {
  const seen = (ageMs: number, tickEveryMs = TICK) => presenceState({ tickedAt: T0 - ageMs, tickEveryMs }, T0);

  it('is late once it has missed three ticks, and silent after two minutes', () => {
    expect([0, 75, 104.999, 105, 119.999, 120].map((seconds) => seen(seconds * 1000))).toEqual([
      ...['live', 'live', 'live', 'late', 'late', 'silent'],
    ]);
  });

  it('goes by the ticks of its own timer where that is slow', () => {
    expect([119, 194, 195, 239, 240].map((seconds) => seen(seconds * 1000, 45_000))).toEqual([
      ...['live', 'live', 'late', 'late', 'silent'],
    ]);
  });

  it('knows the longest time between two fires of the timer', () => {
    const every = (text: string | undefined) =>
      longestGap(tickSchedule(text === undefined ? {} : { CRONLEASE_TICK: text }).nextFire, T0);
    expect([every(undefined), every('10,55 * * * * *'), every('0 */10 * * * *')]).toEqual([15_000, 45_000, 600_000]);
  });

  it('never looks late while it ticks, however its writes fall between the ticks', async () => {
    const store = memoryService(clock).open();
    const one = process('one', store);
    await tickFor(TICK, one);
    const states: string[] = [];
    for (let second = 0; second < 600; second += 1) {
      if (second % 15 === Math.floor(second / 15) % 4) one.tick();
      await clock.advance(1_000);
      states.push(presenceState(await said(store), clock.now()));
    }
    expect(new Set(states)).toEqual(new Set(['live']));
  });
});

describe('a presence', () => {
  it('is read as it was written', () => {
    const presence: Presence = {
      ...{ instance: 'one', hub: undefined, version: '1.2.3-rc.1', revision: 0, jobs: 'x' },
      ...{
        tickedAt: T0,
        tickEveryMs: 45_000,
        skewMs: -300_000,
        shortOf: 'storage' as const,
        rival: { instance: 'two', hub: undefined },
        hubProven: true,
      },
    };
    expect(decodePresence(encodePresence(presence))).toEqual(presence);
    expect(() => decodePresence({ ...encodePresence(presence), skew: 'x' })).toThrow('milliseconds');
  });

  it('has the version of the package', () => {
    const file = path.join(__dirname, '../../package.json');
    expect(VERSION).toBe((JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version);
  });

  it('has one hash for one set of jobs, in whatever order', () => {
    const other = jobSpec('b', '@daily');
    expect(jobsHash([JOB, other])).toBe(jobsHash([other, JOB]));
    expect(jobsHash([JOB, other])).not.toBe(jobsHash([JOB, { ...other, graceMs: 1 }]));
  });

  it.each<[string, Record<string, string>, string | undefined]>([
    [
      'a connection string',
      { AzureWebJobsStorage: 'DefaultEndpointsProtocol=https;AccountName=Host1;AccountKey=a2V5' },
      'host1',
    ],
    [
      'a SAS',
      { AzureWebJobsStorage: 'BlobEndpoint=https://host2.blob.core.windows.net/;SharedAccessSignature=sv=x' },
      'host2',
    ],
    ['an account name', { AzureWebJobsStorage__accountName: 'host3' }, 'host3'],
    ['a URL', { AzureWebJobsStorage__blobServiceUri: 'https://host4.blob.core.windows.net' }, 'host4'],
    ['a queue URL', { AzureWebJobsStorage__queueServiceUri: 'https://host5.queue.core.windows.net' }, 'host5'],
    ['the emulator', { AzureWebJobsStorage: 'UseDevelopmentStorage=true' }, 'emulator on pc'],
    [
      'an emulator',
      { AzureWebJobsStorage: 'AccountName=devstoreaccount1;BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1' },
      'emulator on pc',
    ],
    ['nothing', {}, undefined],
  ])('knows the hub’s account by %s', (_, env, account) => {
    expect(hubAccount(env, '/no/such/folder', 'pc')).toBe(account);
  });

  it('is that of the connection which an app setting names in the place of host.json', () => {
    const env = {
      AzureWebJobsStorage: 'AccountName=one',
      Hubs: 'AccountName=two',
      AzureFunctionsJobHost__extensions__durableTask__storageProvider__connectionName: 'Hubs',
    };
    expect(hubAccount(env, '/no/such/folder', 'pc')).toBe('two');
  });

  it.each([
    [{ AzureWebJobsHubs: 'AccountName=three', Hubs: 'AccountName=two' }, 'three'],
    [{ AzureWebJobsHubs__accountName: 'three' }, 'three'],
    [{ AzureWebJobsHubsOfOthers: 'AccountName=four', Hubs: 'AccountName=two' }, 'two'],
  ])('is that of a connection which is named without the prefix of the host: %j', (settings, account) => {
    const env = {
      ...settings,
      AzureFunctionsJobHost__extensions__durableTask__storageProvider__connectionName: 'Hubs',
    };
    expect(hubAccount(env, '/no/such/folder', 'pc')).toBe(account);
  });
});
