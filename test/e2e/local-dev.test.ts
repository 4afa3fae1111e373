import { BlobServiceClient } from '@azure/storage-blob';
import { buildSync } from 'esbuild';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { allGone, type DevRun, type Ready, startDev } from '../support/dev-run';
import { fetchFrom, localClusters, NO_STORAGE, QUIET, run } from '../support/local-dev';

/** How much later than it happens a busy machine may show this process an event. */
const MAY_STALL_MS = 5_500;
const RUNS_MS = 6_000;

const { appOf, main, removeLater, start } = localClusters();
const devFile = (app: string): string => path.join(app, '.cronlease/dev.json');

/** Lets the first instance run code that never gives its event loop back. Resolves once it does. */
async function block(dev: DevRun, ready: Ready): Promise<void> {
  void run(ready, { input: { block: true } }).catch(() => undefined);
  await expect.poll(() => dev.stderr()).toContain('blocked');
}

describe('cronlease dev', () => {
  it('runs three deployments, says so, and ends at SIGTERM with nothing left behind', async () => {
    const app = appOf('basic');
    const dev = start({ app }, { CRONLEASE_CONTAINER: 'mine' });
    const ready = await dev.ready();
    expect(dev.events[0]).toBe(ready);
    expect(Object.keys(ready)).toEqual(['event', 'storage', 'container', 'instances']);
    expect(ready.instances.map((one) => one.deployment)).toEqual(['local-1', 'local-2', 'local-3']);
    expect(ready.container).toBe('mine');
    expect(JSON.parse(fs.readFileSync(devFile(app), 'utf8'))).toEqual({
      storage: ready.storage,
      container: 'mine',
      pid: dev.pid,
      sweepInterval: '2s',
    });

    const [first] = ready.instances;
    const settings = (await (await fetchFrom(ready, '/api/settings')).json()) as object;
    expect(settings).toMatchObject({
      CRONLEASE_STORAGE: ready.storage,
      AzureWebJobsStorage: ready.storage,
      CRONLEASE_CONTAINER: 'mine',
      CRONLEASE_DEPLOYMENT: 'local-1',
      CRONLEASE_SWEEP_INTERVAL: '2s',
      AzureFunctionsWebHost__hostid: 'local-1',
      TASKHUB_NAME: 'local1',
      WEBSITE_HOSTNAME: `127.0.0.1:${first?.port}`,
      TICK_SCHEDULE: '* * * * * *',
    });
    const listing = await fetch(`${/BlobEndpoint=([^;]+)/.exec(ready.storage)?.[1]}?comp=list`);
    expect(listing.headers.get('server')).toMatch(/Azurite/);

    for (const { deployment, pid } of ready.instances) {
      const started = await dev.event((one) => one.event === 'started' && one['deployment'] === deployment);
      expect(started).toMatchObject({ pid, job: 'sample', attempt: 1 });
    }
    const second = start({ app });
    expect(await second.exited()).toBe(1);
    expect(second.stderr()).toContain(`runs in this folder already, as process ${dev.pid}`);

    const children = dev.children();
    expect(children).toHaveLength(5);
    process.kill(dev.pid, 'SIGTERM');
    expect(await dev.exited()).toBe(0);
    expect(dev.stderr().match(/drained/g)).toHaveLength(3);
    await allGone(children);
    expect(fs.existsSync(path.dirname(devFile(app)))).toBe(false);
  });

  it('starts a killed instance again, as the same deployment, and ends when the whole group is told to', async () => {
    const dev = start({ app: appOf('basic'), instances: 2, ...NO_STORAGE }, QUIET);
    const { instances } = await dev.ready();
    const victim = instances[1];
    process.kill(victim?.pid ?? 0, 'SIGKILL');
    const exited = await dev.event((one) => one.event === 'instanceExited');
    expect(exited).toMatchObject({ deployment: 'local-2', pid: victim?.pid, reason: 'SIGKILL' });
    const started = await dev.event((one) => one.event === 'instanceStarted');
    expect(started['deployment']).toBe('local-2');
    expect(started['pid']).not.toBe(victim?.pid);
    const pause = Date.parse(String(started['at'])) - Date.parse(String(exited['at']));
    expect(pause).toBeGreaterThanOrEqual(5000);
    expect((await fetch(`http://127.0.0.1:${victim?.port}/api/echo/x`)).status).toBe(200);

    process.kill(-dev.pid, 'SIGINT');
    expect(await dev.exited()).toBe(0);
    expect(dev.stderr().match(/drained/g)).toHaveLength(2);
    expect(dev.events.filter((one) => one.event === 'instanceExited')).toHaveLength(1);
  });

  it('leaves nothing behind when it is killed, not even a blocked instance, and starts again in that folder', async () => {
    const app = appOf('basic');
    const temporary = fs.mkdtempSync(path.join(os.tmpdir(), 'killed-'));
    const dev = start({ app, instances: 2 }, { ...QUIET, TMPDIR: temporary });
    const ready = await dev.ready();
    const children = dev.children();
    expect(children).toHaveLength(4);
    expect(fs.readdirSync(temporary)).toHaveLength(1);
    await block(dev, ready);
    process.kill(dev.pid, 'SIGKILL');
    await allGone(children);
    expect(fs.readdirSync(temporary)).toEqual([]);
    expect(fs.existsSync(devFile(app))).toBe(true);

    const again = start({ app, instances: 1, durationMs: RUNS_MS, ...NO_STORAGE }, QUIET);
    await again.ready();
    const readyAt = performance.now();
    expect(await again.exited()).toBe(0);
    expect(performance.now() - readyAt).toBeGreaterThan(RUNS_MS - MAY_STALL_MS);
    expect(fs.existsSync(devFile(app))).toBe(false);
  });

  it('forces the end of a blocked instance at the second signal', async () => {
    const dev = start({ app: appOf('basic'), instances: 1, ...NO_STORAGE }, QUIET);
    const ready = await dev.ready();
    const children = dev.children();
    await block(dev, ready);
    process.kill(dev.pid, 'SIGINT');
    await expect.poll(() => dev.stderr()).toContain('Stopping');
    // Another one at once is the same Ctrl+C, which npm passes on.
    await new Promise((resolve) => setTimeout(resolve, 600));
    process.kill(dev.pid, 'SIGINT');
    expect(await dev.exited()).toBe(130);
    await allGone(children);
  });

  it('keeps going without an instance if told not to start it again', async () => {
    const dev = start({ app: appOf('basic'), instances: 2, restart: false, ...NO_STORAGE }, QUIET);
    const { instances } = await dev.ready();
    process.kill(instances[0]?.pid ?? 0, 'SIGTERM');
    expect(await dev.event((one) => one.event === 'instanceExited')).toMatchObject({ reason: 'exit code 0' });
    expect(dev.children()).toHaveLength(2);
    process.kill(dev.pid, 'SIGINT');
    expect(await dev.exited()).toBe(0);
  });

  it('skips a function that it cannot run, with one warning for all instances that names it', async () => {
    const app = appOf('basic');
    const mail = "app.storageQueue('mail', { queueName: 'q', connection: 'c', handler() {} });";
    fs.appendFileSync(path.join(app, 'index.js'), mail);
    const dev = start({ app, instances: 2, ...NO_STORAGE }, QUIET);
    const ready = await dev.ready();
    expect((await fetchFrom(ready, '/api/echo/x')).status).toBe(200);
    process.kill(dev.pid, 'SIGINT');
    expect(await dev.exited()).toBe(0);
    expect(dev.stderr().match(/Function 'mail' is skipped: the trigger 'queueTrigger'/g)).toHaveLength(1);
    expect(dev.stderr()).toContain('--strict refuses it');
  });

  it('starts its instances again when the code has changed, waits while it is broken, and names the files', async () => {
    const app = appOf('basic');
    const dev = start({ app, instances: 2, ...NO_STORAGE }, QUIET);
    const first = await dev.ready();
    const echo = async (): Promise<number> => (await fetchFrom(first, '/api/echo/x')).status;
    const restarts = (): readonly string[] =>
      dev.events.filter(({ event }) => event === 'instanceStarted').map(({ deployment }) => String(deployment));

    fs.appendFileSync(path.join(app, 'index.js'), '\n// changed\n');
    await expect.poll(() => restarts().toSorted()).toEqual(['local-1', 'local-2']);
    await expect.poll(() => dev.stderr()).toContain('index.js changed');
    await expect.poll(() => dev.stderr().match(/drained/g)).toHaveLength(2);
    expect(await echo()).toBe(200);

    const good = fs.readFileSync(path.join(app, 'index.js'), 'utf8');
    fs.writeFileSync(path.join(app, 'index.js'), 'throw new Error("half written")');
    await expect.poll(() => dev.stderr()).toContain('restart when a file changes');
    fs.writeFileSync(path.join(app, 'index.js'), good);
    // More than two where the file was read while it was half written.
    await expect.poll(() => restarts().length).toBeGreaterThanOrEqual(4);
    await expect.poll(echo).toBe(200);
    expect(dev.events.filter(({ event }) => event === 'instanceExited')).toEqual([]);

    process.kill(dev.pid, 'SIGINT');
    expect(await dev.exited()).toBe(0);
  });

  it('builds an app before it starts it and changed sources before it restarts it, and continues with the old build while they do not compile', async () => {
    const build = `const fs = require('node:fs');
      const text = fs.readFileSync('src/index.js', 'utf8');
      fs.mkdirSync('dist', { recursive: true });
      fs.writeFileSync('dist/time.js', String(process.hrtime.bigint()));
      if (text.includes('BROKEN')) throw new Error('does not compile');
      fs.writeFileSync('dist/index.js', text);`;
    const app = appOf('basic', { 'build.js': build, 'package.json': '{"main":"dist/index.js"}' });
    fs.mkdirSync(path.join(app, 'src'));
    const source = path.join(app, 'src/index.js');
    fs.renameSync(path.join(app, 'index.js'), source);
    const good = fs.readFileSync(source, 'utf8');
    const dev = start({ app, instances: 1, build: `"${process.execPath}" build.js`, ...NO_STORAGE }, QUIET);
    const first = await dev.ready();
    const answer = async (): Promise<unknown> => (await fetchFrom(first, '/api/echo/x')).json();
    const starts = (): number => dev.events.filter(({ event }) => event === 'instanceStarted').length;

    fs.writeFileSync(source, `${good} BROKEN`);
    await expect.poll(() => dev.stderr()).toContain('does not compile');
    expect(dev.stderr()).toContain('failed. The instances continue with the old build.');
    expect(await answer()).toMatchObject({ name: 'x' });
    expect(starts()).toBe(0);
    // Three polls: what the failed build has written is not a change.
    await sleep(1_500);
    expect(dev.stderr().match(/Building:/g)).toHaveLength(2);

    fs.writeFileSync(source, good.replace('jsonBody: { name:', 'jsonBody: { isNew: true, name:'));
    await expect.poll(starts).toBe(1);
    expect(await answer()).toMatchObject({ isNew: true });
    expect(dev.stderr()).toContain(`${path.join('src', 'index.js')} changed\nRestarting…`);
    // The built files are not a second change.
    fs.appendFileSync(path.join(app, 'host.json'), '\n');
    await expect.poll(starts).toBe(2);
    expect(dev.stderr().match(/Restarting…/g)).toHaveLength(2);
    // Nor is it a change of sources that another build leaves a built file out.
    fs.rmSync(path.join(app, 'dist/time.js'));
    await expect.poll(starts).toBe(3);
    expect(dev.stderr().match(/Building:/g)).toHaveLength(3);
    process.kill(dev.pid, 'SIGINT');
    expect(await dev.exited()).toBe(0);
  });

  it('keeps its data in a folder', async () => {
    const data = path.join(appOf('basic'), 'kept');
    const app = path.dirname(data);
    for (const round of [1, 2]) {
      const dev = start({ app, data, instances: 1 }, QUIET);
      const { storage } = await dev.ready();
      const container = BlobServiceClient.fromConnectionString(storage).getContainerClient('kept');
      expect((await container.createIfNotExists()).succeeded).toBe(round === 1);
      process.kill(dev.pid, 'SIGTERM');
      expect(await dev.exited()).toBe(0);
    }
  });

  it('uses no account that the app has elsewhere, except for those over which its caller deals the jobs', async () => {
    const settings = {
      TICK_SCHEDULE: '0 0 0 1 1 *',
      CRONLEASE_SHARDS: 'CRONLEASE_STORAGE, CRONLEASE_STORAGE_2',
      CRONLEASE_AUDIT__blobServiceUri: 'https://audit.blob.core.windows.net',
      CRONLEASE_AUDIT__credential: 'managedidentity',
      CRONLEASE_AUDIT__managedIdentityResourceId: '/subscriptions/x',
    };
    const app = appOf('basic', { 'local.settings.json': JSON.stringify({ Values: settings }) });
    for (const [env, expected] of [
      [{}, 'CRONLEASE_STORAGE'],
      [{ CRONLEASE_SHARDS: 'FIRST, SECOND' }, 'FIRST, SECOND'],
    ] as const) {
      const dev = start({ app, instances: 1, ...NO_STORAGE }, env);
      const seen = (await (await fetchFrom(await dev.ready(), '/api/settings')).json()) as object;
      expect(seen).toMatchObject({
        CRONLEASE_SHARDS: expected,
        CRONLEASE_AUDIT__blobServiceUri: '',
        CRONLEASE_AUDIT__credential: '',
        CRONLEASE_AUDIT__managedIdentityResourceId: '',
      });
      process.kill(dev.pid, 'SIGTERM');
      expect(await dev.exited()).toBe(0);
    }
  });
});

