import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  containerName,
  deploymentName,
  durationSetting,
  functionTimeout,
  maxConcurrentRuns,
  shardNames,
  tickSchedule,
} from '../../src/functions/settings';
import { openShards } from '../../src/stores/open';
import { systemClock } from '../../src/system-clock';

const MINUTE = 60_000;

function folderWith(hostJson?: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'cronlease-host-'));
  if (hostJson !== undefined) writeFileSync(path.join(folder, 'host.json'), hostJson);
  return folder;
}

describe('CRONLEASE_TICK', () => {
  it('has a default, four fires a minute', () => {
    const { text, nextFire } = tickSchedule({});
    expect(text).toBe('10,25,40,55 * * * * *');
    const start = Date.UTC(2026, 0, 1);
    const fires = [start];
    for (let index = 0; index < 5; index += 1) fires.push(nextFire(fires.at(-1) ?? 0));
    expect(fires.slice(1).map((fire) => (fire - start) / 1000)).toEqual([10, 25, 40, 55, 70]);
  });

  it.each(['* * * * *', '61 * * * * *', 'often', '', '@every 5s'])(
    '%j is refused, with what would be right',
    (text) => {
      expect(() => tickSchedule({ CRONLEASE_TICK: text })).toThrow(/CRONLEASE_TICK is .*six fields/s);
    },
  );

  // The host would start, and its timer never fire.
  it.each(['0 * * * * 7', '0 * * L * *', '0 0 0 * * 1#2', '0 0 0 ? * *', '0 0 0 1 * 1L'])(
    '%j, which a timer of the host cannot read, is refused',
    (text) => {
      expect(() => tickSchedule({ CRONLEASE_TICK: text })).toThrow(/CRONLEASE_TICK is .* has "\S+" for day-of-/);
    },
  );
});

describe('CRONLEASE_MAX_CONCURRENT_RUNS', () => {
  const limit = (text: string): number | undefined => maxConcurrentRuns({ CRONLEASE_MAX_CONCURRENT_RUNS: text });

  it('is a whole number from 1, and no limit where it is not set', () => {
    expect(maxConcurrentRuns({})).toBeUndefined();
    expect([limit(''), limit('1'), limit('250')]).toEqual([undefined, 1, 250]);
  });

  it.each(['0', '-1', '2.5', 'many', '1e3', ' 4', '1000000'])('%j is refused, with what would be right', (text) => {
    expect(() => limit(text)).toThrow(`App setting CRONLEASE_MAX_CONCURRENT_RUNS is ${JSON.stringify(text)}`);
    expect(() => limit(text)).toThrow('from 1 to 999999');
  });
});

describe('a duration', () => {
  const lookAhead = (text?: string): number => {
    const env = text === undefined ? {} : { CRONLEASE_LOOK_AHEAD: text };
    return durationSetting(env, 'CRONLEASE_LOOK_AHEAD', 5_000, 0, MINUTE);
  };

  it.each([
    [undefined, 5_000],
    ['', 5_000],
    ['0s', 0],
    ['8s', 8_000],
    ['1m', MINUTE],
  ])('%j is %i ms', (text, expected) => {
    expect(lookAhead(text)).toBe(expected);
  });

  it.each(['5', 'soon', '61s', '2h', '-1s'])('%j is refused, with its limits', (text) => {
    expect(() => lookAhead(text)).toThrow(`App setting CRONLEASE_LOOK_AHEAD is ${JSON.stringify(text)}`);
    expect(() => lookAhead(text)).toThrow('from 0s to 60s');
  });
});

describe('the name of a deployment', () => {
  it.each([
    [{ CRONLEASE_DEPLOYMENT: 'mine', WEBSITE_SITE_NAME: 'site' }, 'mine'],
    [{ WEBSITE_SITE_NAME: 'site', WEBSITE_SLOT_NAME: 'Production' }, 'site'],
    [{ WEBSITE_SITE_NAME: 'site', WEBSITE_SLOT_NAME: 'production' }, 'site'],
    [{ WEBSITE_SITE_NAME: 'site', WEBSITE_SLOT_NAME: '' }, 'site'],
    [{ WEBSITE_SITE_NAME: 'site', WEBSITE_SLOT_NAME: 'blue' }, 'site-blue'],
    [{ AzureFunctionsWebHost__hostid: 'green' }, 'green'],
    [{ AzureFunctionsWebHost__hostId: 'green' }, 'green'],
  ])('of %j is %s', (env, name) => {
    expect(deploymentName(env)).toBe(name);
  });

  it('is what a row can hold', () => {
    expect(() => deploymentName({ CRONLEASE_DEPLOYMENT: 'Zürich 1' })).toThrow('printable ASCII');
  });
});

describe('CRONLEASE_CONTAINER', () => {
  it('is a name that a container can have, or nothing', () => {
    expect(containerName({})).toBeUndefined();
    expect(containerName({ CRONLEASE_CONTAINER: 'jobs-2' })).toBe('jobs-2');
  });

  it.each(['', 'd2', 'Jobs', 'a--b', '-ab'])('is refused by its name where it is %j', (name) => {
    expect(() => containerName({ CRONLEASE_CONTAINER: name })).toThrow(
      `App setting CRONLEASE_CONTAINER is ${JSON.stringify(name)}: use 3 to 63`,
    );
  });
});

