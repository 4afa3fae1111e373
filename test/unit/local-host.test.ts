import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseEvent } from '../../src/local/cluster/deployment';
import { claimFolder, readDevFile } from '../../src/cli/dev/dev-file';
import { humanPrinter, jsonPrinter, type Output } from '../../src/cli/dev/print';
import { readHostJson, readLocalSettings, readPackage, resolveSettings } from '../../src/local/host/app-folder';
import { createRegistry } from '../../src/local/host/core-api';
import { type HostedFunction, checkFunctions } from '../../src/local/host/functions';
import { createInvoke } from '../../src/local/host/invoke';
import { compileRoute } from '../../src/local/host/routes';
import type { Binding } from '../../src/local/host/rpc';

let folder: string;
const write = (file: string, content: unknown): void => {
  fs.mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
  fs.writeFileSync(path.join(folder, file), typeof content === 'string' ? content : JSON.stringify(content));
};
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'cronlease-'));
});
afterEach(() => fs.rmSync(folder, { recursive: true }));

describe('routes', () => {
  it.each([
    ['api', 'manage/health', '/api/manage/health', {}],
    ['api', 'manage/health', '/API/Manage/Health/', {}],
    ['', 'jobs/{job}', '/jobs/a%20b', { job: 'a b' }],
    ['api', 'jobs/{job}/{time?}', '/api/jobs/x', { job: 'x' }],
    ['api', 'jobs/{job}/{time?}', '/api/jobs/x/now', { job: 'x', time: 'now' }],
    ['api', 'n/{id:int}', '/api/n/42', { id: '42' }],
    ['api', 'files/{*rest}', '/api/files/a/b', { rest: 'a/b' }],
    ['api', 'files/{*rest}', '/api/files', {}],
    ['', '', '/', {}],
    ['api', 'a.b', '/api/a.b', {}],
  ])('prefix %j, route %j: %s gives %j', (prefix, route, url, expected) => {
    expect(compileRoute(prefix, route, 'f').match(url)).toEqual(expected);
  });

  it.each([
    ['jobs/{job}', '/api/jobs'],
    ['jobs/{job}', '/api/jobs/a/b'],
    ['n/{id:int}', '/api/n/x'],
    ['a.b', '/api/axb'],
    ['x', '/x'],
  ])('route %j is not %s', (route, url) => {
    expect(compileRoute('api', route, 'f').match(url)).toBeUndefined();
  });

  it.each([
    ['admin/x', "begin with 'admin' or 'runtime'"],
    ['/runtime', "begin with 'admin' or 'runtime'"],
    ['{a}-{b}', 'must be text'],
    ['{*a}/b', 'may only come last'],
    ['{a:datetime}', "constraint 'datetime'"],
  ])('refuses %j', (route, why) => {
    expect(() => compileRoute('api', route, 'f')).toThrow(why);
  });

  it('ranks the more special route first', () => {
    const ranks = ['a/{*rest}', 'a/{x}', 'a/{x:int}', 'a/b'].map((route) => compileRoute('', route, 'f').rank);
    expect(ranks).toEqual(ranks.toSorted().toReversed());
  });
});