describe('cronlease dev that cannot start', () => {
  const fails = async (options: object, env?: NodeJS.ProcessEnv) => {
    const dev = start({ instances: 1, ...NO_STORAGE, ...options }, env);
    const code = await dev.exited();
    expect(dev.events).toEqual([]);
    return { code, stderr: dev.stderr() };
  };

  it('says what the app threw, and ends the other instances at once', async () => {
    const app = appOf('basic', {
      'index.js': "throw Object.assign(new Error('jobs.json: $.jobs.x: unknown zone'), { code: 'InvalidConfig' });",
    });
    const { code, stderr } = await fails({ app, instances: 3, storage: 'embedded' });
    expect(code).toBe(1);
    expect(stderr.match(/unable to load entry point "index\.js": jobs\.json: \$\.jobs\.x: unknown zone/g)).toHaveLength(
      1,
    );
    expect(fs.existsSync(devFile(app))).toBe(false);
  });

  it.each([
    ['no file', { 'package.json': '{"main":"dist/*.js"}' }, 'No file matches "main": "dist/*.js"'],
    ['no function', { 'index.js': '' }, 'registered no function'],
    [
      'an unsupported trigger',
      {
        'index.js':
          "require('@azure/functions').app.storageQueue('mail', { queueName: 'q', connection: 'c', handler() {} })",
      },
      "Function 'mail': the trigger 'queueTrigger' is not supported here.",
    ],
    [
      'an unset setting',
      { 'local.settings.json': '{"Values":{}}' },
      "'%TICK_SCHEDULE%' in the schedule of function 'tick' does not resolve to a value",
    ],
  ])('says what is wrong with an app with %s', async (_, files, message) => {
    const { code, stderr } = await fails({ app: appOf('basic', files), strict: true });
    expect(stderr).toContain(message);
    expect(code).toBe(1);
  });

  it.each([
    [
      'its build fails',
      'does not compile\n"node build.js" failed.\n',
      { 'build.js': "process.exitCode = 1; console.error('does not compile')" },
    ],
    ['its build writes no app', 'No file matches "main": "dist/*.js"', { 'build.js': '' }],
  ])('says so where %s', async (_, message, files) => {
    const app = appOf('basic', { ...files, 'package.json': '{"main":"dist/*.js"}' });
    const { code, stderr } = await fails({ app, build: 'node build.js' }, QUIET);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('Starting the app');
    expect(code).toBe(1);
  });

  it('names the port that is in use', async () => {
    const server = net.createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as net.AddressInfo;
    const { code, stderr } = await fails({ app: appOf('basic'), port }, QUIET);
    server.close();
    expect(stderr).toContain(`Port ${port} is in use.`);
    expect(code).toBe(1);
  });

  it('takes the next free ports when the usual one is taken and no option names one', async () => {
    const server = net.createServer();
    await new Promise((resolve) => {
      // Another program on this machine may have the port already.
      server.once('error', resolve).listen(7071, '127.0.0.1', () => resolve(undefined));
    });
    const dev = start({ app: appOf('basic'), instances: 2, port: undefined, ...NO_STORAGE }, QUIET);
    const ports = (await dev.ready()).instances.map(({ port }) => port);
    server.close();
    const [first = 0] = ports;
    expect(first).toBeGreaterThan(7072);
    expect(ports).toEqual([first, first + 1]);
    expect(dev.stderr()).toContain(`Port 7071 is taken; cronlease dev uses ${first} to ${first + 1}.\n`);
    process.kill(dev.pid, 'SIGINT');
    expect(await dev.exited()).toBe(0);
  });

  it('says what to install when there is no Azurite', async () => {
    // Outside the repository no package is found.
    const elsewhere = fs.mkdtempSync(path.join(os.tmpdir(), 'cronlease-'));
    removeLater(elsewhere);
    fs.cpSync(path.dirname(main()), elsewhere, { recursive: true });
    fs.writeFileSync(path.join(elsewhere, 'package.json'), '{"main":"main.js"}');
    const dev = startDev(path.join(elsewhere, path.basename(main())), { app: elsewhere });
    expect(await dev.exited()).toBe(1);
    expect(dev.stderr()).toContain('npm install --save-dev azurite');
    expect(dev.stderr()).toContain('--storage');
  });

  it.each([{ port: 65_535, instances: 2 }, { storage: 'embeded' }, { data: 'x' }])(
    'refuses the options %j',
    async (options) => {
      expect(await fails(options)).toMatchObject({ code: 2, stderr: expect.stringMatching(/^--/) });
    },
  );
});