describe("host.json's functionTimeout", () => {
  it.each([
    ['{ "functionTimeout": "00:10:00" }', 10 * MINUTE],
    ['{ "functionTimeout": "1.00:00:00" }', 24 * 60 * MINUTE],
    ['{ // a comment\n "functionTimeout": "02:00:00", }', 120 * MINUTE],
    ['\uFEFF{}', 30 * MINUTE],
    ['{ "functionTimeout": "-1" }', 30 * MINUTE],
    [undefined, 30 * MINUTE],
  ])('%j', (hostJson, expected) => {
    expect(functionTimeout({}, folderWith(hostJson))).toBe(expected);
  });

  it('gives way to its app setting', () => {
    const env = { AzureFunctionsJobHost__functionTimeout: '00:05:00' };
    expect(functionTimeout(env, folderWith('{ "functionTimeout": "00:10:00" }'))).toBe(5 * MINUTE);
  });

  it('gives way to it in any case, as for the host', () => {
    const env = { AzureFunctionsJobHost__FunctionTimeout: '00:05:00' };
    expect(functionTimeout(env, folderWith('{ "functionTimeout": "00:10:00" }'))).toBe(5 * MINUTE);
  });

  it.each([
    [{ WEBSITE_SKU: 'Dynamic' }, 5 * MINUTE],
    [{ WEBSITE_SITE_NAME: 'app', CONTAINER_NAME: 'linux' }, 5 * MINUTE],
    [{ CONTAINER_NAME: 'of-a-developer' }, 30 * MINUTE],
    [{ WEBSITE_SITE_NAME: 'app', WEBSITE_SKU: 'FlexConsumption', CONTAINER_NAME: 'flex' }, 30 * MINUTE],
    [{ WEBSITE_SKU: 'ElasticPremium', WEBSITE_INSTANCE_ID: 'a' }, 30 * MINUTE],
    [{ WEBSITE_SITE_NAME: 'app', CONTAINER_NAME: 'flex', LEGION_SERVICE_HOST: 'h' }, 30 * MINUTE],
  ])('is, where it is missing, that of the plan: %j', (env, expected) => {
    expect(functionTimeout(env, folderWith('{ "version": "2.0" }'))).toBe(expected);
  });

  it('is refused if it is no time', () => {
    expect(() => functionTimeout({}, folderWith('{ "functionTimeout": "soon" }'))).toThrow(
      /functionTimeout \(host\.json\)/,
    );
  });

  it('is refused with the place of what is wrong with the whole file', () => {
    expect(() => functionTimeout({}, folderWith('{\n nothing'))).toThrow(/^\S+host\.json is not JSON: .* at 2:\d+$/);
  });
});

describe('CRONLEASE_SHARDS', () => {
  const preset = ['ONE', 'TWO'];

  it('names the connections, and goes before the option of the code', () => {
    expect(shardNames({}, undefined)).toBeUndefined();
    expect(shardNames({}, preset)).toBe(preset);
    expect(shardNames({ CRONLEASE_SHARDS: '' }, preset)).toBe(preset);
    expect(shardNames({ CRONLEASE_SHARDS: 'A , B_2' }, preset)).toEqual(['A', 'B_2']);
  });

  it.each(['A,', ',', '2A', 'A B', 'https://a.example.net', 'A, B, A'])('is refused as %j', (text) => {
    expect(() => shardNames({ CRONLEASE_SHARDS: text }, undefined)).toThrow(/CRONLEASE_SHARDS/);
  });

  it('is refused without what is no name: it may be a connection with its key', () => {
    const text = 'FIRST, AccountName=a;AccountKey=aGlkZGVu==';
    const names = (): unknown => shardNames({ CRONLEASE_SHARDS: text }, undefined);
    expect(names).toThrow(/CRONLEASE_SHARDS is "FIRST, …"/);
    expect(names).not.toThrow(/aGlkZGVu/);
  });

  it('is refused in the code, too', () => {
    expect(() => shardNames({}, [])).toThrow(/CRONLEASE_SHARDS/);
  });

  const azurite = (port: number): string =>
    `DefaultEndpointsProtocol=http;AccountName=a;AccountKey=a2V5;BlobEndpoint=http://127.0.0.1:${String(port)}/a;`;
  const open = (settings: Readonly<Record<string, string>>, names: readonly string[]) =>
    openShards({ settings, container: undefined, clock: systemClock }, names);

  it('opens a store for each connection, in each form of a connection', () => {
    const settings = { ONE: azurite(1), TWO__blobServiceUri: 'https://two.blob.core.windows.net' };
    expect(open(settings, preset).map(({ location }) => location)).toEqual([
      'http://127.0.0.1:1/a/cronlease',
      'https://two.blob.core.windows.net/cronlease',
    ]);
  });

  it('reports a connection that is missing or wrong by its name, and never by its value', () => {
    expect(() => open({ ONE: azurite(1) }, preset)).toThrow(/Set TWO to a connection string.*TWO__blobServiceUri/);
    expect(() => open({ ONE: azurite(1), TWO: 'secret' }, preset)).toThrow(/^(?!.*secret).*TWO is not a connection/);
  });

  it('names each account once', () => {
    expect(() => open({ ONE: azurite(1), TWO: azurite(1) }, preset)).toThrow(/ONE and TWO are the same place/);
  });
});