describe("an app's folder", () => {
  it.each([
    ['dist/app.js', ['dist/app.js']],
    ['./dist/app.js', ['dist/app.js']],
    ['dist/functions/*.js', ['dist/functions/a.js', 'dist/functions/b.js']],
    ['dist/{app.js,functions/*.js}', ['dist/app.js', 'dist/functions/a.js', 'dist/functions/b.js']],
    // What `func init` writes, and the extension of VS Code.
    ['dist/src/functions/*.js', ['dist/src/functions/c.js']],
    ['dist/src/{index.js,functions/*.js}', ['dist/src/functions/c.js']],
  ])('finds what "main": %j names', (main, expected) => {
    const built = ['dist/app.js', 'dist/functions/a.js', 'dist/functions/b.js', 'dist/src/functions/c.js'];
    for (const file of built) write(file, '');
    write('package.json', { main });
    const found = readPackage(folder).entryPoints;
    expect(found).toEqual(expected.map((file) => path.join(folder, file)));
  });

  it('refuses a main that matches nothing, or that is missing', () => {
    write('package.json', { main: 'dist/*.js' });
    expect(() => readPackage(folder)).toThrow('No file matches "main": "dist/*.js"');
    expect(() => readPackage(path.join(folder, 'none'))).toThrow(/There is no function app in .*none: .*--app DIR/);
    write('package.json', {});
    expect(() => readPackage(folder)).toThrow('has no "main"');
    write('package.json', '{');
    expect(() => readPackage(folder)).toThrow('is not valid JSON');
  });

  it.each([
    [undefined, 1_800_000],
    ['00:05:00', 300_000],
    ['1.00:00:01', 86_401_000],
    ['00:05', 300_000],
    ['00:00:01.5', 1_500],
    // No hour is later than 23: these are days, hours and minutes.
    ['24:00:00', 24 * 86_400_000],
    ['100:01:30', (100 * 24 + 1.5) * 3_600_000],
    ['-1', undefined],
  ])('reads functionTimeout %j as %j ms', (functionTimeout, expected) => {
    write('host.json', { version: '2.0', functionTimeout });
    expect(readHostJson(folder, 2).functionTimeoutMs).toBe(expected);
  });

  it('gives functions a limit that is longer than any timer of Node', async () => {
    const registry = createRegistry();
    registry.programmingModel = {
      name: 'test',
      version: '1',
      getInvocationModel: () => ({
        getArguments: async () => ({ context: {}, inputs: [] }),
        invokeFunction: async () => new Promise((resolve) => setTimeout(resolve, 20)),
        getResponse: async () => ({}),
      }),
    };
    const onTimeout = vi.fn<(message: string) => void>();
    const timeoutMs = 60 * 86_400_000;
    const rest = { registry, sink: () => undefined, clientInput: {} };
    const fn = { name: 'f', trigger: 't', clientInputs: [], registered: { metadata: { name: 'f', bindings: {} } } };
    await createInvoke({ ...rest, timeoutMs, onTimeout }).invoke(fn as unknown as HostedFunction, { trigger: {} });
    expect(onTimeout).not.toHaveBeenCalled();
  });

  it('reads host.json with the defaults of the real host', () => {
    write('host.json', '\uFEFF{"version":"2.0"}');
    expect(readHostJson(folder, 4)).toMatchObject({ routePrefix: 'api', maxConcurrentActivities: 40 });
    write('host.json', {
      version: '2.0',
      extensions: { http: { routePrefix: '' }, durableTask: { hubName: '%NO_HUB%' } },
    });
    expect(() => readHostJson(folder, 4)).toThrow('\'%NO_HUB%\' in "extensions.durableTask.hubName"');
  });

  it.each([
    [{}, '"version"'],
    [{ version: '2.0', functionTimeout: '5m' }, '"functionTimeout" in'],
    [{ version: '2.0', functionTimeout: '00:90:00' }, '"functionTimeout" in'],
    [{ version: '2.0', functionTimeout: '00:05:60' }, '"functionTimeout" in'],
    [{ version: '2.0', functionTimeout: '1.24:00:00' }, '"functionTimeout" in'],
    [{ version: '2.0', functionTimeout: '24:00' }, '"functionTimeout" in'],
    [{ version: '2.0', functionTimeout: '30:30:00' }, '"functionTimeout" in'],
    [
      { version: '2.0', extensions: { durableTask: { maxConcurrentActivityFunctions: 0 } } },
      'maxConcurrentActivityFunctions',
    ],
  ])('refuses the host.json %j', (json, why) => {
    write('host.json', json);
    expect(() => readHostJson(folder, 2)).toThrow(why);
  });

  it.each([
    [{}, { workItemMs: 300_000, controlMs: 300_000 }],
    [
      { workItemQueueVisibilityTimeout: '00:00:30', controlQueueVisibilityTimeout: '00:01:00' },
      { workItemMs: 30_000, controlMs: 60_000 },
    ],
  ])('reads how long taken messages stay hidden: %j', (storageProvider, visibility) => {
    write('host.json', { version: '2.0', extensions: { durableTask: { storageProvider } } });
    expect(readHostJson(folder, 4).visibility).toEqual(visibility);
  });

  it.each([{ controlQueueVisibilityTimeout: '00:00:30' }, { workItemQueueVisibilityTimeout: 30 }])(
    'refuses the visibility timeout %j, with which the real host does not start',
    (storageProvider) => {
      write('host.json', { version: '2.0', extensions: { durableTask: { storageProvider } } });
      expect(() => readHostJson(folder, 4)).toThrow('QueueVisibilityTimeout" in');
    },
  );

  it('reads the times of the lock on timers, by default a minute each', () => {
    write('host.json', { version: '2.0' });
    expect(readHostJson(folder, 4).timerLock).toEqual({ periodMs: 60_000, recoveryMs: 60_000 });
    const singleton = { listenerLockPeriod: '00:00:15', listenerLockRecoveryPollingInterval: '00:00:20' };
    write('host.json', { version: '2.0', singleton });
    expect(readHostJson(folder, 4).timerLock).toEqual({ periodMs: 15_000, recoveryMs: 20_000 });
  });

  it.each([{ listenerLockPeriod: '00:00:05' }, { listenerLockRecoveryPollingInterval: 15 }])(
    'refuses the lock time %j',
    (singleton) => {
      write('host.json', { version: '2.0', singleton });
      expect(() => readHostJson(folder, 4)).toThrow(/"singleton\.listenerLock.*from "00:00:15" to "00:01:00"/);
    },
  );

  it('reads local settings, if there are any', () => {
    expect(readLocalSettings(folder)).toEqual({});
    write('local.settings.json', { Values: { A: 'x', B: 7 } });
    expect(readLocalSettings(folder)).toEqual({ A: 'x', B: '7' });
    write('local.settings.json', { Values: { A: { b: 1 } } });
    expect(() => readLocalSettings(folder)).toThrow('"Values"."A"');
    write('local.settings.json', { IsEncrypted: true });
    expect(() => readLocalSettings(folder)).toThrow('func settings decrypt');
  });

  it('resolves settings in the midst of text', () => {
    expect(resolveSettings('a%X%b%Y%', 'test', { X: '1', Y: '2' })).toBe('a1b2');
  });
});

describe('the functions of an app', () => {
  const STRICT = { routePrefix: 'api', strict: true };
  const check = (bindings: Record<string, Binding>, name = 'f', env = {}) =>
    checkFunctions([{ metadata: { name, bindings }, callback: () => undefined }], STRICT, env).hosted;
  const http: Binding = { type: 'httpTrigger', direction: 'in', methods: ['get'] };

  it('takes those that the host runs', () => {
    const [fn] = check({
      t: http,
      $return: { type: 'http', direction: 'out' },
      c: { type: 'durableClient', direction: 'in' },
    });
    expect(fn).toMatchObject({
      kind: 'http',
      trigger: 't',
      clientInputs: ['c'],
      methods: ['GET'],
      route: { template: 'api/f' },
    });
  });

  it.each<[string, Record<string, Binding>]>([
    ["the trigger 'queueTrigger'", { t: { type: 'queueTrigger', direction: 'in' } }],
    ["the input binding 'blob'", { t: http, b: { type: 'blob', direction: 'in' } }],
    ["the output binding 'queue'", { t: http, q: { type: 'queue', direction: 'out' } }],
  ])('refuses %s, naming the function and what there is', (what, bindings) => {
    expect(() => check(bindings)).toThrow(
      `Function 'f': ${what} is not supported here. The embedded host runs timerTrigger,`,
    );
  });

  it('skips what it cannot run, and gives a reason for each, unless it is strict', () => {
    const functions: [string, Record<string, Binding>][] = [
      ['mail', { t: { type: 'queueTrigger', direction: 'in' } }],
      ['web', { t: http }],
    ];
    const registered = functions.map(([name, bindings]) => ({
      metadata: { name, bindings },
      callback: () => undefined,
    }));
    const { hosted, skipped } = checkFunctions(registered, { ...STRICT, strict: false });
    expect(hosted.map(({ name }) => name)).toEqual(['web']);
    expect(skipped).toEqual(["Function 'mail' is skipped: the trigger 'queueTrigger' is not supported here."]);
    expect(() => checkFunctions(registered, STRICT)).toThrow("Function 'mail'");
  });

  it('refuses none at all, odd names, and two of one name', () => {
    expect(() => checkFunctions([], STRICT)).toThrow('registered no function');
    expect(() => check({ t: http }, '7up')).toThrow("'7up' is not a function name");
    const both = ['f', 'F'].map((name) => ({ metadata: { name, bindings: { t: http } }, callback: () => undefined }));
    expect(() => checkFunctions(both, STRICT)).toThrow("Two functions have the name 'F'");
  });

  it('leaves out what a setting disables', () => {
    expect(check({ t: http }, 'f', { 'AzureWebJobs.f.Disabled': 'true' })).toEqual([]);
    expect(check({ t: http }, 'f', { 'AzureWebJobs.f.Disabled': '0' })).toHaveLength(1);
  });
});

describe('events', () => {
  it('are the lines that begin with the prefix and hold an event', () => {
    const line = 'cronlease {"event":"started","at":"2026-03-01T00:00:00.000Z","job":"a","pid":1}';
    expect(parseEvent(line, 'local-1', 7)).toEqual({
      event: 'started',
      at: '2026-03-01T00:00:00.000Z',
      deployment: 'local-1',
      job: 'a',
      pid: 7,
    });
    expect(parseEvent(line.replace('"job"', '"deployment":"blue","job"'), 'local-1', 7)?.deployment).toBe('blue');
    for (const other of ['cronlease starts', 'cronlease {"event":1', 'cronlease {"at":""}', 'cronlease null', 'x']) {
      expect(parseEvent(other, 'local-1', 7)).toBeUndefined();
    }
  });

  const at = new Date('2026-03-01T12:00:00.007Z');
  const event = {
    event: 'takenOver',
    at: at.toISOString(),
    deployment: 'local-2',
    pid: 7,
    job: 'nightly-report',
    scheduledFor: '2026-02-28T23:00:00.000Z',
    attempt: 2,
    token: 9,
    reason: 'holderLost',
  };
  const printed = (json: boolean, color = false, more: Pick<Output, 'timeZone' | 'verbose'> = {}): string => {
    let text = '';
    const output = { out: (part: string) => void (text += part), err: () => undefined, color, ...more };
    (json ? jsonPrinter : humanPrinter)(output).event(event);
    return text;
  };

  it('are one JSON line each', () => {
    expect(JSON.parse(printed(true))).toEqual(event);
    expect(printed(true)).toMatch(/^[^\n]+\n$/);
  });

  it('are one line each for people, in UTC or another zone, coloured on a terminal only', () => {
    expect(printed(false)).toBe(
      '12:00:00Z  local-2  nightly-report  taken over  due 2026-02-28 23:00:00Z, attempt 2, holderLost\n',
    );
    expect(printed(false, false, { timeZone: 'Europe/Paris', verbose: true })).toBe(
      '13:00:00+01:00  local-2  nightly-report  taken over  due 00:00:00+01:00, attempt 2, token 9, holderLost\n',
    );
    expect(printed(false, true)).toContain('\u001b[35mtaken over');
  });
});

describe('dev.json', () => {
  const content = { storage: 'S=1', container: 'c', pid: process.pid };

  it('is there while the cluster runs, for this user alone', () => {
    const claim = claimFolder(folder);
    claim.publish(content);
    expect(readDevFile(folder)).toEqual(content);
    expect(fs.statSync(path.join(folder, '.cronlease/dev.json')).mode & 0o77).toBe(0);
    claim.release();
    expect(fs.readdirSync(folder)).toEqual([]);
  });

  it('keeps a second cluster out from the start of the first one, which no command uses yet', () => {
    const claim = claimFolder(folder);
    const text = fs.readFileSync(path.join(folder, '.cronlease/dev.json'), 'utf8');
    expect(JSON.parse(text)).toEqual({ pid: process.pid });
    expect(readDevFile(folder)).toBeUndefined();
    write('.cronlease/dev.json', { pid: process.ppid });
    expect(() => claimFolder(folder)).toThrow(`process ${process.ppid}`);
    // It is that of another process now.
    claim.release();
    expect(fs.existsSync(path.join(folder, '.cronlease/dev.json'))).toBe(true);
  });

  it('counts for nothing when its process is gone, or when it is damaged', () => {
    for (const text of [{ ...content, pid: 2 ** 22 + 1 }, '{"storage"', 'null', { pid: 'x' }]) {
      write('.cronlease/dev.json', text);
      expect(readDevFile(folder)).toBeUndefined();
      claimFolder(folder).release();
    }
  });

  it('counts for nothing when a killed cluster had the id that this process has, as in a container', () => {
    write('.cronlease/dev.json', content);
    claimFolder(folder).release();
    expect(fs.readdirSync(folder)).toEqual([]);
  });

  it('leaves other files beside it alone', () => {
    write('.cronlease/other', 'x');
    claimFolder(folder).release();
    expect(fs.readdirSync(path.join(folder, '.cronlease'))).toEqual(['other']);
  });
});