describe('the embedded host', () => {
  it('serves HTTP, the Durable client, and an app that is CommonJS', async () => {
    const dev = start({ app: appOf('basic'), instances: 1, inspect: true, ...NO_STORAGE }, QUIET);
    const ready = await dev.ready();
    const echo = await fetchFrom(ready, '/api/echo/a%20b?q=1', { method: 'POST', body: 'text' });
    expect(await echo.json()).toMatchObject({
      name: 'a b',
      q: '1',
      body: 'text',
      cwd: expect.stringContaining('app-basic'),
    });
    expect((await fetchFrom(ready, '/api/echo/x', { method: 'HEAD' })).status).toBe(200);
    expect((await fetchFrom(ready, '/api/echo/x', { method: 'PUT' })).status).toBe(404);
    expect((await fetchFrom(ready, '/api/nothing')).status).toBe(404);

    const done = await run(ready, { input: { startedAt: 1 }, wait: true, instanceId: 'one' });
    expect([done.status, await done.json()]).toEqual([200, { got: 1, instance: 'one' }]);
    const failed = await run(ready, { input: { fail: true, startedAt: 1 }, wait: true });
    expect(failed.status).toBe(500);
    expect(await failed.json()).toMatchObject({
      runtimeStatus: 'Failed',
      output: expect.stringContaining(
        "Orchestrator function 'run' failed: Activity function 'attempt' failed: as asked",
      ),
    });

    const echoes: number[] = [];
    for (let n = 0; n < 50; n++) {
      const before = performance.now();
      await fetchFrom(ready, '/api/echo/x');
      echoes.push(performance.now() - before);
    }
    const echoMs = echoes.toSorted((a, b) => a - b)[25] ?? Number.NaN;
    for (let n = 0; n < 50; n++) await run(ready, { input: { startedAt: Date.now() }, wait: true });
    const started = dev.events.slice(-50).map((one) => Number(one['latenessMs']));
    const latencies = started.toSorted((a, b) => a - b);
    console.log(
      `start of an orchestration to its activity: p50 ${latencies[25]} ms, max ${latencies[49]} ms; echo ${echoMs} ms`,
    );
    // A hub that polled its queues, as Azure's does, would take a second or more.
    expect(latencies[25]).toBeLessThan(20 + 50 * echoMs);
    process.kill(dev.pid, 'SIGTERM');
    expect(await dev.exited()).toBe(0);
  });

  it('passes requests and answers on as streams to an app that has turned them on', async () => {
    const code = `const { app } = require('@azure/functions');
      const { Readable } = require('node:stream');
      app.setup({ enableHttpStream: true });
      const route = 'at/{name}';
      app.http('at', { methods: ['GET', 'POST', 'PUT', 'DELETE'], route, handler: async (request, context) => {
        if (request.method === 'DELETE') return undefined;
        if (request.method === 'PUT') throw new Error('handler broke');
        if (request.method === 'GET') return { jsonBody: { name: request.params.name, q: request.query.get('q'), host: request.headers.get('host') } };
        const upper = async function* () { for await (const part of request.body) yield Buffer.from(part).toString().toUpperCase(); };
        return { status: 201, headers: { 'x-a': 'b' }, cookies: [{ name: 'c', value: 'd' }], body: Readable.from(upper()) };
      } });`;
    const dev = start({ app: appOf('basic', { 'index.js': code }), instances: 1, ...NO_STORAGE }, QUIET);
    const ready = await dev.ready();
    const got = await fetchFrom(ready, '/api/at/a%20b?q=1');
    const host = `127.0.0.1:${ready.instances[0]?.port}`;
    expect([got.status, await got.json()]).toEqual([200, { name: 'a b', q: '1', host }]);

    // What the app writes arrives before it has read everything.
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const posted = fetchFrom(ready, '/api/at/x', { method: 'POST', body: readable, duplex: 'half' });
    void writer.write(Buffer.from('first '));
    const answer = await posted;
    expect([answer.status, answer.headers.get('x-a'), answer.headers.get('set-cookie')]).toEqual([201, 'b', 'c=d']);
    const reader = answer.body?.getReader();
    expect(String(Buffer.from((await reader?.read())?.value ?? []))).toBe('FIRST ');
    await writer.write(Buffer.from('second'));
    await writer.close();
    expect(String(Buffer.from((await reader?.read())?.value ?? []))).toBe('SECOND');
    expect((await reader?.read())?.done).toBe(true);

    expect((await fetchFrom(ready, '/api/at/x', { method: 'DELETE' })).status).toBe(204);
    expect((await fetchFrom(ready, '/api/at/x', { method: 'PUT', body: 'x' })).status).toBe(500);
    await expect.poll(() => dev.stderr()).toContain('error at: Error: handler broke');
    process.kill(dev.pid, 'SIGTERM');
    expect(await dev.exited()).toBe(0);
  });

  it.each([
    ['cjs', {}],
    ['esm', { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" }],
  ] as const)('runs an app that is one bundle (%s) with no packages beside it', async (format, banner) => {
    const source = appOf('basic');
    const app = fs.mkdtempSync(path.join(os.tmpdir(), 'cronlease-bundle-'));
    removeLater(app);
    fs.cpSync(path.join(source, 'host.json'), path.join(app, 'host.json'));
    fs.writeFileSync(path.join(app, 'package.json'), '{"main":"app.*js"}');
    buildSync({
      entryPoints: [path.join(source, 'index.js')],
      outfile: path.join(app, format === 'esm' ? 'app.mjs' : 'app.js'),
      bundle: true,
      minify: true,
      platform: 'node',
      format,
      banner,
      external: ['@azure/functions-core'],
      logLevel: 'error',
    });
    const dev = start({ app, instances: 1, ...NO_STORAGE }, QUIET);
    const ready = await dev.ready();
    const done = await run(ready, { input: { startedAt: 1 }, wait: true, instanceId: 'one' });
    expect(await done.json()).toEqual({ got: 1, instance: 'one' });
    process.kill(dev.pid, 'SIGTERM');
    expect(await dev.exited()).toBe(0);
  });

  it('runs an app of ES modules with hooks, and ends when an invocation takes too long', async () => {
    const dev = start({ app: appOf('esm'), instances: 1, restart: false, ...NO_STORAGE });
    const ready = await dev.ready();
    const all = await fetchFrom(ready, '/things/all');
    expect([await all.text(), all.headers.get('x-hooks'), all.headers.get('set-cookie')]).toEqual([
      'all of them',
      'yes',
      'a=b',
    ]);
    expect(await (await fetchFrom(ready, '/things/7')).text()).toBe('thing 7');
    expect((await fetchFrom(ready, '/things/7', { method: 'DELETE' })).status).toBe(204);
    // "main" is a glob, which its file does not match.
    expect((await fetchFrom(ready, '/never')).status).toBe(404);
    expect((await fetchFrom(ready, '/throws')).status).toBe(500);
    await expect.poll(() => dev.stderr()).toContain('local-1 error throws: Error: handler broke');
    await expect(fetchFrom(ready, '/hangs')).rejects.toThrow();
    expect(await dev.event((one) => one.event === 'instanceExited')).toMatchObject({ reason: 'exit code 4' });
    process.kill(dev.pid, 'SIGTERM');
    expect(await dev.exited()).toBe(0);
    expect(dev.stderr()).toContain("Timeout value of 00:00:01 exceeded by function 'hangs'");
  });
});

describe('cronlease dev --same-app', () => {
  it('runs several instances of one deployment, of which one fires the timer', async () => {
    const app = appOf('basic');
    const dev = start({ app, instances: 1, sameApp: 2, ...NO_STORAGE }, { TICK_SCHEDULE: '* * * * * *' });
    const { instances } = await dev.ready();
    expect(instances.map((one) => one.deployment)).toEqual(['local-1.1', 'local-1.2']);
    const pids = (): number[] => dev.events.flatMap(({ event, pid }) => (event === 'ready' ? [] : [Number(pid)]));
    await expect.poll(() => pids().length).toBeGreaterThanOrEqual(3);
    expect(new Set(pids()).size).toBe(1);
    expect(instances.map(({ pid }) => pid)).toContain(pids()[0]);
  });
});
